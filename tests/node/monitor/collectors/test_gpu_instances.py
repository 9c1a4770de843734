from typing import Any, Dict

from brctl.node.monitor.collectors.gpu_instances import COLLECTOR

DEVICE: Dict[str, Any] = {
    "uuid": "MIG-1b2c3d4e-0000-4000-8000-0123456789ab",
    "gpu_instance_id": 2,
    "compute_instance_id": 0,
    "profile": "3g.40gb",
    "memory_total_bytes": 4096,
    "memory_used_bytes": 1024,
    "multiprocessors": 60,
}


def test_a_whole_gpu_has_none(look: Any, watched: Any) -> None:
    assert look(COLLECTOR).of(1.0, watched()) == {}


def test_each_instance_with_its_memory(look: Any, watched: Any) -> None:
    gpu = watched(mig_enabled=True, mig_devices=[DEVICE], gpu_utilization_percent=None)
    labels = ("2", "0", "3g.40gb")
    assert look(COLLECTOR).of(1.0, gpu) == {
        ("gpu_instance_memory_total_bytes", labels): 4096,
        ("gpu_instance_memory_used_bytes", labels): 1024,
        ("gpu_instance_multiprocessors", labels): 60,
    }


def test_one_id_without_the_other_is_a_leftover(look: Any, watched: Any, monkeypatch: Any) -> None:
    gpu = watched(mig_enabled=True, mig_devices=[DEVICE])
    (found,) = gpu.part.instances()
    monkeypatch.setattr(gpu.part, "instances", lambda: (found._replace(compute_instance_id=None),))
    assert look(COLLECTOR).of(1.0, gpu) == {}
