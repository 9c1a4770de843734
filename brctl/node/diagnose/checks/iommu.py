"""On bare metal, no IOMMU translates what GPUs and NICs say to each other.

With translation (domains `DMA`, `DMA-FQ`) traffic between them goes up to the CPU and back, if it goes at all. In pass
through mode (`identity`) it does not. In a virtual machine translation is what keeps guests apart, and is the
hypervisor's business.
"""

from typing import Sequence

from ...report import Evidence, Finding, Status
from .. import Case, Check, hosts

_TRANSLATES = ("DMA", "DMA-FQ")
_REMEDY = "add `iommu=pt` to the kernel's command line and reboot; or switch the IOMMU off in the BIOS"


def run(case: Case) -> Sequence[Finding]:
    if case.seen.hypervisor:
        return (CHECK.finding(Status.NA, "a virtual machine ({})".format(case.seen.hypervisor)),)
    domains = case.seen.iommu or ()
    translated = [domain for domain in domains if domain.type in _TRANSLATES]
    if not translated:
        words = "passes through" if domains else "none in use"
        return (CHECK.finding(Status.PASS, words),)
    status = hosts.unfit(case.seen)
    summary = "addresses of {} of {} GPUs and NICs are translated".format(len(translated), len(domains))
    path = "/sys/bus/pci/devices/{}/iommu_group/type"
    evidence = tuple(Evidence(one.address, one.type, path.format(one.address)) for one in translated[:3])
    remedy = _REMEDY if status is Status.WARN else None
    return (CHECK.finding(status, summary, evidence=evidence, remedy=remedy),)


CHECK = Check(
    id="iommu",
    title="No IOMMU stands between GPUs and NICs",
    tags=("health",),
    needs=("iommu",),
    run=run,
    reads=("hypervisor", "pci"),
)
