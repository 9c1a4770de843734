"""GPUs looked at for a second time."""

from typing import Any

import pytest

from brctl.mock.machines import load
from brctl.node import deadline
from brctl.node.probe import again, inventory


def test_counters_are_read_anew_and_the_rest_is_kept() -> None:
    host = load("dgx-h100+gpu3-ecc-storm")
    before = inventory(host, health=True)
    after = again(host, before)
    for was, now in zip(before.gpus or (), after.gpus or ()):
        assert was.health
        assert now.health
        assert now.health.read_at_s > was.health.read_at_s
        assert (now.identity, now.links, now.limits, now.fabric) == (was.identity, was.links, was.limits, was.fabric)
        assert (now.uuid, now.pci, now.nearest_nic, now.vendor) == (was.uuid, was.pci, was.nearest_nic, was.vendor)
    counts = [(gpu.errors.volatile_corrected or 0) for seen in (before, after) for gpu in seen.gpus or () if gpu.errors]
    assert counts[3] < counts[8 + 3]
    assert after.kernel == before.kernel
    assert after.problems == before.problems


def test_without_health_nothing_is_looked_at_again() -> None:
    host = load("dgx-h100")
    before = inventory(host)
    assert all(gpu.health is None for gpu in before.gpus or ())
    assert again(host, before).gpus == before.gpus


def test_a_machine_without_gpus() -> None:
    host = load("cpu-only")
    assert again(host, inventory(host, health=True)).gpus is None


def test_a_gpu_that_was_lost_is_not_asked_again() -> None:
    host = load("dgx-h100+gpu3-lost")
    before = inventory(host, health=True)
    after = again(host, before)
    assert before.gpus
    assert after.gpus
    assert after.gpus[3] == before.gpus[3]
    assert after.gpus[4] != before.gpus[4]


@pytest.mark.parametrize(("error", "kind"), [("NVML_ERROR_GPU_IS_LOST", "lost"), ("hang", "hung")])
def test_a_gpu_that_fails_in_between(monkeypatch: pytest.MonkeyPatch, error: str, kind: str) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.5)
    host = load("dgx-h100")
    before = inventory(host, health=True)
    library: Any = host.accelerators()[0]
    opened = library.open

    def failing(index: int) -> Any:
        part = opened(index)
        if index == 3:
            part.telemetry = lambda: part._calls.call("nvmlDeviceGetFanSpeed_v2", by=lambda *_: _fail(error))
        return part

    monkeypatch.setattr(library, "open", failing)
    after = again(host, before)
    faults = [gpu.fault.kind if gpu.fault else None for gpu in after.gpus or ()]
    assert faults == [None, None, None, kind, None, None, None, None]


def _fail(error: str) -> None:
    import threading

    import pynvml

    if error == "hang":
        threading.Event().wait(1)
    raise pynvml.NVMLError(getattr(pynvml, error, 999))


def test_what_a_process_is_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    host = load("dgx-h100+gpu3-orphan")
    seen = inventory(host, health=True)
    assert seen.gpus
    (gone,) = seen.gpus[3].processes or ()
    assert (gone.present, gone.state) == (False, None)
    stat = "3999999 (a (strange) name) D 1 1"
    monkeypatch.setattr(host, "listdir", lambda path: ("stat",) if "3999999" in path else None)
    monkeypatch.setattr(host, "read", lambda path: stat if path == "/proc/3999999/stat" else None)
    gpus = again(host, seen).gpus
    assert gpus
    (held,) = gpus[3].processes or ()
    assert (held.present, held.state) == (True, "D")
