"""What a board says of itself, in our units, and what it does not support."""

from typing import Any, Callable, Dict, List

import pynvml
import pytest

from brctl.mock import nvml_fields
from brctl.mock.nvml import install
from brctl.node import deadline
from brctl.node.accel import AcceleratorError
from brctl.node.accel.nvml import Nvml
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
Board = Callable[..., Any]
Refuses = Callable[[int], Callable[..., Any]]
Gives = Callable[[Any], Callable[..., Any]]


def test_driver_and_count(dgx_h100_nvml: Plain) -> None:
    install(dgx_h100_nvml)
    library = Nvml()
    assert library.driver() == AcceleratorDriver("nvidia", "580.105.08", "13.580.105.08", "13.0")
    assert library.count() == 8
    dgx_h100_nvml.update(cuda_version=12020, nvml_version=None)
    install(dgx_h100_nvml)
    assert Nvml().driver() == AcceleratorDriver("nvidia", "580.105.08", None, "12.2")


def test_who_it_is(dgx_h100_nvml: Plain, gpu: Board) -> None:
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
        unified_memory=False,
        virtualization_mode="none",
        inforom_version="G520.0200.00.05",
    )


def test_telemetry_in_our_units(dgx_h100_nvml: Plain, gpu: Board) -> None:
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
        temperature_margin_celsius=58,
        sw_power_cap_ns=0,
        sw_thermal_slowdown_ns=0,
        hw_thermal_slowdown_ns=0,
        hw_power_brake_slowdown_ns=0,
    )


def test_pcie_limits_and_errors(dgx_h100_nvml: Plain, gpu: Board) -> None:
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
    assert board.pcie() == GpuPcie(5, 4, 5, 16, 150, 5)
    limits = GpuLimits(600.0, 500.5, 700.0, 200.0, 700.0, 1980, 2619)
    assert board.limits() == limits._replace(slowdown_margin_celsius=-2, shutdown_margin_celsius=-8)
    counters = GpuErrors(True, 1, 2, 3, 4, 5, 6, True, False, None, None, "gpu-reset")
    assert board.errors() == counters._replace(
        sram_volatile_parity=0,
        sram_volatile_secded=0,
        sram_aggregate_parity=0,
        sram_aggregate_secded=0,
        sram_threshold_exceeded=False,
        inforom_valid=True,
    )


def test_a_slot_that_is_slower_than_the_board(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0].update(pcie_generation=1, max_pcie_generation=4, device_max_pcie_generation=5)
    pcie = gpu(dgx_h100_nvml).pcie()  # generation 1 is what an idle link goes down to
    assert (pcie.generation, pcie.max_generation, pcie.device_max_generation) == (1, 4, 5)


def test_retired_pages_are_counted_by_cause(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0].update(retired_pages_sbe=2, retired_pages_dbe=0)
    errors = gpu(dgx_h100_nvml).errors()
    assert (errors.retired_pages_sbe, errors.retired_pages_dbe) == (2, 0)


def test_unsupported_is_absent_and_not_asked_again(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpu: Board
) -> None:
    dgx_h100_nvml["defaults"].update(pcie_replay_counter=None, video_clock_mhz=None, sm_clock_mhz=None)
    board = gpu(dgx_h100_nvml)
    asked: List[str] = []
    monkeypatch.setattr(deadline, "calling", lambda name, _: asked.append(name))
    first = (board.telemetry(), board.pcie())
    before = len(asked)
    assert (board.telemetry(), board.pcie()) == first
    assert asked.count("nvmlDeviceGetPowerManagementLimitConstraints") == 1
    assert first[0].sm_clock_mhz is None
    assert first[0].memory_clock_mhz == 2619
    assert first[1].replay_counter is None
    assert board.unsupported == ("nvmlDeviceGetClockInfo(1)", "nvmlDeviceGetPcieReplayCounter")
    assert asked.count("nvmlDeviceGetPcieReplayCounter") == 1
    assert asked.count("nvmlDeviceGetClockInfo") == 3
    assert len(asked) == 2 * before - 3  # and the limits of its power do not change


@pytest.mark.parametrize("code", [3, 13, 22, 25, 26])
def test_all_words_for_not_supported(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, code: int, gpu: Board, refuses: Refuses
) -> None:
    monkeypatch.setattr(pynvml, "nvmlDeviceGetPersistenceMode", refuses(code))
    board = gpu(dgx_h100_nvml)
    assert board.identity().persistence_mode is None
    assert board.unsupported == ("nvmlDeviceGetPersistenceMode",)
    assert board.failures == ()


def test_what_an_old_driver_lacks(dgx_h100_nvml: Plain, gpu: Board) -> None:
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


def test_what_an_old_binding_lacks(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpu: Board) -> None:
    monkeypatch.delattr(pynvml, "nvmlDeviceGetTemperatureV")
    monkeypatch.delattr(pynvml, "nvmlDeviceGetGraphicsRunningProcesses_v2")
    board = gpu(dgx_h100_nvml)
    assert board.telemetry().temperature_celsius == 29
    assert "nvmlDeviceGetTemperatureV(0)" in board.unsupported


def test_mig_takes_the_parents_values_away(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0].update(
        mig_enabled=True, gpu_utilization_percent=None, memory_utilization_percent=None, remapped_rows_correctable=None
    )
    board = gpu(dgx_h100_nvml)
    assert board.identity().mig_enabled is True
    assert board.telemetry().gpu_utilization_percent is None
    assert board.errors().remap_failure is None


