"""Faults that a mocked machine is given by name: `gpu3-lost`, `gpu3-lost@5`, `nic1-down`, `no-driver`.

A fault is data: what it makes of one GPU's values and of NVML's answers (the keys of nvml.py), of files, of a command's
counters, and what it leaves in the kernel log. What that comes to on a machine is worked out in harm.py.
"""

import errno
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple

from .fault_kind import Kind as Kind  # part of what this module offers
from .fault_kind import more
from .gpu_faults import GPU_KINDS
from .host_faults import HOST_KINDS
from .net_faults import NET_KINDS


class Change(NamedTuple):
    """What becomes of a GPU's values while the program runs. Library(nvml, changes) applies it at each call that takes
    the GPU's handle, once `after` of them have been answered."""

    gpu_index: int
    after: int
    values: Mapping[str, Any]
    """Replace those of these keys."""
    per_second: Mapping[str, int]
    """Added to those of these keys for each second since the change began."""


class Fault(NamedTuple):
    kind: Kind
    number: int
    """Which GPU or NIC."""
    after: int
    """How many times a call on the GPU, a file or a command is answered first."""
    function: str
    """The NVML function that `unsupported` is about."""
    text: str
    """As the user wrote it."""


class UnknownFaultError(ValueError):
    """No such fault; the message gives the text and the nearest that there is."""

    def __init__(self, text: str, near: Sequence[str]) -> None:
        self.near = near
        """The nearest first; one at least."""
        super().__init__("unknown fault {!r}; nearest: {!r}".format(text, near[0]))


def parse(text: str) -> Tuple[Fault, ...]:
    """The faults of `gpu3-lost@5+no-driver`, in order; none of an empty text. Raises UnknownFaultError."""
    return tuple(_parse_one(spec) for spec in text.split("+")) if text else ()


def spelling(kind: Kind) -> str:
    """How to write one: `[gpuN-]lost`."""
    prefix = "[{}N-]".format(kind.of) if kind.of in ("gpu", "nic") else ""
    return prefix + kind.name + (":FUNCTION" if kind is UNSUPPORTED else "")


_SPEC = re.compile(r"(?:(gpu|nic)([0-9]{1,4})-)?([a-z][a-z0-9-]*)(?::(nvml[A-Za-z0-9_]+))?(?:@([0-9]{1,9}))?\Z")


def _parse_one(text: str) -> Fault:
    match = _SPEC.match(text)
    if match is None:
        raise _unknown(text)
    part, number, name, function, after = match.groups()
    kind = _BY_NAME.get(name)
    if kind is None or part not in (None, kind.of) or (after and kind.of == "driver"):
        raise _unknown(text)
    if (function or "") not in (_functions() if kind is UNSUPPORTED else [""]):
        raise _unknown(text)
    return Fault(kind, int(number or 0), int(after or 0), function or "", text)


def _unknown(text: str) -> UnknownFaultError:
    import difflib  # costs more than all the rest, and is seldom needed

    prefix, wanted, function = re.match(r"((?:gpu|nic)[0-9]{1,4}-)?([^:@]*):?([^@]*)", text).groups()  # type: ignore[union-attr]
    part = prefix[:3] if prefix else None
    mine = [kind.name for kind in KINDS if part in (None, kind.of) or kind.of in ("host", "driver")]
    close = difflib.get_close_matches(wanted, mine, n=3, cutoff=0.5) or difflib.get_close_matches(
        wanted, mine, n=1, cutoff=0
    )
    near = []
    for name in close:
        of = _BY_NAME[name].of
        near.append((prefix if of == part else "nic0-" if of == "nic" else "") + name)
    meant = difflib.get_close_matches(function or "nvmlDeviceGetName", _functions(), n=1, cutoff=0)[0]
    return UnknownFaultError(text, [name + ":" + meant if name.endswith(UNSUPPORTED.name) else name for name in near])


def _functions() -> List[str]:
    from .nvml_functions import FUNCTIONS

    return sorted(FUNCTIONS)


