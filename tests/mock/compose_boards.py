"""GPU boards, as the `nvml` values that all GPUs of a machine share.

H100, B200, A100 and L40S are those of `nvidia-smi -q -x` in NVIDIA/k8s-test-infra, tests/e2e; H200 and the H100 in MIG
mode those of `nvidia-smi -q` in utkuozdemir/nvidia_gpu_exporter, internal/captures. NVLinks are those of `nvidia-smi
nvlink` in the latter (Hopper) and in leptonai/gpud (A100), and of NVIDIA's data sheets (Blackwell, Volta). What these
do not tell is our own: counters, which start at zero, and settings, which are a well-kept node's. The V100 is composed
from NVIDIA's data sheet, the vGPU from NVIDIA's vGPU documentation.
"""

from typing import Any, NamedTuple

from compose_parts import MIB

Values = dict[str, Any]


class Driver(NamedTuple):
    version: str
    cuda: int
    missing: tuple[str, ...] = ()
    """Functions that its library does not export."""

    @property
    def branch(self) -> int:
        return int(self.version.partition(".")[0])

    @property
    def nvml(self) -> str:
        return f"{self.cuda // 1000}.{self.version}"


class Moment(NamedTuple):
    """Of one idle GPU, as it was recorded."""

    temperature: int | None
    memory_temperature: int | None
    power_average: float | None
    power_instant: float | None
    margin: int | None = None
    """To the T.Limit."""


def _memory(total: int, reserved: int, bar1: int, bar1_used: int = 1) -> Values:
    return {
        "memory_total_bytes": total * MIB,
        "memory_reserved_bytes": reserved * MIB,
        "memory_used_bytes": 0,
        "bar1_total_bytes": bar1 * MIB,
        "bar1_used_bytes": bar1_used * MIB,
    }


def _clocks(now: tuple[int, int, int], most: tuple[int, int, int]) -> Values:
    """Graphics and SM, memory, video; idle and at most."""
    values: Values = {}
    for prefix, (graphics, memory, video) in (("", now), ("max_", most)):
        values[prefix + "graphics_clock_mhz"] = values[prefix + "sm_clock_mhz"] = graphics
        values[prefix + "memory_clock_mhz"], values[prefix + "video_clock_mhz"] = memory, video
    return values


def _power(least: float, most: float) -> Values:
    requested = dict.fromkeys(("power_limit_watts", "enforced_power_limit_watts", "default_power_limit_watts"), most)
    return {**requested, "min_power_limit_watts": least, "max_power_limit_watts": most}


def _pcie(generation: int, width: int = 16) -> Values:
    return {
        "pcie_generation": generation,
        "pcie_width": width,
        "max_pcie_generation": generation,
        "max_pcie_width": 16,
        "device_max_pcie_generation": generation,
        "pcie_replay_counter": 0,
        "pcie_tx_kbytes_per_s": 502,
        "pcie_rx_kbytes_per_s": 578,
        "pcie_tx_bytes": 0,
        "pcie_rx_bytes": 0,
    }


def _nvlinks(number: int, version: str) -> Values:
    counters = ("tx_kib", "rx_kib", "replay_errors", "recovery_errors", "crc_errors")
    return {"nvlinks": number, "nvlink_version": version, **dict.fromkeys((f"nvlink_{name}" for name in counters), 0)}


_IDENTITY: Values = {
    "inforom_valid": True,
    "virtualization_mode": "none",
    "display_active": False,
    "persistence_mode": True,
    "compute_mode": 0,
}

_IDLE: Values = {
    "gpu_utilization_percent": 0,
    "memory_utilization_percent": 0,
    "encoder_utilization_percent": 0,
    "decoder_utilization_percent": 0,
    "performance_state": 0,
    "clocks_event_reasons": ["gpu_idle"],
    "processes": [],
}

_REASON_TIMES: Values = {
    "sw_power_cap_ns": 0,
    "sync_boost_ns": 0,
    "sw_thermal_slowdown_ns": 0,
    "hw_thermal_slowdown_ns": 0,
    "hw_power_brake_slowdown_ns": 0,
}

_ECC: Values = {
    "ecc_enabled": True,
    "ecc_pending": True,
    "ecc_volatile_corrected": 0,
    "ecc_volatile_uncorrected": 0,
    "ecc_aggregate_corrected": 0,
    "ecc_aggregate_uncorrected": 0,
}

_SRAM: Values = {
    "sram_volatile_corrected": 0,
    "sram_volatile_parity": 0,
    "sram_volatile_secded": 0,
    "sram_aggregate_corrected": 0,
    "sram_aggregate_parity": 0,
    "sram_aggregate_secded": 0,
    "sram_threshold_exceeded": False,
}

_ROWS: Values = {
    "remapped_rows_correctable": 0,
    "remapped_rows_uncorrectable": 0,
    "remap_pending": False,
    "remap_failure": False,
}

_NO_MIG: Values = {"mig_enabled": False, "mig_pending": False, "max_mig_devices": 7}

