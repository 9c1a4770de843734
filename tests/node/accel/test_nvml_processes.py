"""Processes, whatever structure the driver lists them in."""

from typing import Any, Callable, Dict, Sequence

import pynvml
import pytest

from brctl.mock import nvml_library, nvml_lists
from brctl.node.facts import GpuProcess

Plain = Dict[str, Any]
Board = Callable[..., Any]
Refuses = Callable[[int], Callable[..., Any]]
Gives = Callable[[Any], Callable[..., Any]]


def test_processes_of_both_kinds(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0]["processes"] = [
        {"pid": 90, "kind": "compute", "memory_bytes": None},
        {"pid": 8, "kind": "compute", "memory_bytes": 5},
        {"pid": 8, "kind": "graphics", "memory_bytes": 5},
        {"pid": 4, "kind": "graphics", "memory_bytes": 6},
        {"pid": 0, "kind": "compute", "memory_bytes": 7},
        {"pid": 90, "kind": "compute", "memory_bytes": 3},
    ]
    assert gpu(dgx_h100_nvml).processes() == (
        GpuProcess(4, "graphics", 6),
        GpuProcess(8, "compute", 5),
        GpuProcess(90, "compute", None),
        GpuProcess(90, "compute", 3),
    )


def test_no_processes_are_not_the_same_as_no_list(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpu: Board, refuses: Refuses
) -> None:
    assert gpu(dgx_h100_nvml).processes() == ()
    with monkeypatch.context() as patch:
        patch.setattr(pynvml, "nvmlDeviceGetGraphicsRunningProcesses_v3", refuses(3))
        patch.setattr(pynvml, "nvmlDeviceGetGraphicsRunningProcesses_v2", refuses(3))
        assert gpu(dgx_h100_nvml).processes() == ()
    dgx_h100_nvml["defaults"]["processes"] = None
    assert gpu(dgx_h100_nvml).processes() is None


LISTED = [{"pid": pid, "kind": "compute", "memory_bytes": pid << 20} for pid in (4242, 4243, 4244)]
READ = tuple(GpuProcess(pid, "compute", pid << 20) for pid in (4242, 4243, 4244))


@pytest.mark.parametrize("driver", ["535.43.02", "535.54.03", "535.85.12", "535.86.10", "535.183.01", "580.105.08"])
def test_drivers_whose_structure_is_longer_than_the_header_says(dgx_h100_nvml: Plain, gpu: Board, driver: str) -> None:
    dgx_h100_nvml["driver_version"] = driver
    dgx_h100_nvml["gpus"][0]["processes"] = LISTED
    board = gpu(dgx_h100_nvml)
    assert board.processes() == READ
    assert board.failures == ()
    dgx_h100_nvml["gpus"][0]["processes"] = []
    assert gpu(dgx_h100_nvml).processes() == ()


def test_a_driver_of_that_number_that_was_mended(
    dgx_h100_nvml: Plain, gpu: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its library exports decides: the function that came with the shorter structure."""
    monkeypatch.setattr(nvml_library, "has_long_processes", lambda _: False)
    monkeypatch.setattr(nvml_lists, "has_long_processes", lambda _: False)
    dgx_h100_nvml["driver_version"] = "535.54.03"
    dgx_h100_nvml["gpus"][0]["processes"] = LISTED
    assert gpu(dgx_h100_nvml).processes() == READ


@pytest.mark.parametrize("versions", [("_v3",), ("_v3", "_v2")])
def test_drivers_that_have_only_the_older_functions(dgx_h100_nvml: Plain, gpu: Board, versions: Sequence[str]) -> None:
    names = ["nvmlDeviceGet{}RunningProcesses{}".format(kind, v) for kind in ("Compute", "Graphics") for v in versions]
    dgx_h100_nvml.update(driver_version="418.226.00", missing_functions=names)
    dgx_h100_nvml["gpus"][0]["processes"] = [*LISTED, dict(LISTED[0], kind="graphics", pid=7)]
    board = gpu(dgx_h100_nvml)
    assert board.processes() == (GpuProcess(7, "graphics", 4242 << 20), *READ)
    assert board.unsupported == tuple(sorted(names))


def test_pids_past_the_kernels_last_one(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0]["processes"] = [dict(LISTED[0], pid=4194304), dict(LISTED[0], pid=4194305)]
    board = gpu(dgx_h100_nvml)
    assert [process.pid for process in board.processes() or ()] == [4194304]
    assert [str(failure) for failure in board.failures] == [
        "nvmlDeviceGetComputeRunningProcesses_v3: PID 4194305 cannot be: this driver's process list is not reliable"
    ]


def test_instances_of_a_process_are_told_only_together(dgx_h100_nvml: Plain, gpu: Board) -> None:
    both = {"gpu_instance_id": 2, "compute_instance_id": 0}
    dgx_h100_nvml["gpus"][0]["processes"] = [dict(LISTED[0], **both), dict(LISTED[1], gpu_instance_id=2), LISTED[2]]
    found = gpu(dgx_h100_nvml).processes() or ()
    assert [(process.gpu_instance_id, process.compute_instance_id) for process in found] == [
        (2, 0), (None, None), (None, None)
    ]  # fmt: skip


def test_a_list_that_fails_at_the_second_call(
    dgx_h100_nvml: Plain, gpu: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    dgx_h100_nvml.update(driver_version="535.54.03")
    dgx_h100_nvml["gpus"][0].update(
        processes=LISTED,
        errors={"nvmlDeviceGetComputeRunningProcesses_v3": {"error": "NVML_ERROR_UNKNOWN", "after": 1}},
    )
    board = gpu(dgx_h100_nvml)
    assert board.processes() == ()
    assert [str(failure) for failure in board.failures] == ["nvmlDeviceGetComputeRunningProcesses_v3: Unknown Error"]
