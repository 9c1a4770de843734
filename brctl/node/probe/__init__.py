"""Probes: Host -> facts. One file for each part of a machine: `read` asks the Host, `parse_*` are pure."""

from functools import partial
from typing import Any, Callable, Dict, List, Tuple

from ..deadline import run_all
from ..facts import Inventory, Problem
from ..host import Host
from . import cpu, gpu, kernel, memory, mounts, net, numa, pci, rdma, sysctl
from .rows import Reading, problem

_PARTS: Tuple[Tuple[str, Callable[[Host], Any]], ...] = (
    ("kernel", kernel.read),
    ("cpu", cpu.read),
    ("numa", numa.read),
    ("memory", memory.read),
    ("pci", pci.read),
    ("nics", net.read),
    ("rdma", rdma.read),
    ("mounts", mounts.read),
    ("sysctls", sysctl.read),
)


def inventory(host: Host) -> Inventory:
    """What the machine is. A part that could not be read is None, and one of `problems` says why; so for each value."""
    outcomes = run_all([partial(read, host) for _, read in _PARTS])
    parts: Dict[str, Any] = {}
    problems: List[Problem] = []
    for (part, _), outcome in zip(_PARTS, outcomes):
        if isinstance(outcome, Exception):
            problems.append(problem(part, outcome))
        elif isinstance(outcome, Reading):
            parts[part] = outcome.facts
            problems += outcome.problems
        else:
            parts[part] = outcome
    # The GPUs' place is told from the PCI devices and the NICs, and some have the host's memory.
    gpus = gpu.read(host, parts.get("pci"), parts.get("nics"), parts.get("memory"))
    problems += gpus.problems
    return Inventory(
        accelerator_driver=gpus.driver,
        gpus=gpus.gpus,
        problems=tuple(problems),
        accelerator_libraries=gpus.libraries,
        **parts,
    )
