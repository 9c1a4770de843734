"""The table of GPUs, each with the NIC that is nearest to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...node.monitor import INFO, UP
from . import amounts
from .ink import Cell, Column, Drawing, Ink, Line, Row, cell
from .items import Item, Section
from .marks import mark
from .seen import Histories, Labels, Node, Told, greatest, whole

UTILIZATION = "brctl_gpu_utilization_ratio"
MEMORY_USED, MEMORY_TOTAL = "brctl_gpu_memory_used_bytes", "brctl_gpu_memory_total_bytes"
TEMPERATURE, MARGIN = "brctl_gpu_temperature_celsius", "brctl_gpu_temperature_margin_celsius"
POWER, POWER_LIMIT = "brctl_gpu_power_watts", "brctl_gpu_power_limit_watts"
CLOCK = "brctl_gpu_clock_hertz"
SLOWED = "brctl_gpu_clocks_event_ratio"
NVLINK = ("brctl_gpu_nvlink_transmit_bytes_per_second", "brctl_gpu_nvlink_receive_bytes_per_second")
NIC = "brctl_gpu_nic_info"
EXPECTED, VISIBLE = "brctl_gpus_expected", "brctl_gpus_visible"


class Nic(NamedTuple):
    """The one that is nearest to a GPU; empty names where there is none."""

    interface: str
    rdma: str


_NO_NIC = Nic("", "")

COLUMNS = (
    Column("GPU", right=True),
    Column("USE", rank=1, least=9, most=16),
    Column("HISTORY", rank=7, least=12, most=60, moving=True),
    Column("MEMORY", rank=2, right=True, least=10, most=20),
    Column("TEMP", right=True),
    Column("POWER", rank=3, right=True),
    Column("CLOCK", rank=8, right=True),
    Column("NIC", rank=4),
    Column("RX", rank=5, right=True),
    Column("TX", rank=5, right=True),
    Column("NVLINK", rank=6, right=True),
    Column("SLOWED BY", rank=9),
)
SORTS = ("gpu", "use", "memory", "temp", "power")


def unlisted(listed: int, expected: float, visible: float | None, with_nic: int) -> int:
    """How many GPUs the driver does not list, and should: they do not answer. Of the `listed` ones some may be hidden.

    `expected`: by the config, or as there were more before. Where nothing lists any, those count that lie on the PCI
    bus near a NIC.
    """
    there = max(expected, with_nic) if not listed and visible is None else expected
    return max(0, int(there - max(listed, visible or 0)))


def gpus(node: Node, histories: Histories, ink: Ink, reasons: Mapping[str, str]) -> Section:
    """`reasons`: why a GPU does not answer, by its index."""
    near = {info.get("pci", ""): Nic(info.get("nic", ""), info.get("rdma", "")) for info, _ in node.named(NIC)}
    nics = {info.get("gpu", ""): near.get(info.get("pci", ""), _NO_NIC) for info, _ in node.named(INFO)}
    items = [
        _item(node, labels, nics.get(labels[0], _NO_NIC), histories, ink)
        if node.value(UP, labels) != 0
        else _down(labels, reasons.get(labels[0], "it does not answer"))
        for labels in node.each(UP)
    ]
    return Section("gpus", "GPUS", COLUMNS, items, SORTS, frozenset({"gpu"}))


def traffic(node: Node, way: str, nic: Nic) -> Told:
    """Bytes a second, `receive` or `transmit`: what the port counts for RDMA, or the interface for all else, whichever
    is more. Ethernet's interface does not see RDMA; InfiniBand's port sees all."""
    return greatest((
        node.told(f"brctl_rdma_{way}_bytes_per_second", (nic.rdma, "1")),
        node.told(f"brctl_network_{way}_bytes_per_second", (nic.interface,)),
    ))  # fmt: skip


def note(node: Node, histories: Histories) -> None:
    """Add this tick to the histories that the table draws."""
    for labels in node.each(UP):
        histories.note((node.name, UTILIZATION, *labels), node.value(UTILIZATION, labels))


def _item(node: Node, labels: Labels, nic: Nic, histories: Histories, ink: Ink) -> Item:
    used, total = node.value(MEMORY_USED, labels), node.value(MEMORY_TOTAL, labels)
    index = labels[0]
    keys = (
        float(index) if index.isdecimal() else None,
        node.value(UTILIZATION, labels),
        used / total if used is not None and total else None,
        node.value(TEMPERATURE, labels),
        node.value(POWER, labels),
    )
    words = " ".join((f"gpu{index}", *labels, *nic))
    return Item(labels[0], keys, words, lambda: _cells(node, labels, nic, histories, ink))


def _down(labels: Labels, reason: str) -> Item:
    """One that does not answer keeps its row."""
    index = labels[0]
    row = [cell(index, "crit"), cell(f"{'LOST' if 'lost' in reason else 'DOWN'}  {reason}", "crit")]
    keys = (float(index) if index.isdecimal() else None, None, None, None, None)
    return Item(index, keys, " ".join((f"gpu{index}", *labels, reason)), lambda: row)


def _cells(node: Node, labels: Labels, nic: Nic, histories: Histories, ink: Ink) -> Row:
    history = histories.of((node.name, UTILIZATION, *labels))
    return [
        cell(labels[0]),
        usage(*node.told(UTILIZATION, labels), ink),
        lambda width: [Cell(ink.history(history, width), "past")],
        _memory(node, labels, ink),
        temperature(*node.told(TEMPERATURE, labels), node.value(MARGIN, labels)),
        Cell(_power(node, labels)),
        Cell(amounts.hertz(*node.told(CLOCK, (*labels, "sm")))),
        cell(nic.interface or "-"),
        Cell(amounts.rate(*traffic(node, "receive", nic))),
        Cell(amounts.rate(*traffic(node, "transmit", nic))),
        Cell(amounts.rate(*whole([node.told(name, labels) for name in NVLINK]))),
        _slowed(node, labels),
    ]


def usage(share: float | None, missing: str, ink: Ink) -> Drawing:
    """A bar and its percentage."""

    def draw(width: int) -> Line:
        text = f"{amounts.percent(share) if share is not None else missing:>4}"
        return [*ink.meter(share, max(0, width - 5), "busy"), Cell(f" {text}" if width > 4 else text)]

    return draw


def temperature(value: float | None, missing: str, margin: float | None) -> Cell:
    """Told by what is left until the GPU slows down (NVML's T.Limit), where it tells that: at 0 it does."""
    if value is None:
        return Cell(missing, "dim")
    if margin is not None:
        style = "crit" if margin <= 0 else mark("gpu-hot", margin)
    else:
        style = mark("gpu-temperature", value)
    return Cell(amounts.celsius(value), style)


def _memory(node: Node, labels: Labels, ink: Ink) -> Drawing:
    (used, missing), total = node.told(MEMORY_USED, labels), node.value(MEMORY_TOTAL, labels)
    text = amounts.filled(used, total, missing)

    def draw(width: int) -> Line:
        bar = width - 10
        share = used / total if used is not None and total else None
        return [*(ink.meter(share, bar, "busy") if bar >= 3 else []), Cell(f"{text:>{10 if bar >= 3 else width}}")]

    return draw


def _power(node: Node, labels: Labels) -> str:
    (drawn, missing), limit = node.told(POWER, labels), node.value(POWER_LIMIT, labels)
    return amounts.watts(drawn, missing) if drawn is None or limit is None else f"{drawn:.0f}/{limit:.0f} W"


def _slowed(node: Node, labels: Labels) -> Cell:
    """What held the clocks down for most of the time, and how much of it."""
    asked = {each[2]: node.told(SLOWED, each) for each in node.each(SLOWED) if each[:2] == labels}
    share, missing = greatest(tuple(asked.values()))
    if share is None or share < 0.01:
        return Cell("-" if share is not None else missing, "dim")
    worst = next(reason for reason, told in asked.items() if told.value == share)
    rule = "gpu-slowed-by-heat" if "thermal" in worst else "gpu-power-brake" if "brake" in worst else None
    return cell(f"{worst} {amounts.percent(share)}", mark(rule, share) if rule else "")
