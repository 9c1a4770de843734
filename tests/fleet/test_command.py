import os
import subprocess
import sys
import time

import pytest

from brctl.fleet.command import CommandFailedError, Output, last_line, run, run_all

pytestmark = pytest.mark.process
PYTHON = [sys.executable, "-c"]


def test_what_it_prints() -> None:
    assert run([*PYTHON, "import os; print(os.environ['LC_ALL'], os.sys.stdin.read() == '')"], 30) == "C True\n"


def test_a_failure_is_told_in_its_own_last_line() -> None:
    with pytest.raises(CommandFailedError) as caught:
        run([*PYTHON, "import sys; print('a\\nb\\n', file=sys.stderr); sys.exit(3)"], 30)
    assert caught.value.message.endswith("sys.exit(3)`: b")
    with pytest.raises(CommandFailedError, match="exit code 3"):
        run([*PYTHON, "raise SystemExit(3)"], 30)


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(CommandFailedError) as caught:
        run(["scontrol-of-nowhere", "show"], 30)
    assert caught.value.message == "scontrol-of-nowhere is not installed here"
    assert caught.value.hint == "run brctl where scontrol-of-nowhere is, or put it into PATH"
    with pytest.raises(CommandFailedError, match="cannot start /etc: Permission denied"):
        run(["/etc"], 30)


def test_what_takes_too_long_is_killed_with_its_children(tmp_path: "os.PathLike[str]") -> None:
    pids = os.path.join(tmp_path, "pids")
    script = f"sleep 60 & echo $$ $! > {pids}; wait"
    began = time.monotonic()
    with pytest.raises(CommandFailedError, match="did not answer within"):
        run(["sh", "-c", script], 0.5)
    assert time.monotonic() - began < 30
    with open(pids) as file:
        for pid in file.read().split():
            assert not _lives(int(pid))


def _lives(pid: int) -> bool:
    """Whether a process still runs; a zombie that its new parent has not waited for does not."""
    for _ in range(50):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.02)
    ps = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return ps.stdout.strip()[:1] not in ("Z", "")


def test_many_run_at_once_and_none_is_left_when_one_cannot_start() -> None:
    began = time.monotonic()
    outputs = run_all([[*PYTHON, f"import time; time.sleep(0.3); print({i})"] for i in range(3)], 30)
    assert outputs == [Output(0, f"{i}\n", "") for i in range(3)]
    with pytest.raises(CommandFailedError, match="not installed"):
        run_all([["sleep", "60"], ["scontrol-of-nowhere"]], 30)
    assert time.monotonic() - began < 20


def test_much_output_blocks_nobody() -> None:
    assert len(run([*PYTHON, "print('x' * 1_000_000)"], 30)) == 1_000_001


def test_the_last_line_that_says_something() -> None:
    assert last_line("a\n b \n\n") == "b"
    assert last_line("") == ""
