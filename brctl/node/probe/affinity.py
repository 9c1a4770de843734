"""Which NIC each GPU is nearest to, by where both sit in the PCI tree and on which NUMA node."""

from collections import Counter
from typing import Counter as CounterOf
from typing import Dict, List, NamedTuple, Sequence, Tuple

from ..facts import Nic, PciDevice

_PATHS = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""From near to far, as `nvidia-smi topo -m` has it: over one PCIe switch at most, over several, over a host bridge,
from one host bridge to another on the same NUMA node, from one NUMA node to another."""


class Nearest(NamedTuple):
    nic: str
    path: str


def path(one: PciDevice, other: PciDevice) -> str:
    """How far two devices are from each other: PIX, PXB, PHB, NODE or SYS."""
    common = 0
    for mine, theirs in zip(one.ancestors, other.ancestors):
        if mine != theirs:
            break
        common += 1
    if common == 0:
        return "NODE" if one.numa_node == other.numa_node else "SYS"
    if common == 1:  # the host bridge alone
        return "PHB"
    # Two ports of one switch hang below its upstream port, each device under a port of its own.
    below = max(len(one.ancestors), len(other.ancestors)) - common
    return "PIX" if below <= 1 else "PXB"


def nearest(gpus: Sequence[str], pci: Sequence[PciDevice], nics: Sequence[Nic]) -> Dict[str, Nearest]:
    """The nearest NIC of each GPU, by the GPUs' PCI addresses; one that cannot be placed is left out.

    Virtual functions don't count, nor, where there are NICs with an RDMA device, those without. GPUs that have the same
    NICs at the same distance share them out in the order of their addresses, so that each of two GPUs on a switch gets
    one of its two NICs.
    """
    devices = {device.address: device for device in pci}
    placed = [nic for nic in nics if nic.pci in devices and devices[nic.pci].physical_function is None]
    candidates = sorted([nic for nic in placed if nic.rdma] or placed, key=lambda nic: (nic.pci or "", nic.name))
    found: Dict[str, Nearest] = {}
    shared: CounterOf[Tuple[str, ...]] = Counter()
    for address in sorted(set(gpus) & set(devices)):
        paths = [path(devices[address], devices[nic.pci or ""]) for nic in candidates]
        best = min(paths, key=_PATHS.index, default=None)
        names: List[str] = [nic.name for nic, its in zip(candidates, paths) if its == best]
        if best and names:
            group = tuple(names)
            found[address] = Nearest(names[shared[group] % len(names)], best)
            shared[group] += 1
    return found
