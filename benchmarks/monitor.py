"""What `brctl monitor` costs, from outside and from inside: `python benchmarks/monitor.py [SECONDS]`.

- the jsonl stream of eight mocked GPUs at work, with twelve RDMA ports and the host, at 1 s and at 100 ms: CPU of
  brctl and of its agent from /proc/PID/stat, as shares of one core; memory of both (PSS), and what it grew by;
- the mock's own part of the agent's share, from a sampler in this process, in one thread;
- this host as it is, without a mock;
- one `--once -o json` against `python -c pass`, gpustat and nvitop -1, the latter two over the same mock: CPU time,
  the least of several interleaved runs.
"""

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 15.0
RUNS = 7
MACHINE = "dgx-h100+busy"
TICKS = os.sysconf("SC_CLK_TCK")
ROOT = Path(__file__).resolve().parents[1]
MOCKED_MACHINE = str(ROOT / "brctl" / "mock" / "machines" / "dgx-h100.json")
MOCKED = """
import json, sys, runpy
from brctl.mock.nvml import install
install(json.load(open({path!r}))["nvml"])
sys.argv = {argv!r}
runpy.run_module({argv!r}[0], run_name="__main__")
"""


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def pss_mib(pid: int) -> float:
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("Pss:")) / 1024


def stream(interval: str, *mock: str) -> None:
    """Run it, leave out its start, and look at both processes."""
    command = [sys.executable, "-m", "brctl", *mock, "monitor", "--interval", interval, "-o", "jsonl"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as child:
        time.sleep(4)
        (agent,) = map(int, Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split())
        pids = (child.pid, agent)
        before, memory, began = [cpu_s(pid) for pid in pids], sum(map(pss_mib, pids)), time.monotonic()
        time.sleep(SECONDS)
        passed = time.monotonic() - began
        shares = [(cpu_s(pid) - old) / passed for pid, old in zip(pids, before, strict=True)]
        after = sum(map(pss_mib, pids))
        child.terminate()
    what = " ".join(mock) or "this host"
    print(f"jsonl at {interval:>5}, {what}: brctl {shares[0]:.2%}, agent {shares[1]:.2%} of a core; "
          f"PSS {after:.1f} MiB, grown by {after - memory:+.1f} MiB")  # fmt: skip


def mock_share(interval_s: float) -> None:
    """What part of the sampler's CPU time is spent in the mock: in its NVML, and in what stands for files."""
    code = f"""
import threading, time
from brctl.mock import nvml_library
from brctl.mock.machines import load
from brctl.node import deadline
from brctl.node.host.machine import Machine
from brctl.node.monitor.sampler import Sampler
from brctl.node.monitor.stream import Packer
spent, inside = [0.0], []
def start(lane, work): lane.since_s = time.monotonic(); work()
deadline.Lane.start = start
def timed(kind, name):
    original = getattr(kind, name)
    def call(*arguments):
        if inside: return original(*arguments)
        inside.append(1); began = time.thread_time()
        try: return original(*arguments)
        finally: spent[0] += time.thread_time() - began; inside.clear()
    setattr(kind, name, call)
timed(nvml_library.Library, "_call")
for name in ("read", "reread", "listdir", "readlink", "run", "space"): timed(Machine, name)
sampler = Sampler(load({MACHINE!r})); packer = Packer(sampler.series)
ticks = sampler.ticks({interval_s}, threading.Event())
for _ in range(3): packer.pack(*next(ticks))
began, spent[0] = time.thread_time(), 0.0
number = int({SECONDS} / {interval_s})
for _ in range(number): packer.pack(*next(ticks))
whole = time.thread_time() - began
print(f"  in one thread, at {interval_s:g} s: {{whole / number * 1e3:.1f}} ms a tick, "
      f"of which the mock {{spent[0] / number * 1e3:.1f}} ms ({{spent[0] / whole:.0%}})")
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def once() -> None:
    brctl = (sys.executable, "-m", "brctl")
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "monitor --once -o json": [*brctl, "--mock", "dgx-h100", "monitor", "--once", "-o", "json"],
        "monitor --once -o json, this host": [*brctl, "monitor", "--once", "-o", "json"],
        "gpustat": [sys.executable, "-c", MOCKED.format(path=MOCKED_MACHINE, argv=["gpustat"])],
        "nvitop -1": [sys.executable, "-c", MOCKED.format(path=MOCKED_MACHINE, argv=["nvitop", "-1"])],
    }  # fmt: skip
    found: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(RUNS):
        for name, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT, check=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    least = min(found["python -c pass"])
    for name, seconds in found.items():
        print(f"{name:36} CPU {min(seconds) * 1e3:6.0f} ms, median {statistics.median(seconds) * 1e3:6.0f} ms, "
              f"{min(seconds) / least:5.1f} x python -c pass")  # fmt: skip


if __name__ == "__main__":
    for interval in ("1s", "100ms"):
        stream(interval, "--mock", MACHINE)
        mock_share(1.0 if interval == "1s" else 0.1)
        stream(interval)
    once()
