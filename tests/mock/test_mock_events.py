"""Xids of the mock, as events that are waited for."""

import time
from typing import Any, Callable, Dict, List

import pynvml
import pytest

from brctl.mock import nvml_events

Nvml = Dict[str, Any]
Start = Callable[[Nvml], List[Any]]
Refuses = Callable[..., None]
XID = pynvml.nvmlEventTypeXidCriticalError


class Clock:
    """Stands for time: sleeping takes none."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock.monotonic)
    monkeypatch.setattr(nvml_events.time, "sleep", clock.sleep)
    return clock


def test_an_xid_is_given_once_when_it_is_due(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses, clock: Clock) -> None:
    dgx_h100_nvml["gpus"][3]["xids"] = [{"xid": 79, "after_s": 2.5}, {"xid": 31, "after_s": 0}]
    dgx_h100_nvml["gpus"][4]["xids"] = [{"xid": 13, "after_s": 0}]
    handles = start(dgx_h100_nvml)
    assert pynvml.nvmlDeviceGetSupportedEventTypes(handles[3]) == XID
    events = pynvml.nvmlEventSetCreate()
    pynvml.nvmlDeviceRegisterEvents(handles[3], XID, events)
    first = pynvml.nvmlEventSetWait_v2(events, 1000)
    assert (first.eventType, first.eventData, first.gpuInstanceId) == (XID, 31, 0xFFFFFFFF)
    assert pynvml.nvmlDeviceGetIndex(first.device) == 3
    refuses("Timeout", pynvml.nvmlEventSetWait_v2, events, 1000)
    assert clock.now == 101.0
    assert pynvml.nvmlEventSetWait_v2(events, 5000).eventData == 79
    assert clock.now == 102.5
    refuses("Timeout", pynvml.nvmlEventSetWait_v2, events, 10)


def test_every_set_hears_of_it(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses, clock: Clock) -> None:
    dgx_h100_nvml["gpus"][0]["xids"] = [{"xid": 48, "after_s": 0}]
    handle = start(dgx_h100_nvml)[0]
    sets = [pynvml.nvmlEventSetCreate() for _ in range(2)]
    for events in sets:
        pynvml.nvmlDeviceRegisterEvents(handle, XID, events)
        assert pynvml.nvmlEventSetWait_v2(events, 0).eventData == 48
    pynvml.nvmlEventSetFree(sets[0])
    refuses("InvalidArgument", pynvml.nvmlEventSetWait_v2, sets[0], 0)
    refuses("Timeout", pynvml.nvmlEventSetWait_v2, sets[1], 0)
    third = pynvml.nvmlEventSetCreate()
    pynvml.nvmlEventSetFree(third)
    refuses("Timeout", pynvml.nvmlEventSetWait_v2, sets[1], 0)  # it was not replaced by the third


def test_other_events_there_are_not(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    handle = start(dgx_h100_nvml)[0]
    events = pynvml.nvmlEventSetCreate()
    refuses("InvalidArgument", pynvml.nvmlDeviceRegisterEvents, handle, pynvml.nvmlEventTypePState, events)
