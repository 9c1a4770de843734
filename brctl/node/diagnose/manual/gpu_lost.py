"""A GPU is lost."""

from . import BAD, HUNG, PASS, Card, Fact, Fix, Needs, PossibleCause, Step
from .shared import MEMORY_XIDS, NOTHING, POWER_CYCLE, RESET, RMA

_DRAIN_AND_BOOT = Fix(
    "`brctl node-manager drain --reason gpu-hangs --wait 30m`, then reboot: what hangs in the driver cannot be ended",
    "ends all jobs of the node",
    "`brctl node-manager check` finds all GPUs",
)

CARD = Card(
    "gpu-lost",
    "A GPU is lost, or does not answer",
    Needs(any=("gpu-driver", "gpu-responding", "gpu-xid"), optional=("gpu-count", "gpu-gsp", "pcie-aer")),
    (
        PossibleCause(
            "driver",
            "the driver does not work on this host",
            (
                Fact("gpu-driver", BAD, 6, "no GPU can answer without it"),
                Fact("gpu-driver", PASS, -4, "it answers"),
            ),
            (Step("`dmesg | grep NVRM`, `dkms status`", "seconds", NOTHING),),
            (
                Fix(
                    "`modprobe nvidia`; install its library where that is missing; after an upgrade, reboot",
                    "a reboot ends all jobs of the node",
                    "`brctl diagnose run --only gpu-driver` passes",
                ),
            ),
            ("gpu-responding", "gpu-count"),
        ),
        PossibleCause(
            "off-the-bus",
            "a GPU has fallen off the PCI bus",
            (
                Fact("gpu-xid", BAD, 6, "the driver says so", ("Xid 79", "fallen off the bus")),
                Fact("gpu-responding", BAD, 5, "the driver calls it lost", ("is lost",)),
                Fact("gpu-responding", PASS, -1.5, "all GPUs that are known answer"),
                Fact("gpu-xid", PASS, -0.5, "the driver told of no error"),
                Fact("gpu-count", BAD, 5, "fewer are there than are declared"),
                Fact("pcie-aer", BAD, 2, "the kernel told of bus errors"),
            ),
            (Step("`lspci -vv -s ADDRESS`: rev ff is a GPU without power or link", "seconds", NOTHING),),
            (POWER_CYCLE, RMA),
            ("gpu-pcie", "gpu-count", "gpu-responding", "gpu-links"),
        ),
        PossibleCause(
            "does-not-start",
            "the driver could not start a GPU",
            (
                Fact("gpu-xid", BAD, 5, "it says so", ("RmInitAdapter failed", "Xid 143")),
                Fact("gpu-xid", PASS, -0.5, "it told of no failure"),
                Fact("gpu-responding", BAD, 3, "it is on the bus, and not in the library", ("does not list it",)),
                Fact("gpu-responding", PASS, -1.5, "all GPUs that are known answer"),
            ),
            (Step("`dmesg | grep -E 'NVRM|BAR'`", "seconds", NOTHING),),
            (POWER_CYCLE, RMA),
            ("gpu-responding", "gpu-count"),
        ),
        PossibleCause(
            "hangs",
            "a GPU, or the driver for it, hangs",
            (
                Fact("gpu-responding", HUNG, 6, "a call on it did not return"),
                Fact("gpu-driver", HUNG, 6, "its first call did not return"),
                Fact("gpu-responding", PASS, -1.5, "all calls returned"),
                Fact("gpu-xid", BAD, 5, "its own processor does not answer", ("Xid 62", "Xid 119", "Xid 120")),
                Fact("gpu-xid", PASS, -0.5, "the driver told of no time-out"),
                Fact("gpu-gsp", BAD, 2, "its processor runs other firmware than the driver's"),
                Fact("host-d-state", BAD, 2, "processes hang in the driver", ("hangs in NVIDIA's driver",)),
            ),
            (Step("`cat /proc/PID/stack` of what is in state D", "seconds", NOTHING),),
            (_DRAIN_AND_BOOT,),
            ("host-d-state", "gpu-owners"),
        ),
        PossibleCause(
            "reset-needed",
            "a GPU waits for a reset",
            (
                Fact("gpu-responding", BAD, 6, "it answers that it must be reset", ("needs a reset",)),
                Fact("gpu-responding", PASS, -1, "all GPUs answer"),
                Fact("gpu-recovery-action", BAD, 5, "the driver asks for it"),
                Fact("gpu-recovery-action", PASS, -2, "the driver asks for none"),
                Fact("gpu-xid", BAD, 2, "an error of its memory came before", MEMORY_XIDS),
                Fact("gpu-remap", BAD, 3, "a row is remapped at the next reset"),
                Fact("gpu-fabric", BAD, 2, "it has not joined the fabric"),
            ),
            (Step("`nvidia-smi -q | grep -A2 'Recovery Action'`", "seconds", NOTHING),),
            (RESET, RMA),
        ),
    ),
    (
        Step("`brctl node-manager show`: which GPUs there are, by UUID and address", "seconds", NOTHING),
        Step(
            "in a container: was the GPU's device given to it, also after `systemctl daemon-reload`?",
            "minutes",
            NOTHING,
        ),
    ),
    ("A GPU that comes back after a reset and is lost again is to be replaced, not reset again.",),
)
