from typing import Any, Callable, Dict, List

import pytest


@pytest.fixture
def own_pynvml(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine puts its mock under pynvml for good; after the test all is as before."""
    import pynvml

    for name in ("CDLL", "nvmlLib", "_nvmlLib_refcount"):
        monkeypatch.setattr(pynvml, name, getattr(pynvml, name))
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})


@pytest.fixture
def start() -> Callable[[Dict[str, Any]], List[Any]]:
    """Installs an `nvml` object, initialises, and gives a handle for each of its GPUs."""
    import pynvml

    from brctl.mock.nvml import install

    def run(plain: Dict[str, Any]) -> List[Any]:
        install(plain)
        pynvml.nvmlInit()
        return [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]

    return run


@pytest.fixture
def refuses() -> Callable[..., None]:
    """Holds that a function raises NVMLError_... by the name behind that."""
    import pynvml

    def hold(error: str, function: Any, *arguments: Any) -> None:
        with pytest.raises(pynvml.NVMLError) as caught:
            function(*arguments)
        assert type(caught.value).__name__ == "NVMLError_" + error

    return hold
