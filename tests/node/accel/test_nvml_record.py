"""What NVML answered is kept, and the same again when it is replayed."""

import ctypes
import json
from functools import partial
from pathlib import Path
from typing import Any, Dict, List, Optional

import pynvml
import pytest

from brctl.mock.machines import load, names
from brctl.mock.nvml import check, install
from brctl.node import deadline
from brctl.node.accel import AcceleratorError
from brctl.node.accel.nvml import Nvml
from brctl.node.accel.nvml_calls import UNION
from brctl.node.accel.nvml_record import LIBRARY, Record, RecordedCalls, plain
from brctl.node.accel.nvml_values import nvml
from brctl.node.codec import encode
from brctl.node.deadline import HungError
from brctl.node.facts import Gpu
from brctl.node.host.recording import Recording
from brctl.node.probe import inventory

Plain = Dict[str, Any]
PARTS = (
    "uuid",
    "pci",
    "identity",
    "telemetry",
    "pcie",
    "links",
    "errors",
    "limits",
    "processes",
    "fabric",
    "instances",
)
MACHINES = [name for name in names() if name != "cpu-only"]


def facts(library: Nvml) -> List[Any]:
    """All that a library tells, and how it fails."""
    told: List[Any] = [library.driver()]
    for index in range(library.count()):
        try:
            part = library.open(index)
            told += [getattr(part, name)() for name in PARTS]
            told += [part.unsupported, sorted(map(str, part.failures))]
        except AcceleratorError as error:  # noqa: PERF203
            told.append((error.kind, str(error)))
    return told


def ask(values: Optional[Plain]) -> Record:
    install(values)
    record = Record()
    facts(Nvml(partial(RecordedCalls, record, LIBRARY)))
    return record


def machine(name: str) -> Plain:
    path = Path(load.__code__.co_filename).with_name("machines") / (name + ".json")
    values: Plain = json.loads(path.read_text())["nvml"]
    values.pop("seed", None)
    return values


def whole(values: Plain, index: int) -> Plain:
    return dict(values.get("defaults") or {}, **values["gpus"][index])


@pytest.mark.parametrize("name", MACHINES)
def test_the_values_are_those_that_nvml_gave(name: str) -> None:
    given = machine(name)
    told = nvml(ask(given))
    assert told is not None
    check(told)
    assert [told[key] for key in ("driver_version", "nvml_version", "cuda_version")] == [
        given[key] for key in ("driver_version", "nvml_version", "cuda_version")
    ]
    for index in range(len(given["gpus"])):
        one, other = whole(told, index), whole(given, index)
        if other.get("power_average_watts") is None:  # what is told then is the power of the moment
            other["power_average_watts"] = other.get("power_instant_watts")
        for key in sorted(set(one) - {"errors", "mig_devices", "processes"}):
            assert one[key] == other.get(key, [] if key == "nvlinks_down" else None), key
        assert len(one) > 40 or "vgpu" in name


@pytest.mark.parametrize("name", MACHINES)
def test_what_is_replayed_tells_the_same(name: str) -> None:
    values = machine(name)
    told = nvml(ask(values))
    install(values)
    first = facts(Nvml())
    install(told)
    assert facts(Nvml()) == first


def test_what_gpus_have_alike_is_written_once(dgx_h100_nvml: Plain) -> None:
    told = nvml(ask(dgx_h100_nvml))
    assert told
    assert told["defaults"]["name"] == "NVIDIA H100 80GB HBM3"
    assert set(told["gpus"][0]) >= {"uuid", "serial", "pci_bus_id"}
    assert "name" not in told["gpus"][0]
    dgx_h100_nvml["gpus"] = dgx_h100_nvml["gpus"][:1]
    told = nvml(ask(dgx_h100_nvml))
    assert told
    assert "defaults" not in told


