"""Receive rings of like ports are of one size, and no port drops packets for lack of it while there could be more.

A small ring that loses nothing is no fault: large ones cost cache. Drops are judged by nic-drops; where a port's ring
is not as large as the card allows meanwhile, that is said here.
"""

from typing import Iterator, Optional, Sequence

from ...facts import LinkSettings
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold
from ..growth import sustained
from ..link_parts import Told, compared, settings_of
from ..port_looks import Look, looks

_DROPS = ("rx_out_of_buffer", "statistics/rx_missed_errors")
_REMEDY = "`ethtool -G PORT rx N`, and at boot; N up to the maximum of `ethtool -g`"


def run(case: Case) -> Sequence[Finding]:
    seen = {found[0].port.subject: found for found in looks(case)}
    bad = [finding for told in settings_of(case) for finding in _short(case, told, seen.get(told[0].subject, ()))]
    return bad or compared(CHECK, case, _size, _text, "ethtool -g {}", _REMEDY)


def _size(one: LinkSettings) -> Optional[int]:
    return one.ring.size if one.ring else None


def _text(one: LinkSettings) -> str:
    return "receive ring of {}".format(one.ring.size if one.ring else None)


def _short(case: Case, told: Told, mine: Sequence[Look]) -> Iterator[Finding]:
    port, one = told
    dropping = next((look for look in mine if _drops(look) > case.thresholds["drops"]), None)
    if dropping and one.ring and one.ring.size < one.ring.maximum:
        form = "{}: packets are dropped for lack of receive descriptors, and its ring has {} of {}"
        ring = Evidence("receive ring", "{} of {}".format(*one.ring), "ethtool -g " + one.interface)
        evidence = (*dropping.evidence(*_DROPS), ring)
        yield CHECK.finding(Status.WARN, form.format(one.interface, *one.ring), port.subject, evidence, _REMEDY)


def _drops(look: Look) -> float:
    return max((sustained(look.grown[name]) for name in _DROPS if name in look.grown), default=0.0)


CHECK = Check(
    id="nic-rings",
    title="Receive rings are alike and large enough",
    tags=("health", "counter"),
    needs=("link_settings",),
    run=run,
    thresholds=(
        Threshold("drops", 10, "a second", "Our own: a tenth of what nic-drops calls many, as more costs nothing."),
    ),
    reads=("nics", "rdma", "pci", "port_counters"),
    group="network",
)
