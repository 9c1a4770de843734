"""The drivers of the NICs have told of no failure of a card's firmware, and no transmit queue is stuck.

A command that the firmware does not answer, a health counter that stands still, an internal error: the card needs a
reset, and RDMA over it hangs until then. A slot that gives too little power is told once, at the start.
"""

from typing import Optional, Sequence

from ...report import Finding, Status
from .. import Case, Check, incidents
from ..incidents import Told

_POWER = "insufficient power"


def run(case: Case) -> Sequence[Finding]:
    return incidents.findings(
        CHECK, case.seen, _judge, _describe, _remedy, "no error of a NIC's firmware since the boot"
    )


def _judge(one: Told) -> Status:
    mild = one.event.kind == "nic-timeout" or _POWER in one.event.text
    return Status.WARN if mild else Status.CRIT


def _describe(ones: Sequence[Told]) -> str:
    event = ones[0].event
    when = incidents.times(event)
    if event.kind == "nic-timeout":
        return "a transmit queue is stuck ({})".format(when)
    if _POWER in event.text:
        return "its slot gives too little power ({})".format(when)
    return "its firmware does not answer, or failed ({})".format(when)


def _remedy(ones: Sequence[Told]) -> Optional[str]:
    if _POWER in ones[0].event.text:
        return "look at the slot's power limit in the BIOS, and at the riser's power cable"
    return "drain the node and reset the card (mlxfwreset, or reboot); if it comes back, update its firmware"


CHECK = Check(
    id="nic-firmware-error",
    title="The NICs' drivers have told of no firmware failure",
    tags=("health",),
    needs=("kernel_log",),
    run=run,
    group="log",
)
