"""`diagnose comm`: what it refuses, what it plans, what it says of a log. tests/fleet/test_comm_hosts.py runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brctl.cli.common import Common
from brctl.cli.diagnose_comm import Level, _collectives, _judged, _rails, _refuse_busy, _told
from brctl.cli.errors import CommandError
from brctl.cli.fleet import FleetSession, Target
from brctl.cli.verdict import exit_code
from brctl.fleet.order import Limits
from brctl.fleet.paths import Result
from brctl.fleet.transport import Transport
from brctl.node.facts import Gpu, GpuProcess, Inventory
from brctl.node.report import Endpoint, NodeError, Report
from brctl.node.request import Expected

Brctl = Callable[..., Any]  # the fixture of conftest.py

LOG = """#   Rank  0 Group  0 Pid 1 on n1 device  0 [0x18] NVIDIA H100 80GB HBM3
#   Rank  1 Group  0 Pid 2 on n1 device  1 [0x2a] NVIDIA H100 80GB HBM3
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
  1073741824     268435456     float     sum      -1   2900.0  370.00  370.00      0   2900.0  370.00  370.00      0
# Out of bounds values : 0 OK
"""


def a_report(node: str, *rails: Endpoint) -> Report:
    return Report(node, 1.0, 0.1, inventory=Inventory(), endpoints=rails)


def an_end(address: str | None, name: str = "ens1np0", up: bool = True) -> Endpoint:
    return Endpoint(name, address, 9000, up)


def test_pairs_need_names(brctl: Brctl) -> None:
    result = brctl("diagnose", "comm")
    assert (result.code, result.err.splitlines()[0]) == (2, "error: pairs of nodes are tested, and none are named")


def test_mocked_machines_have_no_network(brctl: Brctl) -> None:
    result = brctl("--mock", "dgx-h100", "diagnose", "comm", "-w", "n[1-2]")
    assert (result.code, result.err.splitlines()[0]) == (2, "error: there is no network between mocked machines")


def test_rails_are_those_that_two_nodes_have() -> None:
    reports = [
        a_report("n1", an_end("10.0.1.1"), an_end("10.0.2.1")),
        a_report("n2", an_end("10.0.1.2"), an_end("10.0.2.2", up=False)),
        a_report("n3", an_end(None)),
    ]
    assert {name: list(ends) for name, ends in _rails(reports, None).items()} == {"rail 1": ["n1", "n2"]}
    with pytest.raises(CommandError, match="fewer than two nodes have rail 2"):
        _rails(reports, 2)


def test_busy_nodes_are_refused() -> None:
    working = Gpu(0, "GPU-1", None, None, None, None, processes=(GpuProcess(4242, "compute", None, None, None, None),))
    busy = [a_report("n1"), a_report("n2")._replace(inventory=Inventory(gpus=(working,)))]
    _refuse_busy(busy[:1])
    with pytest.raises(CommandError, match="GPUs are in use on n2"):
        _refuse_busy(busy)


def test_the_plan_names_pairs_minutes_and_disturbance() -> None:
    reports = [a_report(f"n{i}", an_end(f"10.0.1.{i}")) for i in range(1, 5)]
    text = _told(_rails(reports, None), Level.full)
    assert "rail 1: 4 nodes, packets of 9000 bytes\n  round 1: n1-n2, n3-n4\n  round 2: n1-n3, n2-n4\n" in text
    assert "about 0.3 minutes" in text
    assert "ib_write_bw -D 2" in text
    assert "iperf3 --time 2, there and back" in text
    assert "iperf3" not in _told(_rails(reports, None), Level.quick)


def test_a_log_is_judged(brctl: Brctl) -> None:
    Path("nccl.log").write_text(LOG)
    result = brctl("diagnose", "comm", "--from-log", "nccl.log", "--link-rate", "400Gb/s", "--strict")
    assert result.code == 0
    assert "bus bandwidth    370 GB/s at its best" in result.out
    assert "nccl-tests: nothing wrong" in result.out
    Path("nccl.log").write_text(LOG.replace("0 OK", "7 FAILED"))
    worse = brctl("diagnose", "comm", "--from-log", "nccl.log", "-o", "json")
    assert worse.code == 1
    plain = json.loads(worse.out)
    assert plain["schema_version"] == 1
    assert plain["figures"]["ranks"] == "2 on 1 host"
    assert plain["findings"][0]["check"] == "comm-corruption"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--from-log", "none.log"], "cannot read none.log: No such file or directory"),
        (["--from-log", "other.log"], "other.log is no log of nccl-tests, nvbandwidth or perftest"),
        (["--from-log", "nccl.log", "--link-rate", "400"], "--link-rate 400: 400 has no unit"),
    ],
)
def test_what_is_no_log(brctl: Brctl, options: list[str], error: str) -> None:
    Path("other.log").write_text("hello\n")
    Path("nccl.log").write_text(LOG)
    result = brctl("diagnose", "comm", *options)
    assert (result.code, result.err.splitlines()[0]) == (2, "error: " + error)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["-w", "n[1-2]", "--link-rate", "400Gb/s"], "--link-rate is of a log"),
        (["--from-log", "nccl.log", "--plan"], "--plan is of tests between nodes"),
        (["--from-log", "nccl.log", "--level", "quick"], "--level is of tests between nodes"),
    ],
)
def test_options_that_mean_nothing_are_refused(brctl: Brctl, options: list[str], error: str) -> None:
    Path("nccl.log").write_text(LOG)
    result = brctl("diagnose", "comm", *options)
    assert (result.code, result.err.splitlines()[0]) == (2, "error: " + error)


def test_a_collective_is_waited_for_longer_than_its_node_does(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def ask(session: FleetSession, *_: object) -> tuple[Report, ...]:
        limits.append(session.limits.answer_s)
        return (Report("n1", 1.0, 0.1, errors=(NodeError("timeout", "no answer"),)),)

    monkeypatch.setattr(FleetSession, "ask", ask)
    several = Inventory(gpus=(Gpu(0, "GPU-1", None, None, None, None), Gpu(1, "GPU-2", None, None, None, None)))
    asked = [a_report("n1")._replace(inventory=several), a_report("n2")]
    target = Target("n1", Expected(), (), None)
    run = FleetSession(Common(), None, "n1", [target], Transport(), Limits(answer_s=60.0), "warn")
    hung = _collectives(run, asked)
    assert limits == [180.0]
    judged = _judged(run, asked, {"rail 1": Result((), {}, {})}, hung)
    assert [one.summary for one in judged[0].findings][-1] == "not measured: all_reduce_perf: no answer"
    assert (exit_code(judged, "warn", strict=False), exit_code([*judged, *hung], "warn", strict=False)) == (0, 3)
    assert _collectives(run, asked[1:]) == ()
