"""Commands and webhooks beside the ticks: whoever is slow, endless or broken holds up nobody."""

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from brctl.fleet.alert_actions import Told, message
from brctl.fleet.alert_courier import Courier, Result, RetryError, command, post
from brctl.node.alert_facts import Alert, Event, Happening, Label, Outcome, Phase, Rule, Severity, Sink

pytestmark = pytest.mark.real
ALERT = Alert(
    "hot", "n1", (Label("gpu", "3"), Label("odd-name", "a\0b")), Phase.FIRING, 5.0, 5.0, value=91.0, summary="hot!"
)
RULE = Rule(
    "hot", "brctl_gpu_temperature_celsius", ">=", 85, severity=Severity.CRITICAL, labels=(Label("team", "hpc"),)
)
EVENT = Event(Happening.FIRED, ALERT, 5.0, "it was 91")


def _result(courier: Courier, limit_s: float = 20) -> "dict[str, Result]":
    end = time.monotonic() + limit_s
    found: dict[str, Result] = {}
    while not found and time.monotonic() < end:
        found = courier.results()
        time.sleep(0.01)
    return found


def _done(courier: Courier, work: "Callable[[float], Result]") -> Result:
    assert courier.send("it", work) == (Outcome.BEGUN, "")
    return _result(courier)["it"]


@contextmanager
def _server(answer: "Callable[[socket.socket], None]") -> "Iterator[str]":
    """One that reads what comes first, and then does that, with each who comes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    there, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=_answer, args=(there,), daemon=True).start()

        def _answer(there: socket.socket) -> None:
            with there:
                there.recv(65536)
                try:
                    answer(there)
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/hook?token=secret"


def _endless(there: socket.socket) -> None:
    there.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        there.sendall(b"x")
        time.sleep(0.01)


HOSTILE: "dict[str, tuple[Callable[[socket.socket], None], str]]" = {
    "silent": (lambda _: time.sleep(30), "no answer within 0.5 s, 2 times"),
    "endless": (_endless, "no answer within 0.5 s, 2 times"),
    "broken": (lambda there: there.sendall(b"HTTP/1.1 500 No\r\n\r\n"), "HTTP 500, 2 times"),
    "rubbish": (lambda there: there.sendall(b"\0\xff\r\n\r\n"), "\0\xff\r\n, 2 times"),
    "elsewhere": (lambda there: there.sendall(b"HTTP/1.1 302 No\r\nLocation: http://x/\r\n\r\n"), "HTTP 302"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_webhook(name: str) -> None:
    answer, said = HOSTILE[name]
    courier = Courier((0.01,), 0.5)
    with _server(answer) as url:
        began = time.monotonic()
        sent = courier.send("it", post(url, b"{}"))
        assert time.monotonic() - began < 0.5, "a tick does not wait"
        assert sent.outcome is Outcome.BEGUN
        assert _result(courier)["it"] == (Outcome.FAILED, said)
    assert "secret" not in said


def test_a_body_without_an_end_is_not_read() -> None:
    def flood(there: socket.socket) -> None:
        there.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            there.sendall(b"x" * 65536)

    with _server(flood) as url:
        assert _done(Courier((), 5), post(url, b"{}")) == (Outcome.DONE, "HTTP 200")


def test_nobody_listens() -> None:
    outcome, text = _done(Courier((), 1), post("http://127.0.0.1:1/?secret", b""))
    assert outcome is Outcome.FAILED
    assert "refused" in text
    assert "secret" not in text


def test_a_command(tmp_path: Path) -> None:
    script = "import json,os,sys; json.dump([dict(os.environ), sys.stdin.read()], open(sys.argv[1], 'w'))"
    made = tmp_path / "out"
    told = Told("exec", {("n1", "hot"): Sink("hot", (sys.executable, "-c", script, str(made)))}, Courier())
    begun = told.begin(EVENT, RULE)
    assert (begun.outcome, begun.what) == (Outcome.BEGUN, f"fired: {sys.executable}")
    end = time.monotonic() + 20
    records = told.tick((), 6.0)
    while not records and time.monotonic() < end:
        time.sleep(0.01)
        records = told.tick((), 6.0)
    assert [(one.id, one.outcome, one.result) for one in records] == [(begun.id, Outcome.DONE, "exit status 0")]
    environment, text = json.loads(made.read_text())
    assert {name: environment[name] for name in environment if name.startswith("BRCTL_")} == {
        "BRCTL_STATUS": "firing", "BRCTL_ALERT": "hot", "BRCTL_NODE": "n1", "BRCTL_SEVERITY": "critical",
        "BRCTL_SUMMARY": "hot!", "BRCTL_EVIDENCE": "it was 91", "BRCTL_VALUE": "91.0", "BRCTL_THRESHOLD": "85",
        "BRCTL_LABEL_GPU": "3", "BRCTL_LABEL_ODD_NAME": "a?b", "BRCTL_LABEL_TEAM": "hpc",
    }  # fmt: skip
    assert environment["LC_ALL"] == "C"
    assert json.loads(text) == message(EVENT, RULE)
    assert json.loads(text)["labels"] == {"gpu": "3", "odd-name": "a\0b", "team": "hpc"}


FAILING = {
    "import sys; sys.exit(3)": "exit status 3, 2 times",
    "import time; time.sleep(60)": "it ran for more than 0.3 s, 2 times",
    "while True: print('x' * 65536)": "it ran for more than 0.3 s, 2 times",
}


@pytest.mark.parametrize("script", FAILING)
def test_a_failing_command(script: str) -> None:
    courier = Courier((0.01,), 0.3 if "3)" not in script else 20)
    assert _done(courier, command([sys.executable, "-S", "-c", script], {}, b"")) == (Outcome.FAILED, FAILING[script])


def test_a_program_that_there_is_not() -> None:
    assert _done(Courier(), command(["/nonexistent"], {}, b"")) == (Outcome.FAILED, "No such file or directory")


def test_a_fault_of_ours_is_of_that_one_alone() -> None:
    def broken(_limit_s: float) -> Result:
        raise KeyError("x")

    assert _done(Courier(), broken) == (Outcome.FAILED, "KeyError: 'x'")


def test_the_queue_is_bounded_and_whoever_is_stuck_holds_up_his_own_place_alone() -> None:
    courier, free = Courier((), 1), threading.Event()

    def stuck(_limit_s: float) -> Result:
        free.wait(20)
        return Result(Outcome.DONE, "")

    for number in range(3):
        courier.send(f"stuck {number}", stuck)
    assert _done(courier, lambda _: Result(Outcome.DONE, "at once")).text == "at once"
    sent = [courier.send(str(number), stuck).outcome for number in range(80)]
    assert sent.count(Outcome.FAILED) >= 80 - 64 - 4
    free.set()
    courier.close()
    assert len(courier.results()) >= 64


def test_what_is_not_done_at_the_end_is_said() -> None:
    courier, free = Courier((), 1), threading.Event()
    told = Told("exec", {}, courier)
    lost = told.begin(EVENT, RULE)
    assert (lost.outcome, lost.result) == (Outcome.FAILED, "the config no longer says where to")
    courier.close(0.0)

    def again(_limit_s: float) -> Result:
        raise RetryError("no")

    late = Courier((60.0,), 1)
    late.send("it", again)
    time.sleep(0.05)
    late.close(0.0)
    assert _result(late)["it"].text == "no; brctl ended before it was tried again"
    free.set()
