"""The live view in a real terminal: what is seen, what keys do, and how the terminal is given back."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyte
import pytest

from brctl.cli import live, processes
from brctl.cli.keys import Keyboard, keys
from brctl.node.report import NodeError, Report, Sample, Series, State
from brctl.render.live.screen import Screen, pen
from brctl.render.live.view import Order

PROGRAM = """
import fcntl, os, sys, termios, time
if os.isatty(0):
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from brctl.cli.live import Watching, watch_or_print
from brctl.node.report import Report, Sample, Series, State
SERIES = [Series("brctl_" + name, "", "gauge", labels, "", "", "") for name, labels in (
    ("gpu_up", ("gpu", "uuid")), ("gpu_utilization_ratio", ("gpu", "uuid")),
    ("gpu_process_memory_bytes",
     ("gpu", "uuid", "pid", "name", "user", "container", "slurm_job", "kind", "gpu_instance")))]
def report(node, tick, gpus):
    rows = [("gpu_up", (), 1.0), ("gpu_utilization_ratio", (), 0.01 * (tick % 100))]
    samples = [Sample("brctl_" + name, (str(gpu), "GPU-" + str(gpu)), value, State.MEASURED, time.time())
               for gpu in range(gpus) for name, _, value in rows]
    if CHILD:
        labels = ("0", "GPU-0", CHILD, "sleep", "ann", "", "", "compute", "")
        samples.append(Sample("brctl_gpu_process_memory_bytes", labels, 2.0**30, State.MEASURED, time.time()))
    return Report(node, time.time(), 0.0, series=tuple(SERIES), samples=tuple(samples))
def ticks():
    for tick in range(1, TICKS + 1):
        yield [report("gpu%03d" % (node + 1), tick, GPUS) for node in range(NODES)]
        time.sleep(0.05)
    END()
def hang():
    time.sleep(600)
def fail():
    raise ValueError("as a defect would")
