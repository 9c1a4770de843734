"""The guard: a test touches this machine only if it is marked for it. And where recordings of real machines lie."""

import ctypes
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Set, Tuple

import pytest
from hypothesis import HealthCheck, settings

RECORDINGS = Path(os.environ.get("BRCTL_RECORDINGS") or Path(__file__).resolve().parents[2] / "shared" / "data")

_PROCESSES = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")
_SOCKETS = ("socket.connect", "socket.bind")
_FILES = ("open", "os.listdir", "os.scandir")
_KERNEL = ("/proc", "/sys")
_OWN = "/proc/self/fd"
"""What a child closes of it says nothing of the machine."""
_forbidden: Set[str] = set()


def _is_kernel(path: Any) -> bool:
    name = os.fsdecode(path) if isinstance(path, (str, bytes)) else ""
    return name != _OWN and (name in _KERNEL or name.startswith(tuple(folder + "/" for folder in _KERNEL)))


def _watch(event: str, arguments: Tuple[Any, ...]) -> None:
    if event not in _forbidden:
        return
    if event not in _FILES or _is_kernel(arguments[0]):
        raise AssertionError("a test that is not marked for it did {}{}".format(event, arguments[:2]))


sys.addaudithook(_watch)

# How long an example takes says more of the machine than of brctl.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# nohup and a shell's `&` have these ignored, and what the tests start would inherit that.
for _signal in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(_signal, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


class _PatientSys:
    """What `threading` knows as sys. CPython refuses to trace two threads that start at once while an audit hook runs,
    and the thread would die before it began: try again."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)

    def settrace(self, function: Any) -> None:
        for _ in range(1000):
            try:
                return sys.settrace(function)
            except RuntimeError:  # noqa: PERF203  # to try again is the point
                time.sleep(0.0001)
        return sys.settrace(function)


threading._sys = _PatientSys()  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def guard(request: pytest.FixtureRequest) -> Iterator[None]:
    """Makes subprocesses, sockets and the real /proc and /sys fail, unless the test is marked for them."""
    marks = {mark.name for mark in request.node.iter_markers()}
    if not marks & {"real", "root"}:
        _forbidden.update(_SOCKETS, _FILES, () if "process" in marks else _PROCESSES)
    yield
    _forbidden.clear()


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the caller's config or state, nor the other tests'."""
    for name in ("BRCTL_CONFIG", "BRCTL_MOCK", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BRCTL_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture(autouse=True)
def _own_nvml() -> Iterator[None]:
    """No test sees the NVML that another one mocked."""
    yield
    pynvml = sys.modules.get("pynvml")
    if pynvml:
        pynvml.CDLL, pynvml.nvmlLib, pynvml._nvmlLib_refcount = ctypes.CDLL, None, 0
        pynvml._nvmlGetFunctionPointer_cache.clear()


@pytest.fixture
def dgx_h100_nvml() -> Dict[str, Any]:
    """The `nvml` object of the machine dgx-h100, to be changed at will."""
    path = Path(__file__).resolve().parents[1] / "brctl" / "mock" / "machines" / "dgx-h100.json"
    nvml: Dict[str, Any] = json.loads(path.read_text())["nvml"]
    return nvml


@pytest.fixture(scope="session")
def recordings() -> Path:
    """Recordings of real machines; $BRCTL_RECORDINGS says where."""
    if not RECORDINGS.is_dir():
        pytest.skip("no recordings of real machines at {}".format(RECORDINGS))
    return RECORDINGS


def pytest_collection_modifyitems(items: List[pytest.Item]) -> None:
    """Without root, the tests that need it are skipped, and say so."""
    if os.geteuid() != 0:
        for item in items:
            if item.get_closest_marker("root"):
                item.add_marker(pytest.mark.skip(reason="needs root"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--golden`: write the expected screens anew."""
    parser.addoption("--golden", action="store_true", help="write the expected screens anew instead of comparing")
