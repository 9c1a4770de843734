"""The typed values of accelerators, by the rules of facts.py. Words and meanings are NVML's."""

from typing import NamedTuple, Optional, Tuple


class GpuFault(NamedTuple):
    """Why a GPU has a row but no values."""

    kind: str
    """`lost`, `hung`, `permission`, `reset-required`, `error`, or `invisible`: on the PCI bus, unknown to NVML."""
    call: str
    """The library call that failed or never returned."""
    message: str


class GpuIdentity(NamedTuple):
    name: str
    """NVML's product name: `NVIDIA H100 80GB HBM3`."""
    serial: Optional[str]
    vbios: Optional[str]
    memory_bytes: Optional[int]
    """Total. On unified memory, the host's MemTotal, which CPU and GPU share."""
    mig_enabled: Optional[bool]
    persistence_mode: Optional[bool]
    unified_memory: Optional[bool] = None
    """True for a GPU without memory of its own (GB10, Jetson); None where the library does not tell."""
    virtualization_mode: Optional[str] = None
    """`none`, `pass-through`, `vgpu` (we are a guest with a part of the GPU), `host-vgpu`, `host-vsga`."""
    inforom_version: Optional[str] = None
    """Of the image: `G520.0200.00.05`."""


class GpuTelemetry(NamedTuple):
    """Values of this moment."""

    gpu_utilization_percent: Optional[int]
    memory_utilization_percent: Optional[int]
    memory_used_bytes: Optional[int]
    """Without what the driver reserves, where it tells that apart. On unified memory, by all of the host."""
    memory_reserved_bytes: Optional[int]
    """None where the driver counts it as used."""
    memory_free_bytes: Optional[int]
    temperature_celsius: Optional[int]
    memory_temperature_celsius: Optional[int]
    power_watts: Optional[float]
    """The last second's average; on A100 and what came before Ampere, of this moment (nvml.h)."""
    sm_clock_mhz: Optional[int]
    memory_clock_mhz: Optional[int]
    performance_state: Optional[int]
    """0 is the fastest (P0)."""
    clocks_event_reasons: Optional[Tuple[str, ...]]
    """NVML's names in lower case: `gpu_idle`, `sw_power_cap`, `hw_thermal_slowdown`, ..."""
    temperature_margin_celsius: Optional[int] = None
    """Degrees left until the GPU slows down: it counts down (nvidia-smi's `GPU T.Limit Temp`; Ada, Hopper, later)."""
    sw_power_cap_ns: Optional[int] = None
    """How long that slowed the GPU down since the driver was loaded; no verdict by itself."""
    sw_thermal_slowdown_ns: Optional[int] = None
    """Likewise, by the driver, for heat (driver 575 and later)."""
    hw_thermal_slowdown_ns: Optional[int] = None
    """Likewise, by the hardware."""
    hw_power_brake_slowdown_ns: Optional[int] = None
    """Likewise, by the power supply's brake signal."""


class GpuPcie(NamedTuple):
    generation: Optional[int]
    width: Optional[int]
    max_generation: Optional[int]
    """Of the link: the lesser of the two ends."""
    max_width: Optional[int]
    replay_counter: Optional[int]
    device_max_generation: Optional[int] = None
    """Of the GPU alone, which a slot of less cannot reach."""


class GpuLink(NamedTuple):
    """One NVLink of a GPU."""

    link_index: int
    active: bool
    version: Optional[str]
    """`4.0` on Hopper."""


class GpuErrors(NamedTuple):
    """Counters since driver load (volatile) or of the board's life (aggregate)."""

    ecc_enabled: Optional[bool]
    volatile_corrected: Optional[int]
    volatile_uncorrected: Optional[int]
    aggregate_corrected: Optional[int]
    aggregate_uncorrected: Optional[int]
    remapped_rows_correctable: Optional[int]
    remapped_rows_uncorrectable: Optional[int]
    remap_pending: Optional[bool]
    remap_failure: Optional[bool]
    retired_pages_sbe: Optional[int]
    """For single-bit errors; pages are retired before Ampere, rows remapped since."""
    retired_pages_dbe: Optional[int]
    recovery_action: Optional[str]
    """`none`, `gpu-reset`, `node-reboot`, `drain-p2p`, `drain-and-reset`, `recover-imex-domain`, `bus-reset`,
    `system-reboot`, or NVML's number for a newer one (field 230, driver 550 and later)."""
    retired_pages_pending: Optional[bool] = None
    """Pages wait for a reboot to be retired."""
    sram_volatile_parity: Optional[int] = None
    """Uncorrected errors of SRAM found by parity; the totals have them too."""
    sram_volatile_secded: Optional[int] = None
    """Likewise, found by SEC-DED codes."""
    sram_aggregate_parity: Optional[int] = None
    sram_aggregate_secded: Optional[int] = None
    sram_threshold_exceeded: Optional[bool] = None
    """Too many uncorrected errors of SRAM: the board is to be replaced."""
    inforom_valid: Optional[bool] = None
    """False: the configuration on the board is corrupt."""


class GpuLimits(NamedTuple):
    power_limit_watts: Optional[float]
    """As requested."""
    enforced_power_limit_watts: Optional[float]
    """The least of all limits in force, also those set out of band."""
    default_power_limit_watts: Optional[float]
    min_power_limit_watts: Optional[float]
    max_power_limit_watts: Optional[float]
    max_sm_clock_mhz: Optional[int]
    max_memory_clock_mhz: Optional[int]
    slowdown_celsius: Optional[int] = None
    """The temperature at which the GPU slows down (Ampere and earlier)."""
    shutdown_celsius: Optional[int] = None
    """The temperature at which it switches itself off."""
    slowdown_margin_celsius: Optional[int] = None
    """Likewise, as `temperature_margin_celsius` counts: -2 (Ada, Hopper, later)."""
    shutdown_margin_celsius: Optional[int] = None
    """Likewise: -8."""


