"""A verdict and its reason first, consequences under their cause; for people, monitoring and tickets."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from brctl.node.report import HOST, Cause, Evidence, Finding, Mock, NodeError, Report, Status, Subject
from brctl.render import fleet, plugin
from brctl.render.diagnosed import diagnosis
from brctl.render.findings import findings
from brctl.render.headline import headline, tally
from brctl.render.terminal import Terminal

GPU = Subject("gpu", "GPU-1", "GPU 3")
HOT = Finding("gpu-temperature", Status.CRIT, GPU, "GPU 3: hot", (Evidence("margin", "-3 C", "NVML"),), "cool it")
SLOW = Finding("gpu-throttle", Status.INFO, GPU, "GPU 3: slow", cause=Cause("gpu-temperature", GPU))
NOTE = Finding("gpu-pcie", Status.INFO, GPU, "GPU 3: 8 of 16 lanes")
WELL = Finding("nic-mtu", Status.PASS, HOST, "all of 9000")
UNREAD = Finding("gpu-xid", Status.UNKNOWN, HOST, "/dev/kmsg: not permitted", reason="permission")
HOSTILE = "\x1b[2J|[x](http://y)`z`"


class Screen(Terminal):
    def __init__(self, width: int = 80) -> None:
        self.console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)

    @property
    def text(self) -> str:
        file = self.console.file
        assert isinstance(file, io.StringIO)
        return file.getvalue()


def report(*found: Finding, node: str = "gpu001", mock: Mock | None = None) -> Report:
    return Report(node, 0, 0, mock, findings=found)


def silent(node: str) -> Report:
    return Report(node, 0, 0, errors=(NodeError("refused", "Connection refused"),))


def screen(it: Report, quiet: bool = False, verbose: bool = False, width: int = 80) -> str:
    shown = Screen(width)
    diagnosis(shown, it, quiet, verbose)
    return shown.text


@pytest.mark.parametrize(
    ("it", "word", "reason"),
    [
        (report(HOT, SLOW, WELL), "CRIT", "GPU 3: hot"),
        (report(HOT, UNREAD), "CRIT", "GPU 3: hot (and 1 more)"),
        (report(UNREAD, UNREAD._replace(check="kernel-oom"), WELL), "UNKNOWN", "/dev/kmsg: not permitted"),
        (report(NOTE, WELL), "OK", "2 checks pass"),
        (report(WELL), "OK", "1 check passes"),
        (silent("gpu001"), "NO ANSWER", "refused: Connection refused"),
    ],
)
def test_a_node_in_one_line(it: Report, word: str, reason: str) -> None:
    said = headline(it)
    assert (said.word, said.reason) == (word, reason)


def test_consequences_do_not_count() -> None:
    assert tally((HOT, SLOW, NOTE, WELL)) == "1 crit, 1 info, 1 pass"
    assert tally(()) == "nothing to check"


def test_one_node() -> None:
    it = report(HOT, SLOW, NOTE, WELL, mock=Mock("dgx-h100", False))
    assert screen(it) == (
        "gpu001: CRIT  GPU 3: hot\n"
        "mock machine dgx-h100, composed\n"
        "CRIT    gpu-temperature  GPU 3: hot\n"
        "                         margin: -3 C  (NVML)\n"
        "                         then: gpu-throttle: GPU 3: slow\n"
        "                         do: cool it\n"
        "INFO    gpu-pcie         GPU 3: 8 of 16 lanes\n"
        "1 crit, 1 info, 1 pass\n"
    )
    assert "PASS" in screen(it, verbose=True)
    assert "INFO" not in screen(it, quiet=True)
    assert screen(report(NOTE, WELL), quiet=True) == ""


def test_many_consequences_that_say_the_same() -> None:
    cause = Cause("gpu-temperature", GPU)
    many = [SLOW._replace(check=f"check-{n}", cause=cause) for n in range(5)]
    assert "then: check-0, 4 more checks: GPU 3: slow\n" in screen(report(HOT, *many))
    assert "then: check-0, check-1, check-2, check-3, check-4: GPU 3: slow\n" in screen(
        report(HOT, *many), verbose=True, width=120
    )
    assert "then: check-0, check-1, check-2, check-3: GPU 3: slow\n" in screen(report(HOT, *many[:4]))


def test_no_terminal_is_too_narrow() -> None:
    assert all(len(line) <= 40 for line in screen(report(HOT, SLOW, NOTE, WELL), width=40).splitlines())


def test_node_manager_check_tells_them_too() -> None:
    shown = Screen()
    findings(shown, report(HOT, SLOW, WELL), quiet=False, verbose=False)
    assert shown.text == (
        "gpu001  1 crit  1 pass\n"
        "CRIT    gpu-temperature  GPU 3: hot\n"
        "                         margin: -3 C  (NVML)\n"
        "                         then: gpu-throttle: GPU 3: slow\n"
        "                         do: cool it\n"
        "PASS    nic-mtu          all of 9000\n"
    )


def test_many_nodes_each_with_its_verdict() -> None:
    shown = Screen()
    well = [report(WELL, node=f"gpu{n:03}") for n in range(3, 9)]
    fleet.findings(shown, [report(HOT, SLOW, WELL), report(HOT, SLOW, WELL, node="gpu002"), *well], False, False, True)
    assert shown.text == (
        "gpu[001-002]  2 nodes: CRIT  GPU 3: hot\n"
        "CRIT    gpu-temperature  GPU 3: hot\n"
        "                         then: gpu-throttle: GPU 3: slow\n"
        "                         do: cool it\n"
        "\n"
        "gpu[003-008]: ok\n"
        "8 nodes:  2 crit  6 ok\n"
    )


def test_as_a_plugin() -> None:
    assert plugin.nagios([report(HOT, SLOW, UNREAD, WELL)]) == (
        "BRCTL CRITICAL - gpu001: GPU 3: hot (and 1 more) | crit=1 warn=0 unknown=1 no_answer=0\n"
        "gpu001: CRIT gpu-temperature: GPU 3: hot\n"
        "gpu001: UNKNOWN gpu-xid: /dev/kmsg: not permitted"
    )
    many = [report(WELL), report(HOT, node="gpu002"), silent("gpu003")]
    assert plugin.nagios(many) == (
        "BRCTL CRITICAL - 2 of 3 nodes; gpu002: GPU 3: hot | crit=1 warn=0 unknown=0 no_answer=1\n"
        "gpu002: CRIT gpu-temperature: GPU 3: hot\n"
        "gpu003: NO ANSWER: Connection refused"
    )
    assert plugin.nagios([report(WELL), report(WELL, node="gpu002")]) == (
        "BRCTL OK - 2 nodes: 1 check passes | crit=0 warn=0 unknown=0 no_answer=0"
    )


def test_no_text_of_a_machine_is_a_figure_or_markup() -> None:
    evil = report(HOT._replace(summary=HOSTILE, evidence=(Evidence(HOSTILE, HOSTILE, HOSTILE),)), node="a")
    first = plugin.nagios([evil]).splitlines()[0]
    assert first.count("|") == 1
    assert "\x1b" not in first
    page = plugin.markdown([evil])
    assert "\x1b" not in page
    assert "\\[x\\](http://y)\\`z\\`" in page
    code = "`\ufffd[2J|[x](http://y)'z'`"
    assert code in page
    assert "[x](" not in page.replace(code, "")


def test_a_section_of_markdown() -> None:
    assert plugin.markdown([report(HOT, SLOW, WELL, mock=Mock("dgx-h100", False))]) == (
        "## gpu001: CRIT\n\n"
        "GPU 3: hot\n\n"
        "*mock machine dgx-h100*\n\n"
        "### CRIT gpu-temperature\n\n"
        "GPU 3: hot\n\n"
        "- margin: `-3 C` (NVML)\n"
        "- then gpu-throttle: GPU 3: slow\n\n"
        "**Do:** cool it\n\n"
        "1 crit, 1 pass"
    )
