"""What a machine is, for people: GPUs, NICs, host."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from ..node.facts import Gpu, GpuInstance, Inventory, Mount, Nic, NumaNode, RdmaPort
from ..node.patterns import natural
from ..node.report import Report
from ..node.units import rate, size
from .headline import mocked
from .terminal import Column, Terminal

_GPU_COLUMNS = (
    Column("GPU", right=True),
    Column("Model"),
    Column("PCI"),
    Column("NUMA", rank=2, right=True),
    Column("Memory", rank=4, right=True),
    Column("NVLink", rank=3, right=True),
    Column("Power", rank=5, right=True),
    Column("Temp", rank=6, right=True),
    Column("Nearest NIC", rank=1),
    Column("VBIOS", rank=7),
    Column("UUID", rank=8),
)
_INSTANCE_COLUMNS = (
    Column("GPU", right=True),
    Column("MIG", right=True),
    Column("Profile"),
    Column("GI", right=True),
    Column("CI", right=True),
    Column("Memory", right=True),
    Column("Used", rank=1, right=True),
    Column("SMs", rank=2, right=True),
    Column("UUID", rank=3),
)
_NIC_COLUMNS = (
    Column("NIC"),
    Column("Kind", rank=7),
    Column("State"),
    Column("Speed", right=True),
    Column("MTU", right=True),
    Column("RDMA", rank=1),
    Column("RDMA MTU", rank=5, right=True),
    Column("NUMA", rank=4, right=True),
    Column("PCI", rank=3),
    Column("Driver", rank=6),
    Column("Firmware", rank=2),
    Column("Under", rank=8),
)
_QUIET_KINDS = ("loopback", "veth", "virtual")
"""Shown with --verbose alone: a node full of containers has hundreds."""


def inventory(terminal: Terminal, report: Report, verbose: bool) -> None:
    """Print a Report's inventory; without one, print nothing: its errors are on stderr."""
    seen = report.inventory
    title = Text(report.node, style="bold")
    if report.mock:
        title.append(f"  {mocked(report.mock)}", style="yellow")
    terminal.line(title)
    if seen is None:
        return
    _host(terminal, seen)
    _gpus(terminal, seen)
    _nics(terminal, seen, verbose)
    if verbose:
        _mounts(terminal, seen.mounts)
        _sysctls(terminal, seen)
    for problem in seen.problems:
        terminal.line(Text(f"{problem.part}: not read ({problem.reason}): {problem.message}", style="magenta"))


def _host(terminal: Terminal, seen: Inventory) -> None:
    for label, parts in (
        ("System", _system(seen)),
        ("CPU", _cpu(seen)),
        ("Memory", _memory(seen)),
        *((f"NUMA {node.id}", _numa(node)) for node in seen.numa or ()),
        ("Driver", _driver(seen)),
    ):
        text = ", ".join(part for part in parts if part)
        if text:
            terminal.hanging(Text(f"  {label:8}", style="bold"), text, 10)


def _system(seen: Inventory) -> Iterable[str | None]:
    kernel = seen.kernel
    if kernel is None:
        return ()
    return (
        kernel.product,
        kernel.distribution,
        f"Linux {kernel.release} {kernel.architecture}",
        f"up {_duration(kernel.uptime_s)}",
    )


def _cpu(seen: Inventory) -> Iterable[str | None]:
    cpu = seen.cpu
    if cpu is None:
        return ()
    return (f"{cpu.sockets} x {cpu.model or 'unknown model'}", _many(cpu.cores, "core"), _many(cpu.threads, "thread"))


def _memory(seen: Inventory) -> Iterable[str | None]:
    if seen.memory is None:
        return ()
    total, available = seen.memory.total_bytes, seen.memory.available_bytes
    return (f"{size(total)}, {size(available)} available",)


def _numa(node: NumaNode) -> Iterable[str | None]:
    return (size(node.memory_bytes), f"CPU {node.cpus}" if node.cpus else None)


def _driver(seen: Inventory) -> Iterable[str | None]:
    driver = seen.accelerator_driver
    if driver is None:
        return ()
    return (f"{driver.vendor} {driver.version}", driver.runtime_version and f"CUDA {driver.runtime_version}")


def _gpus(terminal: Terminal, seen: Inventory) -> None:
    if seen.gpus is None:
        return
    terminal.line()
    terminal.table(_GPU_COLUMNS, [_gpu_row(gpu) for gpu in seen.gpus])
    for gpu in seen.gpus:
        if gpu.fault:
            text = f"GPU {_number(gpu)} {gpu.uuid or 'UUID unknown'}: {gpu.fault.call}: {gpu.fault.message}"
            terminal.line(Text(text, style="bold red"))
    instances = [_instance_row(gpu, instance) for gpu in seen.gpus for instance in gpu.instances or ()]
    if instances:
        terminal.line()
        terminal.table(_INSTANCE_COLUMNS, instances)


