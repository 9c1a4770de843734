"""Biren's GPUs by its command, brsmi.

    brsmi gpu --query-gpu=index,name,memory.used,memory.free --format=csv,noheader,nounits

The query has the form of nvidia-smi's. Asked for is only what the vendor's own scripts for its containers ask for
(index, name, memory.used, memory.free; in MiB): of one name that it does not know, brsmi might refuse them all.
"""

import re
from typing import Dict, Optional, Tuple

from ..facts import AcceleratorDriver, GpuErrors, GpuIdentity, GpuLimits, GpuPcie, GpuTelemetry, blank
from . import AcceleratorError, Pci, Run
from .told import Told, ToldGpu, ask

_NAMES = ("index", "name", "memory.used", "memory.free")
_QUERY = ("brsmi", "gpu", "--query-gpu=" + ",".join(_NAMES), "--format=csv,noheader,nounits")
_MIB = 1 << 20
_SIZE = re.compile(r"[0-9]{1,9}\Z")


class Biren:
    vendor = "biren"
    source = "brsmi"
    tested_on_hardware = False
    count_call = " ".join(_QUERY)
    told_at_once = True
    pci: Optional[Pci] = None
    """Which devices these are is nowhere written down by the vendor."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._found: Dict[int, Told] = {}

    def driver(self) -> Optional[AcceleratorDriver]:
        self._found = dict(enumerate(parse_query(ask(self._run, *_QUERY))))
        return None

    def close(self) -> None:
        """A command holds nothing."""

    def count(self) -> int:
        return len(self._found)

    def open(self, index: int) -> ToldGpu:
        return ToldGpu(self._found[index])


def parse_query(text: str) -> Tuple[Told, ...]:
    """In the order of the command. Raises AcceleratorError: it is no answer to our query."""
    return tuple(_parse_line(line) for line in text.splitlines() if line.strip())


def _parse_line(line: str) -> Told:
    values = [value.strip() for value in line.split(",")]
    if len(values) != len(_NAMES) or not _SIZE.match(values[0]):
        raise AcceleratorError("error", " ".join(_QUERY), "no answer to this query: {!r}".format(line))
    index, name, *sizes = values
    used, free = (int(size) * _MIB if _SIZE.match(size) else None for size in sizes)
    total = None if used is None or free is None else used + free
    return Told(
        gpu_index=int(index),
        uuid=None,
        pci=None,
        identity=GpuIdentity(name, None, None, total, None, None),
        telemetry=blank(GpuTelemetry)._replace(memory_used_bytes=used, memory_free_bytes=free),
        pcie=blank(GpuPcie),
        errors=blank(GpuErrors),
        limits=blank(GpuLimits),
        processes=None,
        unsupported=tuple(name for name, value in zip(_NAMES[2:], (used, free)) if value is None),
    )
