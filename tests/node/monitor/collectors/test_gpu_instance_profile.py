from typing import Any, Dict

import pytest

from brctl.node.monitor.collectors.gpu_instance_profile import COLLECTOR


def device(instance: int, **more: int) -> Dict[str, Any]:
    return {
        "uuid": "MIG-1b2c3d4e-0000-4000-8000-00000000000{}".format(instance),
        "gpu_instance_id": instance,
        "compute_instance_id": 0,
        "profile": "3g.40gb",
        "memory_total_bytes": 4096,
        "memory_used_bytes": 1024,
        **more,
    }


def test_shares_of_each_instance_since_its_last_look(look: Any, watched: Any) -> None:
    devices = [device(2, gpm_gpu_percent=80, gpm_memory_percent=30), device(5, gpm_gpu_percent=0)]
    gpu = watched(mig_enabled=True, mig_devices=devices, gpu_utilization_percent=None)
    watching = look(COLLECTOR)
    assert watching.of(1.0, gpu) == {}, "one look has nothing to compare with"
    assert watching.of(11.0, gpu) == {
        ("gpu_instance_graphics_engine_active_ratio", ("2", "3g.40gb")): pytest.approx(0.8),
        ("gpu_instance_sm_active_ratio", ("2", "3g.40gb")): pytest.approx(0.744),
        ("gpu_instance_sm_occupancy_ratio", ("2", "3g.40gb")): pytest.approx(0.328),
        ("gpu_instance_tensor_active_ratio", ("2", "3g.40gb")): pytest.approx(0.496),
        ("gpu_instance_memory_bandwidth_ratio", ("2", "3g.40gb")): pytest.approx(0.3),
        ("gpu_instance_graphics_engine_active_ratio", ("5", "3g.40gb")): 0,
        ("gpu_instance_sm_active_ratio", ("5", "3g.40gb")): 0,
        ("gpu_instance_sm_occupancy_ratio", ("5", "3g.40gb")): 0,
        ("gpu_instance_tensor_active_ratio", ("5", "3g.40gb")): 0,
        ("gpu_instance_memory_bandwidth_ratio", ("5", "3g.40gb")): None,
    }


def test_before_hopper_and_without_instances_there_is_none(look: Any, watched: Any) -> None:
    before = watched(mig_enabled=True, mig_devices=[device(2, gpm_gpu_percent=9)], compute_capability=[8, 0])
    for gpu in (before, watched(gpu_utilization_percent=80)):
        watching = look(COLLECTOR)
        assert watching.of(1.0, gpu) == watching.of(11.0, gpu) == {}


def test_an_instance_without_such_counters_is_left_out(look: Any, watched: Any) -> None:
    devices = [device(2), device(5, gpm_gpu_percent=10)]
    gpu = watched(mig_enabled=True, mig_devices=devices, gpu_utilization_percent=None)
    watching = look(COLLECTOR)
    watching.of(1.0, gpu)
    assert {labels for _, labels in watching.of(11.0, gpu)} == {("5", "3g.40gb")}
