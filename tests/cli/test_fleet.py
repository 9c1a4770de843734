"""Commands over many nodes: which nodes, by which transport, within which limits."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from brctl.cli import fleet
from brctl.cli.common import Common
from brctl.cli.errors import CommandError
from brctl.cli.fleet import FleetSession, Mocks, parse_mocks
from brctl.cli.verdict import exit_code
from brctl.fleet import engine
from brctl.fleet.engine import InterruptedRunError
from brctl.fleet.order import Limits, Order, Progress
from brctl.fleet.transport import Transport, TransportError
from brctl.node.report import NodeError, Report
from brctl.node.request import ExpectedAccelerator
from brctl.render import progress

Brctl = Callable[..., Any]  # the fixture of conftest.py

CONFIG = """\
version: 1
cluster: {name: c, nodes: "gpu[001-004]", groups: {compute: {nodes: "gpu[001-004]"}}}
hardware: {compute: {accelerator: {count: 8}}}
diagnose: {fail_on: crit}
"""
TRANSPORT = """\
transport: {kind: exec, template: "srun -N1 -w %host", user: op, port: 2222, proxy_jump: login, ssh_config: /etc/ssh,
  options: {Compression: "yes"}, python: /opt/python, sudo: true, fanout: 16, connect_timeout: 3s, command_timeout: 20s}
