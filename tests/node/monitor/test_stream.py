import json
from typing import Any, Dict, List, Optional, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brctl.node.alert_facts import ActionRecord, Label, Outcome
from brctl.node.codec import InvalidReportError, encode
from brctl.node.monitor import stream
from brctl.node.monitor.stream import Block, Follower, Packer, short
from brctl.node.report import Report, Series, State

TEMPERATURE = Series("brctl_gpu_temperature_celsius", "celsius", "gauge", ("gpu",), "", "", "t")
LOAD = Series("brctl_load_average", "", "gauge", (), "", "", "l")
SERIES = (TEMPERATURE, LOAD)
HEAD = Report("n1", 0.0, 0.0, series=SERIES)


def gpus(*values: Optional[float], at: float = 10.0, state: State = State.MEASURED) -> Block:
    slots = tuple((TEMPERATURE.name, (str(gpu),)) for gpu in range(len(values)))
    return Block("t", (), slots, values, state, at)


def load(value: float, at: float = 10.0) -> Block:
    return Block("l", (), ((LOAD.name, ()),), (value,), State.MEASURED, at)


def sent(*ticks: List[Block]) -> Tuple[List[Any], List[Report]]:
    """The payloads, and what the other end makes of them."""
    packer, follower = Packer(SERIES), Follower(HEAD)
    payloads = [packer.pack(10.0 + number, blocks) for number, blocks in enumerate(ticks)]
    return [json.loads(payload) for payload in payloads], [follower.follow(payload) for payload in payloads]


def test_the_first_tick_has_all_and_the_next_what_has_changed() -> None:
    first, second = [gpus(40, 50, 60), load(0.5)], [gpus(40, 51, 60, at=11.0), load(0.5, at=11.0)]
    payloads, reports = sent(first, second)
    assert payloads[0] == [10.0, [], [[0, 0, 0, [[0, "0"], [0, "1"], [0, "2"]], [40, 50, 60]],
                                      [1, 0, 0, [[1]], [0.5]]], [], []]  # fmt: skip
    assert payloads[1] == [11.0, [], [], [[0, 0, 0, [2], [51]], [1, 0]], []]
    for report, tick in zip(reports, (first, second)):
        assert report.samples == tuple(sample for block in tick for sample in block.samples)
    assert reports[1].node == "n1"
    assert reports[1].time == 11.0


def test_a_block_that_was_not_looked_at_again_is_not_sent_again() -> None:
    block = load(0.5)
    payloads, reports = sent([block], [block])
    assert payloads[1] == [11.0, [], [], [], []]
    assert reports[1].samples[0].at == 10.0


def test_what_is_no_longer_measured_loses_its_value_on_both_sides() -> None:
    hung = gpus(None, None, at=11.0, state=State.TIMEOUT)
    payloads, reports = sent([gpus(40, None)], [hung], [gpus(40, None, at=12.0)])
    assert payloads[1][3] == [[0, 0, 2, [], []]]
    assert [(s.value, s.state) for s in reports[1].samples] == [(None, State.TIMEOUT)] * 2
    assert payloads[2][3] == [[0, 0, 0, [1], [40]]]
    assert [(s.value, s.state) for s in reports[2].samples] == [(40, State.MEASURED), (None, State.UNSUPPORTED)]


def test_a_value_that_comes_or_goes_makes_its_block_new() -> None:
    payloads, reports = sent([gpus(40), load(1)], [gpus(40, 41), load(1)], [load(1)])
    assert payloads[1][1:3] == [[], [[0, -1000, 0, [[0, "0"], [0, "1"]], [40, 41]]]]
    assert payloads[2][1] == [0]
    assert [sample.series for sample in reports[1].samples] == [TEMPERATURE.name] * 2 + [LOAD.name], "in its place"
    assert [len(report.samples) for report in reports] == [2, 3, 1]


@pytest.mark.parametrize(
    ("value", "text"), [(7, "7"), (7.0, "7"), (0.1 + 0.2, "0.3"), (1 / 3, "0.3333333"), (1e30, "1e+30"), (None, "null")]
)
def test_no_more_digits_than_anybody_measures(value: Any, text: str) -> None:
    assert json.dumps(short(value)) == text


