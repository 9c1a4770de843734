"""`diagnose comm` without a network: what rounds are asked for, and whom their results blame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from brctl.fleet.paths import Result, Search, findings, plan, told
from brctl.node.report import Endpoint, NodeError, PairSeen, Report, Status
from brctl.node.request import PairEnd

GOOD = PairSeen(True, 5e-5, 9e-5, True, True, 1000, 1000, 47e6, 47e6)
Harm = Callable[[str, str], PairSeen]


def ends(number: int) -> dict[str, Endpoint]:
    return {f"n{i}": Endpoint("eth0", f"10.0.0.{i}", 1500, True) for i in range(1, number + 1)}


def healthy(a: str, b: str) -> PairSeen:
    return GOOD


class Rig:
    """Answers both ends of each pair; `harm` says what the tests between two nodes show."""

    def __init__(self, number: int, harm: Harm = healthy, silent: str = "") -> None:
        self.plan, self.harm, self.silent = plan(ends(number)), harm, silent
        self.asked: list[Mapping[str, PairEnd]] = []
        self.node_of = {end.address: node for node, end in self.plan.ends.items()}

    def __call__(self, asked: Mapping[str, PairEnd]) -> dict[str, Report]:
        self.asked.append(asked)
        return {node: self._report(node, end) for node, end in asked.items()}

    def _report(self, node: str, end: PairEnd) -> Report:
        if node == self.silent:
            return Report(node, 1.0, 0.1, errors=(NodeError("timeout", "no answer"),))
        peer = self.node_of.get(end.peer or "")
        return Report(node, 1.0, 0.1, pair=self.harm(node, peer) if peer else PairSeen(True))

    def run(self) -> tuple[Result, dict[str, list[tuple[str, Status]]]]:
        result = Search(self.plan, self, 10.0, 2.0).run()
        found = findings(result, list(self.plan.ends), {"rack1": ["n1", "n2", "n3", "n4"]})
        return result, {node: [(each.check, each.status) for each in of] for node, of in found.items()}


def bad(found: Mapping[str, list[tuple[str, Status]]]) -> dict[str, list[str]]:
    told = {
        node: [check for check, status in each if status not in (Status.PASS, Status.NA)]
        for node, each in found.items()
    }
    return {node: checks for node, checks in told.items() if checks}


def harm_of(node: str, **seen: Any) -> Harm:
    return lambda a, b: GOOD._replace(**seen) if node in (a, b) else GOOD


def test_healthy_nodes_are_tested_twice() -> None:
    rig = Rig(16)
    result, found = rig.run()
    assert bad(found) == {}
    assert found["n1"] == [("comm", Status.PASS)]
    assert len(rig.asked) == 2
    assert len(result.seen) == 16


def test_both_ends_are_told_the_same() -> None:
    rig = Rig(8)
    rig.run()
    first = rig.asked[0]
    assert (first["n1"].peer, first["n2"].peer) == ("10.0.0.2", None)
    assert first["n1"].nonce == first["n2"].nonce
    assert first["n1"].port == first["n2"].port
    assert first["n1"].nonce != first["n3"].nonce


@pytest.mark.parametrize(
    ("seen", "check"),
    [
        ({"connected": False, "fault": "Connection refused"}, "comm-reach"),
        ({"large_answered": False}, "comm-path-mtu"),
        ({"datagrams_returned": 985}, "comm-loss"),
        ({"sent_bits_per_s": 20e6}, "comm-bandwidth"),
        ({"received_bits_per_s": 20e6}, "comm-bandwidth"),
        ({"rtt_s": 0.005}, "comm-latency"),
    ],
)
def test_each_respect_names_its_node(seen: dict[str, Any], check: str) -> None:
    rig = Rig(16, harm_of("n5", **seen))
    _, found = rig.run()
    assert bad(found) == {"n5": [check]}
    assert len(rig.asked) == 5
    assert all(end.load_s == (2.0 if check == "comm-bandwidth" else 0.0) for end in rig.asked[-1].values())


def test_the_gravest_fault_of_a_node_is_told_alone() -> None:
    rig = Rig(16, harm_of("n5", datagrams_returned=900, sent_bits_per_s=1e6, rtt_s=0.1))
    assert bad(rig.run()[1]) == {"n5": ["comm-loss"]}


def test_little_differences_are_none() -> None:
    assert bad(Rig(16, harm_of("n5", datagrams_returned=998, rtt_s=1e-4)).run()[1]) == {}


WRITE_BW = """ #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      2986200          0.00               {}             0.746550
"""
WRITE_LAT = """ #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]
 2       1000          1.80           9.20         {}       1.95             0.10
