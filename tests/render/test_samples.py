from __future__ import annotations

from brctl.node.report import Report, Sample, Series, State
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
    assert len(lines._heads) < 2000