def test_a_counter_loses_no_more_than_a_thousandth() -> None:
    """Somebody makes a rate of it, of two readings that are close together."""
    energy = Series("brctl_gpu_energy_joules_total", "joules", "counter", (), "", "", "e")
    seen = Series("brctl_seen_timestamp_seconds", "seconds", "gauge", (), "", "", "e")
    block = Block("e", (), ((energy.name, ()), (seen.name, ())), (129850123.45678,) * 2, State.MEASURED, 1.0)
    payload = json.loads(Packer((energy, seen)).pack(1.0, [block]))
    assert payload[2][0][4] == [129850123.457, 129850123.457]


TICK = [10.0, [], [[0, 0, 0, [[0, "0"], [0, "1"]], [40, 50]]], [], []]


@pytest.mark.parametrize(
    "payload",
    [
        b"", b"{}", b"[", b"[[[[", b"null", b"[1,[],[],[]]", b"[1,[],[],[],[],[]]", b"[1,[],[],[],{}]" * 2,
        b"[NaN,[],[],[],[]]", b"[-1,[],[],[],[]]", b"[true,[],[],[],[]]",
        b"[1e400,[],[],[],[]]", b"[1e300,[],[],[],[]]",
        b"[1,[7],[],[],[]]", b"[1,[],[],[[9,0]],[]]", b"[1,[],[],[[0]],[]]", b"[1,[],[],[[0,0,0,[3],[1]]],[]]",
        b"[1,[],[],[[0,0,0,[1,2],[1,1]]],[]]", b"[1,[],[],[[0,0,0,[0],[1]]],[]]", b"[1,[],[],[[0,0,0,[-1],[1]]],[]]",
        b"[1,[],[],[[0,0,0,[1],[]]],[]]", b'[1,[],[],[[0,0,0,[1],["x"]]],[]]', b"[1,[],[],[[0,0,0,[1],[true]]],[]]",
        b"[1,[],[],[[0,0,0,[1],[1e300]]],[]]", b"[1,[],[],[[0,0,3,[],[]]],[]]", b"[1,[],[],[[0,0,-1,[],[]]],[]]",
        b"[1,[],[],[[0,1e300]],[]]", b'[1,[],[["a",0,0,[],[]]],[],[]]',
        b'[1,[],[[5,0,0,[[9]],[1]]],[],[]]', b'[1,[],[[5,0,0,[[-1]],[1]]],[],[]]', b'[1,[],[[5,0,0,[[0]],[1]]],[],[]]',
        b'[1,[],[[5,0,0,[[0,1]],[1]]],[],[]]', b'[1,[],[[5,0,0,[[true,"0"]],[1]]],[],[]]', b"[1,[],[],[],[3]]",
        b'[1,[],[[5,0,0,[[0,"' + b"x" * 1001 + b'"]],[1]]],[],[]]', b"[" * 100000,
        b"[1,[],[],[]," + json.dumps(["n"] * 101).encode() + b"]",
        b"[1,[],[],[[0,0,null,[],[]]],[]]", b"[1,[],[],[[0,0,0.0,[],[]]],[]]", b"[1,[],[],[[0,true]],[]]",
        b"[1,[],[],[[0,0,1,[1],[3]]],[]]", b"[1,[],[],[[0,0,0,[1.0],[3]]],[]]", b"[1,[],[],[[0,0,0,[true],[3]]],[]]",
        b'[1,[],[],[[0,0,0,"1",[3]]],[]]', b'[1,[],[],[[0,0,0,[1],{"3":4}]],[]]', b"[1,[],[],[[0,0,0,[1]]],[]]",
        b"[1,[],[],[0],[]]", b"[1,[],[],{},[]]", b"[1,[],[],[[0,0,0,[1],[1],1]],[]]",
        b"[1,[],[],[[0,0,0,[1],[-1e300]]],[]]",
    ],
)  # fmt: skip
def test_a_hostile_stream_is_refused(payload: bytes) -> None:
    follower = Follower(HEAD)
    follower.follow(json.dumps(TICK).encode())
    with pytest.raises(InvalidReportError, match=r"^no tick: "):
        follower.follow(payload)


