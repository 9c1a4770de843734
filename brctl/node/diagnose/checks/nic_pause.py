"""No NIC pauses its switch, is paused, or drops packets at a high rate, and no link went down between two looks.

A NIC that cannot take what comes tells its switch to pause (PFC); the switch pauses those before it, and the congestion
spreads to who has nothing to do with it. Packets that are dropped all the same cost RDMA a timeout. Judged by growth:
totals are of a life that nobody knows.
"""

from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

from ...facts import NicCounters
from ...report import Evidence, Finding, Status, Subject
from .. import Case, Check, Threshold

_MICRO = 1e-6
_REMEDY = (
    "look for what slows the receivers of this node (GPU, PCIe, ACS); compare PFC priority, DSCP and ECN with the "
    "switch (`mlnx_qos -i {0}`, `ethtool -a {0}`), then cable and switch port"
)


class _Growth(NamedTuple):
    name: str
    amount: int
    seconds: float
    since: str


def run(case: Case) -> Sequence[Finding]:
    known = case.seen.nic_counters or ()
    if not case.earlier:
        return (CHECK.finding(Status.INFO if _totals(known) else Status.NA, "one look is no verdict" + _totals(known)),)
    found = [finding for one in known for finding in _judge(case, one)]
    return found or (CHECK.finding(Status.PASS, "{} NICs: no pauses, no drops to speak of".format(len(known))),)


def _totals(known: Sequence[NicCounters]) -> str:
    shown = ["{} {}".format(one.name, one.value) for nic in known for one in nic.counters if one.value]
    return "; since the driver was loaded: " + ", ".join(shown[:8]) if shown else ""


def _judge(case: Case, now: NicCounters) -> Iterator[Finding]:
    worst: Dict[str, Tuple[Status, str, _Growth]] = {}
    for growth in _growths(case, now):
        status, text = _verdict(case, growth)
        if status is not Status.PASS:
            worst.setdefault(growth.name, (status, text, growth))
    if not worst:
        return
    told = sorted(worst.values(), key=lambda one: -list(Status).index(one[0]))
    evidence = tuple(
        Evidence(growth.name, "+{} in {:.1f} s, since {}".format(growth.amount, growth.seconds, growth.since), source)
        for _, _, growth in told[:4]
        for source in ("ethtool -S " + now.nic,)
    )
    summary = "{}: {}".format(now.nic, ", ".join(dict.fromkeys(text for _, text, _ in told)))
    yield CHECK.finding(told[0][0], summary, Subject("nic", now.nic, now.nic), evidence, _REMEDY.format(now.nic))


def _verdict(case: Case, growth: _Growth) -> Tuple[Status, str]:
    if "storm" in growth.name and growth.amount:
        return Status.CRIT if "error" in growth.name else Status.WARN, "a pause storm by the card's own word"
    if growth.name.endswith("pause_duration"):
        share = 100 * growth.amount * _MICRO / growth.seconds
        side = "pauses its switch" if growth.name.startswith("tx") else "is paused by its switch"
        bad = share >= case.thresholds["pause_percent"]
        return (Status.WARN, "{} for {:.0f} % of the time".format(side, share)) if bad else (Status.PASS, "")
    if growth.name == "link_down_events_phy":
        return (Status.WARN, "its link went down") if growth.amount else (Status.PASS, "")
    bad = growth.amount / growth.seconds > case.thresholds["drops_per_second"]
    return (Status.WARN, "drops packets") if bad else (Status.PASS, "")


def _growths(case: Case, now: NicCounters) -> List[_Growth]:
    """Of each counter, against each earlier look in which it was no more: else the driver was loaded anew."""
    found: List[_Growth] = []
    for earlier in case.earlier:
        before = next((one for one in earlier.seen.nic_counters or () if one.nic == now.nic), None)
        seconds = now.read_at_s - before.read_at_s if before else 0.0
        was = {one.name: one.value for one in before.counters} if before else {}
        found += [
            _Growth(one.name, one.value - was[one.name], seconds, earlier.since)
            for one in now.counters
            if seconds > 0 and 0 <= was.get(one.name, -1) <= one.value
        ]
    return found


CHECK = Check(
    id="nic-pause",
    title="No NIC pauses or drops at a high rate",
    tags=("health", "counter"),
    needs=("nic_counters",),
    run=run,
    thresholds=(
        Threshold(
            "pause_percent",
            10,
            "% of the time",
            "Ours: a healthy fabric pauses for moments; at a tenth of the time a tenth of the bandwidth is gone.",
        ),
        Threshold(
            "drops_per_second",
            100,
            "packets per second",
            "NVSentinel calls port_xmit_discards fatal beyond 100 a second.",
        ),
    ),
    group="network",
)
