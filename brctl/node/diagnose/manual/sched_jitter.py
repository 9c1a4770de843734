"""Steps take now long, now short."""

from . import BAD, NOTED, PASS, Card, Fact, Fix, Needs, PossibleCause, Step
from .shared import BUSY_CORES, COMPARE, GOVERNOR, LOOK_LONGER, NOTHING, NUMA

CARD = Card(
    "sched-jitter",
    "Steps take now long, now short",
    Needs(any=("numa-balancing", "cpu-governor", "gpu-core-load"), optional=("clock-sync",)),
    (
        NUMA,
        GOVERNOR,
        BUSY_CORES,
        PossibleCause(
            "slow-clock",
            "the kernel's clock is slow to ask",
            (
                Fact("clock-sync", BAD, 5, "each look at the time is a slow access", ("counts time with",)),
                Fact("clock-sync", PASS, -3, "it is read in the CPU"),
            ),
            (Step("`cat /sys/devices/system/clocksource/clocksource0/current_clocksource`", "seconds", NOTHING),),
            (
                Fix(
                    "update the BIOS, or boot with `tsc=reliable` if it is known good",
                    "a clock that is not good runs apart",
                    "`brctl diagnose run --only clock-sync` passes",
                ),
            ),
        ),
        PossibleCause(
            "huge-pages",
            "large buffers are mapped page by page",
            (
                Fact("transparent-hugepage", BAD, 3, "compaction or page faults stop threads"),
                Fact("transparent-hugepage", NOTED, 2, "no huge pages: more faults, more TLB misses"),
                Fact("transparent-hugepage", PASS, -3, "who asks for huge pages gets them"),
            ),
            (Step("`grep -E 'thp|compact_stall' /proc/vmstat`, twice", "seconds", NOTHING),),
            (
                Fix(
                    "`brctl tune apply --set transparent_hugepage=madvise`",
                    "none",
                    "`brctl diagnose run --only transparent-hugepage` passes",
                ),
            ),
        ),
        PossibleCause(
            "slow-driver",
            "the driver answers slowly for a GPU",
            (
                Fact("gpu-latency", BAD, 5, "each call on it takes longer than on its siblings"),
                Fact("gpu-latency", PASS, -1, "all are answered for alike"),
                Fact("gpu-persistence", BAD, 3, "the driver starts the GPU anew for each first user"),
                Fact("gpu-persistence", PASS, -1, "the driver keeps the GPUs ready"),
            ),
            (LOOK_LONGER,),
            (
                Fix(
                    "`brctl tune apply --set gpu.persistence_mode=true`; if it stays slow, drain and reset the GPU",
                    "none; a reset ends what runs on it",
                    "`brctl diagnose run --only gpu-latency,gpu-persistence` passes",
                ),
            ),
        ),
    ),
    (
        Step("`perf sched timehist` or `trace-cmd` on one rank's CPUs for 10 s", "10 s", "a little"),
        COMPARE,
    ),
    ("A clock that nobody sets (clock-sync) makes logs hard to compare, and no jitter.",),
)
