"""The node's end of `diagnose comm`, with a host that answers by hand."""

import json
from typing import Any, Dict, List, Optional, Sequence

import pytest

from brctl.node.deadline import HungError
from brctl.node.diagnose import pair
from brctl.node.facts import Gid, Inventory
from brctl.node.host import Completed
from brctl.node.report import NodeError, PairSeen
from brctl.node.request import Expected, PairEnd, Request

NONCE = "00" * 16
SPEED = json.dumps({"end": {"sum_received": {"bits_per_second": 9e9}}})


class Host:
    mock = None

    def __init__(self, tools: Dict[str, Any], gpus: int = 0, came: bool = True) -> None:
        self.tools, self.gpus, self.came = tools, gpus, came
        self.asked: List[Sequence[str]] = []

    def run(self, argv: Sequence[str], _: float = 10.0) -> Optional[Completed]:
        self.asked.append(argv)
        answer = self.tools.get(argv[0])
        if isinstance(answer, Exception):
            raise answer
        return Completed(0, answer, "") if isinstance(answer, str) else answer

    def listdir(self, _: str) -> Any:
        return tuple(map(str, range(self.gpus))) or None

    def read(self, _: str) -> Any:
        return None

    def echo(self, *_: Any) -> bool:
        return self.came

    def echo_from(self, *_: Any) -> PairSeen:
        return PairSeen(True, 5e-5, 9e-5, True, True, 1000, 1000) if self.came else PairSeen(False, fault="no answer")


def ask(host: Any, **end: Any) -> PairSeen:
    given = PairEnd("10.0.0.1", 40000, NONCE, 1.0, **end)
    seen = pair.answer(host, Request("n1", "pair", pair=given)).pair
    assert seen
    return seen


def test_a_light_test_starts_no_tool() -> None:
    host = Host({})
    assert ask(host, peer="10.0.0.2") == PairSeen(True, 5e-5, 9e-5, True, True, 1000, 1000)
    assert ask(host) == PairSeen(True)
    assert host.asked == []


def test_bandwidth_in_both_directions() -> None:
    host = Host({"iperf3": SPEED})
    seen = ask(host, peer="10.0.0.2", load_s=2.0)
    assert (seen.sent_bits_per_s, seen.received_bits_per_s, seen.tool_fault) == (9e9, 9e9, None)
    assert host.asked[1][-1] == "--reverse"
    ask(host, load_s=2.0)
    assert [argv[6] for argv in host.asked[2:]] == ["40001", "40002"]


def test_rdma_where_both_ends_have_it() -> None:
    host = Host({"iperf3": SPEED, "ib_write_lat": "lat", "ib_write_bw": "bw"})
    seen = ask(host, peer="10.0.0.2", load_s=2.0, rdma="mlx5_3:1", gid_index=3)
    assert (seen.rdma_latency, seen.rdma_bandwidth, seen.tool_fault) == ("lat", "bw", None)
    assert " ".join(host.asked[-1]) == "ib_write_bw -d mlx5_3 -i 1 -p 40003 -F -x 3 --report_gbits -D 2 10.0.0.2"
    served = Host({"iperf3": SPEED, "ib_write_lat": "lat", "ib_write_bw": "bw"})
    assert ask(served, load_s=2.0, rdma="mlx5_3:1") == PairSeen(True)
    assert [argv[0] for argv in served.asked] == ["iperf3", "iperf3", "ib_write_lat", "ib_write_bw"]


@pytest.mark.parametrize(
    ("tools", "fault"),
    [
        ({}, "iperf3 is not installed"),
        ({"iperf3": SPEED}, "ib_write_lat is not installed"),
        ({"iperf3": SPEED, "ib_write_lat": "lat"}, "ib_write_bw is not installed"),
        ({"iperf3": SPEED, "ib_write_lat": Completed(1, "", "a\nno device\n")}, "ib_write_lat: no device"),
        ({"iperf3": SPEED, "ib_write_lat": Completed(3, "", "")}, "ib_write_lat: it ended with 3"),
        ({"iperf3": SPEED, "ib_write_lat": OSError("it hangs")}, "ib_write_lat: it hangs"),
        ({"iperf3": HungError("iperf3 --client", 5)}, "iperf3: iperf3 --client did not return within 5 s"),
        (
            {"iperf3": SPEED, "ib_write_lat": HungError("ib_write_lat -d", 5)},
            "ib_write_lat: ib_write_lat -d did not return within 5 s",
        ),
        ({"iperf3": Completed(1, "", "no such option\n")}, "iperf3: no such option"),
        ({"iperf3": "nonsense"}, "iperf3 gave no JSON"),
        ({"iperf3": json.dumps({"error": "busy"})}, "iperf3: busy"),
        ({"iperf3": "{}"}, "iperf3 gave no figure"),
    ],
)
def test_a_tools_fault_says_nothing_of_the_path(tools: Dict[str, Any], fault: str) -> None:
    seen = ask(Host(tools), peer="10.0.0.2", load_s=2.0, rdma="mlx5_3:1")
    assert (seen.connected, seen.large_answered, seen.datagrams_returned) == (True, True, 1000)
    assert seen.tool_fault == fault


