from typing import Any

from brctl.node.facts import Task, Tasks
from brctl.node.probe.tasks import read

STAT = "{} ({}) {} 1 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 {} 1 1\n"


def test_tasks(machine: Any) -> None:
    files = {
        "/proc/1/stat": STAT.format(1, "systemd", "S", 5),
        "/proc/77/stat": STAT.format(77, "nvidia-smi) D (", "D", 900),
        "/proc/78/stat": STAT.format(78, "python3", "Z", 901),
        "/proc/79/stat": "79 (cut",
        "/proc/80/comm": "ended just now\n",
        "/proc/stat": "cpu 1\n",
    }
    assert read(machine(files)) == Tasks(3, 1, (Task(77, "nvidia-smi) D (", 900),))
    assert read(machine({})) is None
