"""The typed values that a Meter gives: what `monitor` looks at again and again. They never leave the agent as such."""

from typing import NamedTuple, Optional, Tuple


class GpuActivity(NamedTuple):
    """What changes from one moment to the next, in as few calls as can be: the sampler asks for it ten times a second.
    Counters begin when the driver is loaded."""

    gpu_utilization_percent: Optional[int]
    memory_utilization_percent: Optional[int]
    sm_clock_mhz: Optional[int]
    memory_clock_mhz: Optional[int]
    clocks_event_reasons: Optional[Tuple[str, ...]]
    power_average_watts: Optional[float]
    """Of the last second."""
    power_instant_watts: Optional[float]
    energy_joules: Optional[float]
    sw_power_cap_ns: Optional[int]
    sw_thermal_slowdown_ns: Optional[int]
    hw_thermal_slowdown_ns: Optional[int]
    hw_power_brake_slowdown_ns: Optional[int]


class GpuMemory(NamedTuple):
    """As in GpuTelemetry."""

    total_bytes: Optional[int]
    used_bytes: Optional[int]
    free_bytes: Optional[int]
    reserved_bytes: Optional[int]


class GpuTemperatures(NamedTuple):
    """As in GpuTelemetry."""

    core_celsius: Optional[int]
    memory_celsius: Optional[int]
    margin_celsius: Optional[int]
    performance_state: Optional[int]


class GpuTraffic(NamedTuple):
    """Counters of what went over its links."""

    pcie_transmit_bytes: Optional[int]
    pcie_receive_bytes: Optional[int]
    pcie_replays: Optional[int]
    nvlink_transmit_bytes: Optional[int]
    """Of all active links together; data without protocol."""
    nvlink_receive_bytes: Optional[int]


class GpuLinkErrorSums(NamedTuple):
    """Counters of all active NVLinks together."""

    replays: Optional[int]
    recoveries: Optional[int]
    crc_errors: Optional[int]


class GpuProfile(NamedTuple):
    """Shares of the time since the last look, 0 to 1 (GPM: Hopper and later)."""

    graphics_engine_ratio: Optional[float]
    sm_ratio: Optional[float]
    sm_occupancy_ratio: Optional[float]
    tensor_ratio: Optional[float]
    memory_bandwidth_ratio: Optional[float]
