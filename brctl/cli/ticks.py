"""What `brctl monitor` asks of the nodes, and the ticks that come of it."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import typer

from .common import Common
from .errors import INCOMPLETE, CommandError

if TYPE_CHECKING:
    from ..config.resolve import Config
    from ..node.report import Report
    from ..node.request import Request, Sampling
    from .fleet import FleetSession, Target
    from .session import Session

FIRST_S = 60.0
"""For the first tick: eight GPUs without persistence mode take about 15 s to initialise."""
_PEERS = 8
"""A node measures the round trip to so many that follow it in the set, and not to all: n nodes make 8 n, not n^2."""


class Asked(NamedTuple):
    """What the command line and the config come to."""

    form: str
    interval_s: float
    for_s: float | None
    gpus: frozenset[str] | None
    """Indices; None: all."""
    require_gpu: bool
    act: bool = False
    """Do what the rules say of alerts."""
    max_nodes: int = 1
    """So many may alerts hold drained."""


def _sampling(config: Config | None, target: Target, asked: Asked) -> Sampling:
    from ..node.request import Cadence, Sampling

    if config is None:
        return Sampling(asked.interval_s)
    declared = config.node(target.node).monitor
    cadences = [Cadence(name, it.every) for name, it in declared.collectors.items() if it.every is not None]
    return Sampling(asked.interval_s, tuple(cadences), _peers(config, declared.peers, target.node))


def _peers(config: Config, declared: str | None, node: str) -> tuple[str, ...]:
    """Those that follow the node in the set, round and round."""
    names = config.members(declared) if declared else ()
    place = names.index(node) + 1 if node in names else 0
    return tuple(name for name in names[place:] + names[:place] if name != node)[:_PEERS]


def _requests(run: Session | FleetSession, asked: Asked, action: str) -> list[Request]:
    return [target.request(action)._replace(sampling=_sampling(run.config, target, asked)) for target in run.targets]


def sample(run: Session | FleetSession, asked: Asked) -> tuple[Report, ...]:
    from .session import Session

    requests = _requests(run, asked, "sample")
    if isinstance(run, Session):
        report = run.agent.ask(requests[0], run.timeout_s)
        return (report._replace(notes=(*run.notes, *report.notes)),)
    return run.ask_each(requests)


class Source(NamedTuple):
    """Where ticks come from."""

    common: Common
    ticks: Iterator[Sequence[Report]]
    here: str | None
    """The node that this host is; None: not among those that are looked at, or a mock."""
    config: Config | None
    nodes: Sequence[str]


@contextlib.contextmanager
def opened(ctx: typer.Context, asked: Asked) -> Iterator[Source]:
    from .alerting import acting
    from .session import Session, mocked, session

    with session(ctx) as run:
        requests = _requests(run, asked, "monitor")
        if asked.act:
            requests = [acting(request, run.config) for request in requests]
        nodes = [request.node for request in requests]
        if isinstance(run, Session):
            from ..fleet.streams import patience_s

            ticks = run.agent.ticks(requests[0], FIRST_S, patience_s(asked.interval_s))
            here = None if any(mocked(run.common)) else run.targets[0].node
            yield Source(run.common, _limited(((report,) for report in ticks), asked), here, run.config, nodes)
            return
        streams = run.streams(requests)
        try:
            yield Source(run.common, _limited(iter(streams), asked), None, run.config, nodes)
        finally:
            streams.close()


def _limited(ticks: Iterator[Sequence[Report]], asked: Asked) -> Iterator[Sequence[Report]]:
    """Until --for is over. Raises CommandError where --require-gpu finds none in the first tick."""
    end: float | None = None
    told = False
    for reports in ticks:
        chosen = among(reports if told else noted(reports, asked), asked)
        told = told or not any(map(waits, reports))
        if end is None:
            end = time.monotonic() + (asked.for_s or math.inf)
            if asked.require_gpu and not has_gpu(chosen):
                raise CommandError("no GPU answers", code=INCOMPLETE)
        yield chosen
        if time.monotonic() + asked.interval_s / 2 > end:
            return


def among(reports: Sequence[Report], asked: Asked) -> Sequence[Report]:
    """Without the samples of GPUs that --gpus does not name."""
    if asked.gpus is None:
        return reports
    found = []
    for report in reports:
        others = {series.name for series in report.series if series.labels[:1] != ("gpu",)}
        kept = tuple(one for one in report.samples if one.series in others or one.labels[0] in asked.gpus)
        found.append(report._replace(samples=kept))
    return found


def noted(reports: Sequence[Report], asked: Asked) -> Sequence[Report]:
    """With a note of indices in --gpus that no GPU has, where all nodes have been asked and none has let go of them."""
    from ..node.monitor import UP
    from ..node.samples import of

    indices = {one.labels[0] for report in reports for one in of(report.samples, UP)}
    none = sorted(map(int, (asked.gpus or frozenset()) - indices))
    answering = [report for report in reports if not report.errors]
    if not none or not answering or any(waits(report) or _let_go(report) for report in reports):
        return reports
    note = f"--gpus: no GPU has index {', '.join(map(str, none[:8]))}{', ...' if none[8:] else ''}"
    said = answering[0]._replace(notes=(*answering[0].notes, note))
    return [said if report is answering[0] else report for report in reports]


def waits(report: Report) -> bool:
    """Its node has not answered yet."""
    return any(error.kind == "not-asked" for error in report.errors)


def _let_go(report: Report) -> bool:
    from ..node.monitor import RELEASED
    from ..node.samples import of

    return any(one.value for one in of(report.samples, RELEASED))


def has_gpu(reports: Sequence[Report]) -> bool:
    from ..node.monitor import UP
    from ..node.samples import of

    return any(sample.value for report in reports for sample in of(report.samples, UP))
