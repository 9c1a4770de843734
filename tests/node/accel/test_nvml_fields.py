"""Field values: each has its own code, type and driver."""

from typing import Any, Callable, Dict

import pynvml
import pytest

from brctl.node.accel import AcceleratorError

Plain = Dict[str, Any]
Board = Callable[..., Any]
Refuses = Callable[[int], Callable[..., Any]]
Gives = Callable[[Any], Callable[..., Any]]


def test_a_field_is_read_by_its_type_and_its_own_code(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0].update(memory_temperature_celsius=None, recovery_action="drain-p2p")
    board = gpu(dgx_h100_nvml)
    assert board.telemetry().memory_temperature_celsius is None
    assert board.errors().recovery_action == "drain-p2p"  # the upper half of the union is no part of it
    assert board.unsupported[0] == "nvmlDeviceGetFieldValues(82)"
    assert board.failures == ()


@pytest.fixture
def field(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets pynvml give one field, the memory's temperature, with leftovers in the upper half of its union."""

    def give(**members: Any) -> None:
        values = (pynvml.c_nvmlFieldValue_t * 1)(pynvml.c_nvmlFieldValue_t(fieldId=82, **members))
        values[0].value.ullVal = 0xFFFFFFFF00000000 + 41
        monkeypatch.setattr(pynvml, "nvmlDeviceGetFieldValues", lambda *_: values)

    return give


def test_a_double_that_is_no_number(dgx_h100_nvml: Plain, gpu: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    board = gpu(dgx_h100_nvml)
    values = (pynvml.c_nvmlFieldValue_t * 1)(pynvml.c_nvmlFieldValue_t(fieldId=82, valueType=0))
    monkeypatch.setattr(pynvml, "nvmlDeviceGetFieldValues", lambda *_: values)
    values[0].value.dVal = 41.5
    assert board.telemetry().memory_temperature_celsius == 41
    values[0].value.dVal = float("nan")
    assert board.telemetry().memory_temperature_celsius is None
    assert [str(failure) for failure in board.failures] == [
        "nvmlDeviceGetFieldValues(82): no number of a known type (0)"
    ]


@pytest.mark.parametrize("value_type", [1, 5, 6])
def test_every_narrow_type(dgx_h100_nvml: Plain, field: Callable[..., None], value_type: int, gpu: Board) -> None:
    board = gpu(dgx_h100_nvml)
    field(valueType=value_type)
    assert board.telemetry().memory_temperature_celsius == 41


def test_a_field_id_that_the_driver_does_not_know(dgx_h100_nvml: Plain, field: Callable[..., None], gpu: Board) -> None:
    board = gpu(dgx_h100_nvml)
    field(nvmlReturn=pynvml.NVML_ERROR_INVALID_ARGUMENT)
    assert board.telemetry().memory_temperature_celsius is None
    assert board.unsupported == ("nvmlDeviceGetFieldValues(82)",)


def test_a_field_that_fails(dgx_h100_nvml: Plain, field: Callable[..., None], gpu: Board) -> None:
    board = gpu(dgx_h100_nvml)
    field(nvmlReturn=pynvml.NVML_ERROR_UNKNOWN)
    assert board.telemetry().memory_temperature_celsius is None
    assert [str(failure) for failure in board.failures] == ["nvmlDeviceGetFieldValues(82): Unknown Error"]
    field(valueType=99)
    assert board.telemetry().memory_temperature_celsius is None
    assert [str(failure) for failure in board.failures] == [
        "nvmlDeviceGetFieldValues(82): no number of a known type (99)"
    ]
    field(valueType=1)
    assert board.telemetry().memory_temperature_celsius == 41
    assert board.failures == ()
    field(nvmlReturn=pynvml.NVML_ERROR_GPU_IS_LOST)
    with pytest.raises(AcceleratorError, match="GPU is lost"):
        board.telemetry()


def test_fields_are_refused_as_a_whole(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["missing_functions"] = ["nvmlDeviceGetFieldValues"]
    board = gpu(dgx_h100_nvml)
    assert board.telemetry().memory_temperature_celsius is None
    assert board.errors().recovery_action is None
    board.telemetry()
    fields = {call for call in board.unsupported if "FieldValues" in call}
    assert fields == {"nvmlDeviceGetFieldValues({})".format(field) for field in (74, 82, 230, 269, 270, 271)}


@pytest.mark.parametrize(
    ("driver", "hardware_ns"), [("580.105.08", 22), ("590.48.01", 22), ("575.57.08", 22), ("570.172.08", None)]
)
def test_field_ids_that_moved_are_asked_for_by_the_driver(
    dgx_h100_nvml: Plain, gpu: Board, driver: str, hardware_ns: Any
) -> None:
    """On 580, what 575 has under 252 would be the privilege level of power smoothing."""
    dgx_h100_nvml["driver_version"] = driver
    dgx_h100_nvml["defaults"].update(sw_power_cap_ns=11, hw_thermal_slowdown_ns=22, hw_power_brake_slowdown_ns=33)
    board = gpu(dgx_h100_nvml)
    telemetry = board.telemetry()
    assert telemetry.sw_power_cap_ns == 11
    assert telemetry.hw_thermal_slowdown_ns == hardware_ns
    assert telemetry.hw_power_brake_slowdown_ns == (hardware_ns and 33)
    assert board.unsupported == ()


def test_no_recovery_action_before_550(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["driver_version"] = "535.183.01"
    assert gpu(dgx_h100_nvml).errors().recovery_action is None


def test_zero_is_no_violation_and_no_absence(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["defaults"].update(hw_thermal_slowdown_ns=0, sw_thermal_slowdown_ns=None)
    telemetry = gpu(dgx_h100_nvml).telemetry()
    assert (telemetry.hw_thermal_slowdown_ns, telemetry.sw_thermal_slowdown_ns) == (0, None)
