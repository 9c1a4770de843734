"""What the commands show and do of many nodes, with mocked machines in this process."""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from brctl.cli import discover, scheduler
from brctl.cli.common import Common
from brctl.config.load import load
from brctl.fleet import engine
from brctl.fleet.command import CommandFailedError
from brctl.fleet.drain import NodeState
from brctl.fleet.order import Order
from brctl.mock.machines import load as machine
from brctl.node.agent import answer
from brctl.node.report import NodeError, Report

Brctl = Callable[..., Any]  # the fixture of conftest.py

MACHINE = Path(__file__).parents[2] / "brctl" / "mock" / "machines" / "dgx-h100.json"

CONFIG = """\
version: 1
cluster:
  name: c # the cluster
  nodes: "gpu[001-008],store01" # all of it
  groups:
    compute: {nodes: "gpu[001-008]", role: compute}
    storage: {nodes: store01, role: storage}
  sources: [config, "hosts:/etc/hosts"]
"""
HOSTS = "127.0.0.1 localhost\n10.0.0.1 gpu001\n10.0.0.9 gpu009.example gpu009\n10.0.0.200 printer\n"
MOCK = "dgx-h100,store01=cpu-only,gpu003=dgx-h100+gpu3-lost,gpu006=odd.json"
SILENT = {
    "gpu007": NodeError("refused", "connect to 10.0.0.7 port 22: Connection refused", "is its sshd running?"),
    "gpu008": NodeError("refused", "connect to 10.0.0.8 port 22: Connection refused", "is its sshd running?"),
}


def _ask_all(orders: Sequence[Order], *_: object, **__: object) -> tuple[Report, ...]:
    """The engine's place is taken: mocked machines answer in this process, and some are silent."""
    return tuple(
        Report(each.node, 0, 0, errors=(SILENT[each.node],))
        if each.node in SILENT
        else answer(machine(each.mock, each.node), each.request)._replace(node=each.node)
        for each in orders
    )


@pytest.fixture
def cluster(brctl: Brctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Brctl:
    """brctl for a config of eight GPU nodes, of which one lost a GPU, one has another driver and MTU, and two are
    silent; and a storage node."""
    (tmp_path / "cluster-config.yaml").write_text(CONFIG)
    (tmp_path / "hosts").write_text(HOSTS)
    odd = json.loads(MACHINE.read_text())
    odd["nvml"]["driver_version"] = "570.86.10"
    (port,) = (folder for folder in odd["files"] if folder.endswith("net/ens1np0/"))
    odd["files"][port]["mtu"] = "1500\n"
    (tmp_path / "odd.json").write_text(json.dumps(odd))
    monkeypatch.setattr(discover, "_read", lambda path, read=discover._read: read(str(tmp_path) + path[4:]))
    monkeypatch.setenv("BRCTL_MOCK", MOCK)
    monkeypatch.setattr(engine, "ask_all", _ask_all)
    return lambda *argv: brctl("-c", "cluster-config.yaml", *argv)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    ("name", "argv", "code"),
    [
        ("fleet-check", ["-w", "@all", "node-manager", "check"], 3),
        ("fleet-check-verbose", ["-w", "gpu[001-002,006]", "node-manager", "check", "-v"], 1),
        ("fleet-show", ["-w", "@all", "node-manager", "show"], 3),
        ("fleet-list", ["node-manager", "list", "--sort", "worst"], 3),
        ("fleet-discover", ["node-manager", "discover"], 3),
    ],
)
@pytest.mark.usefixtures("cluster")
def test_the_screens(look: Callable[..., Any], name: str, argv: list[str], code: int, width: int) -> None:
    result = look(name, width, *argv)
    assert (result.code, result.err) == (code, "")


