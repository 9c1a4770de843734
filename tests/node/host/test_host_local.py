import errno
import os
import subprocess
import threading
import time
from types import SimpleNamespace
from typing import Any, List, Type

import pytest

from brctl.node import deadline
from brctl.node.host import Completed, local
from brctl.node.host.local import Local


def test_read(tmp_path: Any) -> None:
    (tmp_path / "file").write_bytes(b"caf\xc3\xa9 \xff\n")
    host = Local()
    assert host.read(str(tmp_path / "file")) == "café \N{REPLACEMENT CHARACTER}\n"
    assert host.read(str(tmp_path / "none")) is None
    assert host.read(str(tmp_path / "file" / "below")) is None
    with pytest.raises(IsADirectoryError):
        host.read(str(tmp_path))


def test_listdir(tmp_path: Any) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / name).write_text("")
    host = Local()
    assert host.listdir(str(tmp_path)) == ("a", "b", "c")
    assert host.listdir(str(tmp_path / "none")) is None
    assert host.listdir(str(tmp_path / "a")) is None


def test_readlink(tmp_path: Any) -> None:
    (tmp_path / "link").symlink_to("../elsewhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("")
    host = Local()
    assert host.readlink(str(tmp_path / "link")) == "../elsewhere"
    assert host.readlink(str(tmp_path / "file")) is None
    assert host.readlink(str(tmp_path / "none")) is None
    with pytest.raises(OSError, match="symbolic links") as raised:
        host.readlink(str(tmp_path / "loop" / "below"))
    assert raised.value.errno == errno.ELOOP


def test_write_replaces_what_is_there_and_makes_no_file(tmp_path: Any) -> None:
    (tmp_path / "file").write_text("a long old text")
    inode = (tmp_path / "file").stat().st_ino
    Local().write(str(tmp_path / "file"), "new\n")
    assert (tmp_path / "file").read_text() == "new\n"
    assert (tmp_path / "file").stat().st_ino == inode
    with pytest.raises(FileNotFoundError):
        Local().write(str(tmp_path / "none"), "new\n")


def test_half_a_write_is_an_error(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(os, "write", lambda _, data: len(data) - 1)
    with pytest.raises(OSError, match="only a part") as raised:
        Local().write(str(tmp_path / "file"), "new\n")
    assert raised.value.filename == str(tmp_path / "file")


def test_every_call_is_noted_before_it_is_made(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: List[str] = []
    monkeypatch.setattr(deadline, "calling", lambda name, *_: calls.append(name))
    host, path = Local(), str(tmp_path / "file")
    host.read(path)
    host.listdir(path)
    host.readlink(path)
    with pytest.raises(FileNotFoundError):
        host.write(path, "")
    assert calls == [verb + " " + path for verb in ("read", "list", "readlink", "write")]


def test_accelerators() -> None:
    host = Local()
    assert [library.vendor for library in host.accelerators()] == ["nvidia", "amd", "biren"]
    assert host.accelerators() is host.accelerators()  # there is one for a process


@pytest.mark.real
def test_a_file_that_cannot_be_read() -> None:
    with pytest.raises(OSError, match="Input/output error"):
        Local().read("/proc/self/mem")


@pytest.mark.real
def test_run() -> None:
    script = "echo out; echo err >&2; exit 3"
    assert Local().run(["sh", "-c", script]) == Completed(3, "out\n", "err\n")
    assert Local().run(["printf", r"\377"]) == Completed(0, "\N{REPLACEMENT CHARACTER}", "")
    assert Local().run(["brctl-no-such-command"]) is None


@pytest.mark.real
@pytest.mark.parametrize("path", ["/usr/bin:/bin", None])
def test_what_a_command_sees(path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("PATH", path) if path else monkeypatch.delenv("PATH")
    answer = Local().run(["sh", "-c", "cat; echo $LC_ALL $PATH"])
    assert answer == Completed(0, "C {}:/usr/sbin:/sbin\n".format(path or os.defpath), "")


@pytest.mark.real
@pytest.mark.parametrize(
    "script",
    [
        "sleep 60",
        "sleep 60 & wait",
        "sleep 60 &",  # it has ended itself, but what it started holds its output
        "exec >&- 2>&-; sleep 60",  # no more output, but no end either
    ],
)
def test_what_hangs_is_killed_with_all_that_it_started(script: str, tmp_path: Any) -> None:
    pid_file = tmp_path / "group"
    began = time.monotonic()
    with pytest.raises(deadline.HungError) as raised:
        Local().run(["sh", "-c", "echo $$ >{}; {}".format(pid_file, script)], limit_s=0.3)
    assert time.monotonic() - began < 30
    assert raised.value.call.startswith("sh -c echo $$ >")
    assert str(raised.value).endswith("did not return within 0.3 s")
    _wait_for_end_of_group(int(pid_file.read_text()))


def _wait_for_end_of_group(group: int) -> None:
    """What was orphaned is a zombie until init takes it."""
    for _ in range(100):
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
        stats = [(Local().read("/proc/{}/stat".format(pid)) or "").rpartition(")")[2] for pid in pids]
        alive = [fields for fields in map(str.split, stats) if len(fields) > 2 and int(fields[2]) == group]
        if all(fields[0] in "ZX" for fields in alive):
            return
        time.sleep(0.02)
    pytest.fail("processes of the group are alive: {}".format(alive))


@pytest.mark.real
def test_too_much_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "OUTPUT_LIMIT_BYTES", 1 << 20)
    with pytest.raises(OSError, match="more than 1 MiB") as raised:
        Local().run(["yes"])
    assert raised.value.errno == errno.EFBIG
    assert raised.value.filename == "yes"


def test_one_that_cannot_be_killed_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: List[int] = []

    class Stuck:
        pid = 4242

        def wait(self, limit_s: float) -> int:
            raise subprocess.TimeoutExpired("stuck", limit_s)

    monkeypatch.setattr(os, "killpg", lambda group, _: killed.append(group))
    local._kill(Stuck())  # type: ignore[arg-type]
    assert killed == [4242]


@pytest.mark.real
def test_the_end_of_the_agent_ends_its_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(local, "_started", threading.Condition())
    answers: List[Any] = []
    script = "sleep 60 & echo $! >{}/child; wait".format(tmp_path)
    thread = threading.Thread(target=lambda: answers.append(Local().run(["sh", "-c", script])))
    thread.start()
    while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text():
        time.sleep(0.01)
    local.kill_commands()
    thread.join(5)
    assert answers[0].returncode == -9
    assert not local._running
    child = (tmp_path / "child").read_text().strip()
    time.sleep(0.1)
    state = Local().read("/proc/{}/stat".format(child))
    assert state is None or state.split()[2] == "Z"  # whoever is its parent now may be slow to notice
    other = threading.Thread(target=lambda: Local().run(["touch", str(tmp_path / "new")]), daemon=True)
    other.start()
    other.join(0.2)
    assert other.is_alive()
    assert not (tmp_path / "new").exists()  # nothing new starts


class _Slow(subprocess.Popen):  # type: ignore[type-arg]
    """`echo` lies on a server that is gone, until it is there again, or gives up."""

    reached, there = threading.Event(), threading.Event()
    gives_up = False

    def __init__(self, argv: List[str], **options: Any) -> None:
        if argv[0] == "echo":
            self.reached.set()
            self.there.wait(10)
            if self.gives_up:
                raise FileNotFoundError
        super().__init__(argv, **options)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Type[_Slow]:
    monkeypatch.setattr(local, "_started", threading.Condition())
    monkeypatch.setattr(_Slow, "reached", threading.Event())
    monkeypatch.setattr(_Slow, "there", threading.Event())
    monkeypatch.setattr(_Slow, "gives_up", False)
    monkeypatch.setattr(subprocess, "Popen", _Slow)
    return _Slow


@pytest.mark.real
def test_one_that_cannot_be_started_holds_up_no_other(slow: Type[_Slow]) -> None:
    answers: List[Any] = []
    thread = threading.Thread(target=lambda: answers.append(Local().run(["echo", "late"])))
    thread.start()
    assert slow.reached.wait(5)
    assert Local().run(["printf", "now"]) == Completed(0, "now", "")
    slow.there.set()
    thread.join(5)
    assert answers == [Completed(0, "late\n", "")]


@pytest.mark.real
def test_the_end_waits_for_what_starts(slow: Type[_Slow]) -> None:
    """To kill it too."""
    thread = threading.Thread(target=lambda: Local().run(["echo"]))
    thread.start()
    assert slow.reached.wait(5)
    began = time.monotonic()
    threading.Timer(0.1, slow.there.set).start()
    local.kill_commands()
    assert time.monotonic() - began >= 0.1
    thread.join(5)
    assert not thread.is_alive()


@pytest.mark.real
def test_the_end_does_not_wait_for_long(slow: Type[_Slow], monkeypatch: pytest.MonkeyPatch) -> None:
    threading.Thread(target=lambda: Local().run(["echo"]), daemon=True).start()
    assert slow.reached.wait(5)
    began = time.monotonic()
    local.kill_commands()
    assert 0.5 <= time.monotonic() - began < 30
    monkeypatch.setattr(slow, "gives_up", True)
    slow.there.set()
    time.sleep(0.1)


@pytest.mark.real
def test_who_may_write(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "value")
    (tmp_path / "value").write_text("1\n")
    assert Local().denies(path) is None
    os.chmod(path, 0o444)
    assert Local().denies(path) == errno.EACCES
    os.chmod(path, 0o644)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # noqa: ARG005
    assert Local().denies(path) == errno.EACCES  # root of a user namespace, who does not own it
    with pytest.raises(OSError, match="No such file"):
        Local().denies(path + ".none")
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=os.ST_RDONLY))  # noqa: ARG005
    assert Local().denies(path) == errno.EROFS
    assert (tmp_path / "value").read_text() == "1\n"


def test_the_kernel_log_is_not_waited_for(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe that somebody still writes to stands in for it: an ordinary read would never come back."""
    pipe = str(tmp_path / "kmsg")
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    monkeypatch.setattr(local, "KMSG", pipe)
    os.write(writer, b"6,0,5,-;Linux version\n4,1,6,-;\xff\n")
    assert Local().read(pipe) == "6,0,5,-;Linux version\n4,1,6,-;\ufffd\n"
    os.close(writer)
    assert Local().read(pipe) == ""
    monkeypatch.setattr(local, "KMSG", pipe + "-no")
    assert Local().read(pipe + "-no") is None


def test_records_that_are_overwritten_meanwhile_are_passed_over(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: List[Any] = [BrokenPipeError(), b"4,9,6,-;later\n", BlockingIOError()]

    def read(_: int, size: int) -> bytes:
        assert size == 8192
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return bytes(answer)

    (tmp_path / "kmsg").write_text("")
    monkeypatch.setattr(local, "KMSG", str(tmp_path / "kmsg"))
    monkeypatch.setattr(local.os, "read", read)
    assert Local().read(str(tmp_path / "kmsg")) == "4,9,6,-;later\n"


def test_a_kernel_log_without_end(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kmsg").write_text("")
    monkeypatch.setattr(local, "KMSG", str(tmp_path / "kmsg"))
    monkeypatch.setattr(local, "OUTPUT_LIMIT_BYTES", 20)
    monkeypatch.setattr(local.os, "read", lambda *_: b"x" * 8)
    with pytest.raises(OSError, match="holds more than 0 MiB"):
        Local().read(str(tmp_path / "kmsg"))