sys.exit(watch_or_print(ticks(), Watching(0.05, here="gpu001")))
"""


class Seen:
    """A program on a terminal that we look at."""

    def __init__(self, columns: int, lines: int, environ: "dict[str, str]", command: "Sequence[str]") -> None:
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        self._slave = slave
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.resize(columns, lines)
        self.child = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "", **environ},
        )

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def look(self) -> str:
        """The screen now."""
        while select.select([self.master], [], [], 0.02)[0]:
            try:
                found = os.read(self.master, 65536)
            except OSError:
                break
            self.raw += found
            self._stream.feed(found)
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, pattern: str, limit_s: float = 30) -> str:
        """The screen, once `pattern` is on it."""
        end = time.monotonic() + limit_s
        while True:
            seen = self.look()
            if re.search(pattern, seen) and self.raw.endswith(b"\x1b[?2026l"):  # a whole frame
                return seen
            assert time.monotonic() < end, f"{pattern} is not in\n{seen}"

    def end(self, limit_s: float = 30) -> int:
        """The exit code, once it has ended; the terminal must be as it was."""
        end = time.monotonic() + limit_s
        while self.child.poll() is None:
            self.look()
            assert time.monotonic() < end, "it does not end"
        self.look()
        assert self.raw.endswith(b"\x1b[?1049l") or b"\x1b[?1049l" in self.raw.rpartition(b"\x1b[?1049h")[2]
        assert b"\x1b[?25h" in self.raw.rpartition(b"\x1b[?25l")[2], "the cursor is there again"
        assert termios.tcgetattr(self._slave) == self.before
        return self.child.returncode

    def close(self) -> None:
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        os.close(self.master)
        os.close(self._slave)


Start = Callable[..., Seen]


@pytest.fixture
def start() -> Iterator[Start]:
    """Begin to look: `start(columns, lines, ...)`."""
    made: list[Seen] = []

    def begin(columns: int = 80, lines: int = 24, ticks: int = 10_000, gpus: int = 8, nodes: int = 1, end: str = "hang",
              child: str = "''", **environ: str) -> Seen:  # fmt: skip
        names = {"TICKS": ticks, "GPUS": gpus, "NODES": nodes, "END": end, "CHILD": child}
        head = "".join(f"{name} = {value}\n" for name, value in names.items())
        place = PROGRAM.index("sys.exit(")
        made.append(Seen(columns, lines, environ, [sys.executable, "-c", PROGRAM[:place] + head + PROGRAM[place:]]))
        return made[-1]

    yield begin
    for each in made:
        each.close()


@pytest.mark.process
def test_it_moves_and_ends_at_q(start: Start) -> None:
    seen = start()
    first = seen.until(r"use \d+%")
    assert "GPUS 8" in first
    assert first.splitlines()[-1].startswith("q quit  / filter  s sort")
    use = re.search(r"use (\d+)%", first)
    assert use
    seen.until(rf"use (?!{use[1]}%)\d+%")
    seen.type("s?")
    seen.until("keys of brctl monitor")
    seen.type("x")
    seen.until("GPUS 8  by use")
    seen.type("q")
    assert seen.end() == 0
    assert b"Traceback" not in seen.raw


@pytest.mark.process
@pytest.mark.parametrize("name", ["TERM", "HUP", "INT", "QUIT", "USR1", "USR2"])
def test_the_terminal_is_given_back_at_a_signal(start: Start, name: str) -> None:
    seen = start(ticks=3)
    seen.until("GPUS 8")
    os.kill(seen.child.pid, signal.Signals[f"SIG{name}"])
    assert seen.end() == 0


@pytest.mark.process
def test_the_terminal_is_given_back_before_a_defect_is_told(start: Start) -> None:
    seen = start(ticks=2, end="fail")
    assert seen.end() == 1
    assert "ValueError: as a defect would" in seen.look()
    assert b"Traceback" in seen.raw.rpartition(b"\x1b[?1049l")[2]


@pytest.mark.process
def test_a_source_that_hangs_leaves_no_value_and_all_keys(start: Start) -> None:
    seen = start(ticks=2)
    seen.until(r"use \d+%")
    shown = seen.until("NO ANSWER for")
    assert not re.search(r"\d%", shown)
    assert "GPUS 8" in shown
    seen.type("q")
    assert seen.end(5) == 0


@pytest.mark.process
def test_sizes(start: Start) -> None:
    """nvtop#147: resizing while it draws, down to one cell and back."""
    seen = start(184, 39)
    assert "HISTORY" in seen.until("GPUS 8")
    for columns, lines in ((80, 24), (40, 10), (1, 1), (200, 3), (20, 5), (100, 30)):
        seen.resize(columns, lines)
        time.sleep(0.3)
        seen.look()
        assert seen.child.poll() is None
    seen.until("GPUS 8")
    seen.resize(1, 1)
    seen.type("q")
    assert seen.end() == 0


@pytest.mark.process
def test_many_nodes_and_back(start: Start) -> None:
    seen = start(100, 12, nodes=40, gpus=2)
    shown = seen.until("NODES 6 of 40")
    assert "… 34 more: gpu[007-040]" in shown
    seen.type("\x1b[B\r")
    seen.until(r"^ gpu002")
    seen.type("\x1b")
    seen.until("NODES 6 of 40")
    seen.type("/gpu03\r")
    seen.until(r"NODES 6 of 10 \(of 40, by the filter\)")
    seen.type("q")
    assert seen.end() == 0


@pytest.mark.process
def test_pause(start: Start) -> None:
    seen = start()
    seen.until(r"use \d+%")
    seen.type("p")
    shown = seen.until(r"PAUSED, \d+ s old")
    use = re.search(r"use (\d+)%", shown)
    assert use
    time.sleep(0.5)
    assert f"use {use[1]}%" in seen.look()
    seen.type(" ")
    seen.until(rf"use (?!{use[1]}%)\d+%")


