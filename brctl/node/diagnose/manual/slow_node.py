"""One node is slower than its like."""

from . import BAD, PASS, Card, Fact, Fix, Needs, PossibleCause, Step
from .shared import BUSY_CORES, COMPARE, GOVERNOR, LOOK_LONGER, MEMORY_ERRORS, NOTHING, NUMA, NVLINK, PCIE, RESET, RMA

_HEAT = ("for heat",)
_POWER = ("power brake", "does not say why")

CARD = Card(
    "slow-node",
    "One node is slower than its like",
    Needs(
        any=("gpu-temperature", "gpu-throttle", "gpu-pcie", "cpu-governor"),
        optional=("gpu-fabric", "gpu-ecc-aggregate", "gpu-retired-pages"),
    ),
    (
        PossibleCause(
            "heat",
            "a GPU is too hot",
            (
                Fact("gpu-temperature", BAD, 5, "it is at its limit"),
                Fact("gpu-temperature", PASS, -2, "all have a margin now"),
                Fact("gpu-throttle", BAD, 5, "it slows itself down for heat", _HEAT),
                Fact("gpu-throttle", PASS, -2, "none slows itself down"),
            ),
            (Step("`ipmitool sdr type fan` and inlet temperatures", "seconds", NOTHING), LOOK_LONGER),
            (
                Fix(
                    "clean dust, mend fans and air flow; one GPU alone: its heat sink",
                    "the node is away",
                    "`brctl diagnose run --only gpu-temperature,gpu-throttle` passes under load",
                ),
                Fix(
                    "until then less power: `brctl tune apply --set gpu.power_limit=80%`",
                    "slower, but evenly",
                    "`brctl diagnose run --only gpu-throttle` passes under load",
                ),
            ),
            ("gpu-clocks", "gpu-throttle"),
        ),
        PossibleCause(
            "power",
            "a GPU gets too little power",
            (
                Fact("gpu-throttle", BAD, 5, "the power supply or the board slows it down", _POWER),
                Fact("gpu-throttle", PASS, -2, "nothing slows the GPUs down"),
                Fact("gpu-power", BAD, 5, "a lower limit is enforced than is set, or than its siblings have"),
                Fact("gpu-power", PASS, -2, "limits are as requested and as of the siblings"),
            ),
            (Step("`ipmitool sel list`, `ipmitool sdr type 'Power Supply'`", "seconds", NOTHING), LOOK_LONGER),
            (
                Fix("mend the power supply or its cable", "the node is away", "nothing slows the GPUs under load"),
                Fix(
                    "a limit that is merely set: `brctl tune apply --set gpu.power_limit=100%`",
                    "more heat",
                    "`brctl diagnose run --only gpu-power` passes",
                ),
            ),
            ("gpu-clocks",),
        ),
        PossibleCause(
            "low-clocks",
            "a GPU works at low clocks",
            (
                Fact("gpu-clocks", BAD, 5, "it works slower than its siblings, and nothing says why"),
                Fact("gpu-clocks", PASS, -3, "busy GPUs are equally fast"),
            ),
            (Step("`nvidia-smi -q -d CLOCK`: are clocks locked?", "seconds", NOTHING),),
            (
                Fix(
                    "`nvidia-smi --reset-gpu-clocks`; those that are declared: `brctl tune apply --only gpu-clocks`",
                    "none",
                    "`brctl diagnose run --only gpu-clocks` passes",
                ),
                RESET,
            ),
        ),
        PossibleCause(
            "slow-driver",
            "the driver answers slowly for a GPU",
            (
                Fact("gpu-latency", BAD, 5, "each call on it takes longer than on its siblings"),
                Fact("gpu-latency", PASS, -2, "all are answered for alike"),
                Fact("gpu-ecc-rate", BAD, 5, "it corrects memory errors all the time"),
                Fact("gpu-ecc-rate", PASS, -1, "few memory errors are corrected"),
            ),
            (LOOK_LONGER,),
            (RESET, RMA),
        ),
        PCIE,
        NVLINK,
        MEMORY_ERRORS,
        GOVERNOR,
        NUMA,
        BUSY_CORES,
    ),
    (
        Step("`brctl diagnose run` while the job runs: clocks and heat show under load only", "seconds", NOTHING),
        COMPARE,
    ),
    ("Idle GPUs lower clocks and PCIe generation to save power: that is no fault, and is not counted as one.",),
)
