"""An agent that is told to end while it writes: by the end of its stdin, or by SIGTERM."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import List

import pytest

from brctl.mock.machines import load
from brctl.node.codec import dumps
from brctl.node.frame import Frame, pack
from brctl.node.request import KernelParameter, Request, Tuning, Wanted
from brctl.node.tune import journal

PROGRAM = """
import sys, time
sys.path[:0] = sys.argv[1].split(":")
from brctl.mock.machines import load
from brctl.node import agent

def slow():
    machine = load("cpu-only")
    write = machine.write
    machine.write = lambda path, text: (time.sleep(0.5), write(path, text))
    return machine

agent.run(slow)
"""
KEYS = ("net.core.rmem_max", "net.core.wmem_max")
PATHS = ["/proc/sys/" + key.replace(".", "/") for key in KEYS]


@pytest.mark.process
@pytest.mark.parametrize("how", ["stdin", "SIGTERM"])
def test_the_write_that_has_begun_is_finished_and_no_other_begun(how: str) -> None:
    wanted = Wanted(sysctls=tuple(KernelParameter(key, "67108864") for key in KEYS))
    request = Request("n", "tune-apply", tune=Tuning(wanted, who="op"))
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, ":".join(filter(None, sys.path))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, bufsize=0) as process:
        assert process.stdin
        process.stdin.write(pack(Frame("1", dumps(request).encode())))
        _until_a_write_has_begun()
        if how == "stdin":
            process.stdin.close()
        else:
            process.send_signal(signal.SIGTERM)
        assert process.wait(10) in (0, 1)
    machine = load("cpu-only")
    (log,) = journal.logs(machine)
    assert log.state == "failed"
    outcomes = {change.key: change.outcome.value for change in (log.end.changes if log.end else ())}
    assert outcomes == {KEYS[0]: "changed", KEYS[1]: "not attempted"}
    assert [machine.read(path) for path in PATHS] == ["67108864\n", "212992\n"]


def _until_a_write_has_begun() -> None:
    folder = Path(os.environ["BRCTL_STATE_DIR"]) / "mock"
    texts: List[str] = []
    for _ in range(500):
        texts = [path.read_text() for path in folder.glob("*.json")] if folder.is_dir() else []
        if any('{\\"write\\"' in text for text in texts):
            return
        time.sleep(0.02)
    raise AssertionError("no write was begun: {}".format(texts))