@pytest.mark.parametrize("at", [-1.0, 4102444800.0])
def test_a_clock_that_cannot_be_right_is_named(at: float) -> None:
    words = "^no tick: the node's clock is set before 1970, or after 2099$"
    with pytest.raises(InvalidReportError, match=words):
        Follower(HEAD).follow(Packer(SERIES).pack(at, [load(0.5, at)]))


def test_what_was_read_before_the_clock_was_set_by_years_is_still_told() -> None:
    packer, follower = Packer(SERIES), Follower(HEAD)
    report = follower.follow(packer.pack(1.7e9, [load(0.5, at=60.0)]))
    assert [(sample.value, sample.at) for sample in report.samples] == [(0.5, 60.0)]


def test_half_a_letter_becomes_a_whole_one() -> None:
    ticked = Follower(HEAD).follow(json.dumps([1, [], [[0, 0, 0, [[0, "\ud800"]], [1]]], [], ["\udfff!"]]).encode())
    assert ticked.samples[0].labels == ("\ufffd",)
    assert ticked.notes == ("\ufffd!",)


def test_a_node_cannot_fill_our_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MOST_SAMPLES", 5)
    follower = Follower(HEAD)
    follower.follow(json.dumps([1, [], [[0, 0, 0, [[1]] * 3, [1] * 3]], [], []]).encode())
    with pytest.raises(InvalidReportError, match="6 samples"):
        follower.follow(json.dumps([2, [], [[1, 0, 0, [[1]] * 3, [1] * 3]], [], []]).encode())
    with pytest.raises(InvalidReportError, match="too many"):
        follower.follow(json.dumps([3, [], [[2, 0, 0, [[1]] * 6, [1] * 6]], [], []]).encode())


VALUES = st.one_of(st.none(), st.integers(-(2**60), 2**60), st.floats(-1e6, 1e6).map(short))
BLOCKS = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.tuples(st.lists(VALUES, min_size=1, max_size=4), st.sampled_from([State.MEASURED, State.STALE, State.TIMEOUT])),
)


@settings(max_examples=20, deadline=None)
@given(st.lists(BLOCKS, max_size=6))
def test_the_other_end_sees_what_was_measured(ticks: List[Dict[str, Any]]) -> None:
    packer, follower = Packer(SERIES), Follower(HEAD)
    for number, tick in enumerate(ticks):
        blocks = []
        for name, (values, state) in tick.items():
            slots = tuple((TEMPERATURE.name, (name + str(gpu),)) for gpu in range(len(values)))
            told = tuple(values) if state is State.MEASURED else (None,) * len(values)
            blocks.append(Block(name, (), slots, told, state, 100.0 + number))
        report = follower.follow(packer.pack(100.0 + number, blocks, ("note",)))
        wanted = {sample[:2]: sample for block in blocks for sample in block.samples}
        assert {sample[:2]: sample for sample in report.samples} == wanted
        assert report.notes == ("note",)


DONE = ActionRecord("a-1", 10.0, "n1", "hot", (Label("gpu", "3"),), "throttle", "91 C", "700 W -> 630 W", Outcome.DONE)


def test_what_the_node_did_by_itself_stands_in_one_tick() -> None:
    packer, follower = Packer(SERIES), Follower(HEAD)
    first, second = packer.pack(10.0, [load(0.5)], (), (DONE,)), packer.pack(11.0, [load(0.5)])
    assert (follower.follow(first).actions, follower.follow(second).actions) == ((DONE,), ())
    assert len(json.loads(second)) == 5


@pytest.mark.parametrize("actions", [[{}], [3], [["a"]], [dict(encode(DONE), outcome="maybe")], [encode(DONE)] * 101])
def test_an_action_that_is_none(actions: List[Any]) -> None:
    with pytest.raises(InvalidReportError, match=r"^no tick: "):
        Follower(HEAD).follow(json.dumps([10.0, [], [], [], [], *actions]).encode())
