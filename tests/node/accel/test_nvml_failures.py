"""What fails, hangs or is not there."""

import os
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List

import pynvml
import pytest

from brctl.mock import nvml_errors
from brctl.mock.nvml import install
from brctl.node import accel, deadline
from brctl.node.accel import AcceleratorError
from brctl.node.accel.nvml import Nvml
from brctl.node.deadline import HungError, run_all

Plain = Dict[str, Any]
Board = Callable[..., Any]
Refuses = Callable[[int], Callable[..., Any]]
Gives = Callable[[Any], Callable[..., Any]]


LOST = "NVML_ERROR_GPU_IS_LOST"


class Calling:
    """Stands for deadline.calling, and notes what it is told."""

    def __init__(self) -> None:
        self.names: List[str] = []
        self.limits: Dict[str, Any] = {}

    def __call__(self, name: str, limit_s: Any = None) -> None:
        self.names.append(name)
        self.limits[name] = limit_s


@pytest.mark.parametrize(
    ("code", "kind", "message"), [(999, "error", "Unknown Error"), (4, "permission", "Insufficient Permissions")]
)
def test_one_getter_that_fails_costs_its_value_alone(
    dgx_h100_nvml: Plain,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    kind: str,
    message: str,
    gpu: Board,
    refuses: Refuses,
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


def test_a_refusal_is_no_reason_to_ask_by_another_name(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpu: Board, refuses: Refuses
) -> None:
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
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, code: int, kind: str, gpu: Board, refuses: Refuses
) -> None:
    board = gpu(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetClockInfo", refuses(code))
    with pytest.raises(AcceleratorError) as caught:
        board.telemetry()
    assert (caught.value.kind, caught.value.call) == (kind, "nvmlDeviceGetClockInfo")


def test_an_answer_that_pynvml_is_not_made_for(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpu: Board
) -> None:
    board = gpu(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetPowerUsage", lambda _: {}["no"])
    monkeypatch.setattr(pynvml, "nvmlDeviceGetNvLinkState", lambda *_: [][7])
    telemetry = board.telemetry()
    assert (telemetry.power_watts, telemetry.temperature_celsius) == (None, 29)
    assert board.links() is None
    assert [str(failure) for failure in board.failures] == [
        "nvmlDeviceGetPowerUsage: KeyError: 'no'",
        "nvmlDeviceGetNvLinkState: IndexError: list index out of range",
    ]


def test_numbers_that_cannot_be(dgx_h100_nvml: Plain, gives: Gives, monkeypatch: pytest.MonkeyPatch) -> None:
    install(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetCount", gives(2**32 - 2))
    with pytest.raises(AcceleratorError, match="4294967294 GPUs"):
        Nvml().count()


def test_a_gpu_that_will_not_open(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    dgx_h100_nvml["gpus"][3]["errors"] = {"*": LOST, "nvmlDeviceGetHandle*": LOST}
    install(dgx_h100_nvml)
    with pytest.raises(AcceleratorError) as caught:
        Nvml().open(3)
    assert (caught.value.kind, str(caught.value)) == ("lost", "nvmlDeviceGetHandleByIndex_v2: GPU is lost")
    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByIndex", refuses(4))
    with pytest.raises(AcceleratorError, match="Insufficient Permissions") as caught:
        Nvml().open(0)
    assert caught.value.kind == "permission"


def test_a_gpu_that_is_lost_in_between(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0]["errors"] = {"*": {"error": LOST, "after": 1}}
    board = gpu(dgx_h100_nvml)
    assert board.uuid() == dgx_h100_nvml["gpus"][0]["uuid"]
    with pytest.raises(AcceleratorError) as caught:
        board.pci()
    assert (caught.value.kind, caught.value.call) == ("lost", "nvmlDeviceGetPciInfo_v3")


@pytest.mark.parametrize("name", ["nvmlDeviceGetUUID", "nvmlDeviceGetName"])
def test_a_gpu_without_a_name_is_an_error(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, name: str, gpu: Board, gives: Gives
) -> None:
    board = gpu(dgx_h100_nvml)
    monkeypatch.setattr(pynvml, name, gives(""))
    with pytest.raises(AcceleratorError) as caught:
        (board.uuid(), board.identity())
    assert str(caught.value) == name + ": gave nothing"


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("DRIVER_NOT_LOADED", "no-driver", "Driver Not Loaded"),
        ("LIBRARY_NOT_FOUND", "no-library", "NVML Shared Library Not Found"),
        ("LIB_RM_VERSION_MISMATCH", "version-mismatch", "RM has detected an NVML/RM version mismatch."),
        ("NO_PERMISSION", "permission", "Insufficient Permissions"),
    ],
)
def test_a_library_that_does_not_answer(dgx_h100_nvml: Plain, name: str, kind: str, message: str) -> None:
    dgx_h100_nvml["errors"] = {"nvmlInit*": "NVML_ERROR_" + name}
    install(dgx_h100_nvml)
    with pytest.raises(AcceleratorError) as caught:
        Nvml().driver()
    assert (caught.value.kind, caught.value.call, caught.value.message) == (kind, "nvmlInitWithFlags", message)


def test_library_and_driver_of_two_versions(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
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


def test_nothing_is_asked_on_the_far_side_of_a_fork(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpu: Board
) -> None:
    board = gpu(dgx_h100_nvml)
    own = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: own + 1)
    with pytest.raises(RuntimeError, match="does not outlive a fork"):
        board.uuid()


def test_a_library_is_loaded_anew_on_the_far_side_of_a_fork(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(dgx_h100_nvml)
    library = Nvml()
    assert library.count() == 8
    own = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: own + 1)
    assert library.count() == 8
    assert library.open(3).uuid() == dgx_h100_nvml["gpus"][3]["uuid"]
    assert pynvml._nvmlLib_refcount == 2


def test_nothing_but_close_shuts_nvml_down(dgx_h100_nvml: Plain) -> None:
    """A call may be in flight in a thread that was given up, and a library that is gone under it takes us with it."""
    texts = [path.read_text() for path in Path(accel.__file__).parent.glob("*.py")]
    assert sum(text.count('"nvmlShutdown"') for text in texts) == 1
    install(dgx_h100_nvml)
    library = Nvml()
    library.close()  # it was never loaded
    part = library.open(3)
    assert pynvml._nvmlLib_refcount == 1
    library.close()
    assert pynvml._nvmlLib_refcount == 0
    with pytest.raises(AcceleratorError, match="Uninitialized"):
        part.uuid()
    assert library.open(3).uuid() == dgx_h100_nvml["gpus"][3]["uuid"]


def test_nvml_is_loaded_once_and_never_shut_down(dgx_h100_nvml: Plain) -> None:
    install(dgx_h100_nvml)
    library = Nvml()
    assert library.driver() == library.driver()
    library.open(0).telemetry()
    del library
    assert pynvml._nvmlLib_refcount == 1
    assert pynvml.nvmlDeviceGetCount() == 8


def test_the_call_that_hangs_is_named_and_other_gpus_answer(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.5)
    monkeypatch.setattr(nvml_errors, "HANG_S", 1.0)
    dgx_h100_nvml["gpus"][1]["errors"] = {"*": {"error": "hang", "after": 2}}
    install(dgx_h100_nvml)
    library = Nvml()
    boards = [library.open(index) for index in range(3)]

    def read(board: Any) -> Any:
        return board.uuid(), board.pci(), board.telemetry()

    outcomes = run_all([lambda board=board: read(board) for board in boards])  # type: ignore[misc]
    assert isinstance(outcomes[1], HungError)
    assert outcomes[1].call == "nvmlDeviceGetMemoryInfo_v2"
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
        "nvmlSystemGetDriverVersion": None,
        "nvmlDeviceGetCount_v2": None,
        "nvmlDeviceGetHandleByIndex_v2": 20.0,  # eight GPUs initialised one after the other
        "nvmlDeviceGetUUID": None,
    }