@pytest.mark.process
def test_without_colours_and_without_utf_8(start: Start) -> None:
    seen = start(NO_COLOR="1", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    seen.until("GPUS 8")
    seen.type("q")
    assert seen.end() == 0
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]", seen.raw), "no colour"
    assert seen.raw.isascii()


@pytest.mark.process
def test_a_dumb_terminal_gets_plain_tables(start: Start) -> None:
    """nvitop#97: garbage in logs, or an error of curses."""
    seen = start(ticks=2, end="(lambda: None)", TERM="dumb")
    assert seen.child.wait(30) == 0
    seen.look()
    assert b"\x1b" not in seen.raw
    assert b"for programs there is --output jsonl" in seen.raw
    assert seen.raw.count(b"GPU  USE") == 2


@pytest.mark.process
def test_a_pipe_gets_plain_tables_and_may_close(tmp_path: Path) -> None:
    head = "TICKS = 3\nGPUS = 1\nNODES = 1\nCHILD = ''\ndef END(): pass\n"
    command = [sys.executable, "-c", head + PROGRAM]
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.count("GPU  USE") == 3
    assert "\x1b" not in run.stdout
    assert run.stderr == "no terminal to draw on: one table for each tick; for programs there is --output jsonl\n"


@pytest.mark.process
def test_a_shell_gets_its_terminal_and_gives_it_back(start: Start) -> None:
    """^Z. The kernel does not stop a program that has no shell, as here: it goes on at once."""
    seen = start()
    seen.until("GPUS 8")
    seen.raw = b""
    seen.type("\x1a")
    end = time.monotonic() + 30
    while b"\x1b[?1049h" not in seen.raw.partition(b"\x1b[?1049l")[2]:
        seen.look()
        assert time.monotonic() < end
    seen.until("GPUS 8")
    seen.type("q")
    assert seen.end() == 0


@pytest.mark.process
@pytest.mark.real
def test_a_process_gets_the_signal_that_was_confirmed(start: Start) -> None:
    with subprocess.Popen(["sleep", "600"]) as victim:
        try:
            seen = start(child=f"'{victim.pid}'")
            seen.until("PROCESSES 1")
            seen.type("\tk")
            seen.until(f"{victim.pid} sleep: t SIGTERM")
            seen.type("n")
            seen.until("nothing was sent")
            assert victim.poll() is None
            seen.type("t")
            seen.until(rf"{os.getpid()} .*\n *{victim.pid} ")
            seen.type("/sleep\rkt")
            seen.until(f"SIGTERM was sent to {victim.pid} sleep")
            assert victim.wait(30) == -signal.SIGTERM
        finally:
            victim.kill()


@pytest.mark.real
def test_a_number_that_another_process_has_got_is_not_signalled() -> None:
    with subprocess.Popen(["sleep", "600"]) as victim:
        try:
            said = processes.send(Order(f"{victim.pid} python", "SIGKILL"))
            assert said == f"{victim.pid} is another process by now: nothing was sent"
            assert victim.poll() is None
        finally:
            victim.kill()
    assert processes.send(Order(f"{victim.pid} sleep", "SIGKILL")) == f"{victim.pid}: No such process"


@pytest.mark.real
def test_a_signal_that_is_not_allowed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(signal, "pidfd_send_signal", refuse)
    with subprocess.Popen(["sleep", "600"]) as victim:
        said = processes.send(Order(f"{victim.pid} sleep", "SIGTERM"))
        victim.kill()
    assert said == f"SIGTERM to {victim.pid} sleep: Operation not permitted"


@pytest.mark.real
def test_the_parents_of_a_process() -> None:
    assert processes.parents(os.getpid())[0].pid == os.getppid()
    assert processes.parents(2**30) == []


# ---------------------------------------------------------------------------------------------------------------------
# The same in this process


