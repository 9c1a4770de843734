import threading
from typing import Any, Optional

import pytest

from brctl.node import deadline
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


def test_silent_peers_cost_the_others_nothing(look: Any, machine: Any, monkeypatch: Any) -> None:
    host, asked = machine({}), threading.Barrier(4)

    def all_at_once(peer: str, _: int, limit_s: float) -> Optional[float]:
        deadline.calling("connect to " + peer, 0.1 if peer == "n4" else 3.0)
        asked.wait(3.0)  # nobody is answered before everybody is asked
        if peer == "n4":  # its name is looked up in vain, for longer than the limit
            done.wait(3.0)
        return 0.001 if peer == "n3" else None

    done = threading.Event()
    monkeypatch.setattr(host, "round_trip", all_at_once)
    assert look(COLLECTOR).at(1.0, host, ("n1", "n2", "n3", "n4")) == {
        ("peer_reachable", ("n1",)): 0,
        ("peer_reachable", ("n2",)): 0,
        ("peer_reachable", ("n3",)): 1,
        ("peer_round_trip_seconds", ("n3",)): 0.001,
        ("peer_reachable", ("n4",)): 0,
    }
    done.set()


def test_a_fault_of_the_program_is_no_silent_peer(look: Any, machine: Any, monkeypatch: Any) -> None:
    def broken(*_: Any) -> float:
        raise KeyError("peer")

    host = machine({})
    monkeypatch.setattr(host, "round_trip", broken)
    with pytest.raises(KeyError):
        look(COLLECTOR).at(1.0, host, ("n2",))
