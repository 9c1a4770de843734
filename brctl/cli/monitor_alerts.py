"""brctl monitor alerts: which rules there are, which fire now, what is silenced, and what was done."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..node.alert_facts import Event, Label, Rule
from .common import Command, Common, Group, common
from .errors import CLEAN, FOUND, INCOMPLETE, CommandError, tell

if TYPE_CHECKING:
    from ..config.resolve import Config
    from ..fleet.alert_store import Silence
    from ..fleet.alert_watch import Watched
    from ..node.report import Report
    from .ticks import Source

app = typer.Typer(cls=Group, help="Which alerts fire; what is silenced, and what was done.")
_FORMS = ("table", "json", "yaml")
_INTERVAL_S = 1.0
_LONGEST_S = 3.0
"""A rule with a longer `for` is not waited for: whether it is pending is told."""


@app.callback(invoke_without_command=True)
def alerts(ctx: typer.Context) -> None:
    """Take a few samples and print every rule with its state. Exits 1 where an alert fires that is not silenced."""
    if ctx.invoked_subcommand:
        return
    from ..render import alerts as shown
    from .ticks import Asked, opened

    given = common(ctx)
    form = given.form(*_FORMS)
    asked = Asked(form, _INTERVAL_S, None, None, False)
    with opened(ctx, asked) as source:
        reports, watched = _looked(source)
    rules = _rules(source)
    shown.states(rules, watched, reports, form, given.quiet, given.verbose)
    for report in reports:
        for error in report.errors:
            tell(f"{report.node}: {error.message}", error.hint)
    fires = any(alert.phase.fires and alert.key not in watched.silenced for alert in watched.alerts)
    raise typer.Exit(INCOMPLETE if any(report.errors for report in reports) else FOUND if fires else CLEAN)


def _rules(source: Source) -> Sequence[tuple[str, Sequence[Rule]]]:
    """Of each node."""
    from .alerting import of_nodes

    rules = of_nodes(source.config)
    return [(node, rules(node).rules) for node in source.nodes]


def _looked(source: Source) -> tuple[Sequence[Report], Watched]:
    """As many ticks as the rules need."""
    from ..fleet.alert_watch import Watch
    from .alerting import store
    from .ticks import FIRST_S, waits

    rules = dict(_rules(source))
    watch = Watch(lambda node: rules.get(node, ()), {}, store(source.common, source.config), tell, keep=False)
    every = [rule for each in rules.values() for rule in each]
    holds = [rule.hold_s for rule in every if rule.hold_s <= _LONGEST_S]
    needed_s = min(_LONGEST_S, max([_INTERVAL_S, *holds, *(rule.min_samples - 1 for rule in every)]))
    began, end = time.monotonic(), None
    for reports in source.ticks:
        watched = watch.take(reports, time.time(), time.monotonic())
        now_s = time.monotonic()
        if any(map(waits, reports)) and now_s < began + FIRST_S:
            continue
        end = end or now_s + needed_s
        if now_s > end - _INTERVAL_S / 2 or all(report.errors for report in reports):
            return reports, watched
    raise CommandError("no sample came", code=INCOMPLETE)


@app.command("list", cls=Command)
def list_(ctx: typer.Context) -> None:
    """Print the rules that hold for this host, or for the nodes of --nodes, and ask nobody."""
    from ..render import alerts as shown
    from .alerting import of_nodes
    from .session import named, opened

    given = common(ctx)
    form = given.form(*_FORMS)
    config = opened(given)
    names = named(given, config) or ((_this(given, config),) if config else ("this host",))
    rules = of_nodes(config)
    shown.rules([(name, rules(name).rules) for name in names], form, given.verbose)


def _this(given: Common, config: Config) -> str:
    """This host; where the config does not know it, what holds for all."""
    from .session import this_node

    try:
        return this_node(given, config)
    except CommandError:
        return "all nodes"


@app.command("history", cls=Command)
def history(
    ctx: typer.Context,
    last: int = typer.Option(20, "--last", metavar="N", min=1, help="So many actions, the newest."),
) -> None:
    """Print what `brctl monitor --act` has done: why, what came of it, and when it was undone."""
    from ..render import alerts as shown
    from .alerting import store
    from .session import mocked, named, opened

    given = common(ctx)
    form = given.form(*_FORMS)
    config = opened(given)
    names = named(given, config)
    done = store(given, config).history()
    if done.unreadable and not done.records:
        raise CommandError("the history is damaged: no line of it can be read", code=INCOMPLETE)
    found = [one for one in done.records if names is None or one.node in names]
    shown.history(found[-last:], form, any(mocked(given)))
    if done.unreadable:
        tell(f"the history is damaged: lines that cannot be read: {done.unreadable}", word="warning")
        raise typer.Exit(INCOMPLETE)


@app.command("silence", cls=Command)
def silence(
    ctx: typer.Context,
    matchers: list[str] | None = typer.Argument(
        None,
        metavar="ALERT|LABEL=VALUE...",
        help="An alert (gpu-hot, 'gpu-*'), and labels: gpu=3. Patterns are allowed.",
    ),
    for_: str | None = typer.Option(None, "--for", metavar="TIME", help="How long: 2h, 30d at most."),
    comment: str | None = typer.Option(None, "--comment", metavar="TEXT", help="Why; it is asked for."),
    remove: str | None = typer.Option(None, "--remove", metavar="ID", help="End this one now."),
) -> None:
    """Hold alerts back for a time: no action, no exit code. Without arguments, print what is silenced.

    With --nodes, of these nodes alone.
    """
    from ..render import alerts as shown
    from .alerting import store
    from .session import mocked, opened

    given = common(ctx)
    form = given.form(*_FORMS)
    kept, now, aside = store(given, opened(given)), time.time(), None
    if remove is not None:
        if not kept.unsilence(remove, now):
            raise CommandError(f"no silence is called {remove}", "`brctl monitor alerts silence` prints them")
    elif matchers:
        aside = kept.silence(_silence(given, matchers, for_, comment, now), now)
    elif for_ or comment:
        raise CommandError(
            "what is to be silenced?", "for example: brctl monitor alerts silence gpu-hot gpu=3 --for 2h"
        )
    shown.silences(kept.silences(now), form, now, any(mocked(given)))
    if aside:
        tell("what was silenced before could not be read", f"it is damaged, and kept in {aside}", word="warning")
        raise typer.Exit(INCOMPLETE)


def _silence(given: Common, matchers: Sequence[str], for_: str | None, comment: str | None, now: float) -> Silence:
    """Raises CommandError, ConfigError."""
    import getpass  # of no use to the others

    from ..config.alerts import all_names, rule_id
    from ..config.nodes import nearest_or
    from ..fleet.alert_store import LONGEST_SILENCE_S, Silence, new_id
    from .session import named, opened, seconds

    if not for_ or not comment or not comment.strip():
        raise CommandError("a silence needs --for and --comment", "who comes after you must know how long, and why")
    length_s = seconds("--for", for_)
    if length_s > LONGEST_SILENCE_S:
        raise CommandError(f"--for {for_}: 30d at most", "leave the alert out for good: `action: none` in the config")
    rules = [each for each in matchers if "=" not in each]
    if len(rules) > 1:
        raise CommandError(f"{rules[0]} and {rules[1]}: one alert at a time", "or a pattern of several: 'gpu-*'")
    config = opened(given)
    nodes = named(given, config) or ()
    rule = rule_id(rules[0]) if rules else "*"
    known = all_names(config)
    if not fnmatch.filter(known, rule):
        raise CommandError(f"no alert is called {rule}", nearest_or(rule, known, "see `brctl monitor alerts list`"))
    labels = _labels([each for each in matchers if "=" in each], config, fnmatch.filter(known, rule))
    return Silence(new_id(), now + length_s, rule, tuple(nodes), labels, comment.strip(), getpass.getuser())


def _labels(matchers: Sequence[str], config: Config | None, alerts: Sequence[str]) -> tuple[Label, ...]:
    """Raises CommandError: one names nothing, or what none of these alerts is about."""
    from ..config.alerts import all_series, metrics
    from ..config.nodes import nearest_or
    from ..fleet.alert_series import SERIES

    about = metrics(config, alerts)
    known = {label for series in (*all_series().values(), *SERIES) if series.name in about for label in series.labels}
    labels = tuple(Label(name, value) for name, _, value in (each.partition("=") for each in matchers))
    for name, value in labels:
        if not value.strip():
            raise CommandError(f"{name}= names nothing", "is a variable not set? Without it all are silenced")
        if name not in known:
            hint = (
                "nodes are named by --nodes" if name == "node" else f"there are: {', '.join(sorted(known)) or 'none'}"
            )
            raise CommandError(f"no such alert has a label {name}", nearest_or(name, known, hint))
    return labels


@app.command("test", cls=Command)
def try_(
    ctx: typer.Context,
    file: Path = typer.Argument(..., metavar="FILE", help="Recorded samples: brctl monitor -o jsonl > FILE."),
) -> None:
    """Try the rules on recorded samples, by their own clock: what would have fired, and when. Exits 1 where any did."""
    from ..fleet.alert_replay import CutShortError, InvalidRecordingError, recorded, replay
    from ..render import alerts as shown
    from .alerting import of_nodes
    from .files import unreadable
    from .session import opened

    given = common(ctx)
    form = given.form(*_FORMS)
    rules = of_nodes(opened(given))
    events: list[Event] = []
    try:
        with file.open("rb") as lines:
            events.extend(replay(recorded(lines), lambda node: rules(node).rules))
    except InvalidRecordingError as error:
        raise CommandError(f"{file}: {error}", "record it with `brctl monitor -o jsonl > FILE`") from None
    except CutShortError as error:
        given.warn(f"warning: {file}: {error}")
    except OSError as error:
        raise unreadable(file, error) from None
    shown.events(events, form)
    raise typer.Exit(FOUND if any(event.alert.fired_at is not None for event in events) else CLEAN)
