"""The other tables of a node (processes, network, disks, space) and the line that sums it up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from ...node.monitor import RELEASED, UP
from ...node.patterns import natural
from ...node.report import State
from . import amounts
from .gpus import EXPECTED, NIC, POWER, UTILIZATION, VISIBLE, Nic, traffic, unlisted, usage
from .ink import BLANK, Cell, Column, Ink, Line, Row, cell
from .items import Item, Section
from .marks import mark
from .seen import Node, Told, greatest, total

PROCESS = "brctl_gpu_process_memory_bytes"
LOSS = "brctl_rdma_loss_ratio"
_INSTANCE = "brctl_gpu_instance_memory_total_bytes"
_SPEED = "brctl_network_speed_bytes_per_second"
_NAME = 4
"""The place of a process's name in its row."""
_WAITING = 0.05
"""Share of the time from which it is worth a word that processes wait for something (PSI)."""
_LEAST_TOLD = 1e-6  # 0.0001 %


def summary(node: Node) -> list[Line]:
    """Pieces of one line."""
    if node.error:
        return [[cell(f"{node.error.kind}: {node.error.message}", "crit")]]
    pieces = _gpus(node)
    cpu = node.value("brctl_cpu_utilization_ratio")
    if cpu is not None:
        pieces.append([Cell("CPU ", "dim"), Cell(amounts.percent(cpu))])
    total, available = node.value("brctl_memory_total_bytes"), node.value("brctl_memory_available_bytes")
    if total and available is not None:
        pieces.append([Cell("memory ", "dim"), Cell(amounts.filled(total - available, total))])
    for labels in node.each("brctl_pressure_ratio"):
        waited = node.value("brctl_pressure_ratio", labels) or 0.0
        if labels[1] == "some" and waited >= _WAITING:
            pieces.append([cell(f"waiting for {labels[0]} {amounts.percent(waited)}", "warn")])
    return pieces


def _gpus(node: Node) -> list[Line]:
    if node.value(RELEASED):
        return [[Cell("the GPUs are let go: brctl monitor release", "warn")]]
    up = [node.value(UP, labels) for labels in node.each(UP)]
    more = unlisted(len(up), node.value(EXPECTED) or 0, node.value(VISIBLE), len(_known(node, NIC)))
    gpus, down = len(up) + more, up.count(0.0) + more
    count = f"{gpus} {'GPU' if gpus == 1 else 'GPUs'}"
    pieces: list[Line] = [[Cell(f"{count}, "), Cell(f"{down} down", "crit")] if down else [Cell(count)]] if gpus else []
    uses = _known(node, UTILIZATION)
    if uses:
        pieces.append([Cell("use ", "dim"), Cell(amounts.percent(sum(uses) / len(uses)))])
    watts = _known(node, POWER)
    if watts:
        pieces.append([Cell("power ", "dim"), Cell(amounts.watts(sum(watts)))])
    return pieces or [[Cell("no GPU", "dim")]]


def _known(node: Node, name: str) -> list[float]:
    values = (node.value(name, labels) for labels in node.each(name))
    return [value for value in values if value is not None]


class Parent(NamedTuple):
    """A process that others are children of."""

    pid: int
    name: str


Parents = Callable[[int], Sequence[Parent]]
"""Of a PID: those above it, the nearest first."""


def sections(node: Node, ink: Ink, parents: Parents | None) -> list[Section]:
    """`parents`: None where they cannot be seen from here."""
    return [_instances(node, ink), _processes(node, parents), _network(node, ink), _disks(node, ink), _space(node, ink)]


# ---------------------------------------------------------------------------------------------------------------------
# Processes


def _processes(node: Node, parents: Parents | None) -> Section:
    columns = (
        Column("PID", right=True),
        Column("GPU", right=True),
        Column("USER", rank=1),
        Column("MEMORY", right=True),
        Column("NAME"),
        Column("JOB", rank=2),
        Column("CONTAINER", rank=3),
    )
    items = [_process(node, label, labels) for label, labels in node.named(PROCESS)]
    return Section(
        "processes",
        "PROCESSES",
        columns,
        items,
        ("memory", "gpu", "pid", "user", "name"),
        frozenset({"gpu", "pid"}),
        tree=(lambda: _tree(items, parents)) if parents else None,
    )


