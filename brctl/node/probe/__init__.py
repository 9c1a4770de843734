"""Probes: Host -> facts. One file for each part of a machine: `read` asks the Host, `parse_*` are pure."""

from functools import partial
from typing import Any, Callable, Dict, List, Sequence, Tuple

from ..deadline import run_all
from ..facts import Inventory, Problem
from ..host import Host
from . import (
    acs,
    clock,
    cpu,
    cpu_governor,
    cpu_time,
    edac,
    filesystems,
    fstab,
    gpu,
    gpu_again,
    hypervisor,
    iommu,
    kernel,
    kernel_log,
    link_settings,
    memlock,
    memory,
    mounts,
    net,
    numa,
    pci,
    peermem,
    port_counters,
    rdma,
    sysctl,
    tasks,
    transparent_hugepage,
)
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
_COUNTED: Tuple[Tuple[str, Callable[[Host], Any]], ...] = (
    ("memory_controllers", edac.read),
    ("tasks", tasks.read),
    ("cpu_times", cpu_time.read),
    ("port_counters", port_counters.read),
)
"""What has counters, besides the GPUs, or changes from moment to moment, and is read again for a second sample."""
_HEALTH: Tuple[Tuple[str, Callable[[Host], Any]], ...] = (
    ("kernel_log", kernel_log.read),
    ("hypervisor", hypervisor.read),
    ("transparent_hugepage", transparent_hugepage.read),
    ("cpu_governors", cpu_governor.read),
    ("memlocks", memlock.read),
    ("peermem", peermem.read),
    ("iommu", iommu.read),
    ("acs", acs.read),
    ("clock", clock.read),
    ("filesystems", filesystems.read),
    ("fstab", fstab.read),
    ("link_settings", link_settings.read),
    *_COUNTED,
)
"""What only `diagnose` judges."""


def inventory(host: Host, health: bool = False) -> Inventory:
    """What the machine is. A part that could not be read is None, and one of `problems` says why; so for each value.

    With `health` also what only `diagnose` judges.
    """
    parts, problems = _read(host, _PARTS + (_HEALTH if health else ()))
    # The GPUs' place is told from the PCI devices and the NICs, and some have the host's memory.
    gpus = gpu.read(host, parts.get("pci"), parts.get("nics"), parts.get("memory"), health)
    problems += gpus.problems
    return Inventory(
        accelerator_driver=gpus.driver,
        gpus=gpus.gpus,
        problems=tuple(problems),
        accelerator_libraries=gpus.libraries,
        **parts,
    )


def again(host: Host, seen: Inventory) -> Inventory:
    """The second sample: what was seen with `health`, with all that counts or changes from moment to moment read anew.

    What cannot be read this time is as in `inventory`.
    """
    parts, problems = _read(host, _COUNTED)
    kept = [problem for problem in seen.problems if problem.part not in parts]
    gpus, failed = gpu_again.read(host, seen.gpus)
    return seen._replace(gpus=gpus, problems=(*kept, *problems, *failed), **parts)


def _read(host: Host, wanted: Sequence[Tuple[str, Callable[[Host], Any]]]) -> Tuple[Dict[str, Any], List[Problem]]:
    """Of each part its facts, or None and a problem."""
    outcomes = run_all([partial(read, host) for _, read in wanted])
    parts: Dict[str, Any] = {}
    problems: List[Problem] = []
    for (part, _), outcome in zip(wanted, outcomes):
        if isinstance(outcome, Exception):
            parts[part] = None
            problems.append(problem(part, outcome))
        elif isinstance(outcome, Reading):
            parts[part] = outcome.facts
            problems += outcome.problems
        else:
            parts[part] = outcome
    return parts, problems
