"""A GPU has no memory left, or memory that fails."""

from . import BAD, NOTED, PASS, Card, Fact, Fix, Needs, PossibleCause, Step
from .shared import MEMORY_ERRORS, NOTHING

CARD = Card(
    "gpu-memory",
    "A GPU has too little memory, or memory that fails",
    Needs(
        any=("gpu-owners", "gpu-ecc-volatile", "gpu-memory"),
        optional=("gpu-ecc-aggregate", "gpu-retired-pages", "gpu-model"),
    ),
    (
        PossibleCause(
            "held",
            "memory is held by who should not",
            (
                Fact("gpu-owners", BAD, 6, "a process that is dead, hangs or is not there holds memory"),
                Fact("gpu-owners", PASS, -3, "all that hold memory are alive"),
            ),
            (Step("`fuser -v /dev/nvidia*`", "seconds", NOTHING),),
            (
                Fix(
                    "end the process that `fuser` names; where there is none, drain and reset the GPU",
                    "ends what runs on the GPU",
                    "`brctl diagnose run --only gpu-owners` passes",
                ),
            ),
        ),
        MEMORY_ERRORS,
        PossibleCause(
            "less-memory",
            "the GPU is another, or has less memory than is declared",
            (
                Fact("gpu-memory", BAD, 5, "less than is declared or than its siblings have"),
                Fact("gpu-memory", PASS, -2, "all have as much as they should"),
                Fact("gpu-model", BAD, 3, "it is another model"),
                Fact("gpu-model", PASS, -1, "all are of one model"),
            ),
            (Step("`brctl node-manager show`", "seconds", NOTHING),),
            (
                Fix(
                    "replace it, or declare what it is in the config",
                    "none",
                    "`brctl node-manager check` passes",
                ),
            ),
        ),
        PossibleCause(
            "mode-pending",
            "a mode of the GPU waits for a reset",
            (
                Fact("gpu-pending", BAD, 5, "with another MIG or ECC mode a GPU has another size of memory"),
                Fact("gpu-pending", PASS, -3, "no mode waits for a reset"),
            ),
            (Step("`nvidia-smi -q -d ECC`, `nvidia-smi mig -lgi`", "seconds", NOTHING),),
            (
                Fix(
                    "drain and `nvidia-smi --gpu-reset -i N`, or set the mode back",
                    "ends what runs on the GPU",
                    "`brctl diagnose run --only gpu-pending` passes",
                ),
            ),
        ),
        PossibleCause(
            "host-memory-short",
            "the host has too little memory",
            (
                Fact("kernel-oom", BAD, 5, "the kernel killed a process for want of memory"),
                Fact("kernel-oom", NOTED, 3, "a process was killed for want of memory"),
                Fact("kernel-oom", PASS, -3, "the kernel killed none"),
            ),
            (Step("`free -m`, `systemd-cgtop -m`", "seconds", NOTHING),),
            (
                Fix(
                    "a job with less pinned memory, or a higher limit of its cgroup",
                    "none",
                    "`brctl diagnose run --only kernel-oom` tells of nothing new",
                ),
            ),
        ),
    ),
    (
        Step(
            "the allocator's own report (torch.cuda.memory_summary()): fragments, or a job too large",
            "a rerun",
            NOTHING,
        ),
    ),
)