def test_json_has_every_node_by_its_full_name(cluster: Brctl) -> None:
    result = cluster("-w", "@all", "node-manager", "check", "-o", "json")
    plain = json.loads(result.out)
    assert [report["node"] for report in plain["reports"]] == [f"gpu{i:03}" for i in range(1, 9)] + ["store01"]
    assert [report["errors"][0]["kind"] for report in plain["reports"] if report["errors"]] == ["refused"] * 2
    odd = next(report for report in plain["reports"] if report["node"] == "gpu006")
    warned = {finding["check"] for finding in odd["findings"] if finding["status"] == "warn"}
    assert warned == {"fleet-gpu-driver", "nic-mtu"}
    assert result.err == (
        "error: gpu[007-008]: refused: gpu007: connect to 10.0.0.7 port 22: Connection refused\n"
        "hint: is its sshd running?\n"
    )
    assert result.code == 3


def test_without_silent_nodes_the_findings_decide(cluster: Brctl) -> None:
    assert cluster("-w", "gpu[001-002,004-005]", "node-manager", "check").code == 0
    assert cluster("-w", "gpu[001-003]", "node-manager", "check").code == 1
    assert cluster("-w", "gpu[001,002,006]", "node-manager", "check", "--fail-on", "crit").code == 0
    assert cluster("-q", "-w", "gpu[001-002]", "node-manager", "check") == (0, "", "")


def test_require_gpu_holds_for_each_node_that_answers(cluster: Brctl) -> None:
    result = cluster("-w", "gpu001,store01,gpu007", "node-manager", "show", "--require-gpu", "-o", "yaml")
    assert result.code == 3
    assert "error: store01: no GPU answers, and --require-gpu was given\n" in result.err
    assert "gpu007: no GPU" not in result.err


def test_one_remote_node_is_shown_whole(cluster: Brctl) -> None:
    result = cluster("-w", "gpu003", "node-manager", "show")
    assert result.code == 0
    assert "LOST" in result.out
    assert result.out.startswith("gpu003  mock machine dgx-h100+gpu3-lost")


def test_verbose_shows_all_of_every_node(cluster: Brctl) -> None:
    out = cluster("-w", "gpu001,store01", "node-manager", "show", "-v").out
    assert "Count" in out
    assert "\ngpu001  mock machine" in out
    assert "\nstore01  mock machine" in out


def test_nodes_without_a_config(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "ask_all", _ask_all)
    result = brctl("-w", "gpu[001-002]", "--mock", "dgx-h100", "node-manager", "check")
    assert (result.code, result.err) == (0, "")
    assert "gpu[001-002]: ok\n" in result.out


def test_this_host_by_its_name_is_asked_as_without_nodes(cluster: Brctl) -> None:
    assert cluster("-w", "gpu001", "node-manager", "check") == cluster("node-manager", "check")


def test_mocks_that_contradict_or_lack(brctl: Brctl) -> None:
    two = brctl("-w", "gpu[1-2]", "--mock", "dgx-h100,cpu-only", "node-manager", "check")
    assert two.err == "error: --mock dgx-h100,cpu-only: dgx-h100 and cpu-only cannot both stand in for all nodes\n"
    none = brctl("-w", "gpu[1-2]", "--mock", "gpu1=dgx-h100", "node-manager", "check")
    assert none.err == (
        "error: --mock names no machine for gpu2\n"
        "hint: begin with a machine for all others: --mock dgx-h100,NODE=MACHINE\n"
    )
    wrong = brctl("-w", "gpu[1-2]", "--mock", "dgx-h100,gpu2=dgx-h10", "node-manager", "check")
    assert (wrong.code, "no machine is called 'dgx-h10'" in wrong.err) == (2, True)


TYPOS = ["@nogroup", "", "gpu[5-1]", "n[1-1000000000]", "gpu001!gpu001", "gpu099"]