class Inside:
    """A terminal of ours that stands where this process's own would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.master, self._slave = pty.openpty()
        self.raw = b""
        self.resize(80, 24)
        self._files = (os.fdopen(os.dup(self._slave)), os.fdopen(os.dup(self._slave), "w", encoding="utf-8"))
        monkeypatch.setenv("TERM", "xterm-256color")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """While pytest's own stdout and stdin are out of the way."""
        before = sys.stdin, sys.stdout
        sys.stdin, sys.stdout = self._files
        try:
            yield
        finally:
            sys.stdin, sys.stdout = before

    def watch(self, ticks: Iterator[Sequence[Report]], asked: live.Watching) -> int:
        with self():
            return live.watch_or_print(ticks, asked)

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self.raw += os.read(self.master, 65536)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def until(self, text: bytes, before: int = 0) -> None:
        end = time.monotonic() + 20
        while text not in self.raw[before:]:
            assert time.monotonic() < end, self.raw
            time.sleep(0.002)

    def type(self, text: bytes) -> None:
        os.write(self.master, text)

    def close(self) -> None:
        for file in self._files:
            file.close()
        os.close(self._slave)
        self._reader.join(5)  # else it would read on from what has this number next
        os.close(self.master)


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Inside]:
    it = Inside(monkeypatch)
    yield it
    it.close()


def _report(*errors: NodeError) -> Report:
    series = Series("brctl_gpu_up", "", "gauge", ("gpu", "uuid"), "", "", "")
    return Report(
        "gpu001", 0.0, 0.0, errors=errors, series=(series,),
        samples=(Sample("brctl_gpu_up", ("0", "GPU-0"), 1.0, State.MEASURED, 0.0),),
    )  # fmt: skip


WATCHING = live.Watching(60.0)


def test_a_pause_before_the_first_tick_is_one_of_those_after_it(inside: Inside) -> None:
    def ticks() -> Iterator[Sequence[Report]]:
        inside.until(b"waiting for the first tick")
        inside.type(b"p")
        inside.until(b"PAUSED\x1b")
        yield [_report()]
        inside.until(b"GPUS")
        inside.until(b"s old")
        inside.type(b"q")
        threading.Event().wait(30)

    assert inside.watch(ticks(), WATCHING) == 0


