from typing import Any, Callable, Dict, Optional

import pytest

from brctl.mock.machines import load
from brctl.node.host.machine import Machine


@pytest.fixture
def machine() -> Callable[..., Machine]:
    """Makes a machine of a few files: path -> text, or `{"link": ...}`, `{"errno": ...}`."""

    def make(files: Dict[str, Any], commands: Optional[Dict[str, Any]] = None) -> Machine:
        plain = {"name": "m", "recorded": False, "sources": [], "files": files, "commands": commands or {}}
        return Machine(plain, "m", lambda: None)

    return make


@pytest.fixture
def dgx() -> Machine:
    return load("dgx-h100")


@pytest.fixture
def own_pynvml(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine puts its mock under pynvml for good; after the test all is as before."""
    import pynvml

    for name in ("CDLL", "nvmlLib", "_nvmlLib_refcount"):
        monkeypatch.setattr(pynvml, name, getattr(pynvml, name))
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