_FABRIC: Values = {
    "fabric_state": "completed",
    "fabric_status": 0,
    "fabric_clique_id": 0,
    "fabric_cluster_uuid": "00000000-0000-0000-0000-000000000000",
}

_MODERN: Values = {**_IDENTITY, **_IDLE, **_ECC, **_SRAM, **_ROWS, "recovery_action": "none"}
"""What every data centre board since Ampere has."""

_HOPPER: Values = {
    **_MODERN,
    **_REASON_TIMES,
    **_NO_MIG,
    **_FABRIC,
    **_power(200.0, 700.0),
    **_pcie(5),
    **_nvlinks(18, "4.0"),
    "compute_capability": [9, 0],
    "shutdown_tlimit_celsius": -8,
    "slowdown_tlimit_celsius": -2,
    "memory_max_tlimit_celsius": 0,
    "gpu_max_tlimit_celsius": 0,
}

H100: Values = {
    **_HOPPER,
    **_memory(81559, 480, 131072),
    **_clocks((345, 2619, 765), (1980, 2619, 1545)),
    "name": "NVIDIA H100 80GB HBM3",
    "pci_device_id": "233010de",
    "pci_subsystem_id": "16c110de",
    "vbios_version": "96.00.99.00.01",
    "board_part_number": "692-2G520-0200-000",
    "inforom_image_version": "G520.0200.00.05",
}
H100_DRIVER = Driver("580.105.08", 13000)
H100_MOMENTS = (
    Moment(29, 37, 68.57, 68.92, 58),
    Moment(30, 39, 67.01, 67.16, 56),
    Moment(29, 38, 67.45, 67.74, 57),
    Moment(32, 39, 71.37, 71.77, 55),
    Moment(32, 37, 66.66, 66.34, 55),
    Moment(29, 37, 68.11, 68.25, 58),
    Moment(31, 37, 69.80, 70.01, 56),
    Moment(29, 38, 68.07, 68.18, 57),
)

_NOT_OF_A_PARENT = (
    "gpu_utilization_percent",
    "memory_utilization_percent",
    "encoder_utilization_percent",
    "decoder_utilization_percent",
    *_ROWS,
    "nvlinks",
)
"""Not supported by a GPU in MIG mode."""

H100_MIG: Values = {
    **{key: value for key, value in H100.items() if key not in _NOT_OF_A_PARENT},
    "vbios_version": "96.00.A5.00.01",
    "virtualization_mode": "pass-through",
    "mig_enabled": True,
    "mig_pending": True,
    "memory_reserved_bytes": 479 * MIB,
    "memory_used_bytes": 59 * MIB,
    "bar1_used_bytes": 81081 * MIB,
}
H100_MIG_DRIVER = Driver("590.48.01", 13010)
H100_MIG_MOMENT = Moment(42, 48, 71.27, 72.63, 45)
H100_MIG_DEVICES = (
    # GPU instance, profile, memory, used memory and BAR1 in MiB, multiprocessors
    (2, "3g.40gb", 40448, 26, 24739, 60),
    (3, "2g.20gb", 20096, 17, 12369, 32),
    (9, "1g.10gb", 9984, 9, 6184, 16),
    (10, "1g.10gb", 9984, 9, 6184, 16),
)

H200: Values = {
    **_HOPPER,
    **_memory(143771, 614, 262144),
    **_clocks((345, 3201, 765), (1980, 3201, 1545)),
    "name": "NVIDIA H200",
    "pci_device_id": "233510de",
    "pci_subsystem_id": "18be10de",
    "vbios_version": "96.00.A5.00.03",
    "board_part_number": "695-2G520-0280-001",
    "inforom_image_version": "G520.0280.02.02",
}
H200_DRIVER = Driver("590.48.01", 13010)
H200_MOMENT = Moment(28, 32, 77.67, 77.88, 59)

B200: Values = {
    **_HOPPER,
    **_memory(183359, 728, 262144),
    **_clocks((120, 3996, 600), (1965, 3996, 1965)),
    **_power(200.0, 1000.0),
    **_nvlinks(18, "5.0"),
    "name": "NVIDIA B200",
    "pci_device_id": "290110de",
    "pci_subsystem_id": "199910de",
    "vbios_version": "97.00.FA.00.09",
    "board_part_number": "692-2G525-0220-500",
    "inforom_image_version": "G525.0220.00.03",
    "compute_capability": [10, 0],
    "shutdown_tlimit_celsius": -5,
    "slowdown_tlimit_celsius": -3,
    "fabric_health": [],
}
B200_DRIVER = Driver("580.105.08", 13000)
B200_MOMENTS = (
    Moment(39, 39, 195.68, 195.79, 49),
    Moment(53, 51, 206.00, 205.94, 35),
    Moment(38, 38, 194.61, 194.53, 50),
    Moment(52, 51, 204.12, 204.43, 36),
    Moment(38, 37, 194.32, 193.93, 50),
    Moment(51, 50, 202.14, 202.57, 37),
    Moment(37, 37, 194.55, 194.99, 51),
    Moment(51, 49, 205.21, 204.74, 37),
)

