"""The series of alerts: what rules need and no node knows, and what fires."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ..node.alert_facts import Alert, Label
from ..node.monitor import GPU_LABELS
from ..node.report import Report, Sample, Series, State
from ..node.samples import Group, Samples, grouped, of
from .balance import UTILIZATION

NODE_UP = Series("brctl_node_up", "", "gauge", (), "Whether the node answered in this tick.", "its agent", "exporter")
STRAGGLER = Series(
    "brctl_gpu_straggler", "", "gauge", GPU_LABELS,
    "1: its clock or utilisation is far below that of the other GPUs of its model.", "all nodes", "alerts",
)  # fmt: skip
FIRING = Series(
    "brctl_alert_firing", "", "gauge", ("alert", "severity", "part"),
    "1: this alert fires, and is not silenced. One that does not fire is absent.", "all samples", "alerts",
)  # fmt: skip
SERIES = (STRAGGLER, FIRING)
"""What is told with the samples of a node."""


def with_samples(report: Report, lagging: Collection[tuple[str, str, str]], now: float) -> Report:
    """With what only the admin side knows: whether the node answers, and which of its GPUs lag behind.

    `lagging`: node, index and UUID of each. `now`: a node that is silent is so anew in each tick.
    """
    asked = not report.errors or report.errors[0].kind != "not-asked"
    at = now if report.errors else report.time
    told = [Sample(NODE_UP.name, (), float(not report.errors), State.MEASURED, at)] if asked else []
    for one in of(report.samples, UTILIZATION):
        if one.state is State.MEASURED:
            gpu = one.labels[: len(GPU_LABELS)]
            told.append(Sample(STRAGGLER.name, gpu, float((report.node, *gpu) in lagging), one.state, one.at))
    samples = Samples((*grouped(report.samples), Group(told)))
    return report._replace(samples=samples, series=(*report.series, *SERIES))


def without_node_up(samples: Sequence[Sample]) -> Iterator[Group]:
    """Which the exporter tells itself."""
    for group in grouped(samples):
        up = NODE_UP.name in group.places
        yield Group(one for one in group if one.series != NODE_UP.name) if up else group


def firing(
    alerts: Sequence[Alert], quiet: Collection[tuple[str, str, tuple[Label, ...]]], now: float
) -> tuple[Sample, ...]:
    """What fires, but for the alerts with these keys."""
    return tuple(
        Sample(FIRING.name, (alert.rule, alert.severity.value, part(alert)), 1.0, State.MEASURED, now)
        for alert in alerts
        if alert.phase.fires and alert.key not in quiet
    )


def part(alert: Alert) -> str:
    """What of the node it is about: `gpu 3`, `device mlx5_0 port 1`; empty for the node. A UUID stands behind its
    index, and says nothing more."""
    return " ".join(f"{name} {value}" for name, value in alert.labels if name != "uuid")