@pytest.mark.parametrize("place", ["Screen.enter", "Keyboard.enter", "Feed"])
def test_a_signal_while_the_screen_is_taken_is_an_end_too(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(f"brctl.cli.live.{place}", interrupted)
    before = signal.getsignal(signal.SIGINT)
    assert inside.watch(iter(()), WATCHING) == 0
    assert signal.getsignal(signal.SIGINT) == before


def test_keys_signals_and_sizes(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[int] = []
    monkeypatch.setattr(live.os, "kill", lambda _, number: stopped.append(number))
    main = threading.main_thread().ident
    assert main is not None

    def ticks() -> Iterator[Sequence[Report]]:
        yield [_report()]
        inside.until(b"GPUS")
        inside.type(b"?")
        inside.until(b"keys of brctl monitor")
        seen = len(inside.raw)
        inside.type(b"x")
        inside.until(b"GPUS", seen)  # a key that is not read yet would be lost with the stop
        seen = len(inside.raw)
        signal.pthread_kill(main, signal.SIGTSTP)
        inside.until(b"\x1b[?1049h", seen)
        inside.resize(200, 50)
        seen = len(inside.raw)
        signal.pthread_kill(main, signal.SIGWINCH)
        inside.until(b"CLOCK", seen)
        inside.type(b"p")
        inside.until(b"PAUSED")
        yield [_report()]
        inside.type(b"q")
        threading.Event().wait(30)

    handlers = [signal.getsignal(number) for number in (signal.SIGTSTP, signal.SIGWINCH, signal.SIGTERM)]
    assert inside.watch(ticks(), WATCHING) == 0
    assert stopped == [signal.SIGTSTP]
    assert [signal.getsignal(number) for number in (signal.SIGTSTP, signal.SIGWINCH, signal.SIGTERM)] == handlers
    inside.until(b"\x1b[?1049l")


def test_a_signal_for_a_process_is_sent_by_who_can(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Order] = []
    monkeypatch.setattr(live, "send", lambda order: sent.append(order) or "it was sent")
    series = Series("brctl_gpu_process_memory_bytes", "", "gauge", ("pid", "name"), "", "", "")
    process = Sample(series.name, ("77", "python"), 1.0, State.MEASURED, 0.0)

    def ticks() -> Iterator[Sequence[Report]]:
        yield [Report("gpu001", 0.0, 0.0, series=(series,), samples=(process,))]
        inside.until(b"PROCESSES")
        inside.type(b"kt")
        inside.until(b"it was sent")
        inside.type(b"q")
        threading.Event().wait(30)

    assert inside.watch(ticks(), live.Watching(60.0, here="gpu001")) == 0
    assert sent == [Order("77 python", "SIGTERM")]


def test_told_to_end_and_ends_of_its_own(inside: Inside, capsys: pytest.CaptureFixture[str]) -> None:
    def told() -> Iterator[Sequence[Report]]:
        yield [_report()]
        inside.until(b"GPUS")
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(30)

    def fails() -> Iterator[Sequence[Report]]:
        yield [_report()]
        raise ValueError("as a defect would")

    assert inside.watch(told(), WATCHING) == 0
    assert inside.watch(iter([[_report()]]), WATCHING) == 0
    assert inside.watch(iter([[_report(NodeError("agent-died", "the agent ended"))]]), WATCHING) == 3
    assert capsys.readouterr().err == "error: gpu001: the agent ended\n"
    with pytest.raises(ValueError, match="as a defect would"):
        inside.watch(fails(), WATCHING)


def test_a_terminal_that_goes_away_ends_it(inside: Inside) -> None:
    def ticks() -> Iterator[Sequence[Report]]:
        yield [_report()]
        inside.until(b"GPUS")
        inside.type(b"\x04")  # as its end is told where it is not yet gone
        threading.Event().wait(30)

    assert inside.watch(ticks(), WATCHING) == 0


def test_where_there_is_no_terminal_tables_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert live.watch_or_print(iter([[_report()], [_report()]]), WATCHING) == 0
    printed = capsys.readouterr()
    assert printed.out.count("GPU  USE") == 2
    assert printed.err == "no terminal to draw on: one table for each tick; for programs there is --output jsonl\n"
    assert live.watch_or_print(iter([]), WATCHING, quiet=True) == 0
    assert capsys.readouterr().err == ""


def test_printing_ends_when_it_is_told_to(capsys: pytest.CaptureFixture[str]) -> None:
    def ticks() -> Iterator[Sequence[Report]]:
        yield [_report()]
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)

    assert live.print_ticks(ticks(), 1.0) == 0


def test_a_screen_writes_only_what_has_changed(inside: Inside) -> None:
    with inside():
        screen = Screen()
        screen.enter()
        screen.draw(["one", "two"], (80, 24))
        inside.until(b"two")
        seen = len(inside.raw)
        screen.draw(["one", "three"], (80, 24))
        inside.until(b"\x1b[?2026l", seen)
        assert inside.raw[seen:] == b"\x1b[?2026h\x1b[2;1Hthree\x1b[0m\x1b[K\x1b[?2026l"
        screen.draw(["one", "three"], (80, 24))
        seen = len(inside.raw)
        screen.draw(["one", "three"], (90, 24))
        inside.until(b"\x1b[?2026l", seen)
        assert b"\x1b[2J" in inside.raw[seen:]
        assert screen.size() == (80, 24)
        inside.resize(0, 0)
        assert screen.size() == (80, 24)
        screen.leave()
        screen.leave()
        inside.until(b"\x1b[?1049l")
        assert inside.raw.count(b"\x1b[?1049l") == 1


def test_a_screen_that_is_none_has_the_usual_size(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path(os.devnull).open("w") as nothing:
        monkeypatch.setattr(sys, "stdout", nothing)
        assert Screen().size() == (80, 24)
        assert pen() is None


# ---------------------------------------------------------------------------------------------------------------------
# The whole program


@pytest.fixture
def brctl_live() -> Iterator[Callable[..., Seen]]:
    """`brctl --mock MACHINE monitor --interval 200ms ...` on a terminal of its own."""
    made: list[Seen] = []
    # A new session has no terminal until one is taken: ^C needs it.
    take = "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from brctl.__main__ import main; main()"

    def begin(machine: str, *argv: str) -> Seen:
        command = [sys.executable, "-c", take, "--mock", machine, "monitor", "--interval", "200ms", *argv]
        made.append(Seen(100, 30, {}, command))
        return made[-1]

    yield begin
    for each in made:
        each.close()


@pytest.mark.process
def test_the_mock_is_seen_as_it_is(brctl_live: Callable[..., Seen]) -> None:
    seen = brctl_live("dgx-h100+busy+gpu3-lost")
    shown = seen.until(r"ens8np0 .* GB/s")
    assert "8 GPUs, 1 down" in shown
    assert re.search(r"^ +3 +LOST +nvmlDeviceGetHandleByIndex_v2: GPU is lost", shown, re.MULTILINE)
    assert re.search(r"^ +0 .* \d+/80 GiB .* ens1np0", shown, re.MULTILINE)
    assert "mock machine dgx-h100+busy+gpu3-lost, composed" in shown
    seen.type("\x03")  # ^C
    assert seen.end() == 0
    assert b"Traceback" not in seen.raw


@pytest.mark.process
def test_without_a_gpu_the_rest_of_the_host_is_shown(brctl_live: Callable[..., Seen]) -> None:
    """gpustat#90: no library, and so nothing at all."""
    seen = brctl_live("cpu-only")
    shown = seen.until("NETWORK")
    assert "no GPU" in shown
    assert "GPUS" not in shown
    seen.type("q")
    assert seen.end() == 0


@pytest.mark.process
@pytest.mark.real
def test_an_agent_that_is_killed_leaves_the_terminal_as_it_was(brctl_live: Callable[..., Seen]) -> None:
    seen = brctl_live("dgx-h100")
    seen.until("GPUS 8")
    pid = seen.child.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert len(children) == 1
    os.kill(int(children[0]), signal.SIGKILL)
    assert seen.end() == 3
    assert "the agent" in seen.look()
    assert b"Traceback" not in seen.raw


@pytest.mark.parametrize(
    ("text", "pressed"),
    [
        ("q", ["q"]),
        ("\x1b", ["escape"]),
        ("\x1b[A\x1bOB\x1b[5~\x1b[6~", ["up", "down", "page-up", "page-down"]),
        ("\x1b[H\x1b[4~", ["home", "end"]),
        ("\x1b[1;5Cq", ["q"]),
        ("\x1b\x1b[A", ["escape", "up"]),
        ("\r\t\x7f\x04", ["enter", "tab", "backspace", "q"]),
        ("a\N{GREEK SMALL LETTER ALPHA} ", ["a", "\N{GREEK SMALL LETTER ALPHA}", " "]),
        ("\x1b[", []),
        ("", []),
    ],
)
def test_keys(text: str, pressed: "Sequence[str]") -> None:
    assert keys(text) == pressed


def test_a_keyboard_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        keyboard = Keyboard()
        assert keyboard.descriptor is None
        keyboard.enter()
        keyboard.leave()


def test_a_keyboard_whose_terminal_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        keyboard = Keyboard()
        keyboard.enter()
        os.close(master)
        assert keyboard.read() is None
        with contextlib.suppress(OSError):
            keyboard.leave()
