"""GPUs are as near to their NICs as their like, and NICs tell their NUMA node.

Nearness is what `nvidia-smi topo -m` calls PIX, PXB, PHB, NODE and SYS. A GPU that is farther from its NIC than most of
its like sits in another slot or lost its NIC; what it sends goes over the CPU. A NIC whose NUMA node the firmware does
not tell is taken for one of node 0.
"""

from typing import Iterator, List

from ... import ports
from ...facts import Inventory
from ...report import Evidence, Finding, Status, Subject
from ...siblings import compare
from .. import Case, Check, gpus

_PATHS = ("PIX", "PXB", "PHB", "NODE", "SYS")
_REMEDY = "compare with `nvidia-smi topo -m` of a like node: a NIC that is gone, another slot, or a BIOS setting (NPS)"


def run(case: Case) -> Iterator[Finding]:
    paths = [(gpus.subject(gpu), gpu.nearest_nic_path) for gpu in case.seen.gpus or () if gpu.nearest_nic_path]
    if not paths:
        yield CHECK.finding(Status.NA, "no GPU with a NIC to be near to")
        return
    bad = [*_farther(case.seen), *_without_node(case)]
    yield from bad
    if not bad:
        kinds = sorted({str(path) for _, path in paths}, key=_PATHS.index)
        yield CHECK.finding(Status.PASS, "{} GPUs: {} to the nearest NIC".format(len(paths), ", ".join(kinds)))


def _farther(seen: Inventory) -> List[Finding]:
    known = {gpus.subject(gpu): gpu for gpu in seen.gpus or () if gpu.nearest_nic_path}
    found = compare([(subject, gpu.nearest_nic_path) for subject, gpu in known.items()])
    if found is None or found.common is None:
        return []
    usual = found.common.value
    odd = [one for group in found.others for one in group.subjects if _PATHS.index(group.value) > _PATHS.index(usual)]
    form = "{}: {} to its nearest NIC {}, {} like it: {}"
    many = len(found.common.subjects)
    return [
        CHECK.finding(
            Status.WARN,
            form.format(subject.name, gpu.nearest_nic_path, gpu.nearest_nic, many, usual),
            subject,
            (Evidence("PCI address", gpu.pci or "", "/sys/bus/pci/devices"),),
            _REMEDY,
        )
        for subject, gpu in ((subject, known[subject]) for subject in odd)
    ]


def _without_node(case: Case) -> List[Finding]:
    chosen = [port.nic for port in ports.expected(case.seen, case.want) if port.nic and port.nic.pci]
    silent = [nic for nic in chosen if nic.numa_node is None]
    if len(case.seen.numa or ()) < 2 or 2 * len(silent) >= len(chosen):
        return []
    form = "{}: the firmware does not tell its NUMA node, that of {} others it does"
    return [
        CHECK.finding(
            Status.WARN,
            form.format(nic.name, len(chosen) - len(silent)),
            Subject("nic", nic.name, nic.name),
            (Evidence("numa_node", "-1", "/sys/bus/pci/devices/{}/numa_node".format(nic.pci)),),
            "update the BIOS (its ACPI tables place the slot); until then bind what uses it by hand",
        )
        for nic in silent
    ]


CHECK = Check(
    id="nic-affinity",
    title="GPUs are near to their NICs",
    tags=("health",),
    needs=("gpus", "nics"),
    run=run,
    reads=("numa", "rdma", "pci"),
    group="network",
    after=("gpu-driver", "nic-count"),
)