@pytest.mark.parametrize("total", [None, 0])
def test_unified_memory_has_no_figures(dgx_h100_nvml: Plain, total: Any, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0].update(memory_total_bytes=total, memory_reserved_bytes=0)
    board = gpu(dgx_h100_nvml)
    assert board.identity().memory_bytes is None
    telemetry = board.telemetry()
    assert (telemetry.memory_used_bytes, telemetry.memory_free_bytes) == (None, None)


@pytest.mark.parametrize("filler", [0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF])
def test_fillers_are_no_numbers(dgx_h100_nvml: Plain, filler: int, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0].update(ecc_volatile_corrected=filler, ecc_aggregate_corrected=0)
    errors = gpu(dgx_h100_nvml).errors()
    assert (errors.volatile_corrected, errors.aggregate_corrected) == (None, 0)


@pytest.mark.parametrize("filler", ["N/A", "[N/A]", "", "  "])
def test_fillers_are_no_texts(dgx_h100_nvml: Plain, filler: str, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0]["serial"] = filler
    assert gpu(dgx_h100_nvml).identity().serial is None


def test_old_bindings_give_bytes(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpu: Board, gives: Gives
) -> None:
    board = gpu(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetName", gives(b"Tesla\xff V100 "))
    monkeypatch.setattr(pynvml, "nvmlDeviceGetUUID", gives(b"GPU-1"))
    assert (board.identity().name, board.uuid()) == ("Tesla\ufffd V100", "GPU-1")


def test_text_that_is_none_costs_itself_alone(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpu: Board
) -> None:
    board = gpu(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetSerial", lambda *_: b"\xff\xfe".decode())
    assert board.identity().serial is None
    assert [str(failure) for failure in board.failures] == ["nvmlDeviceGetSerial: no text: b'\\xff\\xfe'"]


@pytest.mark.parametrize(
    ("given", "kernel"), [("00000000:1B:00.0", "0000:1b:00.0"), ("00010000:E1:00.0", "10000:e1:00.0")]
)
def test_pci_addresses_are_written_as_the_kernel_does(
    dgx_h100_nvml: Plain, given: str, kernel: str, gpu: Board
) -> None:
    dgx_h100_nvml["gpus"][0]["pci_bus_id"] = kernel
    board = gpu(dgx_h100_nvml)
    assert str(pynvml.nvmlDeviceGetPciInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).busId) == given
    assert board.pci() == kernel


@pytest.mark.parametrize(("bus_id", "message"), [("huh", "no PCI address: 'huh'"), ("", "gave nothing")])
def test_a_pci_address_that_is_none(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, bus_id: str, message: str, gpu: Board, gives: Gives
) -> None:
    board = gpu(dgx_h100_nvml)
    info = pynvml.nvmlFriendlyObject({"busId": bus_id})
    monkeypatch.setattr(pynvml, "nvmlDeviceGetPciInfo_v3", gives(info))
    with pytest.raises(AcceleratorError) as caught:
        board.pci()
    assert (caught.value.kind, caught.value.message) == ("error", message)


def test_reasons_and_actions_newer_than_we_are(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpu: Board, gives: Gives
) -> None:
    board = gpu(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetCurrentClocksEventReasons", gives(0x8 | 0x40 | 1 << 20))
    monkeypatch.setattr(pynvml, "nvmlDeviceGetPerformanceState", gives(32))
    telemetry = board.telemetry()
    assert telemetry.clocks_event_reasons == ("hw_slowdown", "hw_thermal_slowdown", "0x100000")
    assert telemetry.performance_state is None
    monkeypatch.setattr(nvml_fields, "RECOVERY_ACTIONS", ("none",) * 11 + ("gpu-reset",))
    dgx_h100_nvml["gpus"][0]["recovery_action"] = "gpu-reset"
    assert gpu(dgx_h100_nvml).errors().recovery_action == "11"


def test_no_reasons_are_none_active(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0]["clocks_event_reasons"] = []
    assert gpu(dgx_h100_nvml).telemetry().clocks_event_reasons == ()
    dgx_h100_nvml["gpus"][0]["clocks_event_reasons"] = None
    assert gpu(dgx_h100_nvml).telemetry().clocks_event_reasons is None


def test_links_up_and_down(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0].update(nvlinks=3, nvlinks_down=[1])
    assert gpu(dgx_h100_nvml).links() == (GpuLink(0, True, "4.0"), GpuLink(1, False, None), GpuLink(2, True, "4.0"))


def test_a_part_without_links_is_asked_once(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpu: Board, refuses: Refuses
) -> None:
    dgx_h100_nvml["gpus"][0]["nvlinks"] = None
    board = gpu(dgx_h100_nvml)
    assert board.links() is None
    assert board.unsupported == ("nvmlDeviceGetNvLinkState",)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetNvLinkState", refuses(999))
    assert board.links() is None
    assert board.failures == ()


def test_links_that_the_board_leaves_out(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpu: Board, gives: Gives
) -> None:
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


def test_links_that_cannot_be_counted_are_not(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpu: Board
) -> None:
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


def test_links_have_one_version_and_it_is_asked_for_once(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpu: Board
) -> None:
    asked: List[int] = []

    def version(_: Any, link: int) -> int:
        asked.append(link)
        if link < 2:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN)
        return 6

    dgx_h100_nvml["gpus"][0]["nvlinks_down"] = [0, 5]
    board = gpu(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetNvLinkVersion", version)
    links = board.links() or ()
    assert asked == [1, 2], "of the first that is active and tells"
    assert [link.version for link in links] == [None, None, "4.0", "4.0", "4.0", None, *["4.0"] * 12]
