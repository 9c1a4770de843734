from typing import Any

from brctl.node.monitor.collectors.pressure import COLLECTOR


def stalled(some_us: int) -> Any:
    text = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={some_us}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
    return {"/proc/pressure/io": text, "/proc/pressure/cpu": {"errno": "EOPNOTSUPP"}}


def test_the_share_of_the_time_spent_waiting(look: Any, machine: Any) -> None:
    watching = look(COLLECTOR)
    seen = watching.at(1.0, machine(stalled(1_000_000)))
    assert seen == {
        ("pressure_waiting_seconds_total", ("io", "some")): 1.0,
        ("pressure_waiting_seconds_total", ("io", "full")): 0.0,
    }
    seen = watching.at(3.0, machine(stalled(1_500_000)))
    assert seen["pressure_ratio", ("io", "some")] == 0.25
    assert seen["pressure_ratio", ("io", "full")] == 0
