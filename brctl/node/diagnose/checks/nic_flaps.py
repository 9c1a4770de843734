"""No port loses its link again and again.

Losses are counted by the card (link_down_events_phy, link_downed) or, where it does not, by the kernel, which counts
every loss and every return. They are judged by how many came within twelve hours, and over a longer time by the mean
of as many; fewer are noted.
"""

from typing import Optional, Sequence

from ...report import Finding, Status
from .. import Case, Check, Threshold
from ..port_looks import Look, judge
from ..verdicts import WELL, Verdict

_BY_CARD = ("link_down_events_phy", "link_down_events", "counters/link_downed")
_CHANGES = "carrier_changes"
_SPAN_S = 12 * 3600
_REMEDY = (
    "clean and reseat cable and module at both ends, see `ethtool -m` for light and `mlxlink -m -c` for bit errors; "
    "then swap the cable, and see whether the fault moves with it"
)


def run(case: Case) -> Sequence[Finding]:
    most = case.thresholds["losses"]
    return judge(CHECK, case, lambda look: _look(look, most), "the link stayed", "how often its link was lost")


def _look(look: Look, most: float) -> Optional[Verdict]:
    names = [name for name in (*_BY_CARD, _CHANGES) if name in look.grown]
    if not names:
        return None
    losses = max(look.grown[name].amount / (2 if name == _CHANGES else 1) for name in names)
    if losses < 1:
        return WELL
    often = losses >= most * max(1.0, look.grown[names[0]].seconds / _SPAN_S)
    text = "its link was lost {:.0f} time{} since {}".format(losses, "" if losses < 2 else "s", look.since)
    return Verdict(Status.WARN if often else Status.INFO, text, look.evidence(*names), _REMEDY if often else None)


CHECK = Check(
    id="nic-flaps",
    title="No port loses its link again and again",
    tags=("health", "counter"),
    needs=("port_counters",),
    run=run,
    thresholds=(
        Threshold("losses", 3, "in 12 hours", "leptonai/gpud calls a port that came back three times in 12 h flapping"),
    ),
    reads=("nics", "rdma"),
    group="network",
    after=("nic-firmware-error", "pcie-aer"),
)
