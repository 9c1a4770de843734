"""The engine with children of this host in the place of nodes."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from brctl.fleet import engine, failure, launch, worker
from brctl.fleet.engine import InterruptedRunError, ask_all
from brctl.fleet.order import Limits, Order, Progress
from brctl.fleet.transport import Transport, TransportError
from brctl.node.report import NodeError, Report
from brctl.node.request import Request

pytestmark = pytest.mark.process

FRAME = """\
import os, sys, time, zlib
def frame(name, payload=b""):
    body = zlib.compress(payload) if payload else b""
    os.write(1, b"\\x1ebrctl1 %s %d %d\\n" % (name, len(body), zlib.crc32(body)) + body)
"""
ANSWER = b'{"node": "x", "time": 1, "elapsed_s": 0, "notes": ["its own"]}'
GOOD = f"frame(b'ready'); frame(b'1', {ANSWER!r})"


def _orders(*nodes: str, mock: str | None = None, action: str = "check") -> list[Order]:
    return [Order(node, Request(node, action), mock) for node in nodes]


@pytest.fixture
def fake(tmp_path: Path) -> Callable[..., Transport]:
    """Nodes whose Python does what their text says; the shell before it is real."""

    def make(**texts: str) -> Transport:
        for node, text in texts.items():
            path = tmp_path / node
            path.write_text(
                f"#!/bin/sh\n{text[1:]}" if text.startswith("$") else f"#!{sys.executable}\n{FRAME}{text}\n"
            )
            path.chmod(0o755)
        return Transport("exec", ("env", f"PATH={tmp_path}/%host.d:{os.environ['PATH']}"), python=f"{tmp_path}/%host")

    return make


@pytest.fixture(autouse=True)
def _node_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`%host` may stand in the interpreter too, and the cache lies among the test's own files."""
    argv, program = launch.Launcher._argv, launch._program

    def with_host(self: launch.Launcher, node: str, length: int, via: "str | None") -> tuple[str, ...]:
        return tuple(word.replace("%host", node) for word in argv(self, node, length, via))

    monkeypatch.setattr(launch.Launcher, "_argv", with_host)
    monkeypatch.setattr(launch, "_program", lambda *call: program(*call, str(tmp_path / "cache")))


def _errors(reports: tuple[Report, ...]) -> dict[str, str]:
    return {report.node: report.errors[0].kind if report.errors else "ok" for report in reports}


def test_mocked_nodes_answer_each_for_itself() -> None:
    heard: list[str] = []
    reports = ask_all(
        [*_orders("gpu1", "gpu2", mock="cpu-only"), *_orders("gpu3", mock="dgx-h100+gpu3-lost")],
        Transport(),
        Limits(fanout=2),
        lambda report: heard.append(report.node),
    )
    assert [report.node for report in reports] == ["gpu1", "gpu2", "gpu3"]
    assert sorted(heard) == ["gpu1", "gpu2", "gpu3"]
    assert [report.mock and report.mock.machine for report in reports] == ["cpu-only", "cpu-only", "dgx-h100+gpu3-lost"]
    assert [report.inventory.kernel.hostname for report in reports if report.inventory and report.inventory.kernel] == [
        "gpu1", "gpu2", "gpu3",
    ]  # fmt: skip
    assert [bool(report.findings) for report in reports] == [True] * 3


