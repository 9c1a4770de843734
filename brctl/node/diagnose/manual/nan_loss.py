"""The loss turns NaN or infinite."""

from . import BAD, NOTED, PASS, Card, Fact, Fix, Needs, PossibleCause, Step
from .shared import LOOK_LONGER, MEMORY_ERRORS, NOTHING, STRESS

UNDERVOLT_NOTE = (
    "Do not undervolt: NVML has no setter for a voltage, and with less of it a chip computes wrong values that no "
    "counter shows. Memory is mended by row remapping, reset and RMA."
)

CARD = Card(
    "nan-loss",
    "The loss turns NaN or infinite",
    Needs(
        any=("gpu-ecc-volatile", "gpu-remap", "gpu-xid"), optional=("gpu-ecc-aggregate", "gpu-retired-pages", "edac")
    ),
    (
        MEMORY_ERRORS,
        PossibleCause(
            "host-memory",
            "the host's memory makes errors",
            (
                Fact("edac", BAD, 5, "what is loaded from it is wrong", ("uncorrected",)),
                Fact("edac", BAD, 2, "corrected errors so fast: a module that fails", ("corrected",)),
                Fact("edac", PASS, -3, "its ECC has seen no wrong value"),
            ),
            (Step("`ras-mc-ctl --errors`, `ipmitool sel list`", "seconds", NOTHING), LOOK_LONGER),
            (
                Fix(
                    "`brctl node-manager drain --reason host-memory --wait 30m` and replace the module",
                    "the node is away",
                    "`brctl diagnose run --only edac` passes, a day later too",
                ),
            ),
        ),
        PossibleCause(
            "program-fault",
            "a program faults on the GPU",
            (
                Fact("gpu-xid", NOTED, 5, "the driver blames the program", ("Xid 13", "Xid 31", "Xid 43", "Xid 45")),
                Fact("gpu-xid", PASS, -2, "the driver told of no fault of a program"),
            ),
            (Step("`compute-sanitizer` on a short run of the job", "minutes, 10 times slower", "the job alone"),),
            (
                Fix(
                    "mend the kernel or library that the sanitizer names",
                    "none",
                    "`brctl diagnose run --only gpu-xid` tells of nothing new",
                ),
            ),
        ),
    ),
    (
        Step(
            "the same step from the same checkpoint on another node: NaN there too is the job's own (learning rate, "
            "loss scale, a bad batch); none there is this node's",
            "a short job",
            "one more node",
        ),
        STRESS,
    ),
    (UNDERVOLT_NOTE,),
)