@pytest.mark.parametrize("nodes", TYPOS)
@pytest.mark.parametrize(
    "command",
    [["show"], ["check"], ["list"], ["discover"], ["drain", "--reason", "x"], ["resume"]],
    ids=lambda it: it[0],
)
def test_a_typo_runs_nothing_anywhere(
    brctl: Brctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: str, command: list[str]
) -> None:
    """No process (the guard of conftest.py forbids it), no agent of this host, no scheduler."""
    (tmp_path / "cluster-config.yaml").write_text(
        CONFIG.replace('  sources: [config, "hosts:/etc/hosts"]\n', "") + SLURM
    )
    did: list[object] = []
    monkeypatch.setattr(engine, "ask_all", lambda *_, **__: did.append("asked"))
    monkeypatch.setattr("brctl.cli.session.LocalAgent", lambda *_: did.append("agent"))
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: did.append("process"))
    result = brctl("-c", "cluster-config.yaml", "-w", nodes, "node-manager", *command)
    assert (result.code, result.out, did) == (2, "", [])
    assert result.err.startswith("error: ")


SLURM = "scheduler: {kind: slurm}\n"
IDLE = NodeState("gpu001", "idle", closed=False, busy=False, down=False, responding=True)


class Fake:
    """A scheduler of eight nodes; the second is another's."""

    name = "Fake"

    def __init__(self) -> None:
        self.known = {f"gpu{i:03}": IDLE._replace(node=f"gpu{i:03}") for i in range(1, 9)}
        self.known["gpu002"] = self.known["gpu002"]._replace(word="drained", closed=True, reason="first", by="alice")
        self.did: list[tuple[object, ...]] = []
        self.interrupt = False
        self.silent = False

    def states(self) -> dict[str, NodeState]:
        if self.silent:
            raise CommandFailedError("`scontrol show nodes` did not answer within 30 s", "look at slurmctld")
        return self.known

    def close(self, state: NodeState, why: str) -> None:
        self.did.append(("close", state.node, why))

    def open(self, state: NodeState) -> None:
        self.did.append(("open", state.node))

    def settle(self, nodes: Sequence[str], limit_s: float) -> dict[str, Any]:
        if self.interrupt:
            raise KeyboardInterrupt
        self.did.append(("settle", *nodes, limit_s))
        return {}


@pytest.fixture
def slurm(cluster: Brctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """The scheduler of `cluster`, which is asked although the machines are mocked."""
    (tmp_path / "cluster-config.yaml").write_text(CONFIG + SLURM)
    fake = Fake()
    monkeypatch.setattr(scheduler, "Slurm", lambda: fake)
    monkeypatch.setattr(scheduler, "mocked", lambda _: ())
    return fake


def test_list_shows_what_the_scheduler_says(cluster: Brctl, slurm: Fake) -> None:
    result = cluster("node-manager", "list", "-o", "json", "--filter", "state=up", "--filter", "node=*00[23]*")
    second, third = json.loads(result.out)["nodes"]
    assert second == {
        "node": "gpu002",
        "state": "up",
        "scheduler": "drained",
        "gpus": 8,
        "gpus_faulty": 0,
        "model": "NVIDIA H100 80GB HBM3",
        "driver": "580.105.08",
        "worst": "ok",
        "reason": "first",
        "mock": "dgx-h100",
    }
    assert (third["scheduler"], third["gpus"], third["gpus_faulty"]) == ("idle", 7, 1)
    assert third["worst"] == "crit gpu-responding"


def test_list_without_an_answer_of_the_scheduler_is_3(cluster: Brctl, slurm: Fake) -> None:
    slurm.silent = True
    result = cluster("-w", "gpu[001-002]", "node-manager", "list", "-o", "json")
    assert (result.code, json.loads(result.out)["nodes"][0]["scheduler"]) == (3, None)
    assert result.err == "error: `scontrol show nodes` did not answer within 30 s\nhint: look at slurmctld\n"


def test_list_of_healthy_nodes_is_0(cluster: Brctl, slurm: Fake) -> None:
    assert cluster("-w", "gpu[001-003]", "node-manager", "list").code == 0


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["--sort", "wurst"], "error: there is no column 'wurst'; there are node, state, "),
        (["--filter", "up"], "error: 'up' is no filter such as state=up, worst!=ok or model=*H100*\n"),
    ],
)
def test_list_refuses_what_is_no_column(cluster: Brctl, argv: list[str], error: str) -> None:
    result = cluster("node-manager", "list", *argv)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(error)


