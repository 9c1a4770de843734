"""`brctl monitor --act` on a GPU that heats up: whoever is killed, the power limit comes back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from brctl.mock import machines
from brctl.node.tune import guard, journal

pytestmark = pytest.mark.process
CONFIG = """\
version: 1
cluster: {name: a, nodes: 'hot1'}
alerting:
  gpu_temperature: {threshold: 85, for: 200ms, action: throttle}
"""
DEADLINE_S = 20.0
"""Acting.lease_s."""
SETTING = "nvml:gpu1:power_limit_watts"


class Monitor:
    """One that runs on a mocked machine of two GPUs, the second of which is on its way to 92 C."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state = folder, folder / "state"
        plain: Any = machines._decode(machines._find("dgx-h100"))
        cool, hot = (dict(gpu) for gpu in plain["nvml"]["gpus"][:2])
        plain["nvml"]["gpus"] = [cool, {**hot, "fever_s": 12}]
        kept = ("/proc/sys/kernel/", "/proc/driver/", cool["pci_bus_id"], hot["pci_bus_id"])
        plain["files"] = {path: it for path, it in plain["files"].items() if any(each in path for each in kept)}
        (folder / "hot.json").write_text(json.dumps({**plain, "commands": {}}))
        (folder / "cluster-config.yaml").write_text(CONFIG)
        self.environment = {**os.environ, "BRCTL_STATE_DIR": str(self.state)}
        self.process = subprocess.Popen(
            [*self.command, "monitor", "--act", "--interval", "100ms", "-o", "jsonl"],
            cwd=folder, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-m", "brctl", "--mock", "hot.json", "--as", "hot1"]

    def written(self) -> dict[str, Any]:
        paths = list((self.state / "mock").glob("*.json"))
        return json.loads(paths[0].read_text()) if paths else {}

    def watts(self) -> float | None:
        text = self.written().get(SETTING)
        return json.loads(text) if text else None

    def agent(self) -> int:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return int(children.split()[0])

    def transactions(self) -> list[dict[str, Any]]:
        """The last record of each."""
        logs = [text for path, text in self.written().items() if path.startswith(journal.FOLDER) and "jsonl" in path]
        return [json.loads(text.splitlines()[-1]).get("end") for text in logs]

    def history(self) -> list[dict[str, Any]]:
        argv = [*self.command, "monitor", "alerts", "history", "-o", "json"]
        done = subprocess.run(argv, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True)
        found = [one for key, one in json.loads(done.stdout).items() if isinstance(one, list)]
        return [record for record in found[0] if record["action"] == "throttle"]


def wait(until: Callable[[], bool], limit_s: float = DEADLINE_S) -> float:
    """How long it took."""
    began = time.monotonic()
    while not until():
        assert time.monotonic() - began < limit_s
        time.sleep(0.05)
    return time.monotonic() - began


@pytest.fixture
def monitor(tmp_path: Path) -> Iterator[Monitor]:
    one = Monitor(tmp_path)
    wait(lambda: (one.watts() or 700) < 700, 30)
    yield one
    if one.process.poll() is None:
        one.process.kill()
    one.process.wait(10)
    if one.process.stderr:
        one.process.stderr.close()


def ended(one: Monitor) -> dict[str, Any]:
    """How the only transaction that there was has ended; the limit is back by then."""
    wait(lambda: one.watts() == 700 and one.written().get(journal.MARKER) is None)
    (end,) = one.transactions()
    assert end["state"] == "rolled back"
    return end


@pytest.mark.real
def test_the_agent_is_killed(monitor: Monitor) -> None:
    os.kill(monitor.agent(), signal.SIGKILL)
    assert ended(monitor)["who"] == guard.WHO


def test_the_one_who_asked_is_killed(monitor: Monitor) -> None:
    monitor.process.kill()
    assert ended(monitor)["who"] != guard.WHO


def test_it_is_told_to_end(monitor: Monitor) -> None:
    wait(lambda: bool(monitor.history()))  # the record comes with the next tick
    monitor.process.terminate()
    assert monitor.process.wait(15) == 0
    ended(monitor)
    (record,) = monitor.history()
    assert (record["what"], record["outcome"], record["undone"]) == ("power limit 700 W -> 630 W", "done", "exit")
    told = monitor.process.stderr.read() if monitor.process.stderr else ""
    assert "throttle for gpu-temperature of hot1: done: power limit 700 W -> 630 W\n" in told


FABRIC = """\
version: 1
cluster: {name: a, nodes: 'gpu[001-002]'}
comm: {rails: 8}
alerting: {rail: {metric: brctl_rdma_up, threshold: 1, fires: from, action: ACTION}}
"""


def test_a_rail_is_out_until_nobody_wants_it_out(tmp_path: Path) -> None:
    environment = {**os.environ, "BRCTL_STATE_DIR": str(tmp_path / "state")}

    def brctl(action: str, *argv: str) -> str:
        (tmp_path / "cluster-config.yaml").write_text(FABRIC.replace("ACTION", action))
        command = [sys.executable, "-m", "brctl", "--mock", "dgx-h100", "-w", "@all", *argv]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=100
        )
        return done.stdout + done.stderr

    def watched(action: str) -> str:
        return brctl(action, "monitor", "--act", "--interval", "1s", "--for", "6s", "-o", "jsonl")

    lines = [line for line in watched("reroute").splitlines() if line.startswith("reroute for rail of ")]
    done = [line for line in lines if ": done: " in line]
    assert len(done) == 1
    assert "; rail 0 of 8 is out on 2 nodes, for jobs that start from now on" in done[0]
    assert any(": refused: leave mlx5_3 out" in line for line in lines)
    assert "mlx5_0, rail 0 of 8, is left out on all nodes: rail on gpu00" in brctl("reroute", "tune", "env")
    assert "undone (cleared): leave mlx5_0 out of the communication environment" in watched("log")
    assert "left out" not in brctl("log", "tune", "env")