@pytest.mark.parametrize("nodes", [[], ["a", "b", "a"]])
def test_no_node_and_one_node_twice_are_refused(nodes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.Popen", None)
    with pytest.raises(ValueError, match="every node once"):
        ask_all(_orders(*nodes), Transport(), Limits())


def test_the_agent_goes_to_a_node_once_and_clean_removes_it(tmp_path: Path) -> None:
    transport = Transport("exec", ("env", "NODE=%host"), python=sys.executable)
    for _ in range(2):
        (report,) = ask_all(_orders("gpu1"), transport, Limits())
        assert report.errors == report.notes == ()
        assert {finding.check for finding in report.findings} >= {"cpu-count", "gpu-count"}
    (copy,) = (tmp_path / "cache").iterdir()
    (report,) = ask_all(_orders("gpu1", action="clean"), transport, Limits())
    assert report == Report("gpu1", report.time, 0.0, notes=(f"removed {tmp_path / 'cache'}",))
    assert not copy.exists()


def test_without_a_cache_the_agent_runs_from_memory(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    transport = Transport("exec", ("env", "NODE=%host"), python=sys.executable)
    (report,) = ask_all(_orders("gpu1"), transport, Limits())
    assert report.errors == ()
    assert {finding.check for finding in report.findings} >= {"cpu-count", "gpu-count"}
    (note,) = report.notes
    assert note.startswith("the bundle is not cached: ")


def test_each_failure_is_that_nodes_own(fake: Callable[..., Transport]) -> None:
    transport = fake(
        good=GOOD,
        noisy="print('Welcome', flush=True); " + GOOD,
        silent="time.sleep(60)",
        mute="frame(b'ready'); time.sleep(60)",
        dies="$exit 3",
        killed="$kill -9 $$",
        old="$printf 3.6.15 >&2; exit 38",
        sudo="$echo 'sudo: a password is required' >&2; exit 1",
        floods="while True: print('y' * 4096)",
        complains="while True: print('y' * 4096, file=sys.stderr)",
        lies="frame(b'ready'); frame(b'1', b'[]')",
        early="frame(b'shell')",
        greedy="frame(b'absent'); frame(b'absent'); time.sleep(60)",
        hangs_on=GOOD + "; os.close(1); time.sleep(60)",
    )
    began = time.monotonic()
    nodes = ["good", "noisy", "silent", "mute", "dies", "killed", "old", "sudo", "floods", "complains", "lies", "early"]
    reports = ask_all(_orders(*nodes, "greedy", "hangs_on", "none"), transport, Limits(start_s=3, answer_s=2))
    assert _errors(reports) == {
        "good": "ok",
        "noisy": "ok",
        "silent": "timeout",
        "mute": "timeout",
        "dies": "agent-died",
        "killed": "agent-died",
        "old": "python-too-old",
        "sudo": "permission",
        "floods": "too-much-output",
        "complains": "too-much-output",
        "lies": "invalid-report",
        "early": "invalid-report",
        "greedy": "invalid-report",
        "hangs_on": "ok",
        "none": "no-python",
    }
    by_node = {report.node: report for report in reports}
    assert by_node["good"].notes == ("its own",)
    assert by_node["noisy"].notes == ("its own", "the login prints: Welcome")
    assert by_node["silent"].errors[0] == failure.fail("timeout", "the agent did not start within 3 s", "slow start")
    assert by_node["mute"].errors[0] == failure.fail("timeout", "the agent did not answer within 2 s", "slow answer")
    assert by_node["lies"].errors[0].message == "the answer is no Report: Report: an object is expected"
    assert by_node["early"].errors[0].message == "the answer is no Report: a frame 'shell' that nobody asked for"
    assert time.monotonic() - began < 20


def test_the_connection_has_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "shell_s", 0.3)
    (report,) = ask_all(_orders("a"), Transport("exec", ("sh", "-c", "sleep 60")), Limits())
    assert report.errors == (failure.fail("timeout", "no shell on the node within 0.3 s"),)
    assert 0.3 <= report.elapsed_s < 30


def test_a_connection_that_fails_is_told_by_its_words() -> None:
    said = "echo a greeting; echo 'ssh: connect to host a port 22: Connection refused' >&2; exit 255"
    (report,) = ask_all(_orders("a"), Transport("exec", ("sh", "-c", said)), Limits())
    assert report.errors == (failure.fail("refused", "ssh: connect to host a port 22: Connection refused"),)
    assert report.notes == ("the login prints: a greeting",)
    (report,) = ask_all(_orders("a"), Transport("exec", ("sh", "-c", "echo not for you; exit 1")), Limits())
    assert report.errors == (failure.fail("unreachable", "not for you"),)
    assert report.notes == ()


def test_what_cannot_be_started_is_told() -> None:
    reports = ask_all(_orders("a", "b", "c"), Transport("exec", ("/no/such/program",)), Limits(fanout=1))
    what = "/no/such/program cannot be started here: No such file or directory"
    assert {report.errors for report in reports} == {(failure.fail("unreachable", what, "missing"),)}


def test_what_this_host_has_no_room_for_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("subprocess.Popen", full)
    (report,) = ask_all(_orders("a"), Transport("exec", ("env",)), Limits())
    assert report.errors == (failure.fail("unreachable", "env cannot be started here: Too many open files", "here"),)


def test_who_answers_is_heard_while_others_are_silent(fake: Callable[..., Transport]) -> None:
    heard: list[tuple[str, float]] = []
    began = time.monotonic()
    transport = fake(silent="time.sleep(60)", good=GOOD)
    limits = Limits(start_s=2)
    ask_all(_orders("silent", "good"), transport, limits, lambda it: heard.append((it.node, time.monotonic() - began)))
    assert [node for node, _ in heard] == ["good", "silent"]
    assert heard[0][1] < 1.5 < heard[1][1]


CROWD = "kex_exchange_identification: Connection closed by remote host"


def test_a_refused_crowd_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fake: Callable[..., Transport]
) -> None:
    monkeypatch.setattr(engine, "FIRST_DELAY_S", 0.01)
    python = fake(a=GOOD, b=GOOD).python
    enough = f"echo x >>{tmp_path}/$0.count; [ $(wc -l <{tmp_path}/$0.count) -gt 2 ]"
    count = f'{enough} && exec "$@"; echo {CROWD} >&2; exit 255'
    reports = ask_all(_orders("a", "b"), Transport("exec", ("sh", "-c", count, "%host"), python=python), Limits())
    assert _errors(reports) == {"a": "ok", "b": "ok"}
    assert reports[0].notes[-1] == "sshd refused 2 attempts before it asked who we are, and was tried again"


