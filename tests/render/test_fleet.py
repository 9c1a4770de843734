import io
from collections.abc import Callable

import pytest
from rich.console import Console

from brctl.mock.machines import load
from brctl.node.agent import answer
from brctl.node.report import HOST, Evidence, Finding, NodeError, Report, Status
from brctl.node.request import Request
from brctl.render.fleet import findings, inventories
from brctl.render.terminal import Terminal

HOSTILE = "\x1b[2J[red]x[/red]\u202e\x9b"
SHOWN = "\ufffd[2J[red]x[/red]\ufffd\ufffd"


class Screen(Terminal):
    def __init__(self, width: int = 80) -> None:
        self.console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)

    @property
    def text(self) -> str:
        file = self.console.file
        assert isinstance(file, io.StringIO)
        return file.getvalue()


def _finding(status: Status, summary: str = "it is so", fold: str = "", check: str = "some-check") -> Finding:
    evidence = (Evidence("what", "value", "source"),)
    return Finding(
        check, status, HOST, summary, evidence, remedy="mend it" if status is Status.WARN else None, fold=fold
    )


def _report(node: str, *found: Finding) -> Report:
    return Report(node, 0, 0, findings=found)


def _silent(node: str, message: str = "no", hint: "str | None" = "look there") -> Report:
    return Report(node, 0, 0, errors=(NodeError("refused", message, hint),))


def _check(*reports: Report, quiet: bool = False, verbose: bool = False, width: int = 80) -> str:
    screen = Screen(width)
    findings(screen, reports, quiet, verbose)
    return screen.text


def test_outliers_first_and_the_rest_in_one_line() -> None:
    well = [_report(f"gpu{i:03}", _finding(Status.PASS)) for i in range(1, 127)]
    assert _check(*well, _report("gpu127", _finding(Status.WARN, "slow")), _silent("gpu128")) == (
        "NO ANSWER  gpu128\n"
        "  refused: no\n"
        "  do: look there\n"
        "\n"
        "gpu127  1 warn\n"
        "WARN    some-check  slow\n"
        "                    do: mend it\n"
        "\n"
        "gpu[001-126]: ok\n"
        "128 nodes:  1 no answer  1 warn  126 ok\n"
    )


def test_quiet_prints_nothing_where_nothing_calls() -> None:
    assert _check(_report("n1", _finding(Status.INFO)), _report("n2"), quiet=True) == ""
    assert "NO ANSWER" in _check(_report("n1"), _silent("n2"), quiet=True)


def test_quiet_shows_only_what_calls() -> None:
    shown = _check(
        _report("n1", _finding(Status.WARN, "slow"), _finding(Status.INFO, "by the way", "i")),
        _report("n2", _finding(Status.INFO)),
        quiet=True,
    )
    assert "slow" in shown
    assert "by the way" not in shown
    assert "n2" not in shown


def test_verbose_shows_what_is_well_and_the_evidence() -> None:
    shown = _check(_report("n1", _finding(Status.PASS, "fine")), _report("n2", _finding(Status.PASS)), verbose=True)
    assert shown.splitlines()[:3] == [
        "n[1-2]  2 nodes  1 pass",
        "PASS    some-check  n1: fine",
        "                    n2: it is so",
    ]
    assert "what: value  (source)" in shown


def test_a_small_group_tells_each_node_s_own_words() -> None:
    reports = [_report(f"n{i}", _finding(Status.CRIT, f"GPU 3 (serial {i}) is lost", "x")) for i in range(3)]
    assert _check(*reports).splitlines()[:4] == [
        "n[0-2]  3 nodes  1 crit",
        "CRIT    some-check  n0: GPU 3 (serial 0) is lost",
        "                    n1: GPU 3 (serial 1) is lost",
        "                    n2: GPU 3 (serial 2) is lost",
    ]


def test_a_large_group_tells_the_first_s_and_counts_the_others() -> None:
    reports = [_report(f"n{i}", _finding(Status.CRIT, f"serial {i}", "x")) for i in range(6)]
    assert _check(*reports).splitlines()[1:3] == [
        "CRIT    some-check  n0: serial 0",
        "                    and alike on 5 more nodes",
    ]
    assert "n5: serial 5" in _check(*reports, verbose=True)


def test_what_several_checks_cannot_tell_for_one_reason_is_said_once() -> None:
    unknown = [_finding(Status.UNKNOWN, "Driver Not Loaded", f"f{i}", f"check-{i}") for i in range(3)]
    assert _check(_report("n1", *unknown), _report("n2")).splitlines()[1:3] == [
        "UNKNOWN check-0  Driver Not Loaded",
        "                 so also check-1, check-2",
    ]


def test_on_a_narrow_terminal_all_of_a_finding_stands_below_its_name() -> None:
    finding = _finding(Status.WARN, "it is much too slow for what it should do", check="a-check-of-some-length")
    assert _check(_report("n1", finding), _report("n2"), width=40) == (
        "n1  1 warn\n"
        "WARN    a-check-of-some-length\n"
        "    it is much too slow for what it\n"
        "    should do\n"
        "    do: mend it\n"
        "\n"
        "n2: ok\n"
        "2 nodes:  1 warn  1 ok\n"
    )


