"""Samples -> the series of NVIDIA's dcgm-exporter, for dashboards that know those: 12239 needs six of them.

Names, units and labels are those of its `default-counters.csv` and of its renderer. Its counters have no `_total`, so
this is text 0.0.4 alone, never OpenMetrics. Left out: DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL, typed a counter and in truth
a rate; series of virtual GPUs; profiling that NVML has no like of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..node.monitor import GPU_LABELS, INFO
from ..node.report import Report
from ..node.samples import of
from .prometheus import Family, label_pairs, measured, text

HOSTNAME_LABELS = {"hostname": ("hostname",), "Hostname": ("Hostname",), "both": ("hostname", "Hostname")}
"""dcgm-exporter wrote `Hostname` up to 4.8.2, and `hostname` since."""
_MIB, _MHZ = 1 / 2**20, 1e-6


class Field(NamedTuple):
    """One series of dcgm-exporter."""

    name: str
    kind: str
    help: str
    ours: str
    """The Series that it is made of."""
    factor: float = 1.0
    labels: tuple[str, ...] = ()
    """The values of the labels that this Series has beside a GPU's own."""


FIELDS = (
    Field("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock (in MHz).", "brctl_gpu_clock_hertz", _MHZ, ("sm",)),
    Field("DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock (in MHz).", "brctl_gpu_clock_hertz", _MHZ, ("memory",)),
    Field("DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Memory temperature (in C).", "brctl_gpu_memory_temperature_celsius"),
    Field("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).", "brctl_gpu_temperature_celsius"),
    Field("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W).", "brctl_gpu_power_watts"),
    Field("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Energy (in mJ).", "brctl_gpu_energy_joules_total", 1000),
    Field("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "PCIe retries.", "brctl_gpu_pcie_replays_total"),
    Field("DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %).", "brctl_gpu_utilization_ratio", 100),
    Field("DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory use (in %).", "brctl_gpu_memory_utilization_ratio", 100),
    Field("DCGM_FI_DEV_FB_FREE", "gauge", "Free memory (in MiB).", "brctl_gpu_memory_free_bytes", _MIB),
    Field("DCGM_FI_DEV_FB_USED", "gauge", "Used memory (in MiB).", "brctl_gpu_memory_used_bytes", _MIB),
    Field("DCGM_FI_DEV_FB_RESERVED", "gauge", "Reserved memory (in MiB).", "brctl_gpu_memory_reserved_bytes", _MIB),
    Field("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Tensor pipe in use (0-1).", "brctl_gpu_tensor_active_ratio"),
)


class _Gpu(NamedTuple):
    """What dcgm-exporter says of a GPU in every line."""

    gpu: str
    uuid: str
    pci: str
    name: str
    driver: str


def exposition(reports: Iterable[Report], hostname_label: str) -> bytes:
    """What was measured in one tick, in dcgm-exporter's words; `hostname_label` is a key of HOSTNAME_LABELS."""
    fields = {(field.ours, field.labels): field for field in FIELDS}
    families = {field.name: Family(field.name, field.kind, field.help, []) for field in FIELDS}
    seen: set[str] = set()
    for report in reports:
        gpus = _gpus(report)
        labels = {series.name: series.labels for series in report.series if series.labels[:2] == GPU_LABELS}
        for sample in measured(report):
            field = fields.get((sample.series, sample.labels[2:]))
            if not field or len(sample.labels) != len(labels.get(sample.series, ())):
                continue
            index, uuid = sample.labels[:2]
            gpu = gpus.get(index) or _Gpu(index, uuid, "", "", "")
            head = f"{field.name}{{{_pairs(gpu, report.node, HOSTNAME_LABELS[hostname_label])}}}"
            if head not in seen:  # a series that is there twice makes Prometheus drop the whole scrape
                seen.add(head)
                families[field.name].lines.append(f"{head} {(sample.value or 0.0) * field.factor:f}\n")
    return text([family for family in families.values() if family.lines])


def _gpus(report: Report) -> Mapping[str, _Gpu]:
    """By index, from the GPUs' info."""
    names = next((series.labels for series in report.series if series.name == INFO), ())
    found = {}
    for sample in of(report.samples, INFO):
        info = dict(zip(names, sample.labels, strict=False))
        gpu = _Gpu(*(info.get(key, "") for key in _Gpu._fields))
        found[gpu.gpu] = gpu._replace(pci=_bus_id(gpu.pci))
    return found


def _bus_id(pci: str) -> str:
    """As NVML writes it: `00000000:1B:00.0` for the kernel's `0000:1b:00.0`."""
    domain, colon, rest = pci.partition(":")
    return f"{domain:0>8}:{rest}".upper() if colon else pci


def _pairs(gpu: _Gpu, node: str, hostname_labels: Sequence[str]) -> str:
    names = ("gpu", "UUID", "pci_bus_id", "device", "modelName", *hostname_labels, "DCGM_FI_DRIVER_VERSION")
    hosts = (node,) * len(hostname_labels)
    return label_pairs(names, (gpu.gpu, gpu.uuid, gpu.pci, f"nvidia{gpu.gpu}", gpu.name, *hosts, gpu.driver))