ERRORS = [
    {"nvmlDeviceGetSerial": "NVML_ERROR_TIMEOUT"},
    {"nvmlDeviceGetFieldValues": "NVML_ERROR_UNKNOWN"},
    {"nvmlDeviceGetName": "NVML_ERROR_GPU_IS_LOST"},
    {"nvmlDeviceGetPciInfo_v3": "NVML_ERROR_GPU_IS_LOST"},
    {"nvmlDeviceGetUUID": "NVML_ERROR_NO_PERMISSION"},
    {"nvmlDeviceGetHandle*": "NVML_ERROR_NO_PERMISSION"},
    {"nvmlDeviceGetHandle*": "NVML_ERROR_GPU_IS_LOST", "*": "NVML_ERROR_GPU_IS_LOST"},
    {"nvmlDeviceGetMemoryInfo_v2": "NVML_ERROR_NOT_SUPPORTED"},
    {"nvmlDeviceGetTemperatureV": "NVML_ERROR_ARGUMENT_VERSION_MISMATCH"},
    {"nvmlDeviceGetInforom*": "NVML_ERROR_CORRUPTED_INFOROM"},
    {"nvmlDeviceGetNvLinkState": "NVML_ERROR_UNKNOWN"},
    {"nvmlDeviceGetNvLinkState": {"error": "NVML_ERROR_UNKNOWN", "after": 3}},
    {"nvmlDeviceGetTotalEccErrors": {"error": "NVML_ERROR_TIMEOUT", "after": 1, "until": 2}},
    {"nvmlDeviceGetTotalEccErrors": {"error": "NVML_ERROR_GPU_IS_LOST", "after": 2}},
    {"nvmlDeviceGetPowerUsage": "NVML_ERROR_RESET_REQUIRED"},
]


@pytest.mark.parametrize("errors", ERRORS, ids=str)
def test_errors_are_replayed(errors: Plain, dgx_h100_nvml: Plain) -> None:
    dgx_h100_nvml["gpus"] = dgx_h100_nvml["gpus"][:3]
    dgx_h100_nvml["gpus"][1]["errors"] = errors
    told = nvml(ask(dgx_h100_nvml))
    assert told
    check(told)
    install(dgx_h100_nvml)
    first = facts(Nvml())
    install(told)
    assert facts(Nvml()) == first


def test_odd_values_are_kept_as_they_came(dgx_h100_nvml: Plain) -> None:
    """The facts doubt them; a recording must not."""
    odd = {
        "power_average_watts": 60000,
        "gpu_utilization_percent": 4294967295,
        "serial": "N/A",
        "performance_state": 32,
    }
    dgx_h100_nvml["gpus"] = [dict(dgx_h100_nvml["gpus"][0], **odd)]
    told = nvml(ask(dgx_h100_nvml))
    assert told
    (one,) = told["gpus"]
    assert {key: one[key] for key in odd} == odd


def test_links_that_are_down(dgx_h100_nvml: Plain) -> None:
    dgx_h100_nvml["gpus"][0]["nvlinks_down"] = [0, 17]
    told = nvml(ask(dgx_h100_nvml))
    assert told
    one = whole(told, 0)
    assert (one["nvlinks"], one["nvlinks_down"], one["nvlink_version"]) == (18, [0, 17], "4.0")


def test_processes(dgx_h100_nvml: Plain) -> None:
    processes = [
        {"pid": 7, "kind": "compute", "memory_bytes": 1 << 30, "gpu_instance_id": 1, "compute_instance_id": 0},
        {"pid": 8, "kind": "compute", "memory_bytes": None},
        {"pid": 7, "kind": "graphics", "memory_bytes": 5},
    ]
    dgx_h100_nvml["gpus"][0]["processes"] = processes
    told = nvml(ask(dgx_h100_nvml))
    assert told
    assert whole(told, 0)["processes"] == processes


def test_mig_devices() -> None:
    given = machine("h100-mig")
    told = nvml(ask(given))
    assert told
    devices = whole(told, 0)["mig_devices"]
    assert devices
    unasked = ("bar1", "gpm")
    asked = [{key: it[key] for key in it if not key.startswith(unasked)} for it in whole(given, 0)["mig_devices"]]
    assert devices == asked
    given["gpus"][0]["mig_devices"] = []
    told = nvml(ask(given))
    assert told
    assert "mig_devices" not in whole(told, 0)


