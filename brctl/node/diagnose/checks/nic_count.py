"""As many network ports are there as the config declares; where it declares interfaces without a number, at least one.

Ports are the interfaces that the declared patterns name, and InfiniBand ports that need no interface. A port without a
link is there: what is wrong with it is for nic-speed. Fewer than declared are critical, more a warning.
"""

from typing import Iterator, Tuple

from ...facts import Inventory
from ...report import Evidence, Finding, Status
from ...request import ExpectedNics
from .. import Case, Check, ports
from ..parts import counted

_SOURCE = "/sys/class/net and /sys/class/infiniband"
_REMEDY = (
    "compare with `lspci -nn -d ::0200` and `-d ::0207`: a card that is there without a driver needs its module, "
    "an interface of another name needs the pattern corrected, a card that is gone needs hands"
)


def run(case: Case) -> Iterator[Finding]:
    found = ports.expected(case.seen, case.want)
    want = case.want.nics or ExpectedNics()
    if want.interfaces and want.nic_count is None and not found:
        summary = "no interface fits {}".format(want.interfaces)
        evidence = (
            Evidence("interfaces", " ".join(nic.name for nic in case.seen.nics or ()) or "none", _SOURCE),
            Evidence("declared", want.interfaces, "hardware.nics.interfaces"),
        )
        finding = CHECK.finding(Status.CRIT, summary, evidence=evidence, remedy=_REMEDY)
    else:
        finding = counted(CHECK, "NICs", len(found), want.nic_count, _SOURCE, "hardware.nics.count", _REMEDY)
    short = finding.status is Status.CRIT
    yield finding._replace(evidence=finding.evidence + _driverless(case.seen)) if short else finding


def _driverless(seen: Inventory) -> Tuple[Evidence, ...]:
    """Network controllers that no driver serves: likely the missing ones."""
    return tuple(
        Evidence(device.address, "no driver", "/sys/bus/pci/devices/{}/driver".format(device.address))
        for device in seen.pci or ()
        if device.pci_class.startswith("02") and device.driver is None
    )


CHECK = Check(
    id="nic-count",
    title="All declared NICs are there",
    tags=("inventory",),
    needs=(),
    run=run,
    reads=("nics", "rdma"),
)
