import os
import re
import sys
from typing import Any, Callable, Dict, List

import pynvml
import pytest

from brctl.mock import faults, nvml_functions, nvml_library
from brctl.mock.nvml import install
from brctl.node import deadline
from brctl.node.accel import AcceleratorError, nvml, nvml_calls
from brctl.node.accel.nvml import Nvml, NvmlGpu
from brctl.node.deadline import HungError, run_all
from brctl.node.facts import (
    AcceleratorDriver,
    GpuErrors,
    GpuIdentity,
    GpuLimits,
    GpuLink,
    GpuPcie,
    GpuProcess,
    GpuTelemetry,
)

Plain = Dict[str, Any]


def gpu(plain: Plain, text: str = "", index: int = 0) -> NvmlGpu:
    install(plain, faults.parse(text))
    return Nvml().open(index)


def refuses(code: int) -> Callable[..., Any]:
    """A pynvml function that fails with `code`."""

    def function(*arguments: Any) -> Any:
        raise pynvml.NVMLError(code)

    return function


def gives(value: Any) -> Callable[..., Any]:
    def function(*arguments: Any) -> Any:
        return value

    return function


class Calling:
    """Stands for deadline.calling, and notes what it is told."""

    def __init__(self) -> None:
        self.names: List[str] = []
        self.limits: Dict[str, Any] = {}

    def __call__(self, name: str, limit_s: Any = None) -> None:
        self.names.append(name)
        self.limits[name] = limit_s


# What a healthy board says


def test_driver_and_count(dgx_h100_nvml: Plain) -> None:
    install(dgx_h100_nvml)
    library = Nvml()
    assert library.driver() == AcceleratorDriver("nvidia", "580.105.08", "13.580.105.08", "13.0")
    assert library.count() == 8
    dgx_h100_nvml.update(cuda_version=12020, nvml_version=None)
    install(dgx_h100_nvml)
    assert Nvml().driver() == AcceleratorDriver("nvidia", "580.105.08", None, "12.2")


def test_who_it_is(dgx_h100_nvml: Plain) -> None:
    board = gpu(dgx_h100_nvml, index=3)
    want = dgx_h100_nvml["gpus"][3]
    assert (board.index, board.uuid(), board.pci()) == (3, want["uuid"], "0000:5d:00.0")
    assert board.identity() == GpuIdentity(
        name="NVIDIA H100 80GB HBM3",
        serial=want["serial"],
        vbios="96.00.99.00.01",
        memory_bytes=81559 << 20,
        mig_enabled=False,
        persistence_mode=True,
    )


def test_telemetry_in_our_units(dgx_h100_nvml: Plain) -> None:
    dgx_h100_nvml["gpus"][0].update(
        gpu_utilization_percent=91, memory_utilization_percent=47, memory_used_bytes=1 << 30, performance_state=2
    )
    assert gpu(dgx_h100_nvml).telemetry() == GpuTelemetry(
        gpu_utilization_percent=91,
        memory_utilization_percent=47,
        memory_used_bytes=1 << 30,
        memory_reserved_bytes=480 << 20,
        memory_free_bytes=(81559 - 480 - 1024) << 20,
        temperature_celsius=29,
        memory_temperature_celsius=37,
        power_watts=68.57,
        sm_clock_mhz=345,
        memory_clock_mhz=2619,
        performance_state=2,
        clocks_event_reasons=("gpu_idle",),
    )


def test_pcie_limits_and_errors(dgx_h100_nvml: Plain) -> None:
    dgx_h100_nvml["gpus"][0].update(
        pcie_width=4,
        pcie_replay_counter=150,
        power_limit_watts=600,
        enforced_power_limit_watts=500.5,
        ecc_volatile_corrected=1,
        ecc_volatile_uncorrected=2,
        ecc_aggregate_corrected=3,
        ecc_aggregate_uncorrected=4,
        remapped_rows_correctable=5,
        remapped_rows_uncorrectable=6,
        remap_pending=True,
        recovery_action="gpu-reset",
    )
    board = gpu(dgx_h100_nvml)
    assert board.pcie() == GpuPcie(5, 4, 5, 16, 150)
    assert board.limits() == GpuLimits(600.0, 500.5, 700.0, 200.0, 700.0, 1980, 2619)
    assert board.errors() == GpuErrors(True, 1, 2, 3, 4, 5, 6, True, False, None, None, "gpu-reset")