A100: Values = {
    **_MODERN,
    **_NO_MIG,
    **_memory(40960, 518, 65536),
    **_clocks((210, 1215, 585), (1410, 1215, 1290)),
    **_power(100.0, 400.0),
    **_pcie(4),
    **_nvlinks(12, "3.0"),
    "name": "NVIDIA A100-SXM4-40GB",
    "pci_device_id": "20b010de",
    "pci_subsystem_id": "134f10de",
    "vbios_version": "92.00.45.00.03",
    "board_part_number": "692-2G506-0200-003",
    "inforom_image_version": "G506.0200.00.04",
    "compute_capability": [8, 0],
    "display_mode": True,
    "shutdown_threshold_celsius": 92,
    "slowdown_threshold_celsius": 89,
    "gpu_max_threshold_celsius": 85,
    "memory_max_threshold_celsius": 95,
}
A100_DRIVER = Driver("570.148.08", 12080)
A100_MOMENT = Moment(33, 34, None, 49.68)

L40S: Values = {
    **_MODERN,
    **_REASON_TIMES,
    **_memory(46068, 609, 65536, 0),
    **_clocks((2040, 9001, 1725), (2520, 9001, 1965)),
    **_power(100.0, 350.0),
    **_pcie(4, 8),
    "name": "NVIDIA L40S",
    "pci_device_id": "26b910de",
    "pci_subsystem_id": "185110de",
    "vbios_version": "95.02.66.00.15",
    "board_part_number": "900-2G133-A880-000",
    "inforom_image_version": "G133.0242.00.03",
    "compute_capability": [8, 9],
    "shutdown_tlimit_celsius": -5,
    "slowdown_tlimit_celsius": -2,
    "gpu_max_tlimit_celsius": 0,
}
L40S_DRIVER = Driver("595.91.07", 13020)
L40S_MOMENT = Moment(29, None, 65.64, 66.16, 59)

V100: Values = {
    **_IDENTITY,
    **_IDLE,
    **_ECC,
    **_memory(32510, 0, 32768, 2),
    **_clocks((135, 877, 555), (1530, 877, 1372)),
    **_power(150.0, 300.0),
    **_pcie(3),
    **_nvlinks(6, "2.0"),
    "name": "Tesla V100-SXM2-32GB",
    "pci_device_id": "1db510de",
    "pci_subsystem_id": "124910de",
    "vbios_version": "88.00.80.00.01",
    "board_part_number": "699-2G503-0203-200",
    "inforom_image_version": "G503.0203.00.05",
    "compute_capability": [7, 0],
    "display_mode": False,
    "retired_pages_sbe": 0,
    "retired_pages_dbe": 0,
    "retired_pages_pending": False,
    "shutdown_threshold_celsius": 90,
    "slowdown_threshold_celsius": 87,
    "gpu_max_threshold_celsius": 83,
    "memory_max_threshold_celsius": 85,
}
V100_DRIVER = Driver(
    "450.80.02",
    11000,
    (
        "nvmlDeviceGetComputeRunningProcesses_v2",
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetConfComputeMemSizeInfo",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetDriverModel_v2",
        "nvmlDeviceGetGpuFabricInfoV",
        "nvmlDeviceGetGpuMaxPcieLinkGeneration",
        "nvmlDeviceGetGraphicsRunningProcesses_v2",
        "nvmlDeviceGetGraphicsRunningProcesses_v3",
        "nvmlDeviceGetGspFirmwareMode",
        "nvmlDeviceGetGspFirmwareVersion",
        "nvmlDeviceGetMPSComputeRunningProcesses",
        "nvmlDeviceGetMPSComputeRunningProcesses_v2",
        "nvmlDeviceGetMPSComputeRunningProcesses_v3",
        "nvmlDeviceGetMarginTemperature",
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetNumFans",
        "nvmlDeviceGetRunningProcessDetailList",
        "nvmlDeviceGetSramEccErrorStatus",
        "nvmlDeviceGetTemperatureV",
    ),
)
"""What nvidia-ml-py 11.450, of the same year, does not call, of what the mock knows."""
V100_MOMENT = Moment(34, 32, 42.1, 42.1)

L40S_VGPU: Values = {
    **{key: value for key, value in _IDENTITY.items() if key != "inforom_valid"},
    **_IDLE,
    **_memory(49152, 0, 256, 0),
    **_clocks((2520, 9001, 1965), (2520, 9001, 1965)),
    "name": "NVIDIA L40S-48C",
    "pci_device_id": "26b910de",
    "pci_subsystem_id": "185610de",
    "vbios_version": "00.00.00.00.00",
    "compute_capability": [8, 9],
    "virtualization_mode": "vgpu",
}
"""A guest sees neither the board's errors, power and temperature nor its links."""
L40S_VGPU_MOMENT = Moment(None, None, None, None)
L40S_VGPU_DRIVER = Driver("570.158.01", 12080)
