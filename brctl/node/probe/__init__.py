"""Probes: Host -> facts. One file for each part of a machine: `read` asks the Host, `parse_*` are pure."""

from functools import partial
from importlib import import_module
from typing import Any, Dict, List, Mapping, Tuple

from ..deadline import run_all
from ..facts import Inventory, Problem
from ..host import Host
from . import gpu
from .rows import Reading, problem

_PARTS = {
    "kernel": "kernel",
    "cpu": "cpu",
    "numa": "numa",
    "memory": "memory",
    "pci": "pci",
    "nics": "net",
    "rdma": "rdma",
    "mounts": "mounts",
    "sysctls": "sysctl",
}
"""Part of the Inventory -> the module here that reads it, imported when the part is asked for."""
_COUNTED = {
    "memory_controllers": "edac",
    "tasks": "tasks",
    "cpu_times": "cpu_time",
    "port_counters": "port_counters",
}
"""What has counters, besides the GPUs, or changes from moment to moment, and is read again for a second sample."""
_HEALTH = {
    "kernel_log": "kernel_log",
    "hypervisor": "hypervisor",
    "transparent_hugepage": "transparent_hugepage",
    "cpu_governors": "cpu_governor",
    "memlocks": "memlock",
    "peermem": "peermem",
    "iommu": "iommu",
    "acs": "acs",
    "clock": "clock",
    "filesystems": "filesystems",
    "fstab": "fstab",
    "link_settings": "link_settings",
    **_COUNTED,
}
"""What only `diagnose` judges."""


def inventory(host: Host, health: bool = False) -> Inventory:
    """What the machine is. A part that could not be read is None, and one of `problems` says why; so for each value.

    With `health` also what only `diagnose` judges.
    """
    parts, problems = _read(host, {**_PARTS, **(_HEALTH if health else {})})
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
    from . import gpu_again  # of no use to the others

    gpus, failed = gpu_again.read(host, seen.gpus)
    return seen._replace(gpus=gpus, problems=(*kept, *problems, *failed), **parts)


def _read(host: Host, wanted: Mapping[str, str]) -> Tuple[Dict[str, Any], List[Problem]]:
    """Of each part its facts, or None and a problem."""
    modules = [import_module("." + name, __name__) for name in wanted.values()]
    outcomes = run_all([partial(module.read, host) for module in modules])
    parts: Dict[str, Any] = {}
    problems: List[Problem] = []
    for part, outcome in zip(wanted, outcomes):
        if isinstance(outcome, Exception):
            parts[part] = None
            problems.append(problem(part, outcome))
        elif isinstance(outcome, Reading):
            parts[part] = outcome.facts
            problems += outcome.problems
        else:
            parts[part] = outcome
    return parts, problems