# ---------------------------------------------------------------------------------------------------------------------
# The table

KERNEL_LOG = "/dev/kmsg"
_LINK_WIDTH = "/sys/bus/pci/devices/{pci}/current_link_width"
_LINK_SPEED = "/sys/bus/pci/devices/{pci}/current_link_speed"
_NIC, _PORT = "/sys/class/net/{nic}/", "/sys/class/infiniband/{rdma}/ports/1/"
_NUMA_BALANCING = "/proc/sys/kernel/numa_balancing"
_RMEM_MAX, _WMEM_MAX = "/proc/sys/net/core/rmem_max", "/proc/sys/net/core/wmem_max"
_GOVERNOR = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"

_LOST = {"nvmlDeviceGetHandle*": "NVML_ERROR_GPU_IS_LOST", "*": "NVML_ERROR_GPU_IS_LOST"}
_SECOND_NS = 10**9


def _slowed(reason: str) -> Mapping[str, Any]:
    """Hardware divides the clocks; it names the reason together with the general one."""
    return {
        "clocks_event_reasons": ["hw_slowdown", reason],
        "graphics_clock_mhz": lambda gpu: gpu["max_graphics_clock_mhz"] // 4,
        "sm_clock_mhz": lambda gpu: gpu["max_sm_clock_mhz"] // 4,
        **more(reason + "_ns", _SECOND_NS),
    }


UNSUPPORTED = Kind("unsupported", "gpu", "it does not support one function of NVML")
BUSY = Kind("busy", "host", "no fault: its GPUs, network, disks and CPUs work", needs="/proc/net/dev")

