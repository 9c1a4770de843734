"""The guard: a test touches this machine only if it is marked for it. And where recordings of real machines lie."""

import os
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, Tuple

import pytest

RECORDINGS = Path(os.environ.get("BRCTL_RECORDINGS") or Path(__file__).resolve().parents[2] / "shared" / "data")

_guard: Dict[str, bool] = {"up": False}
_FORBIDDEN = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect", "socket.bind")


def _watch(event: str, arguments: Tuple[Any, ...]) -> None:
    if not _guard["up"]:
        return
    path = str(arguments[0]) if event in ("open", "os.listdir", "os.scandir") and arguments else ""
    if event in _FORBIDDEN or path.startswith(("/proc/", "/sys/")):
        raise AssertionError("a test without the mark `real` did {}{}".format(event, arguments[:2]))


sys.addaudithook(_watch)


@pytest.fixture(autouse=True)
def guard(request: pytest.FixtureRequest) -> Iterator[None]:
    """Makes subprocesses, sockets and the real /proc and /sys fail, unless the test is marked `real` or `root`."""
    _guard["up"] = not (request.node.get_closest_marker("real") or request.node.get_closest_marker("root"))
    yield
    _guard["up"] = False


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the caller's config or state, nor the other tests'."""
    for name in ("BRCTL_CONFIG", "BRCTL_MOCK", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BRCTL_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture(scope="session")
def recordings() -> Path:
    """Recordings of real machines; $BRCTL_RECORDINGS says where."""
    if not RECORDINGS.is_dir():
        pytest.skip("no recordings of real machines at {}".format(RECORDINGS))
    return RECORDINGS
