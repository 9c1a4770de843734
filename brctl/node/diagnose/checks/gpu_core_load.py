"""The CPUs next to the GPUs have time left for them.

Kernels are launched, and transfers started, by threads that should run on the NUMA node of their GPU. Where its CPUs
are all busy these wait, and the GPU with them: jitter that no counter of the GPU shows. Judged by what the CPUs did
between two looks; a job that computes on the host as well does that on purpose, so that it is a warning at most.
"""

from typing import Dict, List, Sequence

from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold

_REMEDY = (
    "see who runs there: `ps -eLo psr,pcpu,comm --sort -pcpu | head`; pin data loaders and daemons elsewhere (taskset, "
    "cgroup cpuset), or give the job fewer threads"
)


def run(case: Case) -> Sequence[Finding]:
    beside = sorted({gpu.numa_node for gpu in case.seen.gpus or () if gpu.numa_node is not None})
    busy = _busy(case)
    judged = [node for node in beside if node in busy]
    if not judged:
        return (CHECK.finding(Status.NA, "no GPU whose CPUs are known, or only one look"),)
    full = [node for node in judged if busy[node] >= case.thresholds["busy_percent"]]
    shown = full or judged
    words = ", ".join("NUMA node {} {:.0f} % busy".format(node, busy[node]) for node in shown)
    if not full:
        return (CHECK.finding(Status.PASS, words),)
    evidence = tuple(
        Evidence("NUMA node {}".format(node), "{:.1f} %".format(busy[node]), "/proc/stat") for node in full
    )
    return (CHECK.finding(Status.WARN, words + ", with GPUs beside it", evidence=evidence, remedy=_REMEDY),)


def _busy(case: Case) -> Dict[int, float]:
    """Percent of the time between the nearest two looks, by NUMA node."""
    before = {one.numa_node: one for one in (case.earlier[0].seen.cpu_times if case.earlier else None) or ()}
    found: Dict[int, float] = {}
    nodes: List[int] = list(before)
    for one in case.seen.cpu_times or ():
        if one.numa_node in nodes:
            total = one.total_ticks - before[one.numa_node].total_ticks
            if total >= case.thresholds["least_ticks"]:
                found[one.numa_node] = 100 * (one.busy_ticks - before[one.numa_node].busy_ticks) / total
    return found


CHECK = Check(
    id="gpu-core-load",
    title="The CPUs beside GPUs have time for them",
    tags=("health", "counter"),
    needs=("cpu_times",),
    run=run,
    thresholds=(
        Threshold("busy_percent", 95, "%", "Ours: one CPU in twenty is what a GPU's own threads need."),
        Threshold(
            "least_ticks",
            5000,
            "ticks",
            "The kernel counts in hundredths of a second on each CPU. Half a second on a hundred CPUs is the least "
            "that is no mere burst: the level `quick` does not tell.",
        ),
    ),
    reads=("gpus",),
    after=("gpu-driver",),
)
