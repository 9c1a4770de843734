"""In what nodes of one kin are alike: one entry for each thing that is compared, with the words for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..node import ports
from ..node.diagnose.hosts import BOOT_GRACE, booted_within
from ..node.facts import Gpu, Inventory
from ..node.report import HOST, Status, Subject
from ..node.request import Expected, ExpectedAccelerator, ExpectedNics
from ..node.units import rate

MEMORY_STEP = 0.03
"""MemTotal of like machines differs with the kernel by 1 to 2 % (the kernel's filesystems/proc.rst); one module of 16
is 6 %. So what lies within 3 % is one size."""

_GPU, _NIC = ExpectedAccelerator(), ExpectedNics()


class Value(NamedTuple):
    """What one part of a node is."""

    subject: Subject
    value: Hashable
    text: str
    odd: Status = Status.WARN
    """How bad it is where most others are not so: as bad as the node's own checks say of it."""
    lacks: bool = False
    """It is out of use: one that is in use is not wrong for that."""


class Trait(NamedTuple):
    """Something in which like nodes are alike."""

    check: str
    title: str
    read: Callable[[Inventory, Sequence[ports.Port]], Iterable[Value]]
    """The parts that could be read, from the inventory and the node's `interfaces`."""
    source: str
    remedy: str
    judged_by: str | None = None
    """The node's own check of the same. What that one found bad is not told twice."""
    judged_too: str | None = None
    """Another of the node's checks that may have found the same part bad."""
    declared: Callable[[Expected], Any] = lambda _: None
    """The range that the config allows: what is odd within it is only noted."""
    exact: Callable[[Expected], Any] = lambda _: None
    """The one value that the config allows: the node's own check is all the judgement that is needed."""
    merge: Callable[[Iterable[Any]], Mapping[Any, Any]] | None = None
    """What each value counts as, where those near each other are one."""


def interfaces(seen: Inventory, want: Expected) -> tuple[ports.Port, ...]:
    """The ports that are compared: those that the node's own checks judge, else every physical one and bond.

    A container's or namespace's only interfaces are veths: where there is nothing else, they count.
    """
    judged = ports.expected(seen, want)
    if judged:
        return judged
    found = [(port, port.nic.kind) for port in ports.ports(seen) if port.nic]
    real = tuple(port for port, kind in found if kind in ("physical", "bond"))
    return real or tuple(port for port, kind in found if kind == "veth")


def near(sizes: Iterable[int]) -> Mapping[int, int]:
    """Each size -> the least that is not more than MEMORY_STEP below it."""
    found: dict[int, int] = {}
    least = 0
    for size in sorted(set(sizes)):
        least = size if size > least * (1 + MEMORY_STEP) else least
        found[size] = least
    return found


def _host(value: Hashable, text: str) -> tuple[Value, ...]:
    return (Value(HOST, value, text),)


def _kernel(seen: Inventory, _: object) -> Iterable[Value]:
    return _host(seen.kernel.release, f"kernel {seen.kernel.release}") if seen.kernel else ()


def _memory(seen: Inventory, _: object) -> Iterable[Value]:
    size = seen.memory.total_bytes if seen.memory else 0
    return _host(size, f"{size / 2**30:.0f} GiB") if size else ()


def _driver(seen: Inventory, _: object) -> Iterable[Value]:
    driver = seen.accelerator_driver
    return _host(driver.version, f"{driver.vendor} driver {driver.version}") if driver else ()


def _gpu_count(seen: Inventory, _: object) -> Iterable[Value]:
    if any(problem.part in ("gpus", "accelerator_driver") for problem in seen.problems):
        return ()  # what could not be read is compared with nothing: the node's own checks say so
    count = None if seen.gpus is None else len(seen.gpus)
    return _host(count, "no GPU" if count is None else f"{count} GPUs")


def _of_gpus(read: Callable[[Gpu], str | None], form: str) -> Callable[[Inventory, object], Iterable[Value]]:
    """The different values of a node's GPUs together."""

    def values(seen: Inventory, _: object) -> Iterable[Value]:
        found = sorted({value for value in map(read, seen.gpus or ()) if value})
        return _host(tuple(found), form.format(" and ".join(found))) if found else ()

    return values


def _nic_count(seen: Inventory, found: Sequence[ports.Port]) -> Iterable[Value]:
    """Not of a node that has lent some to a pod: they are there."""
    return () if seen.nics is None or ports.lent(seen) else _host(len(found), f"{len(found)} interfaces")


def _mtu(_: object, found: Sequence[ports.Port]) -> Iterator[Value]:
    for port in found:
        if port.nic and port.fault != ports.DOWN and port.kind != "infiniband":
            yield Value(port.subject, port.nic.mtu, f"MTU {port.nic.mtu}")


def _speed(seen: Inventory, found: Sequence[ports.Port]) -> Iterator[Value]:
    """No link is critical, unless somebody switched it off; just after the boot it may still be coming up."""
    booting = booted_within(seen, BOOT_GRACE.default)
    for port in found:
        if port.fault == ports.DOWN:
            yield Value(port.subject, port.fault, port.fault, lacks=True)
        elif port.fault:
            yield from () if booting else (Value(port.subject, port.fault, port.fault, Status.CRIT, lacks=True),)
        elif port.speed_mbps:
            yield Value(port.subject, port.speed_mbps, rate(port.speed_mbps))


def _firmware(_: object, found: Sequence[ports.Port]) -> Iterator[Value]:
    for port in found:
        firmware = (port.nic.firmware if port.nic else None) or (port.rdma.firmware if port.rdma else None)
        if firmware:
            yield Value(port.subject, firmware, f"firmware {firmware}")


_UPDATE = "drain the node and bring it to what the others have; or the others, if this one is right"

TRAITS = (
    Trait(
        "fleet-gpu-count",
        "A node has as many GPUs as its like",
        _gpu_count,
        "nvmlDeviceGetCount_v2",
        "compare with `lspci -d 10de:`; power-cycle the node cold; what stays away needs hands",
        "gpu-count",
        exact=lambda want: (want.accelerator or _GPU).gpu_count,
    ),
    Trait(
        "fleet-gpu-model",
        "A node's GPUs are of the model of its like",
        _of_gpus(lambda gpu: gpu.identity and gpu.identity.name, "{}"),
        "nvmlDeviceGetName",
        "put the node into a group of its own in the config, or replace the GPU",
        "gpu-model",
        declared=lambda want: (want.accelerator or _GPU).model,
    ),
    Trait(
        "fleet-gpu-driver",
        "A node has the GPU driver of its like",
        _driver,
        "nvmlSystemGetDriverVersion",
        _UPDATE,
        "gpu-driver",
        declared=lambda want: (want.accelerator or _GPU).driver,
    ),
    Trait(
        "fleet-gpu-vbios",
        "A node's GPUs have the VBIOS of its like",
        _of_gpus(lambda gpu: gpu.identity and gpu.identity.vbios, "VBIOS {}"),
        "nvmlDeviceGetVbiosVersion",
        "drain the node and update the GPU's firmware with the system vendor's package; a replaced board often differs",
        "gpu-vbios",
        declared=lambda want: (want.accelerator or _GPU).vbios,
    ),
    Trait(
        "fleet-kernel",
        "A node runs the kernel of its like",
        _kernel,
        "uname -r",
        "drain the node and reboot it into the kernel of the others; or the others, if this one is right",
    ),
    Trait(
        "fleet-memory-size",
        "A node has the memory of its like",
        _memory,
        "MemTotal in /proc/meminfo",
        "see `dmidecode -t memory` and the BMC's log for a module that is missing or switched off",
        "memory-size",
        exact=lambda want: want.memory_bytes,
        merge=near,
    ),
    Trait(
        "fleet-nic-count",
        "A node has as many interfaces as its like",
        _nic_count,
        "/sys/class/net",
        "compare with `lspci -nn -d ::0200`: a card without a driver needs its module, one that is gone needs hands",
        "nic-count",
        exact=lambda want: (want.nics or _NIC).nic_count,
    ),
    Trait(
        "fleet-nic-mtu",
        "An interface has the MTU of those of its name on like nodes",
        _mtu,
        "/sys/class/net/NAME/mtu",
        "set it with `ip link set mtu` and in the network configuration: two ends that disagree drop large frames "
        "without a word",
        "nic-mtu",
        exact=lambda want: want.mtu,
    ),
    Trait(
        "fleet-nic-speed",
        "An interface has the speed of those of its name on like nodes",
        _speed,
        "/sys/class/net/NAME/speed",
        "see `ethtool` and `ethtool -m`; clean or swap cable and module, then look at the switch port",
        "nic-speed",
        "rdma-state",
        exact=lambda want: (want.nics or _NIC).speed_mbps,
    ),
    Trait(
        "fleet-nic-firmware",
        "An interface has the firmware of those of its name on like nodes",
        _firmware,
        "ethtool -i NAME",
        "drain the node, update with the card vendor's tool (mlxfwmanager, niccli), then reset the card or power-cycle",
        "nic-firmware",
        declared=lambda want: (want.nics or _NIC).firmware,
    ),
)