KINDS: Tuple[Kind, ...] = (
    Kind("lost", "gpu", "it answers to every call that it is lost", errors=_LOST),
    Kind("hang", "gpu", "no call on it returns; opening it does", errors={"*": "hang"}),
    Kind(
        "reset-required",
        "gpu",
        "it answers to every call that it must be reset",
        errors={"*": "NVML_ERROR_RESET_REQUIRED"},
    ),
    Kind(
        "no-permission",
        "gpu",
        "it is counted, but may not be opened",
        errors={"nvmlDeviceGetHandle*": "NVML_ERROR_NO_PERMISSION"},
    ),
    UNSUPPORTED,
    Kind(
        "xid-79",
        "gpu",
        "it has fallen off the bus: lost, its PCIe link dead, Xid 79 in the kernel log and as an event",
        errors=_LOST,
        files={_LINK_SPEED: "Unknown\n", _LINK_WIDTH: "63\n"},
        log=(
            "NVRM: GPU at PCI:{bus}: {uuid}",
            "NVRM: Xid (PCI:{bus}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            "NVRM: GPU {pci}: GPU has fallen off the bus.",
        ),
    ),
    Kind(
        "ecc-dbe",
        "gpu",
        "one uncorrected ECC error since the driver was loaded",
        needs="ecc_volatile_uncorrected",
        values={**more("ecc_volatile_uncorrected", 1), **more("ecc_aggregate_uncorrected", 1)},
    ),
    Kind(
        "ecc-storm",
        "gpu",
        "20000 corrected ECC errors a second",
        needs="ecc_volatile_corrected",
        values={**more("ecc_volatile_corrected", 100000), **more("ecc_aggregate_corrected", 100000)},
        per_second={"ecc_volatile_corrected": 20000, "ecc_aggregate_corrected": 20000},
    ),
    Kind(
        "remap-pending",
        "gpu",
        "a row of its memory is remapped at the next reset",
        needs="remap_pending",
        values={
            "remap_pending": True,
            "recovery_action": "drain-and-reset",
            **more("remapped_rows_uncorrectable", 1),
        },
    ),
    Kind(
        "remap-failure",
        "gpu",
        "a row of its memory could not be remapped",
        needs="remap_failure",
        values={"remap_failure": True},
    ),
    Kind("link-down", "gpu", "one of its NVLinks is down", needs="nvlinks", values={"nvlinks_down": [3]}),
    Kind(
        "pcie-x4",
        "gpu",
        "its PCIe link has 4 lanes",
        needs="pcie_width",
        values={"pcie_width": 4},
        files={_LINK_WIDTH: "4\n"},
    ),
    Kind(
        "thermal",
        "gpu",
        "90 C, and the hardware slows it down",
        needs="temperature_celsius",
        values={
            "temperature_celsius": 90,
            "temperature_margin_celsius": lambda gpu: (
                gpu["temperature_margin_celsius"] - 90 + gpu["temperature_celsius"]
            ),
            **_slowed("hw_thermal_slowdown"),
        },
        per_second={"hw_thermal_slowdown_ns": _SECOND_NS},
    ),
    Kind(
        "power-brake",
        "gpu",
        "a power supply's brake signal slows it down",
        needs="clocks_event_reasons",
        values=_slowed("hw_power_brake_slowdown"),
        per_second={"hw_power_brake_slowdown_ns": _SECOND_NS},
    ),
    Kind(
        "power-capped",
        "gpu",
        "half its default power limit is enforced from outside, whatever is requested",
        needs="enforced_power_limit_watts",
        values={"enforced_power_limit_watts": lambda gpu: gpu["default_power_limit_watts"] / 2},
    ),
    Kind("inforom", "gpu", "its InfoROM is corrupted", needs="inforom_valid", values={"inforom_valid": False}),
    *GPU_KINDS,
    *(kind for kind in HOST_KINDS if kind.of == "gpu"),
    Kind(
        "down",
        "nic",
        "its link is down",
        needs=_NIC + "carrier",
        files={
            _NIC + "carrier": "0\n",
            _NIC + "operstate": "down\n",
            _NIC + "speed": "-1\n",
            _PORT + "state": "1: DOWN\n",
            _PORT + "phys_state": "2: Polling\n",
            _PORT + "rate": "10 Gb/sec (4X SDR)\n",
        },
        log=("mlx5_core {pci} {nic}: Link down",),
    ),
    Kind("mtu-odd", "nic", "its MTU is 1500", needs=_NIC + "mtu", files={_NIC + "mtu": "1500\n"}),
    Kind(
        "pfc-storm",
        "nic",
        "it tells its switch to pause for 60 % of the time",
        needs="tx_prio3_pause",
        statistics={
            "tx_prio3_pause": 50000,
            "tx_prio3_pause_duration": 600000,
            "tx_prio3_pause_transition": 12000,
            "tx_pause_storm_warning_events": 1,
        },
    ),
    *(kind for kind in (*HOST_KINDS, *NET_KINDS) if kind.of == "nic"),
    Kind(
        "numa-balancing",
        "host",
        "automatic NUMA balancing is on",
        needs=_NUMA_BALANCING,
        files={_NUMA_BALANCING: "1\n"},
    ),
    Kind(
        "governor-powersave",
        "host",
        "the governor of its first CPU is powersave",
        needs=_GOVERNOR,
        files={_GOVERNOR: "powersave\n"},
    ),
    BUSY,
    Kind("no-kmsg", "host", "the kernel log may not be read", needs=KERNEL_LOG, files={KERNEL_LOG: errno.EPERM}),
    *(kind for kind in (*HOST_KINDS, *NET_KINDS) if kind.of == "host"),
    Kind("no-library", "driver", "libnvidia-ml.so.1 is not installed"),
    Kind(
        "no-driver", "driver", "the kernel module is not loaded", errors={"nvmlInit*": "NVML_ERROR_DRIVER_NOT_LOADED"}
    ),
    Kind(
        "version-mismatch",
        "driver",
        "library and kernel module are of different versions",
        errors={"nvmlInit*": "NVML_ERROR_LIB_RM_VERSION_MISMATCH"},
        log=("NVRM: API mismatch: the client does not have the version of this kernel module.",),
    ),
)
"""In the order of the documentation."""

_BY_NAME: Dict[str, Kind] = {kind.name: kind for kind in KINDS}
