"""`diagnose comm` between 32 hosts with real sshd, on links of 50 Mb/s, so that two cores are not what is measured."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.root
Cluster = Any  # of conftest.py

NODES = range(1, 33)
SHAPE = ("tbf", "rate", "50mbit", "burst", "64kb", "latency", "40ms")


@pytest.fixture(scope="module")
def fabric(cluster: Cluster) -> Iterator[Cluster]:
    """Every link shaped, in both directions."""
    if not shutil.which("tc") or not shutil.which("iperf3"):
        pytest.skip("tc or iperf3 is not installed")
    for i in NODES:
        cluster.on(i, "tc", "qdisc", "add", "dev", "eth0", "root", *SHAPE)
        cluster.run("tc", "qdisc", "add", "dev", f"p{i}", "root", *SHAPE)
    yield cluster
    for i in NODES:
        cluster.on(i, "tc", "qdisc", "del", "dev", "eth0", "root")
        cluster.run("tc", "qdisc", "del", "dev", f"p{i}", "root")


def _argv(cluster: Cluster, nodes: str, *options: str) -> list[str]:
    config = Path(cluster.folder, "comm.yaml")
    config.write_text(cluster.config().read_text() + "hardware: {fabric: {nics: {interfaces: eth0}}}\n")
    text = config.read_text().replace("cluster: {", "cluster: {groups: {fabric: {nodes: 'gpu[1-32]'}}, ")
    config.write_text(text)
    common = ["-c", str(config), "-w", nodes, "-o", "json"]
    return [sys.executable, "-m", "brctl", *common, "diagnose", "comm", *options]


def _comm(cluster: Cluster, nodes: str, *options: str) -> Any:
    return cluster.run(*_argv(cluster, nodes, *options), limit_s=200)


def _bad(run: Any) -> dict[str, list[str]]:
    """What is said of each node that something is said of."""
    found = {}
    for report in json.loads(run.out)["reports"]:
        bad = [finding["check"] for finding in report["findings"] if finding["status"] in ("warn", "crit")]
        if bad:
            found[report["node"]] = bad
    return found


def _all_ended(cluster: Cluster) -> None:
    assert [line for line in cluster.processes() + cluster.local() if "iperf3" in line or "brctl" in line] == []


def _left(cluster: Cluster) -> list[str]:
    """Processes and listeners of a test."""
    found = [line for line in cluster.processes() + cluster.local() if "iperf3" in line or "brctl" in line]
    for i in NODES[:4]:
        listening = cluster.on(i, "ss", "-Hltn")
        found += [line for line in listening.splitlines() if re.search(r":[45]\d{4}\s", line)]
    return found


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind_whoever_is_killed(fabric: Cluster, ending: signal.Signals) -> None:
    """In the midst of iperf3."""
    running = fabric.popen(*_argv(fabric, "gpu[1-4]", "--level", "full"))
    end = time.monotonic() + 60
    while not any("iperf3 --client" in line for line in fabric.processes()):
        assert running.poll() is None
        assert time.monotonic() < end
        time.sleep(0.1)
    running.send_signal(ending)
    running.communicate(timeout=30)
    if ending is signal.SIGINT:  # no other round is begun
        assert running.returncode == 130
    while _left(fabric) and time.monotonic() < end:
        time.sleep(0.2)
    assert _left(fabric) == []


def test_nothing_is_left_behind_by_a_node_that_is_too_slow(fabric: Cluster) -> None:
    argv = _argv(fabric, "gpu[1-4]", "--level", "full")
    argv[argv.index("diagnose") : argv.index("diagnose")] = ["--timeout", "3s"]
    fabric.run(*argv, limit_s=100)
    end = time.monotonic() + 30
    while _left(fabric) and time.monotonic() < end:
        time.sleep(0.2)
    assert _left(fabric) == []


@pytest.mark.parametrize("time_", ["first", "second"])
def test_healthy_links_blame_nobody(fabric: Cluster, time_: str) -> None:  # twice: luck shows
    run = _comm(fabric, "gpu[1-32]", "--level", "full")
    assert run.out, run.err
    assert (run.code, _bad(run)) == (0, {}), run.out[-3000:] + run.err
    _all_ended(fabric)


NFT = "add table inet x; add chain inet x in { type filter hook input priority 0; }; add rule inet x in "
FAULTS = {
    "path-mtu": (["ip", "link", "set", "eth0", "mtu", "1400"], ["ip", "link", "set", "eth0", "mtu", "1500"]),
    "bandwidth": (
        ["tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", "20mbit", "burst", "64kb", "latency", "40ms"],
        ["tc", "qdisc", "replace", "dev", "eth0", "root", *SHAPE],
    ),
    "loss": (["nft", NFT + "numgen random mod 100 < 1 drop"], ["nft", "delete table inet x"]),
    "reach": (["nft", NFT + "tcp dport 32768-60999 drop"], ["nft", "delete table inet x"]),
}
"""What is done to a node, and how it is undone."""


@pytest.fixture
def harmed(fabric: Cluster, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Node -> what is wrong with it."""
    harm: dict[str, str] = request.param
    for node, fault in harm.items():
        fabric.on(int(node[3:]), *FAULTS[fault][0])
    yield harm
    for node, fault in harm.items():
        fabric.on(int(node[3:]), *FAULTS[fault][1])


@pytest.mark.parametrize("time_", ["first", "second"])
@pytest.mark.parametrize(
    "harmed",
    [{"gpu7": "path-mtu"}, {"gpu12": "loss"}, {"gpu20": "bandwidth", "gpu4": "reach"}],
    indirect=True,
    ids=["mtu", "loss", "two-at-once"],
)
def test_what_is_bad_is_named_and_nothing_else(fabric: Cluster, harmed: dict[str, str], time_: str) -> None:
    level = "full" if "bandwidth" in harmed.values() else "quick"
    run = _comm(fabric, "gpu[1-32],refused", "--level", level)
    assert run.out, run.err
    assert run.code == 3  # nobody listens at `refused`
    assert {report["node"] for report in json.loads(run.out)["reports"] if report["errors"]} == {"refused"}
    assert _bad(run) == {node: [f"comm-{fault}"] for node, fault in harmed.items()}, run.out[-4000:]
    _all_ended(fabric)
