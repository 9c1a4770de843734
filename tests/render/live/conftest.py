"""Ticks made by hand, and a pen without colours."""

import io
from collections.abc import Callable
from typing import NamedTuple

import pytest
from rich.console import Console

from brctl.node.report import Mock, NodeError, Report, Sample, Series, State
from brctl.render.live.ink import Ink, ink

GPU = ("gpu", "uuid")
LABELS = {
    "brctl_gpu_clock_hertz": (*GPU, "clock"),
    "brctl_gpu_clocks_event_ratio": (*GPU, "reason"),
    "brctl_gpu_info": (*GPU, "pci", "name", "driver", "serial", "vbios"),
    "brctl_gpu_instance_memory_total_bytes": (*GPU, "gpu_instance", "compute_instance", "profile"),
    "brctl_gpu_nic_info": ("pci", "nic", "rdma", "path"),
    "brctl_gpu_process_memory_bytes": (*GPU, "pid", "name", "user", "container", "slurm_job", "kind", "gpu_instance"),
}


def _labels(name: str) -> "tuple[str, ...]":
    if name in LABELS:
        return LABELS[name]
    kinds = {"gpu": GPU, "rdma": ("device", "port"), "disk": ("disk",), "filesystem": ("mount", "type"),
             "pressure": ("resource", "kind")}  # fmt: skip
    if name.startswith("brctl_network_pause"):
        return ("interface", "priority")
    if name.startswith("brctl_network"):
        return ("interface",)
    return kinds.get(name.split("_")[1], ())


class Made(NamedTuple):
    """`made(...)`: a Report of one node. Keys are `name` or `name/label/label`; a State is a value that is absent."""

    at: float = 1000.0

    def __call__(
        self,
        values: "dict[str, float | State]",
        node: str = "gpu001",
        mock: "Mock | None" = None,
        error: "NodeError | None" = None,
    ) -> Report:
        samples = []
        for key, value in values.items():
            # A label that begins with a slash, as a mount does, follows two of them.
            name, *labels = key.replace("//", "/\0").split("/")
            labels = [label.replace("\0", "/") for label in labels]
            measured = not isinstance(value, State)
            samples.append(
                Sample(f"brctl_{name}", tuple(labels), value if measured else None,
                       State.MEASURED if measured else value, self.at)  # type: ignore[arg-type]
            )  # fmt: skip
        names = dict.fromkeys(sample.series for sample in samples)
        series = tuple(Series(name, "", "gauge", _labels(name), "", "", "") for name in names)
        return Report(node, self.at, 0.1, mock, errors=(error,) if error else (), series=series, samples=tuple(samples))


@pytest.fixture
def made() -> "Callable[..., Report]":
    return Made()


def of_gpu(index: int, use: float = 0.5, **values: "float | State") -> "dict[str, float | State]":
    """One GPU of a busy node."""
    gpu = f"{index}/GPU-{index}"
    base: dict[str, float | State] = {
        "up": 1, "utilization_ratio": use, "memory_used_bytes": 61 * 2**30, "memory_total_bytes": 80 * 2**30,
        "temperature_celsius": 50 + index, "temperature_margin_celsius": 37, "power_watts": 400 + index,
        "power_limit_watts": 700, "nvlink_transmit_bytes_per_second": 1e9, "nvlink_receive_bytes_per_second": 2e9,
    }  # fmt: skip
    made: dict[str, float | State] = {f"gpu_{name}/{gpu}": value for name, value in (base | values).items()}
    made[f"gpu_clock_hertz/{gpu}/sm"] = 1.98e9
    made[f"gpu_info/{gpu}/0000:1{index}:00.0/NVIDIA H100 80GB HBM3/580.105.08/1/2"] = 1
    made[f"gpu_nic_info/0000:1{index}:00.0/ens{index}np0/mlx5_{index}/PIX"] = 1
    return made


@pytest.fixture
def busy(made: "Callable[..., Report]") -> "Callable[..., Report]":
    """`busy(gpus)`: a node whose GPUs work, each faster than the one before."""

    def make(gpus: int = 8, node: str = "gpu001", **more: "float | State") -> Report:
        values: dict[str, float | State] = {}
        for index in range(gpus):
            values |= of_gpu(index, (index + 1) / 10)
        return made(values | more, node)

    return make


@pytest.fixture
def gpu() -> "Callable[..., dict[str, float | State]]":
    return of_gpu


@pytest.fixture
def pen() -> Ink:
    """Letters of UTF-8 and no colours."""
    return ink(Console(file=io.StringIO()), "utf-8")


@pytest.fixture
def ascii_pen() -> Ink:
    return ink(Console(file=io.StringIO()), "ascii")