def test_a_mig_device_that_does_not_tell_all_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pynvml, "nvmlDeviceGetComputeInstanceId")
    told = nvml(ask(machine("h100-mig")))
    assert told
    assert "mig_devices" not in whole(told, 0)


def test_a_driver_with_longer_process_structures(dgx_h100_nvml: Plain) -> None:
    process = {"pid": 7, "kind": "compute", "memory_bytes": 1 << 30}
    dgx_h100_nvml.update(driver_version="535.54.03")
    dgx_h100_nvml["gpus"][0]["processes"] = [process, dict(process, pid=8)]
    told = nvml(ask(dgx_h100_nvml))
    assert told
    assert told["missing_functions"] == ["nvmlDeviceGetRunningProcessDetailList"]
    assert whole(told, 0)["processes"] == [process, dict(process, pid=8)]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("NVML_ERROR_DRIVER_NOT_LOADED", "NVML_ERROR_DRIVER_NOT_LOADED"),
        ("NVML_ERROR_LIB_RM_VERSION_MISMATCH", "NVML_ERROR_LIB_RM_VERSION_MISMATCH"),
    ],
)
def test_a_library_without_a_driver(error: str, expected: str, dgx_h100_nvml: Plain) -> None:
    record = Record()
    install(dict(dgx_h100_nvml, errors={"nvmlInit*": error}))
    with pytest.raises(AcceleratorError) as raised:
        Nvml(partial(RecordedCalls, record, LIBRARY)).driver()
    told = nvml(record)
    assert told == {"driver_version": "0.0", "errors": {"nvmlInitWithFlags": expected}, "gpus": []}
    install(told)
    with pytest.raises(AcceleratorError, match=str(raised.value)):
        Nvml().driver()


def test_no_library() -> None:
    record = Record()
    install(None)
    with pytest.raises(AcceleratorError, match="NVML Shared Library Not Found"):
        Nvml(partial(RecordedCalls, record, LIBRARY)).driver()
    assert nvml(record) is None
    assert record.plain()[LIBRARY]["nvmlInitWithFlags(0)"]["error"] == "NVML_ERROR_LIBRARY_NOT_FOUND"
    assert nvml(Record()) is None  # not even the binding


def test_calls_and_their_times(dgx_h100_nvml: Plain) -> None:
    dgx_h100_nvml["gpus"] = dgx_h100_nvml["gpus"][:1]
    dgx_h100_nvml["gpus"][0]["errors"] = {"nvmlDeviceGetSerial": "NVML_ERROR_TIMEOUT"}
    calls = ask(dgx_h100_nvml).plain()
    assert sorted(calls) == ["gpu0", "library"]
    assert calls["library"]["nvmlDeviceGetHandleByIndex_v2(0)"]["answer"] is None  # a handle
    answer = calls["gpu0"]["nvmlDeviceGetUtilizationRates"]
    assert answer["answer"] == {"gpu": 0, "memory": 0}
    assert 0 < answer["ms"] < 1000
    assert calls["gpu0"]["nvmlDeviceGetSerial"]["error"] == "NVML_ERROR_TIMEOUT"
    assert calls["gpu0"]["nvmlDeviceGetTotalEccErrors(1, 0)"]["answer"] == 0
    (fields,) = [call for call in calls["gpu0"] if call.startswith("nvmlDeviceGetFieldValues((82")]
    first = calls["gpu0"][fields]["answer"][0]
    assert (first["fieldId"], first["nvmlReturn"], first["value"]) == (
        82,
        0,
        whole(dgx_h100_nvml, 0)["memory_temperature_celsius"],
    )
    json.dumps(calls, allow_nan=False)


