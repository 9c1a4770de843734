from typing import Any, Callable, Dict, List

import pynvml
import pytest

from brctl.mock.nvml_errors import Errors
from brctl.node.accel import AcceleratorError
from brctl.node.accel.nvml_batch import Batch

Plain = Dict[str, Any]
Board = Callable[..., Any]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[], List[str]]:
    """Names of the C functions that are asked for from now on."""
    asked: List[str] = []
    original = pynvml._nvmlGetFunctionPointer

    def note(name: str) -> Any:
        asked.append(name)
        return original(name)

    def begin() -> List[str]:
        monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer", note)
        return asked

    return begin


def test_activity_takes_five_calls(dgx_h100_nvml: Plain, gpu: Board, calls: Any) -> None:
    meter = gpu(dgx_h100_nvml).meter()
    asked = calls()
    meter.activity()
    assert sorted(asked) == [
        "nvmlDeviceGetClockInfo",
        "nvmlDeviceGetClockInfo",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetFieldValues",
        "nvmlDeviceGetUtilizationRates",
    ]


def test_traffic_of_eighteen_links_takes_one(dgx_h100_nvml: Plain, gpu: Board, calls: Any) -> None:
    meter = gpu(dgx_h100_nvml).meter()
    asked = calls()
    meter.traffic()
    assert asked == ["nvmlDeviceGetFieldValues"]


@pytest.mark.parametrize("function", ["nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMarginTemperature"])
def test_what_is_not_supported_is_asked_once(dgx_h100_nvml: Plain, gpu: Board, calls: Any, function: str) -> None:
    dgx_h100_nvml["defaults"]["errors"] = {function: "NVML_ERROR_NOT_SUPPORTED"}
    board = gpu(dgx_h100_nvml)
    meter, asked = board.meter(), calls()
    for _ in range(3):
        meter.activity()
        meter.memory()
        meter.temperatures()
    assert asked.count(function) == 1
    assert function in board.unsupported


def test_a_field_that_is_not_supported_leaves_the_batch(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["defaults"]["power_instant_watts"] = None
    for one in dgx_h100_nvml["gpus"]:
        one["power_instant_watts"] = None
    meter = gpu(dgx_h100_nvml).meter()
    first, second = meter.activity(), meter.activity()
    assert first.power_instant_watts is second.power_instant_watts is None
    assert second.power_average_watts == 68.57
    assert (186, 0) not in meter._activity._asked
    assert (185, 0) in meter._activity._asked


def test_a_driver_without_field_values(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["missing_functions"] = ["nvmlDeviceGetFieldValues"]
    meter = gpu(dgx_h100_nvml).meter()
    for _ in range(2):
        seen = meter.activity()
        assert seen.energy_joules is None
        assert seen.gpu_utilization_percent == 0
    assert meter._activity._asked == ()


def test_leftovers_beside_a_number_are_not_read(dgx_h100_nvml: Plain, gpu: Board) -> None:
    """The mock leaves some in each union."""
    dgx_h100_nvml["gpus"][0].update(memory_temperature_celsius=83, pcie_replay_counter=1)
    meter = gpu(dgx_h100_nvml).meter()
    assert meter.temperatures().memory_celsius == 83
    assert meter.traffic().pcie_replays == 1


@pytest.mark.parametrize(("value_type", "bits"), [(9, 1), (0, 0x7FF0000000000000)], ids=["unknown type", "infinite"])
def test_a_field_that_holds_no_number_is_a_failure(
    dgx_h100_nvml: Plain, gpu: Board, monkeypatch: pytest.MonkeyPatch, value_type: int, bits: int
) -> None:
    board = gpu(dgx_h100_nvml)
    batch = Batch(board._calls, [(185, 0), (138, 3)])

    def answer(_: Any) -> None:
        for place in batch._buffer:
            place.value.ullVal, place.valueType, place.nvmlReturn = bits, value_type, 0

    monkeypatch.setattr(batch, "_call", answer)
    assert batch.read() == [None, None]
    assert sorted(str(failure) for failure in board.failures) == [
        "nvmlDeviceGetFieldValues(138, 3): no number of a known type ({})".format(value_type),
        "nvmlDeviceGetFieldValues(185): no number of a known type ({})".format(value_type),
    ]
    monkeypatch.undo()
    assert batch.read() == [68570, 0]
    assert board.failures == ()


@pytest.mark.parametrize(
    ("value_type", "member", "value"),
    [(0, "dVal", 7.0), (1, "uiVal", 7), (2, "ulVal", 2**40), (3, "ullVal", 2**40), (4, "sllVal", -7), (5, "siVal", -7),
     (6, "usVal", 7)],
)  # fmt: skip
def test_a_driver_may_tell_a_field_as_another_type_from_one_look_to_the_next(
    dgx_h100_nvml: Plain, gpu: Board, monkeypatch: pytest.MonkeyPatch, value_type: int, member: str, value: float
) -> None:
    batch = Batch(gpu(dgx_h100_nvml)._calls, [(185, 0), (186, 0), (83, 0)])
    before = batch.read()

    def answer(_: Any) -> None:
        field = batch._buffer[1]
        field.value.ullVal, field.valueType = 0xA5A5A5A5A5A5A5A5, value_type
        setattr(field.value, member, value)

    with monkeypatch.context() as patched:
        patched.setattr(batch, "_call", answer)
        assert batch.read() == [before[0], value, before[2]]
    assert batch.read() == before


def test_a_lost_gpu_raises(dgx_h100_nvml: Plain, gpu: Board) -> None:
    meter = gpu(dgx_h100_nvml).meter()
    pynvml.nvmlLib._gpus[0].errors = Errors({"*": "NVML_ERROR_GPU_IS_LOST"}, 0)
    for look in (meter.activity, meter.memory, meter.temperatures, meter.traffic, meter.link_errors, meter.xids):
        with pytest.raises(AcceleratorError) as raised:
            look()
        assert raised.value.kind == "lost"


def test_xids_come_once_each(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0]["xids"] = [{"xid": 31, "after_s": 0}, {"xid": 31, "after_s": 0}, {"xid": 79, "after_s": 0}]
    meter = gpu(dgx_h100_nvml).meter()
    assert [meter.xids(), meter.xids()] == [(31, 31, 79), ()]


def test_told_gpus_have_a_meter_too() -> None:
    from brctl.node.accel.biren import parse_query
    from brctl.node.accel.told import ToldGpu

    (told,) = parse_query("0, BR104, 1024, 3072\n")
    meter = ToldGpu(told).meter()
    assert meter.memory()[:3] == (4 << 30, 1 << 30, 3 << 30)
    assert set(meter.temperatures()) == set(meter.link_errors()) == {None}
    assert set(meter.activity()) == set(meter.traffic()) == {None}
    assert meter.profile() is meter.xids() is None


def test_errors_of_links_of_version_5(dgx_h100_nvml: Plain, gpu: Board) -> None:
    more = {"nvlink_recovery_errors": 2, "nvlink_crc_errors": 3, "nvlink_replay_errors": None}
    dgx_h100_nvml["gpus"][0].update({"nvlink_version": "5.0", "nvlinks": 18, **more})
    assert gpu(dgx_h100_nvml).meter().link_errors() == (None, 36, 54)
    dgx_h100_nvml["gpus"][0].update({"nvlink_version": "4.0", "nvlink_replay_errors": 1})
    assert gpu(dgx_h100_nvml).meter().link_errors() == (18, 36, 54)
