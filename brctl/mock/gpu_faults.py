"""Faults of a GPU that only its own health tells: what `diagnose` is there to find."""

from typing import Any, Mapping, Tuple

from .fault_kind import Kind, more

_BUSY: Mapping[str, Any] = {"gpu_utilization_percent": 100, "performance_state": 0, "clocks_event_reasons": []}
_GONE = {"pid": 3999999, "kind": "compute", "memory_bytes": 8 << 30}
"""A process that no machine of ours has."""

GPU_KINDS: Tuple[Kind, ...] = (
    Kind(
        "recovery-reset",
        "gpu",
        "the driver asks for its reset",
        needs="recovery_action",
        values={"recovery_action": "gpu-reset"},
    ),
    Kind(
        "ecc-growing",
        "gpu",
        "50 uncorrected ECC errors a second, which only the count of its life shows",
        needs="ecc_aggregate_uncorrected",
        values=more("ecc_aggregate_uncorrected", 7),
        per_second={"ecc_aggregate_uncorrected": 50},
    ),
    Kind(
        "remap-exhausted",
        "gpu",
        "512 rows of its memory were remapped for uncorrected errors",
        needs="remapped_rows_uncorrectable",
        values={"remapped_rows_uncorrectable": 512},
    ),
    Kind(
        "retire-pending",
        "gpu",
        "a page of its memory is retired at the next reboot",
        needs="retired_pages_pending",
        values={"retired_pages_pending": True, **more("retired_pages_dbe", 1)},
    ),
    Kind(
        "sram",
        "gpu",
        "its SRAM had more uncorrected errors than it may",
        needs="sram_threshold_exceeded",
        values={"sram_threshold_exceeded": True},
    ),
    Kind(
        "slow-clock",
        "gpu",
        "it works at a third of its clock, and gives no reason",
        needs="gpu_utilization_percent",
        values={**_BUSY, "sm_clock_mhz": lambda gpu: gpu["max_sm_clock_mhz"] // 3},
    ),
    Kind(
        "slow-calls",
        "gpu",
        "each call on it takes 40 ms longer",
        needs="latency_ms",
        values={"latency_ms": 40},
    ),
    Kind(
        "fever",
        "gpu",
        "it gets 62 C warmer within a minute, less at a lower power limit, and is cool again after another",
        needs="temperature_celsius",
        values={"fever_s": 120},
    ),
    Kind(
        "no-persistence",
        "gpu",
        "its persistence mode is off",
        needs="persistence_mode",
        values={"persistence_mode": False},
    ),
    Kind(
        "ecc-off-pending",
        "gpu",
        "its ECC is to be off after the next reset",
        needs="ecc_pending",
        values={"ecc_pending": False},
    ),
    Kind(
        "pcie-gen1",
        "gpu",
        "its PCIe link is of generation 1 while it works",
        needs="pcie_generation",
        values={**_BUSY, "pcie_generation": 1, "sm_clock_mhz": lambda gpu: gpu["max_sm_clock_mhz"]},
    ),
    Kind(
        "pcie-replays",
        "gpu",
        "2000 PCIe packets are sent again each second",
        needs="pcie_replay_counter",
        values=more("pcie_replay_counter", 100),
        per_second={"pcie_replay_counter": 2000},
    ),
    Kind(
        "nvlink-crc",
        "gpu",
        "2000 CRC errors a second on each of its NVLinks",
        needs="nvlinks",
        values=more("nvlink_crc_errors", 5000),
        per_second={"nvlink_crc_errors": 2000},
    ),
    Kind(
        "nvlink-retrains",
        "gpu",
        "its NVLinks are trained anew 20 times a second",
        needs="nvlinks",
        values=more("nvlink_recovery_errors", 3),
        per_second={"nvlink_recovery_errors": 20},
    ),
    Kind(
        "no-fabric",
        "gpu",
        "it has not joined the NVSwitch fabric",
        needs="fabric_state",
        values={"fabric_state": "not-started"},
    ),
    Kind(
        "fabric-degraded",
        "gpu",
        "it is on the fabric with less bandwidth",
        needs="fabric_health",
        values={"fabric_health": ["degraded-bandwidth"]},
    ),
    Kind(
        "orphan",
        "gpu",
        "a process that is gone holds 8 GiB of its memory",
        needs="processes",
        values={"processes": [_GONE], **more("memory_used_bytes", 8 << 30)},
    ),
    Kind(
        "ghost-memory",
        "gpu",
        "8 GiB of its memory are in use, and no process is there",
        needs="processes",
        values={"processes": [], **more("memory_used_bytes", 8 << 30)},
    ),
    Kind(
        "gsp-mismatch",
        "gpu",
        "its GSP runs the firmware of another driver",
        needs="gsp_firmware_version",
        values={"gsp_firmware_version": "535.54.03"},
    ),
)
