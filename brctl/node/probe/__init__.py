"""Probes: Host -> facts. One file for each part of a machine: `read` asks the Host, `parse_*` are pure."""

import errno
from functools import partial
from typing import Any, Callable, Dict, List, Tuple

from ..deadline import HungError, run_all
from ..facts import Inventory, Problem
from ..host import Host
from . import cpu, gpu, kernel, memory, mounts, net, numa, pci, rdma, sysctl

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
    """What the machine is. A part that could not be read is None, and one of `problems` says why."""
    outcomes = run_all([partial(read, host) for _, read in _PARTS])
    parts: Dict[str, Any] = {}
    problems: List[Problem] = []
    for (part, _), outcome in zip(_PARTS, outcomes):
        if isinstance(outcome, Exception):
            problems.append(_problem(part, outcome))
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


def _problem(part: str, error: Exception) -> Problem:
    if isinstance(error, HungError):
        return Problem(part, "hung", str(error))
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
        return Problem(part, "permission", _text(error))
    return Problem(part, "error", _text(error))


def _text(error: Exception) -> str:
    """One line. OSError's own text has its number first."""
    if isinstance(error, OSError) and error.filename:
        return "{}: {}".format(error.filename, error.strerror)
    return " ".join(str(error).split()) or type(error).__name__
