"""brctl monitor: what the nodes measure, live, as text or for programs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from . import monitor_alerts, monitor_files
from .common import Command, Common, Group, common
from .errors import CLEAN, INCOMPLETE, CommandError, tell
from .outlet import Compat, HostnameLabel, Outlet
from .ticks import Asked, Source, among, has_gpu, noted, opened, sample

if TYPE_CHECKING:
    from ..node.report import Report

app = typer.Typer(cls=Group, help="What GPUs, networks, disks and CPUs do, live, as text or for programs.")
FORMS = ("live", "table", "json", "jsonl", "csv", "prometheus")
LEAST_INTERVAL_S, MOST_INTERVAL_S = 0.1, 3600.0
_MOST_GPUS = 1024
"""Of one node: several times what any has."""


@app.callback(invoke_without_command=True)
def monitor(
    ctx: typer.Context,
    once: bool = typer.Option(False, "--once", help="One sample, and no more; what needs two, as rates, is absent."),
    interval: str | None = typer.Option(None, "--interval", metavar="TIME", help="Between samples: 100ms to 1h."),
    for_: str | None = typer.Option(None, "--for", metavar="TIME", help="End after this time: 10m."),
    gpus: str | None = typer.Option(None, "--gpus", metavar="LIST", help="Of the GPUs, these alone: 0,4-7."),
    require_gpu: bool = typer.Option(False, "--require-gpu", help="Exit 3 where no GPU answers."),
    act: bool = typer.Option(False, "--act", help="Do what `alerting` of the config says of alerts; else it is told."),
    max_nodes: int = typer.Option(
        1, "--max-nodes", metavar="N", min=1, help="With --act, alerts drain no more than so many nodes at a time."
    ),
    read_only: bool = typer.Option(False, "--read-only", help="Live: no process can be signalled."),
    listen: str | None = typer.Option(
        None, "--listen", metavar="ADDR:PORT", help="Serve /metrics here; --output prometheus: on 127.0.0.1:9836."
    ),
    textfile: Path | None = typer.Option(
        None, "--textfile", metavar="FILE.prom", help="Write this for node_exporter's textfile collector."
    ),
    compat: Compat | None = typer.Option(None, "--compat", help="Serve dcgm-exporter's names beside our own."),
    dcgm_hostname_label: HostnameLabel | None = typer.Option(
        None, "--dcgm-hostname-label", help="How dcgm-exporter's label of the host is written; else hostname."
    ),
    tls_cert: Path | None = typer.Option(None, "--tls-cert", metavar="FILE", help="Serve by TLS, with this (PEM)."),
    tls_key: Path | None = typer.Option(None, "--tls-key", metavar="FILE", help="Its key, if that is not in it."),
    tls_client_ca: Path | None = typer.Option(
        None, "--tls-client-ca", metavar="FILE", help="Answer none whose certificate this one has not signed."
    ),
) -> None:
    """Show what this host measures, or the nodes of --nodes: GPUs, network, storage, CPU, memory.

    --output is live, table, json, jsonl, csv or prometheus.
    """
    if ctx.invoked_subcommand:
        _refuse_options(ctx)
        return
    label = dcgm_hostname_label.value if dcgm_hostname_label else None
    outlet = Outlet(listen, textfile, compat.value if compat else None, label, tls_cert, tls_key, tls_client_ca)
    asked = _asked(ctx, once, interval, for_, gpus, require_gpu, outlet)._replace(act=act, max_nodes=max_nodes)
    if once and act:
        raise CommandError("--once takes one sample, and --act needs many")
    if once:
        raise typer.Exit(_show_once(ctx, asked))
    with opened(ctx, asked) as source:
        from .alerting import Alerts

        aloud = asked.form != "live" or not sys.stdout.isatty()
        with Alerts(source.common, source.config, source.nodes, act, max_nodes, aloud) as alerts:
            followed = source._replace(ticks=alerts.followed(source.ticks))
            raise typer.Exit(_show(followed, asked, read_only, outlet))


def _refuse_options(ctx: typer.Context) -> None:
    """Options of the group itself mean nothing before a command of it."""
    given = [
        param.opts[0]
        for param in ctx.command.params
        if param.name and getattr(ctx.get_parameter_source(param.name), "name", "") == "COMMANDLINE"
    ]
    if given:
        raise CommandError(f"{given[0]} is no option of `{ctx.command_path} {ctx.invoked_subcommand}`")


def _asked(
    ctx: typer.Context,
    once: bool,
    interval: str | None,
    for_: str | None,
    gpus: str | None,
    require_gpu: bool,
    outlet: Outlet,
) -> Asked:
    """Raises CommandError, ConfigError."""
    from . import session
    from .session import seconds

    given = common(ctx)
    config = session.opened(given)
    declared = config.settings.monitor if config else None
    form = given.output or (declared.output if declared else "live")
    if form not in FORMS:
        raise CommandError(f"--output {form}: this command has {', '.join(FORMS)}")
    if any(outlet) and not once and (given.output is None or form == "prometheus"):
        form = "prometheus"
    elif any(outlet):
        raise CommandError("--listen, --textfile, --compat and --tls-... are of --output prometheus alone")
    if once and form in ("live", "prometheus") and given.output is None:
        form = "table"
    if once and form in ("live", "prometheus"):
        raise CommandError(f"--once has no --output {form}", "it has table, json, jsonl and csv")
    interval_s = seconds("--interval", interval) if interval else declared.interval if declared else 5.0
    if not LEAST_INTERVAL_S <= interval_s <= MOST_INTERVAL_S:
        said = f"--interval {interval}" if interval else f"monitor.interval of the config, {interval_s:g}s"
        raise CommandError(f"{said}: {'100ms at least' if interval_s < LEAST_INTERVAL_S else '1h at most'}")
    for_s = seconds("--for", for_) if for_ else None
    return Asked(form, interval_s, for_s, _indices(gpus) if gpus else None, require_gpu)


def _indices(text: str) -> frozenset[str]:
    """Of `0,4-7`. Raises CommandError."""
    found: set[str] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash)) or len(part) > 9:
            raise CommandError(f"--gpus {text}: write indices and ranges: 0,4-7")
        if int(first) > int(last or first):
            raise CommandError(f"--gpus {text}: {part} is no range", f"write {last}-{first}")
        if int(last or first) >= _MOST_GPUS:
            raise CommandError(f"--gpus {text}: {_MOST_GPUS - 1} at most")
        found.update(str(index) for index in range(int(first), int(last or first) + 1))
    return frozenset(found)


# What they say.


def _show_once(ctx: typer.Context, asked: Asked) -> int:
    from .lines import Lines
    from .session import session
    from .verdict import exit_code

    printer = _printer(asked, Lines().write)
    with session(ctx) as run:
        reports = noted(sample(run, asked), asked)
    _told(run.common, reports)
    chosen = among(reports, asked)
    printer(chosen)
    if asked.require_gpu and not has_gpu(chosen):
        tell("no GPU answers")
        return INCOMPLETE
    return exit_code(reports, "crit", strict=False)


def _show(source: Source, asked: Asked, read_only: bool, outlet: Outlet) -> int:
    if asked.form == "live":
        from .live import Watching, watch_or_print

        return watch_or_print(source.ticks, Watching(asked.interval_s, read_only, source.here), source.common.quiet)
    if asked.form == "prometheus":
        from .exporter import serve
        from .outlet import DEFAULT_LISTEN, serving

        declared = source.config.settings.monitor.listen if source.config else DEFAULT_LISTEN
        return serve(source.ticks, serving(outlet, asked.interval_s, declared))
    return _print(source, asked)


def _print(source: Source, asked: Asked) -> int:
    """Until there are no more, or until it is told to end, which is how such a command ends: 0."""
    from .lines import Lines, ToldError

    lines, said = Lines(), _Said(source.common)
    printer = _printer(asked, lines.write)
    try:
        with lines:
            for reports in source.ticks:
                said.tell(reports)
                printer(reports)
    except ToldError:
        return CLEAN
    return INCOMPLETE if said.ended else CLEAN


class _Said:
    """What the nodes complain of, each thing once."""

    def __init__(self, given: Common) -> None:
        self._given = given
        self._known: set[tuple[str, str]] = set()
        self.ended = False
        """The only node there is has broken off."""

    def tell(self, reports: Sequence[Report]) -> None:
        self.ended = len(reports) == 1 and bool(reports[0].errors)
        _told(self._given, reports, self._known)


def _told(given: Common, reports: Sequence[Report], known: set[tuple[str, str]] | None = None) -> None:
    known = set() if known is None else known
    for report in reports:
        for error in report.errors:
            if (report.node, error.message) not in known:
                tell(f"{report.node}: {error.message}", error.hint)
                known.add((report.node, error.message))
        for note in report.notes if not given.quiet else ():
            if (report.node, note) not in known:
                tell(f"{report.node}: {note}", word="warning")
                known.add((report.node, note))


def _printer(asked: Asked, write: Callable[[str], None]) -> Callable[[Sequence[Report]], None]:
    """Prints one tick."""
    if asked.form == "table":
        from ..render.live.text import Printer

        table = Printer(asked.interval_s)
        return lambda reports: table.show(reports, time.monotonic())
    from ..render import samples

    if asked.form == "json":
        return lambda reports: write(samples.document(reports))
    rows = samples.Lines() if asked.form == "jsonl" else samples.Rows()
    if asked.form == "csv":
        write(samples.CSV_HEADER)
    return lambda reports: write("\n".join(rows.lines(reports)))


@app.command(cls=Command)
def release(
    ctx: typer.Context,
    for_: str = typer.Option(..., "--for", metavar="TIME", help="For how long: 60s, 1h at most; 0s takes it back."),
) -> None:
    """Make every brctl monitor on the node let go of the GPUs, so that a reset, MIG or driver change can go on."""
    from .. import render
    from ..node.monitor.release import MOST_S
    from ..node.request import Sampling
    from .session import Session, seconds, session
    from .verdict import exit_code

    for_s = seconds("--for", for_, zero=True)
    if for_s > MOST_S:
        raise CommandError(f"--for {for_}: an hour at most")
    form = common(ctx).form("table", "json", "yaml")
    with session(ctx) as run:
        requests = [target.request("release")._replace(sampling=Sampling(release_s=for_s)) for target in run.targets]
        reports = (run.agent.ask(requests[0], run.timeout_s),) if isinstance(run, Session) else run.ask_each(requests)
    render.notes("monitor release", reports, form)
    _told(run.common, [report._replace(notes=()) for report in reports])
    raise typer.Exit(exit_code(reports, "crit", strict=False))


monitor_files.add(app)
app.add_typer(monitor_alerts.app, name="alerts")