def test_drain_and_what_it_says(cluster: Brctl, slurm: Fake) -> None:
    result = cluster(
        "-w", "gpu[001-002]", "node-manager", "drain", "--reason", "bad link", "--wait", "2m", "-o", "json"
    )
    assert [(it["node"], it["result"]) for it in json.loads(result.out)["nodes"]] == [
        ("gpu001", "drained"),
        ("gpu002", "refused"),
    ]
    assert (result.code, result.err) == (3, "")
    assert slurm.did == [("close", "gpu001", "brctl: bad link"), ("settle", "gpu001", 120.0)]


def test_drain_without_nodes_is_of_this_host(cluster: Brctl, slurm: Fake) -> None:
    assert cluster("node-manager", "drain", "--reason", "x").code == 0
    assert cluster("--as", "gpu004", "node-manager", "drain", "--reason", "x").code == 0
    assert [it[:2] for it in slurm.did if it[0] == "close"] == [("close", "gpu001"), ("close", "gpu004")]
    stranger = cluster("--as", "gpu044", "node-manager", "drain", "--reason", "x")
    assert (stranger.code, stranger.err.splitlines()[0]) == (
        2,
        "error: --as gpu044: cluster-config.yaml has no such node",
    )


def test_resume(cluster: Brctl, slurm: Fake) -> None:
    result = cluster("-w", "gpu[001-002]", "node-manager", "resume")
    assert result.code == 3
    assert result.out.startswith("UNCHANGED  gpu001  idle before\nREFUSED    gpu002  drained by alice, not by brctl")
    assert cluster("-w", "gpu002", "node-manager", "resume", "--force").code == 0
    assert slurm.did == [("open", "gpu002")]


@pytest.mark.parametrize("command", [["drain", "--reason", "x"], ["resume"]])
def test_more_nodes_than_allowed_are_not_touched(cluster: Brctl, slurm: Fake, command: list[str]) -> None:
    result = cluster("-w", "@all", "node-manager", *command)
    assert (result.code, result.err) == (
        2,
        "error: 9 nodes at once; at most 8\nhint: if you mean it: --max-nodes 9\n",
    )
    assert slurm.did == []
    assert cluster("-w", "gpu[001,003]", "node-manager", *command, "--max-nodes", "1").code == 2


def test_ctrl_c_while_it_waits_shows_what_was_done(cluster: Brctl, slurm: Fake) -> None:
    slurm.interrupt = True
    result = cluster("-w", "gpu001", "node-manager", "drain", "--reason", "x", "--wait", "1h")
    assert result.code == 130
    assert result.out == "DRAINING   gpu001  takes no new jobs: brctl: x\n"
    assert result.err == "error: interrupted; what is listed was done, and stays\n"


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["--reason", "a\nb"], "error: --reason: a reason is one line of text\n"),
        (["--reason", "x", "--wait", "5"], "error: --wait 5: 5 has no unit\n"),
        ([], "error: Missing option '--reason'."),
        (["--reason", "x", "--max-nodes", "0"], "error: Invalid value for '--max-nodes'"),
    ],
)
def test_wrong_usage_of_drain(cluster: Brctl, slurm: Fake, argv: list[str], error: str) -> None:
    result = cluster("-w", "gpu001", "node-manager", "drain", *argv)
    assert result.code == 2
    assert result.err.startswith(error)
    assert slurm.did == []