def test_the_serving_end_tells_of_its_tools_too() -> None:
    assert ask(Host({}), load_s=2.0, rdma="mlx5_3:1").tool_fault == "iperf3 is not installed"
    assert ask(Host({"iperf3": OSError("no end")}), load_s=2.0).tool_fault == "iperf3: no end"


def test_who_is_not_reached_is_not_loaded() -> None:
    host = Host({}, came=False)
    assert ask(host, peer="10.0.0.2", load_s=2.0) == PairSeen(False, fault="no answer")
    assert host.asked == []


def test_a_server_that_is_not_there_yet_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    answers = [Completed(1, "", "Couldn't connect to 10.0.0.2:40003"), "lat"]
    host = Host({"iperf3": SPEED, "ib_write_bw": "bw"})
    plain = host.run

    def run(argv: Sequence[str], limit_s: float = 10.0) -> Any:
        if argv[0] != "ib_write_lat":
            return plain(argv, limit_s)
        answer = answers.pop(0)
        return Completed(0, answer, "") if isinstance(answer, str) else answer

    host.run = run  # type: ignore[assignment]
    assert ask(host, peer="10.0.0.2", load_s=2.0, rdma="mlx5_3:1").rdma_latency == "lat"


@pytest.mark.parametrize(
    ("gpus", "tools", "printed", "notes"),
    [
        (1, {"all_reduce_perf": "log"}, None, ()),
        (8, {"all_reduce_perf": "log"}, "log", ()),
        (8, {}, None, ("all_reduce_perf is not installed",)),
    ],
)
def test_collectives_where_there_are_several_gpus(gpus: int, tools: Any, printed: Any, notes: Any) -> None:
    report = pair.answer(Host(tools, gpus), Request("n1", "collective"))  # type: ignore[arg-type]
    assert (report.collective, report.notes) == (printed, notes)


def test_a_collective_that_hangs_is_no_answer() -> None:
    host = Host({"all_reduce_perf": HungError("all_reduce_perf -g 8", 120)}, gpus=8)
    (error,) = pair.answer(host, Request("n1", "collective")).errors  # type: ignore[arg-type]
    assert error == NodeError("hung", "all_reduce_perf -g 8 did not return within 120 s")


def test_a_long_report_of_iperf3_is_read_whole() -> None:
    long = json.dumps({"intervals": "x" * 2 * pair.MOST_PRINTED, **json.loads(SPEED)})
    host = Host({"iperf3": long, "ib_write_lat": "y" * 2 * pair.MOST_PRINTED, "ib_write_bw": "bw"})
    seen = ask(host, peer="10.0.0.2", load_s=2.0, rdma="mlx5_3:1")
    assert (seen.sent_bits_per_s, seen.tool_fault) == (9e9, None)
    assert len(seen.rdma_latency or "") == pair.MOST_PRINTED


def test_the_ends_of_a_node(dgx: Inventory) -> None:
    link = {"ifname": "ens1np0", "addr_info": [{"family": "inet", "scope": "global", "local": "10.0.1.1"}]}
    routed = Gid(3, "0000:0000:0000:0000:0000:ffff:0a00:0101", "RoCE v2", None)
    ports = tuple(port._replace(gids=(routed,)) for port in dgx.rdma or ())
    seen = dgx._replace(rdma=(*ports[:7], ports[7]._replace(state="DOWN")))
    found = pair.endpoints(Host({"ip": json.dumps([link])}), seen, Expected())  # type: ignore[arg-type]
    assert len(found) == 8
    assert found[0] == ("ens1np0", "10.0.1.1", 9000, True, "mlx5_0:1", 3)
    assert found[7] == ("ens8np0", None, 9000, True, None, None)


def test_without_a_pair_it_is_refused() -> None:
    (error,) = pair.answer(Host({}), Request("n1", "pair")).errors  # type: ignore[arg-type]
    assert error.kind == "invalid-request"


def test_a_host_without_a_network(dgx: Inventory) -> None:
    host = Host({})
    host.echo = lambda *_: (_ for _ in ()).throw(OSError(99, "Cannot assign requested address"))  # type: ignore[method-assign]
    end = PairEnd("10.0.0.1", 40000, NONCE, 1.0)
    (error,) = pair.answer(host, Request("n1", "pair", pair=end)).errors  # type: ignore[arg-type]
    assert (error.kind, error.message) == ("pair-error", "Cannot assign requested address")
