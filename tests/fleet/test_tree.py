"""Which node is reached through which gateway."""

from collections.abc import Sequence

import pytest

from brctl.fleet import engine, launch, tree
from brctl.fleet.command import CommandFailedError, Output
from brctl.fleet.engine import ask_all
from brctl.fleet.order import Limits, Order
from brctl.fleet.transport import Transport, TransportError
from brctl.node.request import Request

SSH = ("ssh", "-F", "x.conf")
WELL = Output(0, "", "")
REFUSED = Output(255, "", "ssh: connect to host gw2 port 22: Connection refused\n")
HUNG = Output(None, "", "")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> "dict[str, Output]":
    """What comes of asking each gateway."""
    found: dict[str, Output] = {}

    def run_all(argvs: Sequence[Sequence[str]], limit_s: float) -> list[Output]:
        assert all(tuple(argv) == (*SSH, "--", argv[-2], "true") for argv in argvs)
        assert limit_s == 13
        return [found.get(argv[-2], WELL) for argv in argvs]

    monkeypatch.setattr(tree, "run_all", run_all)
    return found


def _ways(nodes: str, gateways: str) -> tree.Ways:
    return tree.ways(nodes.split(), gateways.split(), SSH, 13)


def test_nodes_are_spread_evenly_and_gateways_are_reached_from_here(answers: "dict[str, Output]") -> None:
    found = _ways("a gw1 b c d gw2 e", "gw1 gw2")
    assert found.via == {"a": "gw1", "b": "gw2", "c": "gw1", "d": "gw2", "e": "gw1"}
    assert found.notes == {}


def test_the_nodes_of_a_silent_gateway_go_through_the_others(answers: "dict[str, Output]") -> None:
    answers["gw2"] = REFUSED
    found = _ways("a b c d e f", "gw1 gw2 gw3")
    assert found.via == {"a": "gw1", "b": "gw1", "c": "gw3", "d": "gw1", "e": "gw3", "f": "gw3"}
    why = "gw2 does not answer: refused: ssh: connect to host gw2 port 22: Connection refused"
    assert found.notes == dict.fromkeys("be", f"reached through another gateway: {why}")


def test_without_any_gateway_all_are_reached_from_here(answers: "dict[str, Output]") -> None:
    answers.update(gw1=HUNG, gw2=HUNG)
    found = _ways("a b", "gw1 gw2")
    assert found.via == {}
    assert found.notes == {
        "a": "reached through no gateway: gw1 does not answer: no shell there within 13 s",
        "b": "reached through no gateway: gw2 does not answer: no shell there within 13 s",
    }


def test_without_ssh_there_is_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_all(*_: object) -> None:
        raise CommandFailedError("ssh is not installed here", "run brctl where ssh is")

    monkeypatch.setattr(tree, "run_all", run_all)
    monkeypatch.setattr(launch.ssh_config, "write", lambda *_: "x.conf")
    with pytest.raises(TransportError, match="ssh is not installed here") as caught:
        ask_all([Order("a", Request("a", "check"))], Transport(gateways=("gw1",)), Limits())
    assert caught.value.hint == "run brctl where ssh is"


@pytest.mark.process
def test_mocks_and_this_host_need_no_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(engine, "ways", lambda nodes, *_: asked.append(nodes) or tree.Ways({}, {}))
    monkeypatch.setattr(launch.ssh_config, "write", lambda *_: "x.conf")
    ask_all([Order("a", Request("a", "show"), "cpu-only")], Transport(gateways=("gw1",)), Limits())
    assert asked == []
