"""What the admin host does about alerts: it notes them, runs a program, posts to a webhook, drains a node.

`throttle` is the node's own, `reroute` has a file of its own. Without leave to act each is proposed and nothing more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from ..node.alert_facts import ActionRecord, Alert, Event, Happening, Outcome, Rule, Sink
from ..node.codec import encode
from . import alert_courier, drain
from .alert_courier import Courier, Result, RetryError, Work
from .alert_store import new_id, undone
from .command import CommandFailedError

Sinks = Mapping[tuple[str, str], Sink]
"""By node and rule."""
MARK = "alert"
"""How the reason of a drain by an alert goes on, behind the mark of all of ours."""


def record(event: Event, rule: Rule, what: str, outcome: Outcome, result: str = "") -> ActionRecord:
    """A new one."""
    alert = event.alert
    return ActionRecord(
        new_id(), event.at, alert.node, alert.rule, alert.labels, rule.action, event.evidence, what, outcome, result
    )


class Proposed:
    """In the place of any action that may not be taken: says what would be done."""

    def __init__(self, name: str, what: Callable[[Event, Rule], str], why: str = "--act was not given") -> None:
        self.name, self._what, self._why = name, what, why

    def begin(self, event: Event, rule: Rule) -> ActionRecord:
        return record(event, rule, self._what(event, rule), Outcome.PROPOSED, self._why)

    def undo(self, event: Event, rule: Rule, begun: ActionRecord) -> Sequence[ActionRecord]:  # noqa: ARG002
        return (undone(begun, event.at),)

    def tick(self, alerts: Iterable[Alert], at: float) -> Sequence[ActionRecord]:  # noqa: ARG002
        return ()

    def close(self) -> Sequence[ActionRecord]:
        return ()


class Log(Proposed):
    """The history is the log."""

    def __init__(self) -> None:
        super().__init__("log", lambda event, _rule: event.alert.summary, "")

    def begin(self, event: Event, rule: Rule) -> ActionRecord:
        return super().begin(event, rule)._replace(outcome=Outcome.DONE)


class Sent:
    """What takes its time and is told by the courier."""

    name = ""

    def __init__(self, courier: Courier) -> None:
        self._courier = courier
        self._under_way: dict[str, ActionRecord] = {}

    def _send(self, begun: ActionRecord, work: Work) -> ActionRecord:
        outcome, text = self._courier.send(begun.id, work)
        begun = begun._replace(outcome=outcome, result=text)
        if outcome is Outcome.BEGUN:
            self._under_way[begun.id] = begun
        return begun

    def tick(self, alerts: Iterable[Alert], at: float) -> Sequence[ActionRecord]:  # noqa: ARG002
        ended = [(self._under_way.pop(name, None), result) for name, result in self._courier.results().items()]
        return [self._ended(begun, result) for begun, result in ended if begun]

    def _ended(self, begun: ActionRecord, result: Result) -> ActionRecord:
        return begun._replace(outcome=result.outcome, result=result.text)

    def close(self) -> Sequence[ActionRecord]:
        self._courier.close()
        told = list(self.tick((), 0))
        why = "brctl ended before it was known"
        return told + [one._replace(outcome=Outcome.FAILED, result=why) for one in self._under_way.values()]


class Told(Sent):
    """exec and webhook: somebody else is told, when an alert fires and when it is over."""

    def __init__(self, name: str, sinks: Sinks, courier: Courier) -> None:
        super().__init__(courier)
        self.name, self._sinks = name, sinks

    def begin(self, event: Event, rule: Rule) -> ActionRecord:
        return self._tell(event, rule)

    def undo(self, event: Event, rule: Rule, begun: ActionRecord) -> Sequence[ActionRecord]:
        return (undone(begun, event.at), self._tell(event, rule))

    def _tell(self, event: Event, rule: Rule) -> ActionRecord:
        sink = self._sinks.get((event.alert.node, rule.id))
        if sink is None:
            return record(event, rule, self.name, Outcome.FAILED, "the config no longer says where to")
        begun = record(event, rule, f"{event.what.value}: {addressee(sink)}", Outcome.BEGUN)
        text = json.dumps(message(event, rule)).encode("ascii")
        if sink.url:
            return self._send(begun, alert_courier.post(sink.url, text))
        return self._send(begun, alert_courier.command(sink.command, environment(event, rule), text))


def addressee(sink: Sink) -> str:
    """Of what a rule tells whom: the program, or the host. What else stands in argv or URL may be a secret."""
    if sink.url:
        at = urlsplit(sink.url)
        return f"{at.scheme}://{at.hostname}{f':{at.port}' if at.port else ''}"
    return sink.command[0] if sink.command else "nobody"


def message(event: Event, rule: Rule) -> dict[str, object]:
    """What exec has on stdin and webhook in its body."""
    alert = event.alert
    return {
        "schema_version": 1,
        "status": "resolved" if event.what is Happening.RESOLVED else "firing",
        "alert": alert.rule,
        "node": alert.node,
        "severity": rule.severity.value,
        "labels": {**{label.name: label.value for label in (*alert.labels, *rule.labels)}},
        "summary": alert.summary,
        "evidence": event.evidence,
        "value": alert.value,
        "threshold": rule.threshold,
        "since": alert.fired_at,
        "at": event.at,
        "rule": encode(rule._replace(summary="")),
    }


def environment(event: Event, rule: Rule) -> dict[str, str]:
    """What exec has in its environment: BRCTL_ALERT, BRCTL_STATUS, ..., and BRCTL_LABEL_GPU of a label `gpu`."""
    told = message(event, rule)
    names = ("status", "alert", "node", "severity", "summary", "evidence", "value", "threshold")
    found = {f"BRCTL_{name.upper()}": _text(told[name]) for name in names}
    for name, value in (*event.alert.labels, *rule.labels):
        found["BRCTL_LABEL_" + re.sub("[^A-Z0-9_]", "_", name.upper())] = _text(value)
    return found


def _text(value: object) -> str:
    """As the environment can hold it: what a node sent may have NUL in it."""
    return "" if value is None else str(value).replace("\0", "?").encode("utf-8", "replace").decode("utf-8")


class Drain(Sent):
    """Takes nodes from the scheduler; never more at a time than `most`, those of earlier runs included.

    Nothing is given back by itself: that an alert is over says that the node is idle, not that it is mended.
    """

    name = "drain"

    def __init__(self, scheduler: drain.Scheduler, most: int, courier: Courier) -> None:
        super().__init__(courier)
        self._scheduler, self._most = scheduler, most

    def begin(self, event: Event, rule: Rule) -> ActionRecord:
        node = event.alert.node
        begun = record(event, rule, f"drain {node}", Outcome.BEGUN)
        return self._send(begun, lambda _limit_s: self._drain(node, f"{MARK} {rule.id}"))

    def undo(self, event: Event, rule: Rule, begun: ActionRecord) -> Sequence[ActionRecord]:  # noqa: ARG002
        if begun.outcome in (Outcome.REFUSED, Outcome.FAILED):  # there is nothing to give back
            return (undone(begun, event.at),)
        over = f"the alert is over; `brctl -w {begun.node} node-manager resume` gives the node back"
        return (begun._replace(result=f"{begun.result}; {over}".lstrip("; ")),)

    def _drain(self, node: str, why: str) -> Result:
        """One at a time, as its courier has one worker: no two count at once."""
        try:
            states = self._scheduler.states()
            ours = {name for name, it in states.items() if it.ours and f"{drain.MARK} {MARK} " in (it.reason or "")}
            if node not in ours and len(ours) >= self._most:
                text = (
                    f"{len(ours)} drained by alerts already ({', '.join(sorted(ours)[:4])}), --max-nodes {self._most}"
                )
                return Result(Outcome.REFUSED, text)
            book: drain.Book = {}
            drain.drain(self._scheduler, {node: drain.reason(why)}, force=False, wait_s=None, book=book)
        except CommandFailedError as error:
            raise RetryError(error.message) from None
        done = book[node]
        return Result(_OUTCOMES.get(done.result, Outcome.DONE), done.message)


_OUTCOMES = {
    drain.Result.UNCHANGED: Outcome.UNCHANGED,
    drain.Result.REFUSED: Outcome.REFUSED,
    drain.Result.FAILED: Outcome.FAILED,
}