def test_a_call_that_does_not_return(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.5)
    dgx_h100_nvml["gpus"] = dgx_h100_nvml["gpus"][:1]
    dgx_h100_nvml["gpus"][0]["errors"] = {"nvmlDeviceGetTotalEccErrors": {"error": "hang", "after": 2}}
    install(dgx_h100_nvml)
    record = Record()
    (outcome,) = deadline.run_all([lambda: facts(Nvml(partial(RecordedCalls, record, LIBRARY)))])
    assert isinstance(outcome, HungError)
    told = nvml(record)
    assert told
    assert told["gpus"][0]["errors"]["nvmlDeviceGetTotalEccErrors"] == {"error": "hang", "after": 2}
    assert record.plain()["gpu0"]["nvmlDeviceGetTotalEccErrors(0, 1)"] == {"error": "hang", "ms": None}
    install(told)
    (again,) = deadline.run_all([lambda: facts(Nvml())])
    assert isinstance(again, HungError)
    assert again.call == outcome.call == "nvmlDeviceGetTotalEccErrors"


def test_an_error_that_is_not_nvmls(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_text(_: Any) -> str:
        return b"\xff".decode()

    monkeypatch.setattr(pynvml, "nvmlDeviceGetVbiosVersion", no_text)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetSerial", lambda _: (_ for _ in ()).throw(pynvml.NVMLError(30)))
    calls = ask(dgx_h100_nvml).plain()["gpu0"]
    assert calls["nvmlDeviceGetVbiosVersion"]["error"] == "NVML_ERROR_UNKNOWN"
    assert calls["nvmlDeviceGetSerial"]["error"] == "NVML_ERROR_UNKNOWN"  # of a newer nvml.h


class Odd(ctypes.Structure):
    _fields_ = (("octets", ctypes.c_ubyte * 2), ("numbers", ctypes.c_uint * 2))

    @property
    def text(self) -> str:
        return b"\xff".decode()


class OddText(Odd):
    _fields_ = (("more", ctypes.c_uint),)

    def __getattribute__(self, name: str) -> Any:
        return b"\xff".decode() if name == "more" else super().__getattribute__(name)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (b"caf\xc3\xa9", "café"),
        (float("nan"), None),
        (float("inf"), None),
        (1.5, 1.5),
        ([1, (2, "a")], [1, [2, "a"]]),
        (Odd((1, 255), (3, 4)), {"octets": "01ff", "numbers": [3, 4]}),
        (OddText(), {"more": None}),
        (ctypes.pointer(ctypes.c_int(3)), None),
        (pynvml.nvmlFriendlyObject({"pid": 3}), {"pid": 3}),
    ],
    ids=str,
)
def test_what_pynvml_gives_as_json(value: Any, expected: Any) -> None:
    assert plain(value) == expected


def test_a_field_by_its_type() -> None:
    field = pynvml.c_nvmlFieldValue_t()
    field.value.ullVal = 0xFFFFFFFF00000007
    for kind, expected in ((1, 7), (3, 0xFFFFFFFF00000007), (len(UNION), None)):
        field.valueType = kind
        assert plain(field)["value"] == expected
    field.nvmlReturn = 3
    assert plain(field)["value"] is None


def blank(gpu: Gpu) -> Plain:
    """Without what is masked."""
    told: Plain = encode(gpu)
    told["uuid"] = None
    for part in [told["identity"] or {}, *(told["instances"] or ())]:
        part.update({key: None for key in ("uuid", "serial") if key in part})
    return told


FAULTS = ("lost", "hang", "lost@9", "hang@17", "ecc-dbe", "link-down", "inforom", "no-permission", "reset-required")


@pytest.mark.parametrize("spec", [*MACHINES, *("l40s-pcie+gpu1-" + fault for fault in FAULTS), "dgx-h100+no-driver"])
def test_a_whole_machine(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.5 if "hang" in spec else 60)  # a busy machine is slow
    recording = Recording(load(spec))
    seen = inventory(recording)
    (tmp_path / "x.json").write_text(recording.bundle())
    again = inventory(load(str(tmp_path / "x.json")))
    assert [blank(gpu) for gpu in again.gpus or ()] == [blank(gpu) for gpu in seen.gpus or ()]
    assert again.problems == seen.problems
    assert again.accelerator_driver == seen.accelerator_driver
