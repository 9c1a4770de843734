"""What holds a GPU is alive, and what holds its memory is known.

A process that ended, of which the driver still has an entry, keeps its memory until a reset. One in uninterruptible
sleep in both looks hangs in the driver. Memory in use on a GPU that lists no process is nobody's. Where brctl runs in a
container none of this can be told: the PIDs are the host's.
"""

from typing import List, Optional, Sequence, Tuple

from ...facts import Gpu, GpuProcess
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold
from ..verdicts import ANSWERING, WELL, Verdict, judge

_LISTS, _MEMORY = "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMemoryInfo_v2"
_FREE = (
    "see who has the device open (fuser -v /dev/nvidia*) and end it; if nobody has, drain and reset the GPU "
    "(nvidia-smi --gpu-reset)"
)
_REBOOT = "it cannot be killed: look for blocked tasks and Xid 119 in the kernel log; drain and reboot"
_MIB = 1 << 20


def run(case: Case) -> Sequence[Finding]:
    if case.seen.kernel and case.seen.kernel.own_pid_namespace is not False:
        return (CHECK.finding(Status.NA, "PIDs are those of another PID namespace"),)
    return judge(CHECK, case, lambda gpu: _look(case, gpu), "all processes on them are alive", "its processes")


def _look(case: Case, gpu: Gpu) -> Optional[Verdict]:
    if gpu.processes is None:
        return None
    gone = [process for process in gpu.processes if process.present is False]
    stuck = [process for process in gpu.processes if process.state == "D" and _was_stuck(case, gpu, process)]
    if stuck:
        text = "PID {} hangs in the driver".format(_pids(stuck))
        return Verdict(Status.CRIT, text, _evidence(stuck, "uninterruptible sleep in both looks"), _REBOOT)
    if gone:
        text = "still held by PID {}, not there any more".format(_pids(gone))
        return Verdict(Status.WARN, text, _evidence(gone, "in the driver's list, not in /proc"), _FREE)
    return _ghost(gpu, case.thresholds["nobodys_memory"] * _MIB) or WELL


def _ghost(gpu: Gpu, least: float) -> Optional[Verdict]:
    used = gpu.telemetry.memory_used_bytes if gpu.telemetry else None
    whole = gpu.identity and not (gpu.identity.mig_enabled or gpu.identity.unified_memory)
    if gpu.processes or not whole or used is None or used < least:
        return None
    text = "{:.0f} MiB in use, and no process".format(used / _MIB)
    evidence = (Evidence("memory used", "{:.0f} MiB".format(used / _MIB), _MEMORY), Evidence("processes", "0", _LISTS))
    return Verdict(Status.WARN, text, evidence, _FREE)


def _was_stuck(case: Case, gpu: Gpu, process: GpuProcess) -> bool:
    looks = [other for earlier in case.earlier[:1] for other in earlier.seen.gpus or () if other.uuid == gpu.uuid]
    before = [other for look in looks for other in look.processes or () if other.pid == process.pid]
    return any(other.state == "D" for other in before)


def _pids(processes: Sequence[GpuProcess]) -> str:
    return ", ".join(str(process.pid) for process in processes)


def _evidence(processes: Sequence[GpuProcess], what: str) -> Tuple[Evidence, ...]:
    found: List[Evidence] = []
    for process in processes:
        held = "" if process.memory_bytes is None else ", {:.0f} MiB".format(process.memory_bytes / _MIB)
        found.append(Evidence("PID {}".format(process.pid), what + held, "/proc/{}".format(process.pid)))
    return tuple(found)


CHECK = Check(
    id="gpu-owners",
    title="What holds a GPU is alive",
    tags=("health",),
    needs=("gpus", "kernel"),
    run=run,
    thresholds=(
        Threshold(
            "nobodys_memory", 2048, "MiB", "older drivers count as used what they reserve, up to 1.5 GiB on a B200"
        ),
    ),
    group="gpu",
    after=ANSWERING,
)
