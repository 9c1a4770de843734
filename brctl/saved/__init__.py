"""What other tools printed and somebody saved -> the facts that our own probes read, so that the same checks judge it.

A file says by its content what it is. Nothing in it is trusted: sizes are bounded, XML entities are refused, and what
is no such output is one error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..node.diagnose import Check
from ..node.facts import Inventory, PortCounters
from ..node.request import Expected, ExpectedNics
from .stream import Source, UnreadableError

WHOLE_BYTES = 32 << 20
"""Of an output that is parsed as a whole: `nvidia-smi -q -x` of 16 GPUs with MIG has 1 MB."""


class Saved(NamedTuple):
    """What a file holds."""

    kind: str
    """`kernel log`, `nvidia-smi`, `nvidia-smi nvlink`, `ethtool -S` or `ibstat`."""
    parts: tuple[str, ...]
    """The fields of Inventory that it tells; of all others nothing is known."""
    seen: Inventory

    @property
    def told(self) -> Inventory:
        """Of `seen` what the file says itself."""
        return self.seen if "nics" in self.parts else self.seen._replace(nics=None)

    @property
    def expected(self) -> Expected:
        """What is expected where nothing is declared: a link of every port that is not switched off. Who saves `ibstat`
        asks for it; on a live node, nobody may have meant a port to be used."""
        used = [port.device for port in self.seen.rdma or () if port.physical_state not in ("Disabled", "Sleep")]
        return Expected(nics=ExpectedNics(", ".join(used)) if used else None)

    def tells(self, check: Check) -> bool:
        """Whether it has what the check looks at."""
        needed = check.needs or {"gpu-driver": ("accelerator_driver",)}.get(check.id, ())
        return bool(needed) and set(needed) <= set(self.parts)


def read(source: Source, name: str) -> Saved:
    """What `source` holds; `name` is how evidence calls it. Raises UnreadableError."""
    from . import detect

    kind = detect.kind(source.head)
    if kind == detect.KERNEL_LOG:
        from ..node.probe import kernel_log

        return Saved(kind, ("kernel_log",), Inventory(kernel_log=kernel_log.parse(source.blocks(), name)))
    if kind is None:
        hint = (
            "known are kernel logs and journals, `nvidia-smi -q` (text or -x), `nvlink -s`, `ethtool -S` and `ibstat`"
        )
        raise UnreadableError("is no output that brctl knows", hint)
    return _whole(kind, b"".join(_bounded(source.blocks())), name)


def _whole(kind: str, data: bytes, name: str) -> Saved:
    from ..node.probe import port_counters
    from . import ibstat, nvidia_smi, nvlink

    def counters(data: bytes) -> Inventory:
        text = data.decode("utf-8", "replace")
        return Inventory(port_counters=(PortCounters(name, name, 0.0, port_counters.parse(text)),))

    readers: dict[str, tuple[tuple[str, ...], Callable[[bytes], Inventory]]] = {
        "nvidia-smi": (("gpus", "accelerator_driver"), nvidia_smi.parse),
        "nvidia-smi nvlink": (("gpus",), nvlink.parse),
        "ethtool -S": (("port_counters",), counters),
        "ibstat": (("rdma", "nics"), ibstat.parse),
    }
    parts, parse = readers[kind]
    return Saved(kind, parts, parse(data))


def _bounded(blocks: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for block in blocks:
        size += len(block)
        if size > WHOLE_BYTES:
            raise UnreadableError(f"is larger than {WHOLE_BYTES >> 20} MiB, and no such output is")
        yield block