def test_where_there_is_no_scheduler(brctl: Brctl, cluster: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    drain = ("-w", "gpu001", "node-manager", "drain", "--reason", "x")
    assert cluster(*drain).err == (
        "error: no scheduler is asked about mocked machines\nhint: leave out --mock and $BRCTL_MOCK\n"
    )
    assert cluster("node-manager", "check", "--act").code == 2
    monkeypatch.delenv("BRCTL_MOCK")
    assert cluster(*drain).err == (
        "error: scheduler.kind is none in cluster-config.yaml\n"
        "hint: say `scheduler: {kind: slurm}` there, or kubernetes\n"
    )
    Path("cluster-config.yaml").unlink()
    assert brctl(*drain).err == (
        "error: there is no config\n"
        "hint: name it with --config; `brctl config init > cluster-config.yaml` writes a first one\n"
    )


def test_a_verdict_drains_only_with_act(cluster: Brctl, slurm: Fake) -> None:
    nodes = ("-w", "gpu[001-005]", "node-manager", "check")
    assert cluster(*nodes).code == 1
    assert slurm.did == []
    result = cluster(*nodes, "--act", "-o", "json")
    assert result.code == 1
    assert slurm.did == [("close", "gpu003", "brctl: gpu-responding: GPU 3")]
    (outcome,) = json.loads(result.out)["drained"]
    assert (outcome["node"], outcome["result"]) == ("gpu003", "draining")
    assert cluster("-w", "gpu[001-002]", "node-manager", "check", "--act").code == 0


def test_a_verdict_on_many_drains_none(cluster: Brctl, slurm: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRCTL_MOCK", "dgx-h100+gpu3-lost")
    result = cluster("-w", "gpu[001-003]", "node-manager", "check", "--act", "--max-nodes", "2")
    assert (result.code, slurm.did) == (3, [])
    assert result.err == (
        "error: 3 nodes are critical, and none is drained: at most 2\n"
        "hint: look first, as so many at once have one cause; then --max-nodes 3\n"
    )


def test_a_verdict_on_a_node_that_another_drained_is_3(cluster: Brctl, slurm: Fake) -> None:
    slurm.known["gpu003"] = slurm.known["gpu002"]._replace(node="gpu003")
    result = cluster("-w", "gpu[001-003]", "node-manager", "check", "--act")
    assert result.code == 3
    assert "REFUSED    gpu003  drained by alice, not by brctl: first\n" in result.out


def test_a_silent_scheduler_is_told_beside_the_findings(cluster: Brctl, slurm: Fake) -> None:
    slurm.silent = True
    result = cluster("-w", "gpu[001-003]", "node-manager", "check", "--act")
    assert result.code == 3
    assert "CRIT" in result.out
    assert "did not answer within 30 s" in result.err


@pytest.fixture
def reachable(cluster: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """No node is silent."""
    for node in list(SILENT):
        monkeypatch.delitem(SILENT, node)


def test_discover_prints_a_change_and_writes_it_only_when_told(cluster: Brctl, reachable: None, tmp_path: Path) -> None:
    config = tmp_path / "cluster-config.yaml"
    assert cluster("node-manager", "discover").code == 1
    assert config.read_text() == CONFIG
    result = cluster("node-manager", "discover", "--yes")
    assert result.code == 0
    assert "written; put the new nodes into groups" in result.out
    assert config.read_text() == CONFIG.replace("gpu[001-008],store01", "gpu[001-009],store01")
    again = cluster("node-manager", "discover")
    assert (again.code, "+++" in again.out) == (0, False)


def test_discover_as_data(cluster: Brctl, reachable: None) -> None:
    found = json.loads(cluster("node-manager", "discover", "-o", "json").out)["discovery"]
    assert [source["source"] for source in found["sources"]] == ["config", "hosts:/etc/hosts"]
    assert found["unexpected"] == ["gpu009"]
    assert found["sources"][1]["missing"] == [*(f"gpu{i:03}" for i in range(2, 9)), "store01"]
    assert found["answered"] == [*(f"gpu{i:03}" for i in range(1, 10)), "store01"]
    assert [line for line in found["diff"] if line.startswith(("-", "+"))][2:] == [
        '-  nodes: "gpu[001-008],store01" # all of it',
        '+  nodes: "gpu[001-009],store01" # all of it',
    ]


def test_discover_asks_only_the_nodes_that_are_named(cluster: Brctl, reachable: None) -> None:
    found = json.loads(cluster("-w", "gpu001,gpu002", "node-manager", "discover", "-o", "json").out)["discovery"]
    assert found["answered"] == ["gpu001", "gpu002"]


def test_a_source_that_cannot_be_asked_is_3(
    cluster: Brctl, reachable: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hosts").unlink()
    config = tmp_path / "cluster-config.yaml"
    config.write_text(CONFIG.replace("[config,", "[config, slurm, kubernetes,"))
    result = cluster("node-manager", "discover", "-o", "json")
    sources = json.loads(result.out)["discovery"]["sources"]
    assert result.code == 3
    assert [source["error"] for source in sources] == [
        None,
        "it is not asked about mocked machines",
        "it is not asked about mocked machines",
        f"cannot read {tmp_path}/hosts: No such file or directory",
    ]
    monkeypatch.setattr(discover, "mocked", lambda _: ())
    monkeypatch.setattr(discover, "Slurm", Fake)
    monkeypatch.setattr(scheduler, "Kubernetes", lambda *_: Fake())
    said = discover.ask(Common(), load(config))
    assert (said[1].missing, said[1].unexpected) == (("store01",), ())


def test_discover_without_a_config_is_2(brctl: Brctl) -> None:
    result = brctl("--mock", "dgx-h100", "node-manager", "discover")
    assert (result.code, result.err) == (
        2,
        "error: there is no config\nhint: `brctl config init > cluster-config.yaml` writes a first one\n",
    )


def test_check_beside_discover(cluster: Brctl, reachable: None) -> None:
    result = cluster("-w", "@all", "node-manager", "check", "--discover")
    assert result.code == 1
    assert result.out.index("unexpected: gpu009") < result.out.index("CRIT")
    plain = json.loads(cluster("-w", "@all", "node-manager", "check", "--discover", "-o", "json").out)
    assert plain["discovery"]["unexpected"] == ["gpu009"]
    assert len(plain["reports"]) == 9
    assert cluster("-q", "-w", "gpu001,gpu002", "node-manager", "check", "--discover") == (1, "", "")


@pytest.mark.parametrize("command", [["check", "--act", "--discover"], ["discover", "--yes"], ["list"]])
def test_after_ctrl_c_nothing_is_done_to_nodes_or_the_config(
    cluster: Brctl, slurm: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    def interrupted(orders: Sequence[Order], *_: object, **__: object) -> tuple[Report, ...]:
        *heard, last = _ask_all(orders)
        not_asked = NodeError("not-asked", "interrupted before it was asked")
        raise engine.InterruptedRunError((*heard, last._replace(inventory=None, findings=(), errors=(not_asked,))))

    monkeypatch.setattr(engine, "ask_all", interrupted)
    result = cluster("-w", "@all", "node-manager", *command)
    assert (result.code, slurm.did) == (130, [])
    assert "gpu0" in result.out
    assert (tmp_path / "cluster-config.yaml").read_text() == CONFIG + SLURM


def test_what_the_nodes_note_is_told_once(cluster: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask_all(orders: Sequence[Order], *_: object, **__: object) -> tuple[Report, ...]:
        return tuple(report._replace(notes=("the login prints: hi",)) for report in _ask_all(orders))

    monkeypatch.setattr(engine, "ask_all", ask_all)
    argv = ("-w", "gpu[001-002]", "node-manager", "show")
    assert cluster(*argv).err == "warning: gpu[001-002]: the login prints: hi\n"
    assert cluster(*argv, "-q").err == ""


def test_capabilities_of_many_nodes_begin_with_the_silent(cluster: Brctl) -> None:
    result = cluster("-w", "gpu[001,007-008]", "node-manager", "capabilities")
    assert (result.code, result.err) == (3, "")
    assert result.out.startswith("NO ANSWER  gpu[007-008]\n  refused: gpu007: connect to 10.0.0.7")
    assert "\ngpu001  mock machine dgx-h100" in result.out
