"""Alerts, rules, silences and what was done: for people and for programs."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..fleet.alert_series import part
from ..node.alert_facts import ActionRecord, Alert, Event, Happening, Outcome, Phase, Rule, Severity
from ..node.codec import encode
from ..node.monitor.alert_readings import duration, shown
from ..node.monitor.alerts import condition
from . import plain
from .data import dump

if TYPE_CHECKING:
    from rich.text import Text

    from ..fleet.alert_store import Silence
    from ..fleet.alert_watch import Watched
    from ..node.report import Report

RulesOf = Sequence[tuple[str, Sequence[Rule]]]
"""By node."""
_STYLES = {Severity.CRITICAL: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_OUTCOMES = {
    Outcome.DONE: "green",
    Outcome.BEGUN: "cyan",
    Outcome.PROPOSED: "cyan",
    Outcome.FAILED: "bold red",
    Outcome.REFUSED: "bold red",
}
_WORST = [Phase.FIRING, Phase.CLEARING, Phase.PENDING, Phase.INACTIVE]


def states(found: RulesOf, watched: Watched, reports: Sequence[Report], form: str, quiet: bool, verbose: bool) -> None:
    """Print what fires and what is about to, each; then every rule with its state. `quiet`: what fires, no more."""
    if form != "table":
        alerts = [{**encode(alert._replace(points=())), "silenced": alert.key in watched.silenced}
                  for alert in watched.alerts]  # fmt: skip
        return _print("monitor alerts", form, rules=_plain(found), alerts=alerts)
    from .fleet import mocks
    from .terminal import Terminal

    terminal = Terminal()
    if not quiet:
        mocks(terminal, reports)
    told = [alert for alert in watched.alerts if alert.phase is not Phase.INACTIVE]
    for alert in sorted(told, key=lambda alert: (_WORST.index(alert.phase), alert.severity.value, alert.key)):
        rule = next(rule for node, rules in found if node == alert.node for rule in rules if rule.id == alert.rule)
        if alert.phase.fires or not quiet:
            terminal.line(_headline(alert, rule, alert.key in watched.silenced))
    if not quiet:
        if told:
            terminal.gap()
        _table_of_rules(found, verbose, watched)
    return None


def _headline(alert: Alert, rule: Rule, silenced: bool) -> Text:
    from rich.text import Text

    word = "SILENCED" if silenced else alert.phase.value.upper() if alert.phase.fires else alert.phase.value
    style = "dim" if silenced or not alert.phase.fires else _STYLES[alert.severity]
    since = f" for {duration(round(max(0.0, alert.at - alert.since)))} of {duration(rule.hold_s)}"
    more = "" if alert.phase.fires else since
    return Text.assemble((f"{word:<9}", style), f" {alert.rule}: {alert.summary}", (more, "dim"))


def _state(rule: Rule, alerts: Sequence[Alert], silenced: Sequence[Alert]) -> Text:
    """Of a rule on all parts: `firing 1 of 8`, `ok 8`, `no value`; `none`: of those that are chosen, none."""
    from rich.text import Text

    if not alerts or all(alert.missing_since is not None for alert in alerts):
        return Text("none" if rule.only and not alerts else "no value", style="dim")
    counts = Counter(alert.phase for alert in alerts)
    worst = next(phase for phase in _WORST if counts[phase])
    if worst is Phase.INACTIVE:
        return Text(f"ok {len(alerts)}", style="green")
    style = "dim" if len(silenced) == counts[worst] or not worst.fires else _STYLES[rule.severity]
    return Text(f"{worst.value} {counts[worst]} of {len(alerts)}", style=style)


def rules(found: RulesOf, form: str, verbose: bool) -> None:
    """Print the rules: what is asked, and what is done."""
    if form != "table":
        return _print("monitor alerts list", form, rules=_plain(found))
    return _table_of_rules(found, verbose, None)


def _table_of_rules(found: RulesOf, verbose: bool, watched: Watched | None) -> None:
    """Nodes of the same rules have them once."""
    from .terminal import Column, Terminal

    terminal = Terminal()
    groups: dict[tuple[Rule, ...], list[str]] = {}
    for node, each in found:
        groups.setdefault(tuple(each), []).append(node)
    for each, nodes in groups.items():
        if len(groups) > 1:
            terminal.gap()
            terminal.line(_set(nodes))
        columns = [
            Column("Alert"), *([Column("State")] if watched else []), Column("Severity", rank=4),
            Column("Fires", rank=1 if watched else 0, wrap=True, least=14), Column("For", rank=3),
            Column("Clear", rank=5), Column("Action", rank=2),
        ]  # fmt: skip
        terminal.table(columns, [list(_row(rule, nodes, verbose, watched)) for rule in each])


def _row(rule: Rule, nodes: Sequence[str], verbose: bool, watched: Watched | None) -> Iterator[Text | str]:
    yield rule.id
    if watched:
        alerts = [alert for alert in watched.alerts if alert.rule == rule.id and alert.node in nodes]
        yield _state(rule, alerts, [alert for alert in alerts if alert.key in watched.silenced])
    yield rule.severity.value
    yield condition_of(rule, verbose)
    yield duration(rule.hold_s)
    yield (
        f"{shown(rule.clear, rule.unit)} {duration(rule.clear_s)}" if rule.clear is not None else duration(rule.clear_s)
    )
    yield rule.action


def condition_of(rule: Rule, verbose: bool = True) -> str:
    """`rdma loss >= 0.001 %`; verbose: `brctl_rdma_loss_ratio`, and what is selected."""
    name, other = (each if verbose else _words(each) for each in (rule.series, rule.other or ""))
    text = {
        "increase": f"{name} grows in {duration(rule.window_s)} by {condition(rule)}",
        "age": f"{name} within {duration(rule.threshold)}",
        "lost": f"{name} is 0, and was 1 within {duration(rule.window_s)}",
        "ratio": f"{name} / {other} {condition(rule)}",
        "shortfall": f"{other} - {name} {condition(rule)}",
    }.get(rule.reading, f"{name} {condition(rule)}")
    chosen = [f" ({it.label}{' not' if it.other else ''} {', '.join(it.values)})" for it in rule.only if verbose]
    return text + "".join(chosen)


def _words(series: str) -> str:
    """Of the name of a series, without its unit."""
    return _UNIT.sub("", series.removeprefix("brctl_")).replace("_", " ")


_UNIT = re.compile("(_(timestamp|celsius|ratio|bytes|seconds|watts|total))+$")


def _set(nodes: Sequence[str]) -> str:
    from ..fleet.fold import node_set

    return node_set(nodes)


_APART = "of mocked machines, of which there is a record of its own"


def history(records: Sequence[ActionRecord], form: str, mock: bool) -> None:
    """Print actions, oldest first."""
    if form != "table":
        return _print("monitor alerts history", form, actions=[encode(one) for one in records])
    from rich.text import Text

    from .terminal import Terminal

    terminal = Terminal()
    if mock:
        terminal.line(Text(_APART, style="yellow"))
    if not records:
        terminal.line("nothing was done: only `brctl monitor --act` does anything")
    for one in records:
        outcome = (one.outcome.value, _OUTCOMES.get(one.outcome, "dim"))
        undone = f", undone {_time(one.undone_at)} ({one.undone})" if one.undone_at is not None else ""
        about = f"{_time(one.at)}  {one.node}  {one.rule}  {one.action}  "
        terminal.line(Text.assemble(about, outcome, (undone, "dim")))
        terminal.line(f"{one.what}{f': {one.result}' if one.result else ''}", indent=2)
        terminal.line(Text(f"why: {one.evidence}", style="dim"), indent=2)
    return None


def events(found: Sequence[Event], form: str) -> None:
    """Print what happened, in order."""
    if form != "table":
        return _print("monitor alerts test", form, events=[encode(_bare(event)) for event in found])
    from rich.text import Text

    from .terminal import Terminal

    terminal = Terminal()
    if not found:
        terminal.line("nothing would have fired")
    for event in found:
        style = _STYLES[event.alert.severity] if event.what is Happening.FIRED else "dim"
        about = f"  {event.alert.node}  {event.alert.rule}  {part(event.alert)}".rstrip()
        terminal.line(Text.assemble(f"{_time(event.at)}  ", (f"{event.what.value:<8}", style), about))
        terminal.line(Text(event.evidence, style="dim"), indent=2)
    return None


def _bare(event: Event) -> Event:
    return event._replace(alert=event.alert._replace(points=()))


def silences(found: Sequence[Silence], form: str, now: float, mock: bool) -> None:
    """Print what is silenced at the time `now`."""
    if form != "table":
        return _print("monitor alerts silence", form, silences=[encode(one) for one in found])
    from rich.text import Text

    from .terminal import Column, Terminal

    terminal = Terminal()
    if mock:
        terminal.line(Text(_APART, style="yellow"))
    if not found:
        terminal.line("nothing is silenced")
        return None
    columns = [Column("Id"), Column("Alert"), Column("Of", wrap=True, least=10), Column("Left"), Column("By", rank=1),
               Column("Comment", rank=2, wrap=True, least=12)]  # fmt: skip
    return terminal.table(columns, [_silence(one, now) for one in found])


def _silence(one: Silence, now: float) -> list[str]:
    of = [*([_set(one.nodes)] if one.nodes else []), *(f"{name}={value}" for name, value in one.labels)]
    left_s = max(0.0, one.until - now)
    left = duration(round(left_s)) if left_s < 120 else duration(round(left_s / 60) * 60)
    return [one.id, one.rule, " ".join(of) or "everything", left, one.who, one.comment]


def _time(at: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _plain(found: RulesOf) -> list[dict[str, object]]:
    return [{"node": node, "rules": [encode(rule) for rule in each]} for node, each in found]


def _print(command: str, form: str, **data: object) -> None:
    plain(f"{dump({'command': command, **data}, form)}\n")