"""


@pytest.mark.parametrize(
    ("check", "fields"),
    [
        ("comm-rdma-bandwidth", {"rdma_bandwidth": WRITE_BW.format("310.00")}),
        ("comm-rdma-latency", {"rdma_latency": WRITE_LAT.format("4.10")}),
    ],
)
def test_rdma_is_compared_too(check: str, fields: dict[str, Any]) -> None:
    well = GOOD._replace(rdma_bandwidth=WRITE_BW.format("391.40"), rdma_latency=WRITE_LAT.format("1.90"))
    rig = Rig(16, lambda a, b: well._replace(**fields) if "n5" in (a, b) else well)
    assert bad(rig.run()[1]) == {"n5": [check]}
    assert all(end.load_s == 2.0 for end in rig.asked[-1].values())
    assert "391 Gb/s by RDMA" in told(well)
    assert "1.9 us by RDMA" in told(well)


def test_ends_with_rdma_are_told_so() -> None:
    given = plan(
        {f"n{i}": Endpoint("e", f"10.0.0.{i}", 9000, True, "mlx5_0:1" if i < 3 else None, 3) for i in (1, 2, 3)}
    )
    asked: list[Mapping[str, PairEnd]] = []

    def ask(pairs: Mapping[str, PairEnd]) -> dict[str, Report]:
        asked.append(pairs)
        return {node: Report(node, 1.0, 0.1, pair=GOOD) for node in pairs}

    Search(given, ask, 10.0, 2.0).run()
    both = {frozenset(pairs): {end.rdma for end in pairs.values()} for pairs in asked if len(pairs) == 2}
    assert both.pop(frozenset({"n1", "n2"})) == {"mlx5_0:1"}
    assert set(map(frozenset, both.values())) == {frozenset({None})}


def test_a_tool_that_fails_is_unknown() -> None:
    _, found = Rig(16, harm_of("n5", tool_fault="ib_write_bw: Couldn't get context")).run()
    assert ("comm-tool", Status.UNKNOWN) in next(each for each in found.values() if len(each) > 1)
    assert {check for each in found.values() for check, _ in each} == {"comm", "comm-tool"}


def test_a_missing_tool_is_no_fault() -> None:
    lacking = {"sent_bits_per_s": None, "received_bits_per_s": None, "tool_fault": "iperf3 is not installed"}
    result, found = Rig(16, harm_of("n5", **lacking)).run()
    assert bad(found) == {}
    assert set(result.tool_faults.values()) == {("iperf3 is not installed",)}


def test_a_node_that_we_do_not_reach_says_nothing_of_the_path() -> None:
    result, found = Rig(16, silent="n5").run()
    assert bad(found) == {"n5": ["comm"]}
    assert found["n5"] == [("comm", Status.UNKNOWN)]
    assert result.tool_faults == {"n5": ("no answer",)}


def test_a_path_that_stays_bad_is_no_node() -> None:
    rig = Rig(16, lambda a, b: GOOD._replace(datagrams_returned=900) if {a, b} == {"n3", "n4"} else GOOD)
    result, found = rig.run()
    assert bad(found) == {"n3": ["comm-loss"]}
    summary = findings(result, list(rig.plan.ends), {})["n3"][0].summary
    assert summary == "the path to n4 loses packets, and neither end does with others"


def test_of_two_nobody_can_tell_which() -> None:
    result, found = Rig(2, harm_of("n1", large_answered=False)).run()
    assert bad(found) == {"n1": ["comm-path-mtu"]}
    (finding,) = findings(result, ["n1", "n2"], {})["n1"]
    assert "nobody else is there to tell which" in finding.summary
    assert finding.remedy == "test n1 or n2 with a third node, or swap their cables and see whether the fault moves"


def test_many_bad_ones_share_something() -> None:
    sick = {f"n{i}" for i in range(9, 17)}
    rig = Rig(16, lambda a, b: GOOD._replace(large_answered=False) if {a, b} & sick else GOOD)
    result, _ = rig.run()
    told_of = findings(result, list(rig.plan.ends), {})["n9"][0]
    assert "as 16 nodes do: look for what they have in common" in told_of.summary or "as 8 nodes" in told_of.summary
    assert len(rig.asked) == 2


def test_three_bad_ones_of_one_group_blame_its_switch() -> None:
    sick = {"n1", "n2", "n3"}
    rig = Rig(32, lambda a, b: GOOD._replace(datagrams_returned=900) if {a, b} & sick else GOOD)
    result, _ = rig.run()
    summary = findings(result, list(rig.plan.ends), {"rack1": ["n1", "n2", "n3", "n4"]})["n1"][0].summary
    assert summary == "loses packets; all of it is about the group rack1: look at its switch"


def test_one_end_alone() -> None:
    assert Rig(1).run()[1] == {"n1": [("comm", Status.UNKNOWN)]}


def test_told() -> None:
    assert told(GOOD) == "0.05 ms, 0 of 1000 lost, 47 Mb/s out, 47 Mb/s in"
    assert told(PairSeen(False, fault="Connection refused")) == "not reached: Connection refused"
    assert told(PairSeen(True, large_answered=False, fault="no answer in time")) == (
        "no answer in time, full-size packets lost"
    )
    assert told(PairSeen(True, 1e-3, sent_bits_per_s=392e9)) == "1 ms, 392 Gb/s out"
