"""brctl tune: what the config declares, made so on this host or on many, and taken back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import typer

from .common import Command, Common, FleetCommand, Group, common, completion
from .errors import FOUND, INTERRUPTED, CommandError, say, tell
from .tune_env import env

if TYPE_CHECKING:
    from ..node.report import Report
    from ..node.request import Tuning
    from .fleet import FleetSession
    from .session import Session

app = typer.Typer(cls=Group, help="What the config declares, made so: sysctls, MTU, GPU limits; and taken back.")

ONLY = typer.Option(
    [], "--only", metavar="SETTING", help="These settings alone. Repeatable.", autocompletion=completion("settings")
)
SKIP = typer.Option(
    [], "--skip", metavar="SETTING", help="All settings but these. Repeatable.", autocompletion=completion("settings")
)
SET = typer.Option(
    [],
    "--set",
    metavar="KEY=VALUE",
    help="A key of the config's tune section, over what the file says: network.mtu=9000. Repeatable.",
    autocompletion=completion("tune_keys"),
)
PERSIST = typer.Option(False, "--persist", help="Also what holds after the next boot.")
ALLOW_MGMT = typer.Option(
    False,
    "--allow-mgmt",
    help="Also change the link that this host is reached by; it comes back by itself unless `tune confirm` comes over "
    "a new connection.",
)
CANARY = typer.Option(
    None, "--canary", metavar="N", min=0, help="Of many nodes, so many first; 1 where it is not given."
)
MAX_FAILURES = typer.Option(
    None, "--max-failures", metavar="N", min=0, help="Go on while no more nodes failed or were silent; 0."
)
TRANSACTION = typer.Argument(None, metavar="ID", help="Of `tune history`; else the newest.")
DRAIN_WAIT = typer.Option(
    None, "--drain-wait", metavar="TIME", help="How long for its jobs to end; 30m where it is not given."
)


@app.command(cls=Command)
def plan(
    ctx: typer.Context,
    only: list[str] = ONLY,
    skip: list[str] = SKIP,
    sets: list[str] = SET,
    persist: bool = PERSIST,
) -> None:
    """Show what is, what the next boot gives, what is wanted, and what making it so would do; write nothing."""
    from .. import render
    from ..node.request import Tuning
    from .session import session
    from .verdict import tell_reports, tune_code

    form = common(ctx).form("table", "json", "yaml")
    chosen = _settings(only, skip)
    with session(ctx) as run:
        run = _wanting(run, Tuning(settings=chosen, persist=persist), sets)
        reports = run.ask("tune-plan", meanwhile=lambda: render.prepare(form))
    render.changes("tune plan", reports, form, run.common.quiet, run.common.verbose)
    tell_reports(reports, form, run.common.quiet)
    raise typer.Exit(tune_code(reports))


@app.command(cls=FleetCommand)
def apply(
    ctx: typer.Context,
    only: list[str] = ONLY,
    skip: list[str] = SKIP,
    sets: list[str] = SET,
    persist: bool = PERSIST,
    yes: bool = typer.Option(False, "--yes", help="Do not ask first."),
    atomic: bool = typer.Option(False, "--atomic", help="Where one change fails, take the others back."),
    force_busy: bool = typer.Option(False, "--force-busy", help="Also change the speed of GPUs that are in use."),
    allow_mgmt: bool = ALLOW_MGMT,
    confirm_within: str = typer.Option("120s", "--confirm-within", metavar="TIME", help="How long it waits for that."),
    canary: int | None = CANARY,
    max_failures: int | None = MAX_FAILURES,
    drain: bool = typer.Option(False, "--drain", help="Drain each batch through the scheduler first, and resume it."),
    drain_wait: str | None = DRAIN_WAIT,
) -> None:
    """Make it so: each value is journalled, written and read back, and the plan after that is empty."""
    from .. import render
    from ..node.request import Tuning
    from .session import seconds, session
    from .verdict import tell_reports, tune_code

    form = common(ctx).form("table", "json", "yaml")
    chosen, within_s = _settings(only, skip), seconds("--confirm-within", confirm_within)
    with session(ctx) as run:
        _refuse_strangers(run)
        asked = Tuning(
            settings=chosen,
            persist=persist,
            atomic=atomic,
            allow_mgmt=allow_mgmt,
            force_busy=force_busy,
            confirm_within_s=within_s,
        )
        run = _wanting(run, asked, sets)
        rolling = _rolling(run, canary, max_failures, _drain_wait_s(drain, drain_wait))
        if not yes:
            _somebody_to_ask("apply", form)
            _ask_first(run)
        render.prepare(form)
        try:
            reports = rolling()
        except KeyboardInterrupt:  # the agent finishes the write that it is in, and writes no other
            tell("interrupted", "`brctl tune history` tells what was done, `brctl tune rollback` takes it back")
            raise typer.Exit(INTERRUPTED) from None
    render.changes("tune apply", reports, form, run.common.quiet, run.common.verbose)
    tell_reports(reports, form, run.common.quiet)
    _tell_what_waits(run.common, reports, within_s)
    raise typer.Exit(tune_code(reports))


def _drain_wait_s(drain: bool, drain_wait: str | None) -> float | None:
    """None: no node is drained. Raises CommandError."""
    from .session import seconds

    if drain_wait and not drain:
        raise CommandError("--drain-wait is how long --drain waits, which is not given", "give --drain too")
    return seconds("--drain-wait", drain_wait or "30m") if drain else None


def _rolling(
    run: Session | FleetSession, canary: int | None, max_failures: int | None, drain_wait_s: float | None
) -> Callable[[], tuple[Report, ...]]:
    """How it is applied: here, or to one batch of nodes after another. Raises CommandError."""
    from .session import Session

    if isinstance(run, Session) and (canary, max_failures, drain_wait_s) == (None, None, None):
        return lambda: run.ask("tune-apply", meanwhile=lambda: None)
    if isinstance(run, Session):
        what = "--canary, --max-failures and --drain are about many nodes, and one is meant"
        raise CommandError(what, "name nodes: --nodes SET, or --nodes @all")
    from .rolling import Rolling, roll_out
    from .scheduler import scheduler

    many = run
    chosen = scheduler(run.common, run.config) if drain_wait_s is not None else None
    first = 1 if canary is None else canary
    rolling = Rolling(first if len(run.targets) > 1 else 0, max_failures or 0, chosen, drain_wait_s or 0.0)
    return lambda: roll_out(many, rolling)


@app.command(cls=Command)
def rollback(ctx: typer.Context, transaction: str | None = TRANSACTION) -> None:
    """Put back what a transaction changed, wherever the machine still holds our value; else show both and leave it."""
    _after("tune rollback", ctx, transaction)


@app.command(cls=Command)
def confirm(ctx: typer.Context, transaction: str | None = TRANSACTION) -> None:
    """Keep a change of a management link that waits for this, over a connection made since."""
    _after("tune confirm", ctx, transaction)


app.command(cls=FleetCommand)(env)


@app.command(cls=Command)
def history(ctx: typer.Context, transaction: str | None = TRANSACTION) -> None:
    """Show what was changed, when and by whom; with an ID or --verbose, every value before and after."""
    from .. import render
    from .session import session
    from .verdict import exit_code, tell_reports

    form = common(ctx).form("table", "json", "yaml")
    with session(ctx) as run:
        run = _about(run, transaction)
        reports = run.ask("tune-history", meanwhile=lambda: render.prepare(form))
    render.history(reports, form, bool(transaction) or run.common.verbose)
    tell_reports(reports, form, run.common.quiet)
    raise typer.Exit(exit_code(reports, "crit", strict=False))


@app.command("list", cls=Command)
def list_(ctx: typer.Context) -> None:
    """List the settings in the order in which they are made, with their config keys; then what is set by hand."""
    from .. import render
    from ..node.tune import engine, manual

    render.pages(manual.pages(engine.registry()), common(ctx).form("table", "json", "yaml"))


@app.command(cls=Command)
def explain(
    ctx: typer.Context,
    setting: str = typer.Argument(
        ..., metavar="SETTING", help="One of `tune list`.", autocompletion=completion("pages")
    ),
) -> None:
    """Say what a setting does, how it lasts, and when not to use it; or, of what brctl does not write, what to run."""
    from .. import render
    from ..node.tune import engine, manual

    pages = {page.id: page for page in manual.pages(engine.registry())}
    _check_names([setting], list(pages))
    render.page(pages[setting], common(ctx).form("table", "json", "yaml"))


def _after(command: str, ctx: typer.Context, transaction: str | None) -> None:
    """What is done about a transaction."""
    from .. import render
    from .session import session
    from .verdict import tell_reports, tune_code

    form = common(ctx).form("table", "json", "yaml")
    with session(ctx) as run:
        run = _about(run, transaction)
        reports = run.ask(command.replace(" ", "-"), meanwhile=lambda: render.prepare(form))
    render.changes(command, reports, form, run.common.quiet, run.common.verbose)
    tell_reports(reports, form, run.common.quiet)
    raise typer.Exit(tune_code(reports))


def _settings(only: Sequence[str], skip: Sequence[str]) -> tuple[str, ...]:
    """The ids that are meant. Raises CommandError: there is no such setting, or none is left."""
    from ..node.tune.engine import registry

    known = [setting.id for setting in registry()]
    _check_names((*only, *skip), known)
    chosen = tuple(name for name in known if (not only or name in only) and name not in skip)
    if not chosen:
        raise CommandError("--only and --skip leave no setting")
    return chosen


def _check_names(names: Sequence[str], known: Sequence[str]) -> None:
    """Raises CommandError."""
    import difflib

    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "`brctl tune list` shows them"
            raise CommandError(f"there is no setting {name}", hint)


def _wanting(run: Session | FleetSession, asked: Tuning, sets: Sequence[str]) -> Session | FleetSession:
    """The run with what is wanted of each node. Raises CommandError: nothing is; ConfigError."""
    import hashlib

    from ..config.wanted import wanted
    from ..node.codec import dumps
    from ..node.request import Wanted

    targets = []
    for target in run.targets:
        want = wanted(run.config, target.node, sets)
        digest = hashlib.sha256(dumps(want).encode()).hexdigest()[:12]
        targets.append(target._replace(tune=asked._replace(wanted=want, who=_who(), config_hash=digest)))
    if all(target.tune.wanted._replace(interfaces=None) == Wanted() for target in targets):
        where = f"{run.config.path} has no tune section" if run.config else "there is no config"
        raise CommandError(f"nothing is wanted: {where}", "give it one, or name values: --set network.mtu=9000")
    return run._replace(targets=targets)


def _tell_what_waits(given: Common, reports: Sequence[Report], within_s: float) -> None:
    """What becomes of changes that have to be confirmed, with the command that does it, and with --quiet too."""
    import shlex

    from .errors import tell

    states = {report.node: {each.state for each in report.transactions} for report in reports}
    nodes = [node for node in states if "unconfirmed" in states[node]]
    if not nodes:
        return
    command, who = ["brctl"], nodes[0]
    for option, value in (("-c", given.config), ("--as", given.as_node), ("--mock", given.mock)):
        command += [option, value] if value else []
    if given.nodes:
        from ClusterShell.NodeSet import NodeSet

        who = str(NodeSet.fromlist(nodes))
        command += ["-w", who]
    what = f"{who}: what it is reached by was changed, and comes back by itself in {within_s:g} s"
    tell(what, f"to keep it, over a new connection: {shlex.join([*command, 'tune', 'confirm'])}", "warning")


def _about(run: Session | FleetSession, transaction: str | None) -> Session | FleetSession:
    """The run about that transaction of each node, None: its newest. Raises CommandError: it is empty, as a variable
    of a script that was never set; the newest is not what that means."""
    from ..node.request import Tuning

    if transaction == "":
        raise CommandError("the ID is empty", "`brctl tune history` shows them; without one it is the newest")
    tuning = Tuning(who=_who(), transaction=transaction)
    return run._replace(targets=[target._replace(tune=tuning) for target in run.targets])


def _who() -> str:
    """Whose command it is: `alice (sudo)@admin1 from 10.0.0.7`."""
    import pwd

    behind = os.environ.get("SUDO_USER")
    try:
        name = f"{behind} (sudo)" if behind else pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        name = str(os.geteuid())
    client = os.environ.get("SSH_CONNECTION", "").partition(" ")[0]
    who = f"{name}@{os.uname().nodename}" + (f" from {client}" if client else "")
    return who.encode("utf-8", "replace").decode()  # the environment holds any bytes, and the journal text


def _refuse_strangers(run: Session | FleetSession) -> None:
    """Nothing is written to a host that the config does not know. Raises CommandError."""
    for target in run.targets if run.config else ():
        if run.config and target.node not in run.config.nodes:
            what = f"{target.node} is no node of {run.config.path}, so nothing is written to it"
            raise CommandError(what, "--as NODE names this host")


def _somebody_to_ask(command: str, form: str) -> None:
    """Raises CommandError; a plan to look at has no place in what a program reads."""
    if form != "table":
        raise CommandError(f"tune {command} asks first, and --output {form} leaves no place for it", "give --yes")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(f"tune {command} asks first, and nobody is there to ask", "give --yes")


def _ask_first(run: Session | FleetSession) -> None:
    """Show the plan and ask. Ends here where there is nothing to do, or the answer is no."""
    from .. import render
    from .rolling import failed
    from .verdict import tell_reports, tune_code

    reports = run.ask("tune-plan", meanwhile=lambda: render.prepare("table"))
    render.changes("tune plan", reports, "table", run.common.quiet, run.common.verbose)
    tell_reports(reports, "table", run.common.quiet)
    code = tune_code(reports)
    if code != FOUND:  # nothing is pending, or it would be refused
        if len(reports) > 1 and tune_code([report for report in reports if not failed(report)]) == FOUND:
            what = "nothing was touched, as some of these nodes cannot do it"
            tell(what, "leave them out of --nodes, or give --yes and as many --max-failures")
        raise typer.Exit(code)
    sys.stdout.flush()
    print("Make it so? [y/N] ", end="", file=sys.stderr, flush=True)
    try:
        answer = sys.stdin.readline()
    except KeyboardInterrupt:
        say("\nnothing was touched")
        raise typer.Exit(INTERRUPTED) from None
    if answer.strip().lower() not in ("y", "yes"):
        say("nothing was touched" if answer else "\nnothing was touched")  # there is no Enter at the end of the input
        raise typer.Exit(FOUND)
