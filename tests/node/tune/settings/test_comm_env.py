"""The block in /etc/nccl.conf: written, kept, taken back."""

from typing import Any, Dict

import pytest

from brctl.mock.machines import load
from brctl.node import agent
from brctl.node.report import Change, Outcome, Report
from brctl.node.request import Communication, RailOut, Request, Setenv, Tuning

CONF = "/etc/nccl.conf"
BLOCK = """# brctl: from here on
NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7
NCCL_SOCKET_IFNAME==eno1
NCCL_IB_GID_INDEX=3
NCCL_IB_TC=104
# brctl: up to here
"""


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("BRCTL_STATE_DIR", str(tmp_path))


def ask(action: str, machine: str = "hgx-b200", **comm: Any) -> Report:
    given: Dict[str, Any] = {"dscp": 26, "declared": True, **comm}
    order = Tuning(settings=("comm-env",))
    return agent.answer(load(machine, "n1"), Request("n1", action, tune=order, comm=Communication(**given)))


def only(report: Report) -> Change:
    assert report.errors == ()
    (change,) = report.changes
    return change


def test_written_and_taken_back() -> None:
    host = load("hgx-b200", "n1")
    planned = only(ask("tune-plan"))
    assert (planned.outcome, planned.live) == (Outcome.PENDING, "no file")
    assert planned.wanted == "4 variables"
    assert planned.effects == ("written: NCCL_IB_HCA, NCCL_SOCKET_IFNAME, NCCL_IB_GID_INDEX, NCCL_IB_TC",)
    assert only(ask("tune-apply")).outcome is Outcome.CHANGED
    assert host.read(CONF) == BLOCK
    assert only(ask("tune-plan")).outcome is Outcome.OK
    assert only(ask("tune-rollback")).outcome is Outcome.RESTORED
    assert host.read(CONF) is None


def test_the_operators_lines_stay_and_win() -> None:
    host = load("hgx-b200", "n1")
    host.replace(CONF, b"# \xff mine\nNCCL_IB_TC=96\n")
    assert only(ask("tune-plan")).effects == (
        "written: NCCL_IB_HCA, NCCL_SOCKET_IFNAME, NCCL_IB_GID_INDEX",
        "left as the operator wrote it: NCCL_IB_TC",
    )
    ask("tune-apply")
    assert host.read_bytes(CONF) == b"# \xff mine\nNCCL_IB_TC=96\n" + BLOCK.replace("NCCL_IB_TC=104\n", "").encode()
    ask("tune-rollback")
    assert host.read_bytes(CONF) == b"# \xff mine\nNCCL_IB_TC=96\n"


def test_nothing_is_wanted_where_nothing_is_declared() -> None:
    assert ask("tune-plan", declared=False).changes == ()
    assert ask("tune-plan", machine="cpu-only").changes == ()


def test_refused_with_the_reason() -> None:
    planned = only(ask("tune-plan", machine="l40s-pcie", rails=8, env=(Setenv("NCCL_DEBUG", "WARN"),)))
    assert planned.outcome is Outcome.REFUSED
    assert planned.reason == "comm.rails is 8, and 2 RDMA ports are here: see hardware.nics.interfaces"


def test_a_rail_that_is_out_is_told_and_left_out() -> None:
    out = RailOut(2, 8, "network-loss on n2")
    planned = only(ask("tune-apply", out=out))
    assert planned.outcome is Outcome.CHANGED
    assert only(ask("tune-plan", out=out)).effects[0] == (
        "mlx5_2, rail 2 of 8, is left out on all nodes: network-loss on n2"
    )
    assert load("hgx-b200", "n1").read(CONF) == BLOCK.replace("mlx5_2,", "")
    assert only(ask("tune-plan")).outcome is Outcome.PENDING


@pytest.mark.parametrize(
    "value", ["/scratch/j\u00fcrgen/%h.log", "/scratch/\u30d7\u30ed/%h.log", "/\u0445/NCCL_IB_TC=1"]
)
def test_values_beyond_ascii(value: str) -> None:
    env = (Setenv("NCCL_DEBUG_FILE", value),)
    assert only(ask("tune-apply", env=env)).outcome is Outcome.CHANGED
    text = load("hgx-b200", "n1").read(CONF) or ""
    assert "NCCL_DEBUG_FILE={}\n".format(value) in text
    assert "\nNCCL_IB_TC=104\n" in text
    assert only(ask("tune-plan", env=env)).outcome is Outcome.OK
    assert only(ask("tune-rollback")).outcome is Outcome.RESTORED
