"""No port spends much of its time in pauses of priority flow control, in either direction.

A port that sends pauses is the slow receiver: packets come faster than its PCIe link, its memory or a GPU takes them.
One that receives them is told by its switch to wait, for a receiver elsewhere: the node that sends pauses is that one.
What counts is the share of time, not the number of frames. A storm that the card itself notices is told at once.
"""

from typing import Dict, Mapping, Optional, Sequence, Tuple

from ...probe.port_counters import pause
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold
from ..growth import Growth
from ..port_looks import Look, judge, totals
from ..verdicts import WELL, Verdict

_US = 1e-6
_STORMS = ("tx_pause_storm_error_events", "tx_pause_storm_warning_events")
_SAYS = {
    "tx": "it tells its switch to pause for {:.0f} % of the time (priority {}): it is the slow receiver",
    "rx": "its switch tells it to pause for {:.0f} % of the time (priority {}): a receiver elsewhere is slow",
}
_REMEDIES = {
    "tx": "see nic-pcie, gpu-pcie, pci-acs and iommu on this node, and that its receive buffers are in the memory of "
    "its own NUMA node",
    "rx": "look for the node that sends pauses: `brctl diagnose run --only nic-pause --nodes @all`",
}


def run(case: Case) -> Sequence[Finding]:
    if not case.earlier:
        counters = [one.name for port in case.seen.port_counters or () for one in port.counters]
        return (totals(CHECK, case, [name for name in counters if pause(name) or name in _STORMS]),)
    most = case.thresholds["share"] / 100
    return judge(CHECK, case, lambda look: _look(look, most), "hardly any pause", "how long it pauses")


def _look(look: Look, most: float) -> Optional[Verdict]:
    shares = _shares(look.grown)
    storms = [name for name in _STORMS if look.amount(name)]
    way, priority, name = max(shares, key=lambda key: shares[key], default=("tx", "", ""))
    if shares and shares[way, priority, name] > most:
        share = shares[way, priority, name]
        text = _SAYS[way].format(share * 100, priority)
        evidence = (*look.evidence(name, *storms), Evidence("share of time", "{:.1%}".format(share), name))
        return Verdict(Status.WARN, text, evidence, _REMEDIES[way])
    if storms:
        text = "a pause storm: the card was stalled for so long that its firmware says so"
        return Verdict(Status.WARN, text, look.evidence(*storms), _REMEDIES["tx"])
    return WELL if shares else None


def _shares(grown: Mapping[str, Growth]) -> Dict[Tuple[str, str, str], float]:
    """By direction, priority and counter."""
    found = {}
    for name, growth in grown.items():
        counted = pause(name)
        if counted:
            found[counted[0], counted[1], name] = min(1.0, growth.amount * _US / growth.seconds)
    return found


CHECK = Check(
    id="nic-pause",
    title="No port spends much of its time in pauses",
    tags=("health", "counter"),
    needs=("port_counters",),
    run=run,
    thresholds=(
        Threshold(
            "share",
            5,
            "percent of the time",
            "Our own, as no maker names one: pauses are what a lossless class works by, and short ones are normal; "
            "at a twentieth of the time, that much bandwidth is gone, for all who share the priority.",
        ),
    ),
    reads=("nics", "rdma"),
    group="network",
    after=("nic-firmware-error", "nic-pcie"),
)