def _tree(items: Sequence[Item], parents: Parents) -> list[Item]:
    """Each process under those that started it."""
    children: dict[int, dict[int, Parent]] = {}
    for item in items:
        line = [Parent(*_pid_and_name(item)), *parents(_pid_and_name(item)[0])]
        for child, above in zip(line, [*line[1:], Parent(0, "")], strict=True):
            children.setdefault(above.pid, {})[child.pid] = child
    own: dict[int, list[Item]] = {}
    for item in items:
        own.setdefault(_pid_and_name(item)[0], []).append(item)

    def grown(pid: int, depth: int) -> Iterator[Item]:
        for child in children.get(pid, {}).values():
            for item in own.get(child.pid) or [_bare(child)]:
                yield item._replace(cells=partial(_indented, item.cells, depth))
            yield from grown(child.pid, depth + 1)

    return list(grown(0, 0))


def _pid_and_name(item: Item) -> tuple[int, str]:
    pid, _, name = item.id.partition(" ")
    return int(pid), name


def _bare(it: Parent) -> Item:
    """One that has nothing on a GPU itself."""
    row = [Cell(str(it.pid), "dim"), *[BLANK] * 3, cell(it.name, "dim"), BLANK, BLANK]
    return Item(f"{it.pid} {it.name}", (None,) * 5, f"{it.pid} {it.name}", lambda: row)


def _indented(cells: Callable[[], Row], depth: int) -> Row:
    row = cells()
    name = row[_NAME]
    assert isinstance(name, Cell)  # noqa: S101  # for the type checker
    return [*row[:_NAME], name._replace(text="  " * depth + name.text), *row[_NAME + 1 :]]


def _process(node: Node, label: dict[str, str], labels: tuple[str, ...]) -> Item:
    memory, missing = node.told(PROCESS, labels)
    pid, gpu, user, name = (label.get(key, "") for key in ("pid", "gpu", "user", "name"))
    known = name != "?"
    keys = (memory, _number(gpu), _number(pid), user, name)
    row = [
        cell(pid, "" if known else "dim"),
        cell(gpu),
        cell(user),
        Cell(amounts.size(memory, missing)),
        cell(name) if known else Cell("? (ended, or in another PID namespace)", "dim"),
        cell(label.get("slurm_job") or "-"),
        cell(label.get("container") or "-"),
    ]
    words = " ".join((pid, f"gpu{gpu}", user, name, label.get("slurm_job", ""), label.get("container", "")))
    return Item(f"{pid} {name}", keys, words, lambda: row)


def _number(text: str) -> float | None:
    return float(text) if text.isdecimal() else None


# ---------------------------------------------------------------------------------------------------------------------
# MIG


def _instances(node: Node, ink: Ink) -> Section:
    columns = (
        Column("GPU", right=True),
        Column("GI/CI", right=True),
        Column("PROFILE"),
        Column("USED", least=9, most=16),
        Column("MEMORY", right=True),
    )
    items = [_instance(node, label, labels, ink) for label, labels in node.named(_INSTANCE)]
    return Section("instances", "MIG", columns, items, ("gpu", "used"), frozenset({"gpu"}))


def _instance(node: Node, label: dict[str, str], labels: tuple[str, ...], ink: Ink) -> Item:
    used, missing = node.told("brctl_gpu_instance_memory_used_bytes", labels)
    total = node.value(_INSTANCE, labels)
    gpu, profile = label.get("gpu", ""), label.get("profile", "")
    place = f"{label.get('gpu_instance', '')}/{label.get('compute_instance', '')}"
    share = used / total if used is not None and total else None
    row: Row = [
        cell(gpu),
        cell(place),
        cell(profile),
        usage(share, missing, ink),
        Cell(amounts.filled(used, total, missing)),
    ]
    return Item(f"{gpu}/{place}", (_number(gpu), share), f"gpu{gpu} {place} {profile}", lambda: row)


# ---------------------------------------------------------------------------------------------------------------------
# Network


def _network(node: Node, ink: Ink) -> Section:
    columns = (
        Column("INTERFACE"),
        Column("LINK", right=True),
        Column("USE", rank=5, least=9, most=16),
        Column("RX", rank=1, right=True),
        Column("TX", rank=1, right=True),
        Column("LOSS", rank=2, right=True),
        Column("PAUSED", rank=3, right=True),
        Column("DROPS", rank=4, right=True),
        Column("RDMA", rank=6),
    )
    rdma = {info.get("nic", ""): info.get("rdma", "") for info, _ in node.named(NIC)}
    names = [labels[0] for labels in node.each("brctl_network_receive_bytes_total")]
    names.sort(key=lambda name: (-(node.value(_SPEED, (name,)) or 0.0), natural(name)))
    items = [_interface(node, Nic(name, rdma.get(name, "")), place, ink) for place, name in enumerate(names)]
    return Section("network", "NETWORK", columns, items, ("link", "use", "rx", "tx", "loss"), frozenset({"link"}))