def test_silent_nodes_are_told_by_class() -> None:
    assert _check(_silent("n1", "10.0.0.1: refused"), _silent("n2", "10.0.0.2: refused"), _silent("n3", hint=None)) == (
        "NO ANSWER  n3\n"
        "  refused: no\n"
        "NO ANSWER  n[1-2]\n"
        "  refused: n1: 10.0.0.1: refused\n"
        "  do: look there\n"
        "3 nodes:  3 no answer\n"
    )


def test_an_endless_node_set_is_cut_and_closed() -> None:
    reports = [_report(f"n{i * 7 % 9973}") for i in range(1, 400, 2)]
    first = _check(*reports, width=500).splitlines()[0]
    assert first.startswith("n[7,21,35,")
    assert first.endswith(",...] (--verbose names all): ok")
    assert "..." not in _check(*reports, verbose=True, width=5000)
    plain = [_report(name * 30) for name in "abcdefghijklmnopq"]
    assert _check(*plain, width=500).splitlines()[0].endswith(",... (--verbose names all): ok")


def test_no_node_s_text_reaches_the_terminal_as_it_is() -> None:
    finding = Finding(HOSTILE, Status.WARN, HOST, HOSTILE, (Evidence(HOSTILE, HOSTILE, HOSTILE),), HOSTILE)
    error = NodeError(HOSTILE, HOSTILE, HOSTILE)
    reports = (_report("n1", finding), _report("n2"), Report("n3", 0, 0, errors=(error,)))
    shown = _check(*reports, verbose=True, width=300)
    assert shown.count(SHOWN) == 9
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\u202e" not in shown


def _look(node: str, spec: str = "dgx-h100") -> Report:
    return answer(load(spec, node), Request(node, "show"))


@pytest.fixture(scope="module")
def looks() -> Callable[[str, str], Report]:
    known = {spec: _look("x", spec) for spec in ("dgx-h100", "cpu-only", "dgx-h100+gpu3-lost", "dgx-h100+no-driver")}
    return lambda node, spec: known[spec]._replace(node=node)


H100, DRIVER = "NVIDIA H100 80GB HBM3", "580.105.08"
NICS = "8 x 400 Gb/s, 2 x 100 Gb/s, 1 x 1 Gb/s"


def _row(*cells: object) -> str:
    return "{:12}  {:>5}  {:>4}  {:21}  {:10}  {:38}  {:>8}  {:>4}  {}\n".format(*cells)


HEAD = _row("Nodes", "Count", "GPUs", "Model", "Driver", "NICs", "Memory", "CPUs", "Kernel")


def test_kinds_of_nodes_the_rarest_first(looks: Callable[[str, str], Report]) -> None:
    screen = Screen(160)
    reports = [looks(f"gpu{i:03}", "dgx-h100") for i in range(1, 9)]
    reports += [looks("gpu009", "dgx-h100+gpu3-lost"), looks("gpu010", "dgx-h100+no-driver")]
    reports += [looks("store01", "cpu-only"), looks("store02", "cpu-only"), _silent("gpu011")]
    inventories(screen, reports, verbose=False)
    assert screen.text == (
        "gpu[001-008]:  mock machine dgx-h100, composed\n"
        "gpu009:  mock machine dgx-h100+gpu3-lost, composed\n"
        "gpu010:  mock machine dgx-h100+no-driver, composed\n"
        "store[01-02]:  mock machine cpu-only, composed\n"
        "NO ANSWER  gpu011\n"
        "  refused: no\n"
        "  do: look there\n"
        + HEAD
        + "".join(
            _row(*row)
            for row in (
                ("gpu009", 1, "7/8", H100, DRIVER, NICS, "2015 GiB", 224, "5.15.0-1063-nvidia"),
                ("gpu010", 1, "-", "-", "-", NICS, "2015 GiB", 224, "5.15.0-1063-nvidia"),
                ("store[01-02]", 2, "-", "-", "-", "1 x 25 Gb/s", "504 GiB", 128, "6.8.0-45-generic"),
                ("gpu[001-008]", 8, "8", H100, DRIVER, NICS, "2015 GiB", 224, "5.15.0-1063-nvidia"),
            )
        )
        + "gpu010: gpus: not read (no-driver): nvmlInitWithFlags: Driver Not Loaded\n"
    )


def test_memory_that_differs_by_little_is_one_kind(looks: Callable[[str, str], Report]) -> None:
    first, second = looks("n1", "cpu-only"), looks("n2", "cpu-only")
    seen = second.inventory
    assert seen
    assert seen.memory
    less = seen.memory._replace(total_bytes=int(seen.memory.total_bytes * 0.99))
    screen = Screen(160)
    inventories(screen, [first, second._replace(inventory=seen._replace(memory=less))], verbose=False)
    assert "n[1-2]" in screen.text


def test_nobody_answers() -> None:
    screen = Screen()
    inventories(screen, [_silent("n1"), _silent("n2")], verbose=False)
    assert screen.text == "NO ANSWER  n[1-2]\n  refused: no\n  do: look there\n"
