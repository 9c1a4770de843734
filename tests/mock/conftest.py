import pytest


@pytest.fixture
def own_pynvml(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine puts its mock under pynvml for good; after the test all is as before."""
    import pynvml

    for name in ("CDLL", "nvmlLib", "_nvmlLib_refcount"):
        monkeypatch.setattr(pynvml, name, getattr(pynvml, name))
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