def _instance_row(gpu: Gpu, instance: GpuInstance) -> list[Text | str | None]:
    return [
        _number(gpu),
        str(instance.mig_index),
        instance.profile,
        _maybe(instance.gpu_instance_id),
        _maybe(instance.compute_instance_id),
        size(instance.memory_bytes) if instance.memory_bytes is not None else None,
        size(instance.memory_used_bytes) if instance.memory_used_bytes is not None else None,
        _maybe(instance.multiprocessors),
        instance.uuid,
    ]


def _gpu_row(gpu: Gpu) -> list[Text | str | None]:
    nic = f"{gpu.nearest_nic} {gpu.nearest_nic_path}" if gpu.nearest_nic else None
    place = [gpu.pci, _maybe(gpu.numa_node)]
    if gpu.fault:
        word = Text(gpu.fault.kind.upper(), style="bold red")
        return [_number(gpu), word, *place, None, None, None, None, nic, None, gpu.uuid]
    identity, telemetry, limits = gpu.identity, gpu.telemetry, gpu.limits
    memory = identity.memory_bytes if identity else None
    watts = telemetry.power_watts if telemetry else None
    limit = limits.enforced_power_limit_watts if limits else None
    celsius = telemetry.temperature_celsius if telemetry else None
    return [
        _number(gpu),
        identity.name if identity else None,
        *place,
        size(memory) if memory is not None else None,
        _links(gpu),
        _power(watts, limit),
        f"{celsius} C" if celsius is not None else None,
        nic,
        identity.vbios if identity else None,
        gpu.uuid,
    ]


def _power(watts: float | None, limit: float | None) -> str | None:
    if watts is None and limit is None:
        return None
    return f"{'-' if watts is None else round(watts)}/{'-' if limit is None else round(limit)} W"


def _number(gpu: Gpu) -> str:
    return "?" if gpu.gpu_index is None else str(gpu.gpu_index)


def _links(gpu: Gpu) -> Text | None:
    if gpu.links is None:
        return None
    up = sum(link.active for link in gpu.links)
    return Text(f"{up}/{len(gpu.links)}", style="" if up == len(gpu.links) else "yellow")


def _nics(terminal: Terminal, seen: Inventory, verbose: bool) -> None:
    if seen.nics is None:
        return
    ordered = sorted(seen.nics, key=lambda nic: natural(nic.name))
    shown = [nic for nic in ordered if verbose or nic.kind not in _QUIET_KINDS]
    ports = {port.device: port for port in seen.rdma or ()}
    terminal.line()
    terminal.table(_NIC_COLUMNS, [_nic_row(nic, ports.get(nic.rdma or "")) for nic in shown])
    hidden = len(seen.nics) - len(shown)
    if hidden:
        terminal.line(Text(f"and {hidden} loopback, veth or virtual ones: --verbose", style="dim"))


def _nic_row(nic: Nic, port: RdmaPort | None) -> list[Text | str | None]:
    up = nic.operstate == "up"
    return [
        nic.name,
        nic.kind,
        Text(nic.operstate, style="green" if up else "dim"),
        None if nic.speed_mbps is None else rate(nic.speed_mbps),
        str(nic.mtu),
        f"{port.device} {port.state or '?'}" if port else nic.rdma,
        _maybe(port.rdma_mtu) if port else None,
        _maybe(nic.numa_node),
        nic.pci,
        nic.driver,
        nic.firmware,
        nic.master or None,
    ]


def _mounts(terminal: Terminal, mounts: tuple[Mount, ...] | None) -> None:
    columns = (Column("Mount"), Column("Type"), Column("Mode"), Column("Source", wrap=True))
    rows = [[mount.target, mount.fstype, "ro" if mount.read_only else "rw", mount.source] for mount in mounts or ()]
    terminal.line()
    terminal.table(columns, rows)


def _sysctls(terminal: Terminal, seen: Inventory) -> None:
    terminal.line()
    terminal.table((Column("Sysctl"), Column("Value")), [[item.key, item.value] for item in seen.sysctls or ()])


def _many(number: int, noun: str) -> str:
    """`1 core`, `2 cores`"""
    return f"{number} {noun}{'s' * (number != 1)}"


def _maybe(value: int | None) -> str | None:
    return None if value is None else str(value)


def _duration(seconds: float) -> str:
    minutes = int(seconds // 60)
    days, hours = minutes // 1440, minutes // 60 % 24
    return f"{days} d {hours} h" if days else f"{hours} h {minutes % 60} min"