class GpuProcess(NamedTuple):
    pid: int
    """As the driver knows it: in the PID namespace of the host."""
    kind: str
    """`compute` or `graphics`"""
    memory_bytes: Optional[int]
    gpu_instance_id: Optional[int] = None
    compute_instance_id: Optional[int] = None
    present: Optional[bool] = None
    """False: no such process is to be seen from here; it ended, or is in another PID namespace. None: not looked."""
    state: Optional[str] = None
    """`D`, `Z`, ... of proc(5); looked at for `diagnose` alone."""


class GpuLinkErrors(NamedTuple):
    """Counters of one NVLink since it was trained; None where the link does not tell."""

    link_index: int
    replays: Optional[int]
    """Packets that were sent again."""
    recoveries: Optional[int]
    """How often the link had to be trained anew."""
    crc_errors: Optional[int]
    """Flits with a wrong check sum: corrected by a replay. On NVLink 5, symbols that error correction did not mend."""


class GpuHealth(NamedTuple):
    """What only `diagnose` judges, and is read for it alone."""

    read_at_s: float
    """When the counters were read: CLOCK_MONOTONIC, so that two looks since one boot tell the time between."""
    ecc_pending: Optional[bool] = None
    """ECC mode after the next reset."""
    mig_pending: Optional[bool] = None
    """MIG mode after the next reset."""
    gsp_firmware_version: Optional[str] = None
    """Of the GPU System Processor's firmware; the driver's own. None where it does not run."""
    gsp_enabled: Optional[bool] = None
    gsp_enabled_by_default: Optional[bool] = None
    link_errors: Optional[Tuple[GpuLinkErrors, ...]] = None
    """Of the active NVLinks."""
    reading_s: Optional[float] = None
    """How long it took to read all that changes, some forty calls."""


class GpuFabric(NamedTuple):
    """Whether a GPU has joined the NVSwitch fabric."""

    state: str
    """`not-started`, `in-progress` or `completed`."""
    status: Optional[str]
    """How it ended: `Success`, or an error in NVML's words. None before."""
    clique_id: Optional[int]
    cluster_uuid: Optional[str]
    """None outside a multi-node fabric."""
    unhealthy: Optional[Tuple[str, ...]]
    """What is wrong, of `degraded-bandwidth`, `route-recovery`, `route-unhealthy`, `access-timeout-recovery` and
    `incorrect-configuration`; None where the GPU does not tell."""


class GpuInstance(NamedTuple):
    """One MIG device: a compute instance in a GPU instance."""

    mig_index: int
    uuid: Optional[str]
    gpu_instance_id: Optional[int]
    compute_instance_id: Optional[int]
    profile: Optional[str]
    """`3g.40gb`; `1c.3g.40gb` where compute instances share a GPU instance."""
    memory_bytes: Optional[int]
    """Of the GPU instance: compute instances of one share it, so it is not to be added up over them."""
    memory_used_bytes: Optional[int]
    multiprocessors: Optional[int]


class Gpu(NamedTuple):
    """One GPU. A lost or hung one keeps its row: `fault` says why the rest is None, but for an identity read before."""

    gpu_index: Optional[int]
    """NVML's index; it may change at a reboot. None for a GPU that NVML does not list."""
    uuid: Optional[str]
    pci: Optional[str]
    numa_node: Optional[int]
    nearest_nic: Optional[str]
    nearest_nic_path: Optional[str]
    """How far that is, in the words of `nvidia-smi topo`: PIX, PXB, PHB, NODE or SYS."""
    fault: Optional[GpuFault] = None
    identity: Optional[GpuIdentity] = None
    telemetry: Optional[GpuTelemetry] = None
    pcie: Optional[GpuPcie] = None
    links: Optional[Tuple[GpuLink, ...]] = None
    errors: Optional[GpuErrors] = None
    limits: Optional[GpuLimits] = None
    processes: Optional[Tuple[GpuProcess, ...]] = None
    unsupported: Tuple[str, ...] = ()
    """Calls that this GPU answered with 'not supported' and that are not asked again."""
    vendor: Optional[str] = None
    """`nvidia`, `amd`, `biren`: whose library lists it."""
    fabric: Optional[GpuFabric] = None
    """None: this GPU is on no NVSwitch."""
    instances: Optional[Tuple[GpuInstance, ...]] = None
    """Its MIG devices; None where MIG is off. What such a GPU does not tell as a whole is None."""
    health: Optional[GpuHealth] = None
    """None also where nobody asked for it."""


class AcceleratorLibrary(NamedTuple):
    """What a vendor's GPUs are read with, found or not."""

    vendor: str
    """`nvidia`, `amd`, `biren`"""
    source: str
    """`libnvidia-ml.so.1`, or the vendor's command."""
    found: bool
    """It answers."""
    message: Optional[str]
    """Why not, in its own words."""
    gpu_count: Optional[int]
    tested_on_hardware: bool
    """False: what brctl does with it was tested on recorded or mocked answers alone."""


class AcceleratorDriver(NamedTuple):
    vendor: str
    """`nvidia`"""
    version: str
    """Kernel driver: `580.105.08`."""
    library_version: Optional[str]
    runtime_version: Optional[str]
    """Highest CUDA version that the driver serves: `13.0`."""
