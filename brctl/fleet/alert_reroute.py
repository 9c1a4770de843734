"""The action `reroute`: a rail that loses packets is left out of the communication environment that jobs get, on all
nodes at once, until the loss is over. Routes are never touched, and jobs that run go on as they are.

With HCA sets that differ NCCL hangs, so there is no such thing for one node alone: where it cannot be done everywhere,
draining the node is proposed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from ..node.alert_facts import ActionRecord, Alert, Event, Outcome, Rule
from ..node.report import Report
from ..node.request import RailOut
from .alert_actions import Sent, record
from .alert_courier import Courier, Result
from .alert_store import undone
from .rail_out import Kept, RailFile

Look = Callable[[], Sequence[Report]]
"""Has all nodes of the config render their environment. Raises TransportError."""


class Reroute(Sent):
    """For one config. `look` is asked beside the ticks, by the courier. What is out stays out at the end: the loss is
    there whether or not somebody looks."""

    name = "reroute"

    def __init__(self, file: RailFile, nodes: Sequence[str], rail_only: bool, look: Look, courier: Courier) -> None:
        """`nodes`: of the config; none where there is none. `courier` has one worker: one rail is judged at a time."""
        super().__init__(courier)
        self._file, self._nodes, self._rail_only, self._look = file, nodes, rail_only, look
        self._lock = threading.Lock()
        """Of the file, and of what follows."""
        self._over: set[str] = set()
        """Ids of those that were undone before it was known what came of them."""

    def begin(self, event: Event, rule: Rule) -> ActionRecord:
        alert = event.alert
        device = _device(alert)
        what = f"leave {device} out of the communication environment of all nodes"
        begun = record(event, rule, what, Outcome.BEGUN)
        if device is None:
            return self._refused(begun, "this alert is of no RDMA device")
        if self._rail_only:
            return self._refused(begun, "the fabric is rail-only: without a rail, its GPUs have no way")
        if len(self._nodes) < 2:
            return self._refused(begun, "with another set of devices on one node alone, NCCL hangs")
        reason = f"{rule.id} on {alert.node} since {time.strftime('%Y-%m-%d %H:%M:%S %z', time.localtime(event.at))}"
        return self._send(begun, lambda _limit_s: self._take_out(begun, device, reason))

    def undo(self, event: Event, rule: Rule, begun: ActionRecord) -> Sequence[ActionRecord]:  # noqa: ARG002
        """Jobs that start from now on use the rail again, when nobody else holds it out."""
        try:
            text = self._let_go(begun.id)
        except OSError as error:
            return (begun._replace(outcome=Outcome.FAILED, result=f"cannot be given back: {error.strerror}"),)
        self._under_way.pop(begun.id, None)
        if text:
            done = Outcome.DONE if begun.outcome is Outcome.FAILED else begun.outcome  # it may have failed before
            begun = begun._replace(outcome=done, result=text)
        return (undone(begun, event.at),)

    def _ended(self, begun: ActionRecord, result: Result) -> ActionRecord:
        return self._refused(begun, result.text) if result.outcome is Outcome.REFUSED else super()._ended(begun, result)

    def _refused(self, begun: ActionRecord, why: str) -> ActionRecord:
        instead = f"`brctl -w {begun.node} node-manager drain` takes the node out instead"
        return begun._replace(outcome=Outcome.REFUSED, result=f"{why}; {instead}")

    def _take_out(self, begun: ActionRecord, device: str, reason: str) -> Result:
        """In the courier's thread."""
        kept = self._file.read()
        if kept and device in kept.devices:
            self._hold(kept._replace(holders=(*kept.holders, begun.id)))
            return Result(Outcome.UNCHANGED, f"it is out already: {kept.out.reason}")
        if kept:
            return Result(Outcome.REFUSED, f"rail {kept.out.rail} is out already: {kept.out.reason}")
        reports = [it for it in self._look() if it.environment and not it.environment.refused]
        rails = {it.node: it.environment.hcas for it in reports if it.environment}
        mine = rails.get(begun.node, ())
        if device not in mine:
            return Result(Outcome.REFUSED, f"{device} carries no rail of {begun.node}")
        place, odd = mine.index(device), sorted(node for node, hcas in rails.items() if len(hcas) != len(mine))
        if odd:
            return Result(Outcome.REFUSED, f"not all nodes have {len(mine)} rails, as {odd[0]}: see tune env --compare")
        if len(mine) < 2:
            return Result(Outcome.REFUSED, "it is the last rail")
        if len(rails) < 2:
            return Result(Outcome.REFUSED, "no other node answers with an environment")
        devices = tuple(sorted({hcas[place] for hcas in rails.values()}))
        self._hold(Kept(RailOut(place, len(mine), reason), devices, (begun.id,)))
        return Result(
            Outcome.DONE, f"rail {place} of {len(mine)} is out on {len(rails)} nodes, for jobs that start from now on"
        )

    def _hold(self, kept: Kept) -> None:
        """Unless all who asked for it have been told meanwhile that it is over."""
        with self._lock:
            holders = tuple(name for name in kept.holders if name not in self._over)
            self._file.write(kept._replace(holders=holders) if holders else None)

    def _let_go(self, name: str) -> str:
        """What came of it; empty where it held nothing. Raises OSError."""
        with self._lock:
            kept = self._file.read()
            holders = kept.holders if kept else ()
            rest = tuple(holder for holder in holders if holder != name)
            if kept and rest != holders:
                self._file.write(kept._replace(holders=rest) if rest else None)
            self._over.add(name)  # not before: where that fails, it is still held
        if rest == holders:
            return ""
        return "still out for another alert" if rest else "given back: jobs that start from now on use it again"


def _device(alert: Alert) -> str | None:
    """As the environment names it: `mlx5_3`, `mlx5_3:2` of a second port. None: it is of none."""
    device, port = alert.label("device"), alert.label("port")
    return f"{device}:{port}" if device and port not in (None, "1") else device
