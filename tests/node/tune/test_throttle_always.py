"""What holds of throttling whatever happens: it ends as it began, in the hands of one writer, and never flaps."""

import contextlib
from typing import Any, Callable, ContextManager, Dict, Iterator, List, NamedTuple, Optional, Tuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brctl.node.alert_facts import ActionRecord, Alert, Event, Happening, Label, Outcome, Phase, Rule
from brctl.node.gpu_facts import GpuLimits
from brctl.node.host import BusyError
from brctl.node.tune import Place, guard, journal, throttle, undo
from brctl.node.tune.places import Places, WriteError
from brctl.node.tune.throttle import LEAST_S, REST_S, Throttle

GPUS = ("a", "b")
RULES = (Rule("hot", "s", ">=", 1), Rule("slowed", "t", ">=", 1))
LIMITS = GpuLimits(700.0, 700.0, 700.0, 200.0, 700.0, None, None)


class Board:
    """The power limits of two GPUs, with all that is written to them."""

    def __init__(self) -> None:
        self.watts: Dict[str, str] = dict.fromkeys(GPUS, "700")
        self.own = dict(self.watts)
        """As whoever is no alert wants them."""
        self.writes: List[Tuple[str, float]] = []
        self.lost = self.busy = False
        self.now = 0.0

    def read(self, place: Place) -> Optional[str]:
        if self.lost:
            raise WriteError("lost")
        return self.watts[place.name]

    def write(self, place: Place, value: Optional[str]) -> None:
        if self.lost:
            raise WriteError("lost")
        self.watts[place.name] = value or ""
        self.writes.append((place.name, self.now))

    def limits(self, uuid: str) -> GpuLimits:
        if self.lost:
            raise WriteError("lost")
        return LIMITS._replace(power_limit_watts=float(self.watts[uuid]))


class Act(NamedTuple):
    what: str
    gpu: str
    rule: int
    after_s: float


ACTS = st.builds(
    Act,
    st.sampled_from(
        ("fire", "fire", "clear", "clear", "tick", "tick", "tick", "set", "lose", "find", "busy", "free", "rollback")
    ),
    st.sampled_from(GPUS),
    st.integers(0, 1),
    st.sampled_from((1.0, 5.0, REST_S, LEAST_S)),
)


class Guard:
    def __init__(self, *_: Any) -> None: ...

    def here(self) -> None: ...

    def release(self) -> None: ...

    def give_back(self) -> None: ...


@pytest.fixture
def begin(
    load: Callable[[str], Any], h100: str, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Tuple[Any, Board]]:
    """A machine of its own, with nothing in its journal."""
    monkeypatch.setattr(guard, "Guard", Guard)
    host = load(h100)

    def begun() -> Tuple[Any, Board]:
        board = Board()
        host._overlay._overlay.texts.clear()

        @contextlib.contextmanager
        def lock(*_: Any) -> Iterator[None]:
            if board.busy:
                raise BusyError("bob")
            yield

        for name in ("read", "write", "limits"):
            monkeypatch.setattr(Places, name, lambda _, *given, _name=name: getattr(board, _name)(*given))
        monkeypatch.setattr(type(host), "lock", _unbound(lock))
        return host, board

    return begun


def _unbound(lock: Callable[..., ContextManager[None]]) -> Callable[..., ContextManager[None]]:
    return lambda _, *given: lock(*given)


class Run:
    def __init__(self, host: Any, board: Board) -> None:
        self.host, self.board = host, board
        self.actions = Throttle(host, "n", "op", 20)
        self.firing: Dict[Tuple[str, int], Alert] = {}
        self.records: Dict[str, ActionRecord] = {}

    def note(self, *records: ActionRecord) -> None:
        self.records.update((record.id, record) for record in records)

    def do(self, act: Act) -> None:
        board, key = self.board, (act.gpu, act.rule)
        board.now += act.after_s
        alert = Alert(RULES[act.rule].id, "n", (Label("gpu", "0"), Label("uuid", act.gpu)), Phase.FIRING)
        if act.what == "fire" and key not in self.firing:
            self.firing[key] = alert
            self.note(self.actions.begin(Event(Happening.FIRED, alert, board.now, ""), RULES[act.rule]))
        elif act.what == "clear" and key in self.firing:
            self.note(*self.actions.undo(Event(Happening.RESOLVED, self.firing.pop(key), board.now, "")))
        elif act.what == "set" and not board.lost:
            board.watts[act.gpu] = board.own[act.gpu] = "520"
        elif act.what in ("lose", "find"):
            board.lost = act.what == "lose"
        elif act.what in ("busy", "free"):
            board.busy = act.what == "busy"
        elif act.what == "rollback" and journal.open_id(self.host) and not board.busy and not board.lost:
            undo.rollback(self.host, None, "alice")
        self.note(*self.actions.tick(self.firing.values(), board.now))

    def ours(self) -> Dict[str, str]:
        """What the journal says that we have written and not taken back."""
        name = journal.open_id(self.host)
        return {one.place.name: one.after or "" for one in journal.load(self.host, name).entries} if name else {}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=st.lists(ACTS, max_size=20))
def test_whatever_happens(begin: Callable[[], Tuple[Any, Board]], acts: List[Act]) -> None:
    host, board = begin()
    run = Run(host, board)
    for act in acts:
        run.do(act)
        for gpu in GPUS:  # what is not as its owner wants it stands in the journal, with the way back
            assert board.watts[gpu] == board.own[gpu] or board.watts[gpu] == run.ours()[gpu]
            assert float(board.watts[gpu]) >= throttle.FLOOR * 700
    board.lost = board.busy = False
    run.note(*run.actions.close())
    assert board.watts == board.own
    assert journal.open_id(host) is None
    in_force = [one for one in run.records.values() if one.outcome is Outcome.DONE and one.undone_at is None]
    assert in_force == []


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(gaps=st.lists(st.sampled_from((0.5, 1.0, 7.0, 40.0)), min_size=10, max_size=60))
def test_input_that_flaps_flaps_no_limit(begin: Callable[[], Tuple[Any, Board]], gaps: List[float]) -> None:
    host, board = begin()
    run = Run(host, board)
    for number, gap in enumerate(gaps):
        run.do(Act("clear" if number % 2 else "fire", "a", 0, gap))
    times = [at for _, at in board.writes]
    assert all(later - earlier >= REST_S for earlier, later in zip(times, times[1:]))
