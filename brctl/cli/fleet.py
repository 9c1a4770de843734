"""One run over the nodes that --nodes names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..fleet.order import Progress
from ..node.request import Expected, Override, Request
from ..render.progress import ProgressLine
from .common import Common
from .errors import CommandError

if TYPE_CHECKING:
    from ..config.resolve import Config
    from ..node.report import Report


class Target(NamedTuple):
    """A node, and what the config says of it."""

    node: str
    expected: Expected
    overrides: tuple[Override, ...]
    mock: str | None

    def request(self, action: str) -> Request:
        return Request(self.node, action, self.expected, self.overrides)


def target(name: str, config: Config | None, mock: str | None = None) -> Target:
    """Of a node; what the config says of the cluster as a whole holds for one that it does not know."""
    if config is None:
        return Target(name, Expected(), (), mock)
    from ..config.resolve import expected, thresholds

    node = config.node(name)
    return Target(name, expected(node), thresholds(node), mock)


class FleetSession(NamedTuple):
    """What a command needs to ask the nodes."""

    common: Common
    config: Config | None
    targets: Sequence[Target]
    fail_on: str
    timeout_s: float

    def ask(self, action: str, meanwhile: Callable[[], None]) -> tuple[Report, ...]:
        """A Report of each node, in order. Raises CommandError."""
        meanwhile()
        with ProgressLine(self.common.quiet) as tell:
            return _ask_all(self.targets, action, tell)


def _ask_all(targets: Sequence[Target], action: str, on_tick: Callable[[Progress], None]) -> tuple[Report, ...]:
    """The seam to the engine, which takes its place: until then mocked machines answer, in this process."""
    from ..mock.machines import load
    from ..node.agent import answer

    reports: list[Report] = []
    for each in targets:
        if each.mock is None:
            raise CommandError(f"{each.node} cannot be reached: there is no transport yet", "run brctl on that node")
        on_tick(Progress(len(targets), len(reports), 0, 1, each.node, 0))
        reports.append(answer(load(each.mock, each.node), each.request(action))._replace(node=each.node))
    return tuple(reports)


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
    """Raises CommandError: two machines for all other nodes."""
    default, others = "", {}
    for part in filter(None, text.split(",")):
        node, equals, spec = part.partition("=")
        if equals:
            others[node] = spec
        elif default:
            raise CommandError(f"--mock {text}: {default} and {part} cannot both stand in for all nodes")
        else:
            default = part
    return Mocks(default, others)
