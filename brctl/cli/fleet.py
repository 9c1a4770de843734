"""One run over the nodes that --nodes names."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..config.find import choose
from ..fleet.order import Limits, Order, Progress
from ..fleet.transport import Transport, TransportError
from ..node.report import NodeError, Report
from ..node.request import Communication, Expected, Override, Request, Tuning
from ..render.progress import ProgressLine
from .common import MOST_FANOUT, Common
from .errors import INCOMPLETE, CommandError
from .waves import Plan

if TYPE_CHECKING:
    from ..config.resolve import Config
    from ..fleet.streams import Streams

DEFAULT_FANOUT = 64
DEFAULT_CONNECT_S = 10.0
LEAST_START_S = 15.0
"""For the agent to start, however short its answer may be: 300 kB may have to reach the node first."""


class Target(NamedTuple):
    """A node, and what the config says of it."""

    node: str
    expected: Expected
    overrides: tuple[Override, ...]
    mock: str | None
    tune: Tuning = Tuning()
    comm: Communication = Communication()

    def request(self, action: str) -> Request:
        return Request(self.node, action, self.expected, self.overrides, tune=self.tune, comm=self.comm)


def target(name: str, config: Config | None, mock: str | None = None) -> Target:
    """Of a node; what the config says of the cluster as a whole holds for one that it does not know."""
    if config is None:
        return Target(name, Expected(), (), mock)
    from ..config.resolve import communication, expected, thresholds
    from ..fleet.rail_out import RailFile

    node = config.node(name)
    kept = RailFile(config.path, bool(mock)).read()
    comm = communication(node, config.settings.topology.kind)._replace(out=kept.out if kept else None)
    return Target(name, expected(node), thresholds(node), mock, comm=comm)


class FleetSession(NamedTuple):
    """What a command needs to ask the nodes."""

    common: Common
    config: Config | None
    here: str
    """What this host is called."""
    targets: Sequence[Target]
    transport: Transport
    limits: Limits
    fail_on: str
    plan: Plan = Plan(())

    def ask(
        self, action: str, meanwhile: Callable[[], None], adapt: Callable[[Request], Request] = lambda request: request
    ) -> tuple[Report, ...]:
        """A Report of each node, in order; after Ctrl-C too. `adapt` as in Session.ask. Raises CommandError."""
        meanwhile()
        return self.ask_each([adapt(target.request(action)) for target in self.targets])

    def ask_each(self, requests: Sequence[Request]) -> tuple[Report, ...]:
        """Likewise, each target its own request."""
        reports: list[Report] = []
        try:
            for batch in self._batches(self._orders(requests)):
                reports += batch
        except TransportError as error:
            raise CommandError(str(error), error.hint, INCOMPLETE) from None
        self.plan.note(self.common, reports)
        return tuple(reports)

    def streams(self, requests: Sequence[Request]) -> Streams:
        """The ticks of all nodes."""
        from ..fleet.streams import Streams

        return Streams(self._orders(requests), self.transport, self.limits)

    def _orders(self, requests: Sequence[Request]) -> list[Order]:
        return [Order(each.node, request, each.mock) for each, request in zip(self.targets, requests, strict=True)]

    def _batches(self, orders: Sequence[Order]) -> Iterator[Sequence[Report]]:
        """The Reports of one batch after another. After Ctrl-C the rest is not asked. Raises TransportError."""
        from ..fleet.engine import InterruptedRunError, ask_all

        apart_s = max((order.request.interval_s for order in orders), default=0.0)
        patient = self.limits._replace(answer_s=self.limits.answer_s + apart_s)
        done = failed = 0
        for batch in self.plan.batches(orders):
            try:
                with ProgressLine(self.common.quiet, self.common.verbose) as tell:
                    on_tick = _counted(tell, len(orders), done, failed)
                    reports = ask_all(batch, self.transport, patient, on_report=tell.hear, on_tick=on_tick)
            except InterruptedRunError as interrupted:
                yield [*interrupted.reports, *map(_not_asked, orders[done + len(batch) :])]
                return
            yield reports
            done, failed = done + len(batch), failed + sum(bool(report.errors) for report in reports)
            if done < len(orders):
                self.common.warn(f"{done} of {len(orders)} nodes asked, {failed} failed")


def _counted(tell: ProgressLine, total: int, done: int, failed: int) -> Callable[[Progress], None]:
    return lambda progress: tell(progress.after(total, done, failed))


def _not_asked(order: Order) -> Report:
    """Of a node whose batch was still to come."""
    return Report(order.node, time.time(), 0.0, errors=(NodeError("not-asked", "interrupted before it was asked"),))


def compared(config: Config | None, targets: Sequence[Target], reports: Sequence[Report]) -> tuple[Report, ...]:
    """The Reports, with what is odd of a node among its like."""
    if len(reports) < 2:
        return tuple(reports)
    from ..config.resolve import kin
    from ..fleet.compare import Member, against_fleet
    from ..fleet.fold import stem

    expected = {each.node: each.expected for each in targets}
    kins = {each.node: (kin(config, each.node) if config else None) or stem(each.node) for each in targets}
    return against_fleet([Member(each, kins[each.node], expected[each.node]) for each in reports])


class Mocks(NamedTuple):
    """What `--mock` says: `dgx-h100`, or of many nodes `dgx-h100,gpu007=dgx-h100+gpu3-lost`."""

    default: str = ""
    others: Mapping[str, str] = {}  # nobody writes to it

    def of(self, node: str | None) -> str | None:
        """The machine that stands in for a node; None where nothing is mocked. Raises CommandError."""
        spec = self.others.get(node or "", self.default) or None
        if spec is None and self.others:
            who, hint = node or "this host", "begin with a machine for all others: --mock dgx-h100,NODE=MACHINE"
            raise CommandError(f"--mock names no machine for {who}", hint)
        return spec


def parse_mocks(text: str) -> Mocks:
    """Raises CommandError: two machines for all other nodes, or an empty name, which would be the real one."""
    default, others = "", {}
    for part in text.split(",") if text else ():
        node, equals, spec = part.partition("=")
        if not (spec and node if equals else part):
            raise CommandError(f"--mock {text}: the name of a machine or node is empty", "MACHINE,NODE=MACHINE,...")
        if equals:
            others[node] = spec
        elif default:
            raise CommandError(f"--mock {text}: {default} and {part} cannot both stand in for all nodes")
        else:
            default = part
    return Mocks(default, others)


def transport(common: Common, config: Config | None, here: str, names: Sequence[str]) -> Transport:
    """As the config says; ssh where there is none. Raises CommandError: it does not reach these nodes."""
    if config is None:
        return Transport(here=here)
    given = config.settings.transport
    from ..config.nodes import expand

    tree = given.tree if given.tree and len(names) > given.tree.above else None
    if tree and given.kind != "ssh":
        common.warn(f"warning: transport.tree is for ssh; transport.kind is {given.kind}")
    if given.kind == "local" and set(names) != {here}:
        raise CommandError("transport.kind is local: only this host can be reached", f"see {config.path}")
    try:
        template = tuple(shlex.split(given.template or ""))
    except ValueError as error:
        raise CommandError(f"transport.template: {error}", f"see {config.path}") from None
    return Transport(
        given.kind,
        template,
        given.user,
        given.port,
        given.proxy_jump,
        given.ssh_config,
        tuple(given.options.items()),
        given.python,
        given.sudo,
        here,
        expand(tree.gateways) if tree and given.kind == "ssh" else (),
    )


def limits(given: Common, config: Config | None, answer_s: float) -> Limits:
    """Raises CommandError, ConfigError."""
    declared = config.settings.transport if config else None
    fanout = choose(given.fanout, "BRCTL_FANOUT", declared.fanout if declared else None, DEFAULT_FANOUT, int)
    if not 1 <= fanout <= MOST_FANOUT:
        raise CommandError(f"$BRCTL_FANOUT {fanout}: 1 to {MOST_FANOUT} nodes at a time")
    connect_s = declared.connect_timeout if declared else DEFAULT_CONNECT_S
    return Limits(fanout, connect_s, max(LEAST_START_S, answer_s), answer_s)
