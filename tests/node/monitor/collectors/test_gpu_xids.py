from typing import Any

from brctl.node.monitor.collectors.gpu_xids import COLLECTOR


def test_the_same_one_twice_and_then_nothing_for_an_hour(look: Any, watched: Any, monkeypatch: Any) -> None:
    gpu, watching = watched(), look(COLLECTOR)
    for now_s, xids in ((10.0, ()), (20.0, (31,)), (30.0, (31, 79)), (3630.0, ())):
        monkeypatch.setattr(gpu.meter, "xids", lambda xids=xids: xids)
        values = watching.of(now_s, gpu)
    assert values == {
        ("gpu_xid_errors_total", ("31",)): 2,
        ("gpu_xid_errors_total", ("79",)): 1,
        ("gpu_xid_last_seen_timestamp_seconds", ("31",)): 30,
        ("gpu_xid_last_seen_timestamp_seconds", ("79",)): 30,
    }


def test_those_of_the_drivers_event_set(look: Any, watched: Any) -> None:
    gpu = watched(xids=[{"xid": 31, "after_s": 0}, {"xid": 31, "after_s": 0}])
    assert look(COLLECTOR).of(5.0, gpu)["gpu_xid_errors_total", ("31",)] == 2


def test_where_nobody_tells(look: Any, watched: Any) -> None:
    gpu, watching = watched(errors={"nvmlDeviceRegisterEvents": "NVML_ERROR_NOT_SUPPORTED"}), look(COLLECTOR)
    assert watching.of(1.0, gpu) == watching.of(2.0, gpu) == {}
