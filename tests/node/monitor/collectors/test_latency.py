from typing import Any

from brctl.node.monitor.collectors.latency import COLLECTOR


def test_round_trips(look: Any, machine: Any) -> None:
    seen = look(COLLECTOR).at(1.0, machine({}, round_trip_s=0.00025), ("n2", "n3"))
    assert seen == {
        ("peer_reachable", ("n2",)): 1,
        ("peer_round_trip_seconds", ("n2",)): 0.00025,
        ("peer_reachable", ("n3",)): 1,
        ("peer_round_trip_seconds", ("n3",)): 0.00025,
    }


def test_a_peer_that_does_not_answer_has_no_round_trip(look: Any, machine: Any, monkeypatch: Any) -> None:
    host = machine({})
    assert look(COLLECTOR).at(1.0, host, ("n2",)) == {("peer_reachable", ("n2",)): 0}

    def unknown(*_: Any) -> None:
        raise OSError(-2, "Name or service not known")

    monkeypatch.setattr(host, "round_trip", unknown)
    assert look(COLLECTOR).at(1.0, host, ("n2",)) == {("peer_reachable", ("n2",)): 0}
