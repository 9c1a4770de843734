"""brctl tune env: the communication environment of jobs, rendered, linted, compared."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from .common import common
from .errors import CLEAN, INCOMPLETE, CommandError, tell
from .files import unreadable
from .node_manager import FAIL_ON, STRICT, FailOn, finish

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..node.report import Report
    from .fleet import FleetSession
    from .session import Session

LARGEST_BYTES = 1 << 20
"""Of a file to lint: an environment, or a job's script."""


_LONGEST_PID = len(str(1 << 22))
"""PID_MAX_LIMIT of the kernel (include/linux/threads.h)."""


class Format(str, Enum):
    """What the environment is written for."""

    shell = "shell"
    nccl_conf = "nccl-conf"
    systemd = "systemd"
    slurm = "slurm"
    kubernetes = "kubernetes"


class Framework(str, Enum):
    """What the jobs run."""

    megatron_tp = "megatron-tp"
    fsdp = "fsdp"
    ddp = "ddp"


class _Source(NamedTuple):
    """What is linted."""

    where: str
    text: str
    pid: int | None


def env(
    ctx: typer.Context,
    form: Format = typer.Option(Format.shell, "--format", help="What to write it for."),
    framework: Framework | None = typer.Option(None, "--framework", help="What the jobs run; else as configured."),
    lint: str | None = typer.Option(
        None, "--lint", metavar="FILE|-|PID", help="Say what is wrong with the environment in a file or of a process."
    ),
    compare: bool = typer.Option(False, "--compare", help="Name the nodes whose environment differs."),
    fail_on: FailOn | None = FAIL_ON,
    strict: bool = STRICT,
) -> None:
    """Print the environment that jobs should have here, with a reason for each line; or judge one."""
    from .. import render
    from .session import session
    from .verdict import exit_code

    if lint is not None and compare:
        raise CommandError("--lint and --compare are two questions", "give one of them")
    output = common(ctx).form("table", "json", "yaml")
    source = _source(lint) if lint is not None else None
    with session(ctx) as run:
        run = _asking(run, framework.value if framework else None, source.pid if source else None)
        reports = run.ask("comm", meanwhile=lambda: render.prepare(output))
    if source is None and not compare:
        render.environment(reports, output, form.value)
        raise typer.Exit(_told(reports))
    judged = _compared(reports) if source is None else _linted(run, source, reports)
    render.check(judged, output, run.common.quiet, run.common.verbose, command="tune env")
    code = exit_code(judged, fail_on.value if fail_on else run.fail_on, strict)
    raise typer.Exit(finish(run.common, judged, output, code))


def _asking(run: Session | FleetSession, framework: str | None, pid: int | None) -> Session | FleetSession:
    """The same run, with what the command line adds."""
    given = [target.comm._replace(framework=framework or target.comm.framework, pid=pid) for target in run.targets]
    return run._replace(targets=[each._replace(comm=comm) for each, comm in zip(run.targets, given, strict=True)])


def _source(lint: str) -> _Source:
    """Raises CommandError: it cannot be read, or is no environment."""
    if lint.isascii() and lint.isdecimal():
        if len(lint) > _LONGEST_PID or int(lint) == 0:
            raise CommandError(f"--lint {lint}: there is no such PID", "a file of that name: --lint ./NAME")
        return _Source(f"process {lint}", "", int(lint))
    name = "standard input" if lint == "-" else lint
    try:
        with sys.stdin.buffer if lint == "-" else Path(lint).open("rb") as stream:
            data = stream.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise unreadable(name, error) from None
    if len(data) > LARGEST_BYTES or b"\0" in data:
        raise CommandError(f"{name} is no environment: it is larger than 1 MiB or no text")
    return _Source(name, data.decode("utf-8", "replace"), None)


def _linted(run: Session | FleetSession, source: _Source, reports: Sequence[Report]) -> Sequence[Report]:
    from ..node.comm.case import Case
    from ..node.comm.lint import lint
    from ..node.comm.settings import is_conf, of_conf, of_process, of_shell
    from ..node.facts import Inventory
    from ..node.report import NodeError

    conf = is_conf(source.where)
    linted = []
    for report, target in zip(reports, run.targets, strict=True):
        process = report.environment.process if report.environment else None
        found = of_process(process or "") if source.pid else of_conf(source.text) if conf else of_shell(source.text)
        case = Case(found, source.where, conf, target.comm, target.expected, report.inventory or Inventory())
        if source.pid and process is None and not report.errors:
            absent = NodeError("no-process", f"there is no process {source.pid}")
            report = report._replace(errors=(absent,))
        linted.append(report if report.errors else report._replace(findings=lint(case)))
    return linted


def _compared(reports: Sequence[Report]) -> Sequence[Report]:
    from ..fleet.environments import compared

    if len(reports) < 2:
        raise CommandError("one node alone has nothing to be compared with", "name nodes: --nodes SET")
    return compared(reports)


def _told(reports: Sequence[Report]) -> int:
    """Say on stderr which nodes get none, and why."""
    from .verdict import exit_code

    code = exit_code(reports, "crit", strict=False)
    for report in reports:
        if report.environment and report.environment.refused:
            tell(f"{report.node}: {report.environment.refused}")
            code = max(code, INCOMPLETE)
        for error in report.errors if len(reports) == 1 else ():
            tell(f"{report.node}: {error.message}", error.hint)
    return code or CLEAN
