"""On bare metal, no PCIe bridge above a GPU or NIC redirects what they say to each other (ACS).

ReqRedir, CmpltRedir and UpstreamFwd send it up to the CPU, and peer-to-peer copies drop to a fraction (nccl #606,
#2079). SrcValid alone is fine: it only checks who speaks. In a virtual machine ACS keeps guests apart, and bridges are
not the guest's. Where the PCI tree is not known, every bridge counts.
"""

from typing import Sequence

from ...report import Evidence, Finding, Status
from .. import Case, Check, hosts

_REDIRECTS = ("ReqRedir", "CmpltRedir", "UpstreamFwd")
_REMEDY = (
    "switch ACS off in the BIOS, or at every boot by `setpci -s {} ECAP_ACS+6.w=0` for each of these bridges; not "
    "where virtual machines get devices"
)


def run(case: Case) -> Sequence[Finding]:
    if case.seen.hypervisor:
        return (CHECK.finding(Status.NA, "a virtual machine ({})".format(case.seen.hypervisor)),)
    if not hosts.serves_gpus(case.seen):
        return (CHECK.finding(Status.NA, "no GPU on the PCI bus"),)
    devices = [
        one for one in case.seen.pci or () if one.pci_class.startswith(("02", "03")) and not one.physical_function
    ]
    above = {port for device in devices for port in device.ancestors}
    ports = [port for port in case.seen.acs or () if port.address in above or not above]
    wrong = [port for port in ports if set(port.enabled) & set(_REDIRECTS)]
    if not wrong:
        return (CHECK.finding(Status.PASS, "{} bridges above GPUs and NICs, none redirects".format(len(ports))),)
    evidence = tuple(Evidence(port.address, " ".join(port.enabled), "lspci -vv: ACSCtl") for port in wrong[:4])
    summary = "{} of {} bridges above GPUs and NICs send peer-to-peer traffic to the CPU".format(len(wrong), len(ports))
    return (CHECK.finding(Status.WARN, summary, evidence=evidence, remedy=_REMEDY.format(wrong[0].address)),)


CHECK = Check(
    id="pci-acs",
    title="No bridge redirects traffic between GPUs and NICs",
    tags=("health",),
    needs=("pci",),
    run=run,
    reads=("acs", "hypervisor"),
)