def test_it_is_not_tried_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "FIRST_DELAY_S", 0.001)
    (report,) = ask_all(_orders("a"), Transport("exec", ("sh", "-c", f"echo {CROWD} >&2; exit 255")), Limits())
    assert report.errors == (failure.fail("overloaded", CROWD),)
    assert report.notes == ("sshd refused 6 attempts before it asked who we are, and was tried again",)


def test_ctrl_c_keeps_what_there_is(fake: Callable[..., Transport], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "FIRST_DELAY_S", 60)
    crowd = f'[ $0 = refused ] && {{ echo {CROWD} >&2; exit 255; }}; exec "$@"'
    transport = fake(good=GOOD, silent="time.sleep(60)")._replace(template=("sh", "-c", crowd, "%host"))
    seen: list[Progress] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress)
        if progress.done == progress.running == 1:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(InterruptedRunError) as interrupted:
        ask_all(_orders("good", "refused", "silent"), transport, Limits(), on_tick=interrupt)
    assert _errors(interrupted.value.reports) == {"good": "ok", "refused": "not-asked", "silent": "interrupted"}
    assert signal.getsignal(signal.SIGINT) is before
    assert (seen[-2].total, seen[-2].failed, seen[-2].slowest) == (3, 0, "silent")
    assert seen[-1] == Progress(3, 3, 2, 0, None, 0.0, "silent: interrupted")


def test_ctrl_c_starts_nothing_new(fake: Callable[..., Transport], tmp_path: Path) -> None:
    names = [f"s{i}" for i in range(9)]
    transport = fake(**dict.fromkeys(names, f"$echo $0 >>{tmp_path}/started; exec sleep 60"))

    def interrupt(progress: Progress) -> None:
        if progress.slowest_s > 0.3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(InterruptedRunError) as interrupted:
        ask_all(_orders(*names), transport, Limits(fanout=2), on_tick=interrupt)
    kinds = _errors(interrupted.value.reports)
    started = {Path(line).name for line in (tmp_path / "started").read_text().split()}
    assert kinds == {name: "interrupted" if name in started else "not-asked" for name in names}
    assert len(started) == 2


