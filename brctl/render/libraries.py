"""What brctl can read of the GPUs of a machine, for people: one row a vendor, then what each GPU does not have."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.text import Text

from ..node.facts import AcceleratorLibrary, Gpu
from ..node.report import Report
from .headline import mocked
from .terminal import Column, Terminal

_COLUMNS = (
    Column("Vendor"),
    Column("Source", rank=1),
    Column("Found", rank=2),
    Column("GPUs", right=True),
    Column("Tested on hardware"),
    Column("Why not found", wrap=True),
)


def libraries(terminal: Terminal, report: Report) -> None:
    """Print what the libraries of a Report's inventory and its GPUs can do."""
    title = Text(report.node, style="bold")
    if report.mock:
        title.append(f"  {mocked(report.mock)}", style="yellow")
    terminal.line(title)
    if report.inventory is None:
        return
    terminal.line()
    terminal.table(_COLUMNS, [_row(library) for library in report.inventory.accelerator_libraries or ()])
    for _, alike in groupby(report.inventory.gpus or (), lambda gpu: (gpu.vendor, _name(gpu), gpu.unsupported)):
        _gpus(terminal, list(alike))


def _row(library: AcceleratorLibrary) -> list[Text | str | None]:
    found = Text("yes", style="green") if library.found else Text("no", style="dim")
    count = None if library.gpu_count is None else str(library.gpu_count)
    tested = "yes" if library.tested_on_hardware else "no"
    return [library.vendor, library.source, found, count, tested, library.message]


def _gpus(terminal: Terminal, alike: Sequence[Gpu]) -> None:
    unsupported = alike[0].unsupported
    if alike[0].fault:
        verb = "does not answer"
    else:
        verb = "does not support:" if unsupported else "supports all that is asked for"
    terminal.line()
    terminal.line(Text(f"GPU {_numbers(alike)}  {_name(alike[0])} ", style="bold") + Text(verb))
    if unsupported:
        terminal.line(", ".join(unsupported), indent=4)


def _name(gpu: Gpu) -> str:
    return gpu.fault.kind.upper() if gpu.fault else gpu.identity.name if gpu.identity else "unknown"


def _numbers(alike: Sequence[Gpu]) -> str:
    """`0-2`, of neighbours; `?` for one that has no index."""
    first, last = (("?" if gpu.gpu_index is None else str(gpu.gpu_index)) for gpu in (alike[0], alike[-1]))
    return first if len(alike) == 1 else f"{first}-{last}"
