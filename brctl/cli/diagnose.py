"""brctl diagnose: the evidence about a machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from . import diagnose_log
from .common import FORMS, MORE_FORMS, Command, FleetCommand, Group, common, completion
from .diagnose_comm import comm
from .errors import tell
from .files import refuse, write
from .node_manager import FAIL_ON, STRICT, FailOn, finish

if TYPE_CHECKING:
    from ..node.report import Report
    from .fleet import FleetSession
    from .session import Session

app = typer.Typer(cls=Group, help="Whether a machine and its network are well, and if not, why: with the evidence.")


class Level(str, Enum):
    """How far apart the two looks are."""

    quick = "quick"
    full = "full"


LEVEL = typer.Option(Level.quick, "--level", help="quick looks twice 100 ms apart, full --interval apart.")
INTERVAL = typer.Option(None, "--interval", metavar="TIME", help="Of --level full: 5s, 1m.  [5s]")
BASELINE = typer.Option(
    None, "--baseline", metavar="FILE", help="The JSON of an earlier run, whose counters are compared too."
)


@app.command(cls=FleetCommand)
def run(
    ctx: typer.Context,
    only: list[str] = typer.Option(
        [],
        "--only",
        metavar="ID|GROUP",
        help="These checks alone: gpu-ecc-rate, gpu, network, host, log. Repeatable.",
        autocompletion=completion("checks"),
    ),
    skip: list[str] = typer.Option(
        [], "--skip", metavar="ID|GROUP", help="Without these.", autocompletion=completion("checks")
    ),
    level: Level = LEVEL,
    interval: str | None = INTERVAL,
    baseline: Path | None = BASELINE,
    fail_on: FailOn | None = FAIL_ON,
    strict: bool = STRICT,
) -> None:
    """Run every check that applies, on this host or on many; what counts is judged by how it grows."""
    from .. import render
    from . import diagnose_run as asking
    from .fleet import compared
    from .verdict import exit_code, plugin_code, silent

    form = common(ctx).form(*FORMS, *MORE_FORMS)
    checks = asking.chosen(only, skip) if only or skip else ()
    asked, reports = _looked(ctx, form, checks, level, interval, baseline)
    reports = asking.within(compared(asked.config, asked.targets, reports), checks)
    code = exit_code(reports, fail_on.value if fail_on else asked.fail_on, strict)
    if not silent(asked.common, form, code):
        render.diagnosis(reports, form, asked.common.quiet, asked.common.verbose)
    ended = finish(asked.common, reports, form, code)
    raise typer.Exit(plugin_code(reports) if form == "nagios" else ended)


@app.command(cls=FleetCommand)
def symptom(
    ctx: typer.Context,
    which: str = typer.Argument(
        metavar="SYMPTOM", help="nan-loss, slow-node, ...: `diagnose list`.", autocompletion=completion("symptoms")
    ),
    level: Level = LEVEL,
    interval: str | None = INTERVAL,
    baseline: Path | None = BASELINE,
    fail_on: FailOn | None = FAIL_ON,
    strict: bool = STRICT,
) -> None:
    """Say what causes a symptom: each cause with what speaks for it, against it, and what could not be read.

    Every check runs as in `diagnose run`. Where the evidence does not do, no cause is named: it says what is missing.
    """
    from .. import render
    from ..node.diagnose import ranking
    from . import diagnose_run as asking
    from .verdict import exit_code, plugin_code, silent

    form = common(ctx).form(*FORMS, *MORE_FORMS)
    card = asking.card_of(which)
    asked, reports = _looked(ctx, form, (), level, interval, baseline)
    answers = [ranking.answer(card, report) for report in reports]
    judged = [report._replace(findings=ranking.told(it)) for report, it in zip(reports, answers, strict=True)]
    code = exit_code(judged, fail_on.value if fail_on else asked.fail_on, strict)
    if not silent(asked.common, form, code):
        render.answers(reports, answers, card, form, asked.common.quiet, asked.common.verbose)
    ended = finish(asked.common, reports, form, code)
    raise typer.Exit(plugin_code(judged) if form == "nagios" else ended)


def _looked(
    ctx: typer.Context, form: str, checks: tuple[str, ...], level: Level, interval: str | None, baseline: Path | None
) -> tuple[Session | FleetSession, Sequence[Report]]:
    """The run, and what these checks (all, if none is given) find on each node. Raises CommandError, ConfigError."""
    from .. import render
    from ..render.headline import bare
    from . import diagnose_run as asking
    from .session import session

    apart_s = asking.interval_s(level.value, interval)
    earlier = asking.baseline(baseline) if baseline else {}
    with session(ctx) as asked:
        asking.announce(asked.common, apart_s, [target.node for target in asked.targets], earlier if baseline else None)
        reports = asked.ask(
            "diagnose",
            lambda: render.prepare(form, seldom=asked.common.quiet or bare()),
            lambda request: asking.adapt(request, checks, apart_s, earlier),
        )
    return asked, reports


app.command(cls=FleetCommand)(comm)
app.command("log", cls=Command)(diagnose_log.log)
app.command("explain", cls=Command)(diagnose_log.explain)
app.command("list", cls=Command)(diagnose_log.list_)


@app.command(cls=Command)
def bundle(
    ctx: typer.Context,
    file: Path = typer.Argument(metavar="FILE", help="Where to write it; --mock FILE reads it again."),
    force: bool = typer.Option(False, "--force", help="Overwrite FILE."),
) -> None:
    """Record this host, or the one node of --nodes: what brctl reads of it, with serial numbers, addresses, names and
    secrets masked."""
    from ..render.headline import mocks
    from .session import ask
    from .verdict import exit_code

    given = common(ctx)
    given.form("table")
    refuse(file, force)
    report = ask(ctx, "bundle")
    for error in report.errors:
        tell(f"{report.node}: {error.message}", error.hint)
    if report.bundle is not None:
        write(file, report.bundle, force, private=True)
        for line in (*mocks([report]), *_summary(file, report.bundle)):
            given.warn(line)
    raise typer.Exit(exit_code([report], "crit", strict=False))


def _summary(file: Path, text: str) -> tuple[str, ...]:
    plain = json.loads(text)
    gpus = len((plain["nvml"] or {}).get("gpus", ()))
    nvml = f", NVML of {gpus} GPU{'' if gpus == 1 else 's'}" if plain["nvml"] else ""
    return (
        f"{file}: {len(plain['files'])} files, {len(plain['commands'])} commands{nvml}; {len(text) // 1000} kB",
        *plain["sources"][1:],
        "look through it before you pass it on: a mask knows forms, not meanings",
    )
