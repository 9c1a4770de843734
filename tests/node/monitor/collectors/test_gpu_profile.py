from typing import Any

import pytest

from brctl.node.monitor.collectors.gpu_profile import COLLECTOR


def test_shares_of_the_time_since_the_last_look(look: Any, watched: Any) -> None:
    gpu, watching = watched(gpu_utilization_percent=80, memory_utilization_percent=30), look(COLLECTOR)
    assert watching.of(1.0, gpu) == {}, "one look has nothing to compare with"
    seen = {name: value for (name, _), value in watching.of(2.0, gpu).items()}
    assert seen == {
        "gpu_graphics_engine_active_ratio": pytest.approx(0.8),
        "gpu_sm_active_ratio": pytest.approx(0.744),
        "gpu_sm_occupancy_ratio": pytest.approx(0.328),
        "gpu_tensor_active_ratio": pytest.approx(0.496),
        "gpu_memory_bandwidth_ratio": pytest.approx(0.3),
    }


def test_a_part_before_hopper_has_none(look: Any, watched: Any) -> None:
    gpu, watching = watched(compute_capability=[8, 0]), look(COLLECTOR)
    assert watching.of(1.0, gpu) == watching.of(2.0, gpu) == {}


def test_a_metric_that_is_no_share_is_absent(look: Any, watched: Any, monkeypatch: Any) -> None:
    from brctl.mock import nvml_gpm

    gpu, watching = watched(gpu_utilization_percent=80), look(COLLECTOR)
    watching.of(1.0, gpu)
    monkeypatch.setitem(nvml_gpm._SHARES, 5, ("gpu", 100.0))
    assert watching.of(2.0, gpu)["gpu_tensor_active_ratio", ()] is None