def _interface(node: Node, nic: Nic, place: int, ink: Ink) -> Item:
    labels = (nic.interface,)
    up, speed = node.value("brctl_network_up", labels), node.told(_SPEED, labels)
    received, sent = traffic(node, "receive", nic), traffic(node, "transmit", nic)
    most = greatest((received, sent))
    use = most.value / speed.value if most.value is not None and speed.value else None
    loss, paused = node.told(LOSS, (nic.rdma, "1")), _paused(node, nic.interface)
    drops = total([node.told(f"brctl_network_{way}_drops_total", labels) for way in ("receive", "transmit")])

    def cells() -> Row:
        return [
            cell(nic.interface),
            _link(up, speed),
            usage(use, most.missing, ink),
            Cell(amounts.rate(*received)),
            Cell(amounts.rate(*sent)),
            Cell(_share(*loss), mark("network-loss", loss.value)),
            Cell(_share(*paused), mark("network-paused", paused.value)),
            Cell(drops.missing if drops.value is None else f"{drops.value:.0f}"),
            cell(nic.rdma or "-"),
        ]

    return Item(nic.interface, (float(place), use, received.value, sent.value, loss.value), " ".join(nic), cells)


def _link(up: float | None, speed: Told) -> Cell:
    if up == 0:
        return Cell("down", "crit")
    return Cell(f"{speed.value * 8 / 1e9:g} Gb/s" if speed.value else speed.missing)


def _share(value: float | None, missing: str) -> str:
    """Small ones matter here."""
    if not value:
        return missing if value is None else "0%"
    return f"{value * 100:.2g}%" if value >= _LEAST_TOLD else "<0.0001%"


def _paused(node: Node, interface: str) -> Told:
    """The greater part of the time in which it was told to be silent, or told its peer, of all priorities."""
    names = ("brctl_network_pause_received_ratio", "brctl_network_pause_sent_ratio")
    return greatest([node.told(name, labels) for name in names for labels in node.each(name) if labels[0] == interface])


# ---------------------------------------------------------------------------------------------------------------------
# Storage


def _disks(node: Node, ink: Ink) -> Section:
    columns = (
        Column("DISK"),
        Column("BUSY", rank=1, least=9, most=16),
        Column("READ", right=True),
        Column("WRITTEN", right=True),
        Column("READ TIME", rank=2, right=True),
        Column("WRITE TIME", rank=2, right=True),
    )
    names = sorted((labels[0] for labels in node.each("brctl_disk_read_bytes_total")), key=natural)
    items = [_disk(node, name, place, ink) for place, name in enumerate(names)]
    return Section("disks", "DISKS", columns, items, ("name", "busy", "read", "written"), frozenset({"name"}))


def _disk(node: Node, name: str, place: int, ink: Ink) -> Item:
    labels = (name,)
    busy = node.told("brctl_disk_busy_ratio", labels)
    rates = [node.told(f"brctl_disk_{way}_bytes_per_second", labels) for way in ("read", "write")]
    times = [node.told(f"brctl_disk_{way}_latency_seconds", labels) for way in ("read", "write")]

    def cells() -> Row:
        moved = [Cell(amounts.rate(*rate)) for rate in rates]
        return [cell(name), usage(*busy, ink), *moved, *[Cell(_ms(*time)) for time in times]]

    return Item(name, (float(place), busy.value, *[rate.value for rate in rates]), name, cells)


def _ms(seconds: float | None, missing: str) -> str:
    return missing if seconds is None else f"{seconds * 1000:.1f} ms"


def _space(node: Node, ink: Ink) -> Section:
    columns = (
        Column("MOUNT"),
        Column("USED", least=9, most=16),
        Column("AVAILABLE", right=True),
        Column("SIZE", rank=1, right=True),
        Column("TYPE", rank=2),
    )
    name = "brctl_filesystem_size_bytes"
    told = [labels for labels in node.each(name) if node.state(name, labels) is not State.UNSUPPORTED]
    items = [_filesystem(node, labels, ink) for labels in told]
    return Section("space", "SPACE", columns, items, ("used", "mount"))


def _filesystem(node: Node, labels: tuple[str, ...], ink: Ink) -> Item:
    size, available = (node.told(f"brctl_filesystem_{what}_bytes", labels) for what in ("size", "available"))
    used = 1 - available.value / size.value if size.value and available.value is not None else None
    sizes = [Cell(amounts.size(*available)), Cell(amounts.size(*size))]
    row: Row = [cell(labels[0]), usage(used, available.missing, ink), *sizes, cell(labels[1])]
    return Item(labels[0], (used, labels[0]), " ".join(labels), lambda: row)