def test_a_second_ctrl_c_ends_it_at_once(fake: Callable[..., Transport]) -> None:
    def interrupt(_: Progress) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as interrupted:
        ask_all(_orders("s"), fake(s="time.sleep(60)"), Limits(), on_tick=interrupt)
    assert not isinstance(interrupted.value, InterruptedRunError)


def test_ctrl_c_that_the_caller_ignores_is_ignored(fake: Callable[..., Transport]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        reports = ask_all(_orders("a"), fake(a="time.sleep(0.5); " + GOOD), Limits(), on_tick=_kill_self)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert _errors(reports) == {"a": "ok"}


def _kill_self(_: Progress) -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_it_runs_in_a_thread_too(fake: Callable[..., Transport]) -> None:
    found: list[tuple[Report, ...]] = []
    transport = fake(a=GOOD)
    thread = threading.Thread(target=lambda: found.append(ask_all(_orders("a"), transport, Limits())))
    thread.start()
    thread.join()
    assert _errors(found[0]) == {"a": "ok"}


def test_the_whole_run_has_a_limit(fake: Callable[..., Transport]) -> None:
    transport = fake(good=GOOD, s1="time.sleep(60)", s2="time.sleep(60)")
    reports = ask_all(_orders("good", "s1", "s2"), transport, Limits(fanout=3, run_s=1.5))
    assert _errors(reports) == {"good": "ok", "s1": "timeout", "s2": "timeout"}
    assert reports[1].errors[0].message == "the run's limit of 1.5 s came before its answer"
    reports = ask_all(_orders("s1", "s2"), transport, Limits(fanout=1, run_s=0.3))
    assert _errors(reports) == {"s1": "timeout", "s2": "timeout"}
    assert Limits(2, 1, 2, 3).whole_s(5) == 5 * (7 + 2 + 3)


def test_a_caller_that_fails_hears_no_more_and_leaves_nothing(fake: Callable[..., Transport]) -> None:
    heard: list[str] = []

    def fail(report: Report) -> None:
        heard.append(report.node)
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        ask_all(_orders("a", "b", "c"), fake(a=GOOD, b="time.sleep(60)", c="time.sleep(60)"), Limits(), fail)
    assert heard == ["a"]


def test_an_agent_that_does_not_end_is_killed(
    fake: Callable[..., Transport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (engine, worker):
        monkeypatch.setattr(module, "GRACE_S", 0.1)
    text = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); {GOOD}; time.sleep(60)"
    assert _errors(ask_all(_orders("a"), fake(a=text), Limits())) == {"a": "ok"}
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_one_that_cannot_be_killed_is_left(fake: Callable[..., Transport], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (engine, worker):
        monkeypatch.setattr(module, "GRACE_S", 0.05)
    killed: list[int] = []
    real = os.killpg
    monkeypatch.setattr(os, "killpg", lambda pid, _: killed.append(pid))
    assert _errors(ask_all(_orders("a"), fake(a=GOOD + "; time.sleep(60)"), Limits())) == {"a": "ok"}
    assert killed
    real(killed[0], signal.SIGKILL)
    os.waitpid(killed[0], 0)


def test_another_transport_for_other_nodes_is_none() -> None:
    with pytest.raises(TransportError, match="transport is local"):
        ask_all(_orders("a", "b"), Transport("local", here="a"), Limits())


def test_the_fanout_fits_the_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [(100, 1000)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.append(pair))
    assert engine.room_for(64, children=False) == 64
    assert limits[-1] == (64 * 4 + 64, 1000)
    assert engine.room_for(1024, children=False) == (1000 - 64) // 4
    assert limits[-1] == (1000, 1000)
    limits.append((100, resource.RLIM_INFINITY))
    assert engine.room_for(1024, children=False) == 1024
    limits.append((resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert engine.room_for(9999, children=False) == 9999
    limits.append((20, 20))
    assert engine.room_for(64, children=False) == 1
    assert engine.room_for(64, children=True) <= 4 * (os.cpu_count() or 1)


def test_a_node_error_is_a_report() -> None:
    assert isinstance(failure.fail("dns", "x"), NodeError)
