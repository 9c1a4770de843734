"""Which nodes large packets do not reach."""

from collections.abc import Sequence

import pytest

from brctl.fleet import mtu
from brctl.fleet.command import CommandFailedError, Output
from brctl.fleet.mtu import MOST, black_holes

SSH = ("ssh", "-F", "x.conf")
BACK, LOST = Output(0, "", ""), Output(1, "", "")


class Network:
    """What `ssh -G` and ping say, by host; 1500 bytes is what the interface here takes."""

    def __init__(self) -> None:
        self.config: dict[str, str] = {}
        self.small: dict[str, Output] = {}
        self.large: dict[str, Output] = {}
        self.address, self.asked = "10.0.0.1", 0
        self.sizes: set[str] = set()

    def run_all(self, argvs: Sequence[Sequence[str]], limit_s: float) -> list[Output]:
        assert limit_s == 5
        return [
            self._ssh(argv[-1]) if argv[0] == "ssh" else self._ping(argv[argv.index("-s") + 1], argv[-1])
            for argv in argvs
        ]

    def _ssh(self, node: str) -> Output:
        self.asked += 1
        return Output(0, self.config.get(node, f"user root\nhostname {node}.example\nport 22\n"), "")

    def _ping(self, size: str, host: str) -> Output:
        if size == "56":
            return self.small.get(host, BACK)
        if size == "65507":
            out = f"PING {host} ({self.address}) 65507(65535) bytes of data.\n"
            return Output(1, out, "ping: local error: message too long, mtu=1500\n")
        self.sizes.add(size)
        return self.large.get(host, BACK)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    it = Network()
    monkeypatch.setattr(mtu, "run_all", it.run_all)
    return it


def test_small_packets_pass_and_large_ones_vanish(network: Network) -> None:
    network.large["b.example"] = LOST
    found = black_holes(["a", "b"], SSH)
    assert list(found) == ["b"]
    assert found["b"].kind == "mtu"
    assert found["b"].message == "a ping of 1472 bytes that may not be fragmented is lost, one of 56 comes back"
    assert "compare the MTU" in (found["b"].hint or "")
    assert network.sizes == {"1472"}


def test_ipv6_has_longer_headers(network: Network) -> None:
    network.address = "2001:db8::1"
    black_holes(["a"], SSH)
    assert network.sizes == {"1452"}


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (LOST, LOST),
        (BACK, BACK),
        (BACK, Output(None, "", "")),
        (BACK, Output(2, "", "ping: unknown host")),
        (BACK, Output(1, "From 10.0.0.254 icmp_seq=1 Frag needed and DF set (mtu = 1400)\n", "")),  # it is told
    ],
)
def test_what_is_no_black_hole(network: Network, small: Output, large: Output) -> None:
    network.small["a.example"], network.large["a.example"] = small, large
    assert black_holes(["a"], SSH) == {}


@pytest.mark.parametrize("line", ["proxyjump login", "proxycommand nc %h %p"])
def test_behind_a_jump_host_nothing_can_be_told(network: Network, line: str) -> None:
    network.config["a"], network.large["a.example"] = f"hostname a.example\n{line}\n", LOST
    assert black_holes(["a"], SSH) == {}
    network.config["a"] = "hostname a.example\nproxyjump none\n"
    assert set(black_holes(["a"], SSH)) == {"a"}


def test_what_cannot_be_told_is_not(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    network.config["a"] = ""
    assert black_holes(["a"], SSH) == {}
    assert black_holes([f"n{i}" for i in range(MOST + 9)], SSH) == {}
    assert network.asked == 1 + MOST

    def run_all(*_: object) -> None:
        raise CommandFailedError("ping is not installed here")

    monkeypatch.setattr(mtu, "run_all", run_all)
    assert black_holes(["a"], SSH) == {}
