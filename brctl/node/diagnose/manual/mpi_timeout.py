"""A collective or MPI call times out."""

from . import BAD, HUNG, NOTED, PASS, Card, Fact, Fix, Needs, PossibleCause, Step
from .shared import BACK_PRESSURE, LINK_DOWN_OR_SLOW, MTU, MTU_NOTE, NOTHING, PAIRS, POWER_CYCLE, WRONG_CLASS

CARD = Card(
    "mpi-timeout",
    "A collective or an MPI call times out",
    Needs(
        any=("gpu-responding", "nic-speed", "kernel-hung-task"),
        optional=(
            "nic-count",
            "nic-pause",
            "nic-drops",
            "nic-flaps",
            "nic-lossless",
            "rdma-gid",
            "rdma-state",
            "gpu-peermem",
            "mount-present",
            "mount-read-only",
            "disk-space",
            "memlock",
        ),
    ),
    (
        PossibleCause(
            "rank-killed",
            "the kernel killed a process",
            (
                Fact("kernel-oom", BAD, 6, "the others wait for a rank that is no more"),
                Fact("kernel-oom", NOTED, 3, "some process was killed; see whether it was a rank"),
                Fact("kernel-oom", PASS, -3, "it killed none since the boot"),
            ),
            (Step("`journalctl -k -b | brctl diagnose log -`: which process, and when", "seconds", NOTHING),),
            (
                Fix(
                    "give the job more host memory, or fewer data loaders",
                    "none",
                    "`brctl diagnose run --only kernel-oom` tells of nothing new",
                ),
            ),
        ),
        PossibleCause(
            "rank-stuck",
            "a rank hangs on a GPU or in the kernel",
            (
                Fact("gpu-responding", HUNG, 6, "no call on it returns, nor does the rank that made one"),
                Fact("gpu-responding", BAD, 6, "its rank fails, and the others wait"),
                Fact("gpu-responding", PASS, -2, "all GPUs answer"),
                Fact("gpu-driver", BAD, 6, "no rank reaches a GPU"),
                Fact("gpu-xid", BAD, 3, "the driver told of an error of a GPU"),
                Fact("gpu-xid", PASS, -0.5, "the driver told of none"),
                Fact("kernel-hung-task", BAD, 6, "the kernel names a task that hangs"),
                Fact("kernel-hung-task", PASS, -0.5, "the kernel knows of no task that hangs"),
                Fact("host-d-state", BAD, 2, "processes wait in the kernel"),
                Fact("gpu-owners", BAD, 3, "what holds a GPU is dead or hangs"),
            ),
            (
                Step(
                    "`py-spy dump --pid PID` on each rank: who is not in the collective?",
                    "seconds",
                    "the rank, for a moment",
                ),
            ),
            (POWER_CYCLE,),
            ("kernel-hung-task", "host-d-state", "gpu-owners", "gpu-recovery-action"),
        ),
        LINK_DOWN_OR_SLOW,
        BACK_PRESSURE,
        WRONG_CLASS,
        MTU,
        PossibleCause(
            "rdma-memory",
            "RDMA may not register the memory it needs",
            (
                Fact("memlock", BAD, 5, "registration fails above the limit"),
                Fact("memlock", NOTED, 2, "the limit of this shell is low; a job's may be too"),
                Fact("memlock", PASS, -3, "there is no limit, or a high one"),
                Fact("gpu-peermem", BAD, 2, "GPU memory cannot be registered"),
                Fact("gpu-peermem", PASS, -1, "GPU memory can be registered"),
            ),
            (Step("`ulimit -l` inside a job", "seconds", NOTHING),),
            (
                Fix(
                    "`brctl tune apply --set memlock=unlimited`, then restart the scheduler's daemon",
                    "none",
                    "`brctl diagnose run --only memlock` passes",
                ),
            ),
        ),
        PossibleCause(
            "storage",
            "a rank waits for a file system",
            (
                Fact("mount-present", BAD, 6, "a declared mount is not there"),
                Fact("mount-present", PASS, -1, "all declared mounts are there"),
                Fact("mount-read-only", BAD, 6, "a checkpoint cannot be written"),
                Fact("mount-read-only", PASS, -1, "what should be writable is"),
                Fact("disk-space", BAD, 3, "a full file system stops who writes"),
                Fact("disk-space", PASS, -1, "there is room"),
                Fact("host-d-state", BAD, 2, "processes wait in the kernel"),
                Fact("host-d-state", PASS, -1, "none waits in the kernel for long"),
            ),
            (Step("`cat /proc/PID/stack` of what is in state D", "seconds", NOTHING),),
            (
                Fix(
                    "mount it again, or make room",
                    "what has files open there fails",
                    "`brctl diagnose run --only mount-present,mount-read-only,disk-space` passes",
                ),
            ),
        ),
    ),
    (
        Step(
            "`brctl diagnose symptom mpi-timeout -w @all`: the rank that hangs is on another node", "seconds", NOTHING
        ),
        PAIRS,
        Step("NCCL's flight recorder: which rank did not enter the collective", "a rerun of the job", NOTHING),
    ),
    (MTU_NOTE,),
)
