from __future__ import annotations

import json

from brctl.node.report import Report, Sample, Series, State
from brctl.node.samples import Group, Samples
from brctl.render.samples import Lines, Rows

SERIES = Series("brctl_process_memory_bytes", "bytes", "gauge", ("pid",), "", "", "processes")


def a_tick(*pids: str) -> Report:
    samples = tuple(Sample(SERIES.name, (pid,), 1.0, State.MEASURED, 10.0) for pid in pids)
    return Report("n1", 10.0, 0.0, series=(SERIES,), samples=samples)


def test_a_row_has_nothing_that_a_terminal_obeys() -> None:
    (text,) = Rows().lines([a_tick("7\x1b[31m")])
    assert text == "10.000,n1,brctl_process_memory_bytes,pid=7\ufffd[31m,1.0,measured,bytes"


def test_processes_that_came_and_went_are_forgotten() -> None:
    lines = Lines()
    for first in range(0, 20_000, 100):
        (text,) = lines.lines([a_tick(*map(str, range(first, first + 100)))])
        assert f'{{"series":"brctl_process_memory_bytes","labels":{{"pid":"{first + 99}"}},"value":1.0' in text
    assert [len(one.heads) for one in lines._kept["n1"][1]] == [100]


def test_labels_that_a_node_names_otherwise_are_named_so_from_then_on() -> None:
    lines = Lines()
    (first,) = lines.lines([a_tick("1")])
    (second,) = lines.lines([a_tick("1")._replace(series=(SERIES._replace(labels=("process",)),))])
    assert ('"labels":{"pid":"1"}' in first, '"labels":{"process":"1"}' in second) == (True, True)


def test_a_group_that_is_as_it_was_keeps_its_text_wherever_it_stands() -> None:
    lines = Lines()
    a, b, c = (Group(a_tick(pid).samples) for pid in "abc")
    again = Group((a[0]._replace(value=2.0, at=11.0),), a.places)
    other = Group((b[0]._replace(value=None, state=State.UNSUPPORTED), b[0]._replace(labels=("9",))))
    for groups in ((a, b), (again, b), (again, b, c), (b, c), (b, other), (), (a,)):
        report = a_tick()._replace(samples=Samples(groups))
        (text,) = lines.lines([report])
        assert json.loads(text)["samples"] == [
            {
                "series": one.series,
                "labels": {"pid": one.labels[0]},
                "value": one.value,
                "state": one.state.value,
                "at": one.at,
            }
            for group in groups
            for one in group
        ]
    (kept,) = lines._kept["n1"][1]
    (_,) = lines.lines([a_tick()._replace(samples=Samples((a,)))])
    assert lines._kept["n1"][1][0] is kept