"""


class Asked:
    """What reached the engine."""

    def __init__(self) -> None:
        self.answers: tuple[Report, ...] = ()
        self.orders: Sequence[Order] = ()
        self.transport, self.limits = Transport(), Limits()

    def ask_all(self, orders: Sequence[Order], transport: Transport, limits: Limits, **_: object) -> tuple[Report, ...]:
        self.orders, self.transport, self.limits = orders, transport, limits
        return self.answers or tuple(Report(order.node, 0, 0) for order in orders)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    stand_in = Asked()
    monkeypatch.setattr(engine, "ask_all", stand_in.ask_all)
    return stand_in


def test_each_node_is_asked_what_the_config_says_of_it(brctl: Brctl, asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG + TRANSPORT + "overrides: [{nodes: gpu002, hardware: {memory: 1TiB}}]\n")
    result = brctl("-c", "c.yaml", "-w", "gpu[001-002]", "--as", "gpu001", "node-manager", "check", "-o", "json")
    assert (result.code, result.err) == (0, "")
    assert [report["node"] for report in json.loads(result.out)["reports"]] == ["gpu001", "gpu002"]
    assert [(order.node, order.request.node, order.request.action, order.mock) for order in asked.orders] == [
        ("gpu001", "gpu001", "check", None),
        ("gpu002", "gpu002", "check", None),
    ]
    assert [order.request.expected.memory_bytes for order in asked.orders] == [None, 1 << 40]
    assert asked.orders[0].request.expected.accelerator == ExpectedAccelerator(gpu_count=8)
    assert asked.transport == Transport(
        "exec",
        ("srun", "-N1", "-w", "%host"),
        "op",
        2222,
        "login",
        "/etc/ssh",
        (("Compression", "yes"),),
        "/opt/python",
        True,
        "gpu001",
    )
    assert asked.limits == Limits(16, 3, 20, 20)


def test_flags_win_over_the_config(brctl: Brctl, asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG + TRANSPORT)
    argv = ["-c", "c.yaml", "-w", "@all", "node-manager", "show", "-o", "json"]
    assert brctl(*argv, "--fanout", "2", "--timeout", "5s").code == 0
    assert asked.limits == Limits(2, 3, 15, 5)
    assert len(asked.orders) == 4


def test_a_tree_is_for_many_nodes_and_for_ssh(brctl: Brctl, asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG + 'transport: {tree: {gateways: "gw[1-2],gpu001", above: 2}}\n')
    argv = ["-c", "c.yaml", "node-manager", "show", "-o", "json", "-w"]
    assert brctl(*argv, "gpu[001-002]").err == ""
    assert asked.transport.gateways == ()
    assert brctl(*argv, "@all").err == ""
    assert asked.transport.gateways == ("gpu001", "gw1", "gw2")
    text = "transport: {kind: exec, template: srun -w %host, tree: {gateways: gpu001, above: 2}}\n"
    (tmp_path / "c.yaml").write_text(CONFIG + text)
    assert brctl(*argv, "@all").err == "warning: transport.tree is for ssh; transport.kind is exec\n"
    assert asked.transport.gateways == ()


def test_without_a_config_nodes_are_reached_by_ssh(brctl: Brctl, asked: Asked) -> None:
    assert brctl("-w", "n[1-3]", "--as", "n9", "node-manager", "show", "-o", "json").code == 0
    assert asked.transport == Transport(here="n9")
    assert asked.limits == Limits()
    assert [order.node for order in asked.orders] == ["n1", "n2", "n3"]


def test_mocks_open_no_transport(brctl: Brctl, asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG + TRANSPORT)
    mock = "cpu-only,gpu003=dgx-h100+gpu3-lost"
    assert brctl("-c", "c.yaml", "-w", "@all", "--mock", mock, "node-manager", "check", "-o", "json").code == 0
    assert {order.node: order.mock for order in asked.orders} == {
        "gpu001": "cpu-only",
        "gpu002": "cpu-only",
        "gpu003": "dgx-h100+gpu3-lost",
        "gpu004": "cpu-only",
    }
    assert asked.transport == Transport()


def test_one_node_of_its_own_name_is_this_host(brctl: Brctl, asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)
    result = brctl("-c", "c.yaml", "-w", "gpu001", "--mock", "dgx-h100", "node-manager", "check")
    assert (result.code, result.err, asked.orders) == (0, "", ())
    assert "PASS    gpu-count" in result.out


def test_this_host_may_have_a_machine_of_its_own(brctl: Brctl) -> None:
    argv = ["--mock", "dgx-h100,gpu7=cpu-only", "node-manager", "show"]
    assert "mock machine dgx-h100" in brctl(*argv).out
    assert "mock machine cpu-only" in brctl(*argv, "--as", "gpu7").out


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["--mock", "cpu-only,dgx-h100"], "cpu-only and dgx-h100 cannot both stand in for all nodes\n"),
        (["--mock", "gpu1=cpu-only"], "error: --mock names no machine for this host\n"),
        (["--mock", "gpu1=cpu-only", "-w", "gpu[1-2]"], "error: --mock names no machine for gpu2\nhint: begin with"),
        (["--mock", "cpu-only,gpu1=dgx", "-w", "gpu[1-2]"], "error: no machine is called 'dgx'\n"),
        (["-c", "c.yaml", "-w", "gpu[004-005]"], "error: not among cluster.nodes: gpu005\n"),
        (["-c", "c.yaml", "-w", "@nogroup"], "error: no group is called 'nogroup'\n"),
        (["-c", "c.yaml", "-w", "@all!@all"], "error: the node set is empty\n"),
        (["-c", "local.yaml", "-w", "gpu[001-002]"], "error: transport.kind is local: only this host can be reached\n"),
        (["-c", "exec.yaml", "-w", "gpu[001-002]"], "error: transport.template: No closing quotation\n"),
        (["-c", "c.yaml", "-w", "gpu[001-002]", "--as", "gpu9"], "error: --as gpu9: c.yaml has no such node\n"),
    ],
)
def test_a_wrong_target_is_2_and_nothing_is_asked(
    brctl: Brctl, asked: Asked, tmp_path: Path, argv: list[str], error: str
) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)
    (tmp_path / "local.yaml").write_text(CONFIG + "transport: {kind: local}\n")
    (tmp_path / "exec.yaml").write_text(CONFIG + 'transport: {kind: exec, template: "srun \'%host"}\n')
    result = brctl(*argv, "node-manager", "check")
    assert (result.code, result.out, asked.orders) == (2, "", ())
    assert error in result.err


def test_what_hinders_nodes_is_told_and_3(brctl: Brctl, asked: Asked) -> None:
    asked.answers = (
        Report("a", 0, 0, errors=(NodeError("dns", "no \x1b[31m name", "write it"),)),
        Report("b", 0, 0, notes=("it prints \x07",)),
    )
    result = brctl("-w", "a,b", "node-manager", "show", "-o", "json")
    strange = "\N{REPLACEMENT CHARACTER}"
    assert result.code == 3
    assert result.err == f"error: a: dns: no {strange}[31m name\nhint: write it\nwarning: b: it prints {strange}\n"


def test_a_transport_that_cannot_work_is_3(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise TransportError("/run/brctl-ssh is not yours", "remove it")

    monkeypatch.setattr(engine, "ask_all", fail)
    result = brctl("-w", "a,b", "node-manager", "show")
    assert result == (3, "", "error: /run/brctl-ssh is not yours\nhint: remove it\n")


def test_ctrl_c_prints_what_there_is_and_is_130(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = (Report("a", 0, 0), Report("b", 0, 0, errors=(NodeError("not-asked", "interrupted"),)))

    def interrupt(*_: object, **__: object) -> None:
        raise InterruptedRunError(reports)

    monkeypatch.setattr(engine, "ask_all", interrupt)
    result = brctl("-w", "a,b", "node-manager", "show", "-o", "json")
    assert result.code == 130
    assert [report["node"] for report in json.loads(result.out)["reports"]] == ["a", "b"]


@pytest.mark.parametrize(("kind", "code"), [("interrupted", 130), ("not-asked", 130), ("refused", 3)])
def test_an_interrupt_beats_what_could_not_be_done(kind: str, code: int) -> None:
    reports = [Report("a", 0, 0, errors=(NodeError(each, ""),)) for each in ("dns", kind)]
    assert exit_code(reports, "warn", strict=True) == code


def test_clean_says_what_it_removed(brctl: Brctl, asked: Asked) -> None:
    asked.answers = (Report("a", 0, 0, notes=("removed \x1b",)),)
    result = brctl("-w", "a", "node-manager", "clean")
    assert result == (0, "a: removed \N{REPLACEMENT CHARACTER}\n", "")
    assert [(order.request.action, order.request.force) for order in asked.orders] == [("clean", False)]
    brctl("-w", "a", "node-manager", "clean", "--force")
    assert [(order.request.action, order.request.force) for order in asked.orders] == [("clean", True)]
    asked.answers = ()
    result = brctl("--as", "me", "node-manager", "clean", "-o", "json")
    assert (result.code, [order.node for order in asked.orders], asked.transport.here) == (0, ["me"], "me")


def test_progress_goes_to_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def ask_all(*_: object, on_tick: Callable[[Progress], None], **__: object) -> tuple[Report, ...]:
        on_tick(Progress(9, 3, 1, 2, "gpu4", 1.6))
        on_tick(Progress(9, 9, 1, 0, None, 0))
        return tuple(Report(target.node, 0, 0) for target in TARGETS)

    monkeypatch.setattr(engine, "ask_all", ask_all)
    monkeypatch.setenv("TERM", "xterm")
    for quiet, shown in ((True, ""), (False, SHOWN)):
        run = FleetSession(Common(quiet=quiet), None, "", TARGETS, Transport(), Limits(), "warn")
        run.ask("show", lambda: None)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        run.ask("show", lambda: None)
        assert capsys.readouterr() == ("", shown)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: False)


def test_what_is_wrong_is_told_while_others_are_still_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask_all(
        *_: object, on_report: Callable[[Report], None], on_tick: Callable[[Progress], None]
    ) -> tuple[Report, ...]:
        on_report(Report("n3", 0, 0, errors=(NodeError("refused", "Connection refused"),)))
        on_tick(Progress(9, 1, 1, 8, "n0", 2.5))
        return tuple(Report(target.node, 0, 0) for target in TARGETS)

    monkeypatch.setattr(engine, "ask_all", ask_all)
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    for given, shown in (
        (Common(), ""),
        (Common(verbose=True), "n3: NO ANSWER  refused: Connection refused\n"),
        (Common(verbose=True, quiet=True), ""),
    ):
        FleetSession(given, None, "", TARGETS, Transport(), Limits(), "warn").ask("show", lambda: None)
        assert capsys.readouterr() == ("", shown)


TARGETS = [fleet.target(f"n{i}", None) for i in range(9)]
SHOWN = "\r\x1b[K3 of 9 done, 1 failed, 2 running, slowest gpu4 (2 s)\r\x1b[K9 of 9 done, 1 failed\r\x1b[K"


def test_mocks() -> None:
    assert parse_mocks("") == Mocks()
    assert parse_mocks("").of("a") is None
    assert parse_mocks("x,a=y,b=z+f@1") == Mocks("x", {"a": "y", "b": "z+f@1"})
    with pytest.raises(CommandError, match="this host"):
        parse_mocks("a=y").of(None)
    assert fleet.target("a", None, "x") == fleet.Target("a", fleet.Expected(), (), "x")


@pytest.mark.process
def test_mocked_nodes_are_children_and_stdin_is_left_alone(tmp_path: Path) -> None:
    script = '"$@" -o json >out; echo "$?"; cat'
    brctl = [
        sys.executable,
        "-m",
        "brctl",
        "--mock",
        "cpu-only,b=dgx-h100+gpu3-lost",
        "-w",
        "a,b",
        "node-manager",
        "check",
    ]
    done = subprocess.run(
        ["sh", "-c", script, "-", *brctl],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        input=b"not for brctl\n",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == (b"1\nnot for brctl\n", b"")
    first, second = json.loads((tmp_path / "out").read_text())["reports"]
    assert (first["node"], first["mock"]["machine"]) == ("a", "cpu-only")
    assert (second["node"], second["mock"]["machine"]) == ("b", "dgx-h100+gpu3-lost")
