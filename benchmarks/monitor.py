"""What `brctl monitor` costs, from outside and from inside: `python benchmarks/monitor.py [SECONDS]`.

- the jsonl stream at 1 s and at 100 ms of eight mocked GPUs on this host as it is, idle and at work; of a whole mocked
  machine, with twelve RDMA ports of which every counter grows; and of this host alone: CPU of brctl and of its agent
  (clock_getcpuclockid(3)) as shares of one core, the median of five windows; memory of both (PSS), and its growth;
- the mock's own part of that, from a sampler in a process of its own, in one thread;
- one `--once -o json` against `python -c pass`, gpustat and nvitop -1, the latter two over the same mock: CPU time,
  the least of several interleaved runs.
"""

import ctypes
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 15.0
WINDOWS = 5
LOOPS, LOOP = 5, 100_000
RUNS = 7
MACHINE = "dgx-h100+busy"
ROOT = Path(__file__).resolve().parents[1]
MOCKED_MACHINE = str(ROOT / "brctl" / "mock" / "machines" / "dgx-h100.json")
GPUS = """
import json, sys, runpy
from brctl.mock.nvml import install
install(dict(json.load(open({path!r}))["nvml"], **{more!r}))
"""
"""Mocked GPUs, for whatever runs after it on this host."""
BUSY = {"seed": 7}
LOCAL = "from brctl.node.host.local import Local; host = Local()"
PROGRAM = """
sys.argv = {argv!r} + sys.argv[1:]
runpy.run_module({argv!r}[0], run_name="__main__")
"""


def mocked(*argv: str, **more: object) -> list[str]:
    """To run a program of Python over eight mocked GPUs, on this host."""
    return [sys.executable, "-c", GPUS.format(path=MOCKED_MACHINE, more=more) + PROGRAM.format(argv=list(argv))]


def cpu_s(pid: int) -> float:
    """Of all its threads, those that have ended too; exact, where /proc/PID/stat counts in hundredths."""
    clock = ctypes.c_int()
    error = ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock))
    if error:
        raise OSError(error, f"no clock of process {pid}")
    return time.clock_gettime(clock.value)


def pss_mib(pid: int) -> float:
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("Pss:")) / 1024


def stream(what: str, interval: str, command: list[str]) -> None:
    """Run it, leave out its start, and look at both processes."""
    command = [*command, "--interval", interval, "-o", "jsonl"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as child:
        time.sleep(4)
        (agent,) = map(int, Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split())
        pids = (child.pid, agent)
        memory = sum(map(pss_mib, pids))
        told = shares(pids, lambda: time.sleep(SECONDS / WINDOWS))
        after = sum(map(pss_mib, pids))
        child.terminate()
    print(f"jsonl at {interval}, {what}: {told}; PSS {after:.1f} MiB, grown by {after - memory:+.1f} MiB", flush=True)


def shares(pids: Sequence[int], window: Callable[[], None]) -> str:
    """What parts of a core brctl and its agent take, one window of time after the other: the median, the least and the
    greatest; and how fast the machine was meanwhile, which depends on its neighbours."""
    found: list[list[float]] = []
    loops = [_loop_s()]
    for _ in range(WINDOWS):
        before, began = [cpu_s(pid) for pid in pids], time.monotonic()
        window()
        passed = time.monotonic() - began
        found.append([(cpu_s(pid) - old) / passed for pid, old in zip(pids, before, strict=True)])
        loops.append(_loop_s())
    sums = sorted(map(sum, found))
    each = " + ".join(f"{statistics.median(of):.2%}" for of in zip(*found, strict=True))
    return (
        f"{statistics.median(sums):.2%} of a core ({each}; from {sums[0]:.2%} to {sums[-1]:.2%}, "
        f"while a loop took {statistics.median(loops) * 1e3:.1f} ms)"
    )


def _loop_s() -> float:
    """CPU time of a loop that needs nothing but a core, as they find it who sleep for most of the time."""
    seen = []
    for _ in range(LOOPS):
        time.sleep(0.2)
        began = time.thread_time()
        for _ in range(LOOP):
            pass
        seen.append(time.thread_time() - began)
    return statistics.median(seen)


def mock_share(what: str, interval_s: float, host: str) -> None:
    """What part of the sampler's CPU time is spent in the mock: in its NVML, and in what stands for files. `host`: the
    lines that make it."""
    code = f"""{host}
import threading, time
from brctl.mock import nvml_library
from brctl.node import deadline
from brctl.node.host.machine import Machine
from brctl.node.monitor.sampler import Sampler
from brctl.node.monitor.stream import Packer
spent, inside = [0.0], []
def start(lane, work): lane.since_s = time.monotonic(); work()
deadline.Lane.start = start
def timed(original):
    def call(*arguments):
        if inside: return original(*arguments)
        inside.append(1); began = time.thread_time()
        try: return original(*arguments)
        finally: spent[0] += time.thread_time() - began; inside.clear()
    return call
found = nvml_library.Library.__getattr__
nvml_library.Library.__getattr__ = lambda library, name: timed(found(library, name))
for name in ("read", "reread", "listdir", "readlink", "run", "space"):
    setattr(Machine, name, timed(getattr(Machine, name)))
sampler = Sampler(host); packer = Packer(sampler.series)
ticks = sampler.ticks({interval_s}, threading.Event())
for _ in range(3): packer.pack(*next(ticks))
began, spent[0] = time.thread_time(), 0.0
number = int({SECONDS} / {interval_s})
for _ in range(number): packer.pack(*next(ticks))
whole = time.thread_time() - began
print(f"  {what}, in one thread: {{whole / number * 1e3:.1f}} ms a tick, "
      f"of which the mock {{spent[0] / number * 1e3:.1f}} ms, {{spent[0] / number / {interval_s}:.2%}} of a core")
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def streams(interval: str, interval_s: float) -> None:
    brctl = [sys.executable, "-m", "brctl"]
    gpus = "eight mocked GPUs{}, this host"
    for state, more in (("", {}), (" at work", BUSY)):
        stream(gpus.format(state), interval, mocked("brctl", "monitor", **more))
        mock_share(gpus.format(state), interval_s, GPUS.format(path=MOCKED_MACHINE, more=more) + LOCAL)
    stream(f"--mock {MACHINE}", interval, [*brctl, "--mock", MACHINE, "monitor"])
    mock_share(f"--mock {MACHINE}", interval_s, f"from brctl.mock.machines import load; host = load({MACHINE!r})")
    stream("this host", interval, [*brctl, "monitor"])


def once() -> None:
    brctl = (sys.executable, "-m", "brctl")
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "monitor --once -o json": [*brctl, "--mock", "dgx-h100", "monitor", "--once", "-o", "json"],
        "monitor --once -o json, this host": [*brctl, "monitor", "--once", "-o", "json"],
        "gpustat": mocked("gpustat"),
        "nvitop -1": mocked("nvitop", "-1"),
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
    print(f"Python {sys.version}, {sys.executable}")
    streams("1s", 1.0)
    streams("100ms", 0.1)
    once()