def test_retired_pages_are_counted_by_cause(dgx_h100_nvml: Plain) -> None:
    dgx_h100_nvml["gpus"][0].update(retired_pages_sbe=2, retired_pages_dbe=0)
    errors = gpu(dgx_h100_nvml).errors()
    assert (errors.retired_pages_sbe, errors.retired_pages_dbe) == (2, 0)


# Not supported is None, for that value alone, and not asked twice


def test_unsupported_is_absent_and_not_asked_again(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    dgx_h100_nvml["defaults"].update(pcie_replay_counter=None, video_clock_mhz=None, sm_clock_mhz=None)
    board = gpu(dgx_h100_nvml)
    calling = Calling()
    monkeypatch.setattr(deadline, "calling", calling)
    asked = calling.names
    first = (board.telemetry(), board.pcie())
    before = len(asked)
    assert (board.telemetry(), board.pcie()) == first
    assert first[0].sm_clock_mhz is None
    assert first[0].memory_clock_mhz == 2619
    assert first[1].replay_counter is None
    assert board.unsupported == ("nvmlDeviceGetClockInfo(1)", "nvmlDeviceGetPcieReplayCounter")
    assert asked.count("nvmlDeviceGetPcieReplayCounter") == 1
    assert asked.count("nvmlDeviceGetClockInfo") == 3
    assert len(asked) == 2 * before - 2


@pytest.mark.parametrize("code", [3, 13, 22, 25, 26])
def test_all_words_for_not_supported(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.setattr(pynvml, "nvmlDeviceGetPersistenceMode", refuses(code))
    board = gpu(dgx_h100_nvml)
    assert board.identity().persistence_mode is None
    assert board.unsupported == ("nvmlDeviceGetPersistenceMode",)
    assert board.failures == ()


def test_what_an_old_driver_lacks(dgx_h100_nvml: Plain) -> None:
    dgx_h100_nvml["missing_functions"] = [
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetRemappedRows",
    ]
    dgx_h100_nvml["gpus"][0]["processes"] = [{"pid": 7, "kind": "compute", "memory_bytes": 9}]
    board = gpu(dgx_h100_nvml)
    telemetry = board.telemetry()
    assert (telemetry.memory_used_bytes, telemetry.memory_reserved_bytes) == (480 << 20, None)
    assert telemetry.temperature_celsius == 29
    assert telemetry.clocks_event_reasons == ("gpu_idle",)
    assert board.processes() == (GpuProcess(7, "compute", 9),)
    errors = board.errors()
    assert (errors.remapped_rows_correctable, errors.remap_pending) == (None, None)
    assert set(dgx_h100_nvml["missing_functions"]) <= {call.partition("(")[0] for call in board.unsupported}


def test_what_an_old_binding_lacks(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pynvml, "nvmlDeviceGetTemperatureV")
    monkeypatch.delattr(pynvml, "nvmlDeviceGetGraphicsRunningProcesses_v2")
    board = gpu(dgx_h100_nvml)
    assert board.telemetry().temperature_celsius == 29
    assert board.unsupported == ("nvmlDeviceGetTemperatureV(0)",)


def test_mig_takes_the_parents_values_away(dgx_h100_nvml: Plain) -> None:
    dgx_h100_nvml["gpus"][0].update(
        mig_enabled=True, gpu_utilization_percent=None, memory_utilization_percent=None, remapped_rows_correctable=None
    )
    board = gpu(dgx_h100_nvml)
    assert board.identity().mig_enabled is True
    assert board.telemetry().gpu_utilization_percent is None
    assert board.errors().remap_failure is None


@pytest.mark.parametrize("total", [None, 0])
def test_unified_memory_has_no_figures(dgx_h100_nvml: Plain, total: Any) -> None:
    dgx_h100_nvml["gpus"][0].update(memory_total_bytes=total, memory_reserved_bytes=0)
    board = gpu(dgx_h100_nvml)
    assert board.identity().memory_bytes is None
    telemetry = board.telemetry()
    assert (telemetry.memory_used_bytes, telemetry.memory_free_bytes) == (None, None)


# Values that need reading


@pytest.mark.parametrize("filler", [0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF])
def test_fillers_are_no_numbers(dgx_h100_nvml: Plain, filler: int) -> None:
    dgx_h100_nvml["gpus"][0].update(ecc_volatile_corrected=filler, ecc_aggregate_corrected=0)
    errors = gpu(dgx_h100_nvml).errors()
    assert (errors.volatile_corrected, errors.aggregate_corrected) == (None, 0)


@pytest.mark.parametrize("filler", ["N/A", "[N/A]", "", "  "])
def test_fillers_are_no_texts(dgx_h100_nvml: Plain, filler: str) -> None:
    dgx_h100_nvml["gpus"][0]["serial"] = filler
    assert gpu(dgx_h100_nvml).identity().serial is None


def test_old_bindings_give_bytes(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    board = gpu(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetName", gives(b"Tesla\xff V100 "))
    monkeypatch.setattr(pynvml, "nvmlDeviceGetUUID", gives(b"GPU-1"))
    assert (board.identity().name, board.uuid()) == ("Tesla\ufffd V100", "GPU-1")


def test_text_that_is_none_costs_itself_alone(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    board = gpu(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetSerial", lambda *_: b"\xff\xfe".decode())
    assert board.identity().serial is None
    assert [str(failure) for failure in board.failures] == ["nvmlDeviceGetSerial: no text: b'\\xff\\xfe'"]


@pytest.mark.parametrize(
    ("given", "kernel"), [("00000000:1B:00.0", "0000:1b:00.0"), ("00010000:E1:00.0", "10000:e1:00.0")]
)
def test_pci_addresses_are_written_as_the_kernel_does(dgx_h100_nvml: Plain, given: str, kernel: str) -> None:
    dgx_h100_nvml["gpus"][0]["pci_bus_id"] = kernel
    board = gpu(dgx_h100_nvml)
    assert str(pynvml.nvmlDeviceGetPciInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).busId) == given
    assert board.pci() == kernel


@pytest.mark.parametrize(("bus_id", "message"), [("huh", "no PCI address: 'huh'"), ("", "gave nothing")])
def test_a_pci_address_that_is_none(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, bus_id: str, message: str
) -> None:
    board = gpu(dgx_h100_nvml)
    info = pynvml.nvmlFriendlyObject({"busId": bus_id})
    monkeypatch.setattr(pynvml, "nvmlDeviceGetPciInfo_v3", gives(info))
    with pytest.raises(AcceleratorError) as caught:
        board.pci()
    assert (caught.value.kind, caught.value.message) == ("error", message)


def test_reasons_and_actions_newer_than_we_are(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    board = gpu(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetCurrentClocksEventReasons", gives(0x8 | 0x40 | 1 << 20))
    monkeypatch.setattr(pynvml, "nvmlDeviceGetPerformanceState", gives(32))
    telemetry = board.telemetry()
    assert telemetry.clocks_event_reasons == ("hw_slowdown", "hw_thermal_slowdown", "0x100000")
    assert telemetry.performance_state is None
    monkeypatch.setattr(nvml_functions, "RECOVERY_ACTIONS", ("none",) * 11 + ("gpu-reset",))
    dgx_h100_nvml["gpus"][0]["recovery_action"] = "gpu-reset"
    assert gpu(dgx_h100_nvml).errors().recovery_action == "11"


def test_no_reasons_are_none_active(dgx_h100_nvml: Plain) -> None:
    dgx_h100_nvml["gpus"][0]["clocks_event_reasons"] = []
    assert gpu(dgx_h100_nvml).telemetry().clocks_event_reasons == ()
    dgx_h100_nvml["gpus"][0]["clocks_event_reasons"] = None
    assert gpu(dgx_h100_nvml).telemetry().clocks_event_reasons is None


# Field values


def test_a_field_is_read_by_its_type_and_its_own_code(dgx_h100_nvml: Plain) -> None:
    dgx_h100_nvml["gpus"][0].update(memory_temperature_celsius=None, recovery_action="drain-p2p")
    board = gpu(dgx_h100_nvml)
    assert board.telemetry().memory_temperature_celsius is None
    assert board.errors().recovery_action == "drain-p2p"  # the upper half of the union is no part of it
    assert board.unsupported[0] == "nvmlDeviceGetFieldValues(82)"
    assert board.failures == ()


def field(monkeypatch: pytest.MonkeyPatch, **members: Any) -> None:
    value = pynvml.c_nvmlFieldValue_t(fieldId=82, **members)
    value.value.ullVal = 0xFFFFFFFF00000000 + 41
    monkeypatch.setattr(pynvml, "nvmlDeviceGetFieldValues", gives([value]))


@pytest.mark.parametrize("value_type", [1, 5, 6])
def test_every_narrow_type(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, value_type: int) -> None:
    board = gpu(dgx_h100_nvml)
    field(monkeypatch, valueType=value_type)
    assert board.telemetry().memory_temperature_celsius == 41


def test_a_field_id_that_the_driver_does_not_know(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    board = gpu(dgx_h100_nvml)
    field(monkeypatch, nvmlReturn=pynvml.NVML_ERROR_INVALID_ARGUMENT)
    assert board.telemetry().memory_temperature_celsius is None
    assert board.unsupported == ("nvmlDeviceGetFieldValues(82)",)


def test_a_field_that_fails(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    board = gpu(dgx_h100_nvml)
    field(monkeypatch, nvmlReturn=pynvml.NVML_ERROR_UNKNOWN)
    assert board.telemetry().memory_temperature_celsius is None
    assert [str(failure) for failure in board.failures] == ["nvmlDeviceGetFieldValues(82): Unknown Error"]
    field(monkeypatch, valueType=99)
    assert board.telemetry().memory_temperature_celsius is None
    assert [str(failure) for failure in board.failures] == ["nvmlDeviceGetFieldValues(82): unknown value type 99"]
    field(monkeypatch, valueType=1)
    assert board.telemetry().memory_temperature_celsius == 41
    assert board.failures == ()
    field(monkeypatch, nvmlReturn=pynvml.NVML_ERROR_GPU_IS_LOST)
    with pytest.raises(AcceleratorError, match="GPU is lost"):
        board.telemetry()


def test_fields_are_refused_as_a_whole(dgx_h100_nvml: Plain) -> None:
    dgx_h100_nvml["missing_functions"] = ["nvmlDeviceGetFieldValues"]
    board = gpu(dgx_h100_nvml)
    assert board.telemetry().memory_temperature_celsius is None
    assert board.errors().recovery_action is None
    board.telemetry()
    assert board.unsupported[:2] == ("nvmlDeviceGetFieldValues(230)", "nvmlDeviceGetFieldValues(82)")


# Links


def test_links_up_and_down(dgx_h100_nvml: Plain) -> None:
    dgx_h100_nvml["gpus"][0].update(nvlinks=3, nvlinks_down=[1])
    assert gpu(dgx_h100_nvml).links() == (GpuLink(0, True, "4.0"), GpuLink(1, False, None), GpuLink(2, True, "4.0"))


def test_a_part_without_links_is_asked_once(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    dgx_h100_nvml["gpus"][0]["nvlinks"] = None
    board = gpu(dgx_h100_nvml)
    assert board.links() is None
    assert board.unsupported == ("nvmlDeviceGetNvLinkState",)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetNvLinkState", refuses(999))
    assert board.links() is None
    assert board.failures == ()


def test_links_that_the_board_leaves_out(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    def state(handle: Any, link: int) -> int:
        if link in (1, 3):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return 1

    board = gpu(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetNvLinkState", state)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetNvLinkVersion", gives(7))
    links = board.links() or ()
    assert [link.link_index for link in links] == [0, 2, *range(4, 36)]
    assert links[0].version == "5.0"
    assert board.unsupported == ()


def test_links_that_cannot_be_counted_are_not(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    def state(handle: Any, link: int) -> int:
        if link == 7:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN)
        return 1

    board = gpu(dgx_h100_nvml)
    with monkeypatch.context() as patch:
        patch.setattr(pynvml, "nvmlDeviceGetNvLinkState", state)
        assert board.links() is None
        assert [failure.kind for failure in board.failures] == ["error"]
    assert len(board.links() or ()) == 18
    assert board.failures == ()


# Processes


def test_processes_of_both_kinds(dgx_h100_nvml: Plain) -> None:
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


def test_no_processes_are_not_the_same_as_no_list(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu(dgx_h100_nvml).processes() == ()
    with monkeypatch.context() as patch:
        patch.setattr(pynvml, "nvmlDeviceGetGraphicsRunningProcesses_v3", refuses(3))
        patch.setattr(pynvml, "nvmlDeviceGetGraphicsRunningProcesses_v2", refuses(3))
        assert gpu(dgx_h100_nvml).processes() == ()
    dgx_h100_nvml["defaults"]["processes"] = None
    assert gpu(dgx_h100_nvml).processes() is None


# Errors


@pytest.mark.parametrize(
    ("code", "kind", "message"), [(999, "error", "Unknown Error"), (4, "permission", "Insufficient Permissions")]
)
def test_one_getter_that_fails_costs_its_value_alone(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, code: int, kind: str, message: str
) -> None:
    board = gpu(dgx_h100_nvml)
    with monkeypatch.context() as patch:
        patch.setattr(pynvml, "nvmlDeviceGetPowerUsage", refuses(code))
        telemetry = board.telemetry()
        assert (telemetry.power_watts, telemetry.temperature_celsius) == (None, 29)
        assert board.telemetry() == telemetry
    assert [(failure.kind, failure.call, failure.message) for failure in board.failures] == [
        (kind, "nvmlDeviceGetPowerUsage", message)
    ]
    assert board.unsupported == ()
    assert board.telemetry().power_watts == 68.57
    assert board.failures == ()


def test_a_refusal_is_no_reason_to_ask_by_another_name(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    board = gpu(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetComputeRunningProcesses_v3", refuses(4))
    monkeypatch.setattr(pynvml, "nvmlDeviceGetGraphicsRunningProcesses_v3", refuses(4))
    assert board.processes() is None
    assert [failure.call for failure in board.failures] == [
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetGraphicsRunningProcesses_v3",
    ]


@pytest.mark.parametrize(
    ("code", "kind"), [(15, "lost"), (16, "reset-required"), (9, "no-driver"), (18, "version-mismatch")]
)
def test_what_concerns_the_whole_gpu_is_raised(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, code: int, kind: str
) -> None:
    board = gpu(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetClockInfo", refuses(code))
    with pytest.raises(AcceleratorError) as caught:
        board.telemetry()
    assert (caught.value.kind, caught.value.call) == (kind, "nvmlDeviceGetClockInfo")


def test_a_gpu_that_will_not_open(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    install(dgx_h100_nvml, faults.parse("gpu3-lost"))
    with pytest.raises(AcceleratorError) as caught:
        Nvml().open(3)
    assert (caught.value.kind, str(caught.value)) == ("lost", "nvmlDeviceGetHandleByIndex_v2: GPU is lost")
    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByIndex", refuses(4))
    with pytest.raises(AcceleratorError, match="Insufficient Permissions") as caught:
        Nvml().open(0)
    assert caught.value.kind == "permission"


def test_a_gpu_that_is_lost_in_between(dgx_h100_nvml: Plain) -> None:
    board = gpu(dgx_h100_nvml, "gpu0-lost@1")
    assert board.uuid() == dgx_h100_nvml["gpus"][0]["uuid"]
    with pytest.raises(AcceleratorError) as caught:
        board.pci()
    assert (caught.value.kind, caught.value.call) == ("lost", "nvmlDeviceGetPciInfo_v3")


@pytest.mark.parametrize("name", ["nvmlDeviceGetUUID", "nvmlDeviceGetName"])
def test_a_gpu_without_a_name_is_an_error(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    board = gpu(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, name, gives(""))
    with pytest.raises(AcceleratorError) as caught:
        (board.uuid(), board.identity())
    assert str(caught.value) == name + ": gave nothing"


# The library


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("no-driver", "no-driver", "Driver Not Loaded"),
        ("no-library", "no-library", "NVML Shared Library Not Found"),
    ],
)
def test_a_library_that_does_not_answer(dgx_h100_nvml: Plain, text: str, kind: str, message: str) -> None:
    install(dgx_h100_nvml, faults.parse(text))
    with pytest.raises(AcceleratorError) as caught:
        Nvml().driver()
    assert (caught.value.kind, caught.value.call, caught.value.message) == (kind, "nvmlInitWithFlags", message)


def test_library_and_driver_of_two_versions(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    install(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, "nvmlInitWithFlags", refuses(18))
    with pytest.raises(AcceleratorError) as caught:
        Nvml().count()
    assert caught.value.kind == "version-mismatch"


def test_a_node_without_the_binding(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pynvml", None)
        with pytest.raises(AcceleratorError) as caught:
            Nvml().driver()
    assert caught.value.kind == "no-library"
    assert str(caught.value) == "import pynvml: the Python package nvidia-ml-py is not installed"


def test_nothing_is_asked_on_the_far_side_of_a_fork(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    board = gpu(dgx_h100_nvml)
    own = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: own + 1)
    with pytest.raises(RuntimeError, match="does not outlive a fork"):
        board.uuid()


def test_nvml_is_loaded_once_and_never_shut_down(dgx_h100_nvml: Plain) -> None:
    install(dgx_h100_nvml)
    library = Nvml()
    assert library.driver() == library.driver()
    library.open(0).telemetry()
    del library
    assert pynvml._nvmlLib_refcount == 1
    assert pynvml.nvmlDeviceGetCount() == 8


# The deadline


def test_the_call_that_hangs_is_named_and_other_gpus_answer(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.05)
    monkeypatch.setattr(nvml_library, "HANG_S", 1.0)
    install(dgx_h100_nvml, faults.parse("gpu1-hang@2"))
    library = Nvml()
    boards = [library.open(index) for index in range(3)]

    def read(board: NvmlGpu) -> Any:
        return board.uuid(), board.pci(), board.telemetry()

    outcomes = run_all([lambda board=board: read(board) for board in boards])  # type: ignore[misc]
    assert isinstance(outcomes[1], HungError)
    assert outcomes[1].call == "nvmlDeviceGetUtilizationRates"
    assert [outcomes[place][2].temperature_celsius for place in (0, 2)] == [29, 29]


def test_calls_that_initialise_have_more_time(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    calling = Calling()
    install(dgx_h100_nvml)
    monkeypatch.setattr(deadline, "calling", calling)
    library = Nvml()
    library.count()
    library.open(0).uuid()
    assert calling.limits == {
        "import pynvml": 8.0,
        "nvmlInitWithFlags": 8.0,
        "nvmlDeviceGetCount_v2": None,
        "nvmlDeviceGetHandleByIndex_v2": 20.0,  # eight GPUs initialised one after the other
        "nvmlDeviceGetUUID": None,
    }


# The mock holds all that is called here


def test_every_function_that_is_called_is_mocked() -> None:
    called = set()
    for module in (nvml, nvml_calls):
        with open(module.__file__) as file:
            called |= set(re.findall(r'"(nvml[A-Z]\w+)"', file.read()))
    called |= {
        "nvmlDeviceGet{}RunningProcesses_v{}".format(kind, n) for kind in ("Compute", "Graphics") for n in (2, 3)
    }
    python_names = {"nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex"}
    assert called - set(nvml_functions.FUNCTIONS) - set(nvml_library._OF_THE_LIBRARY) == python_names
