"""The driver has told of no error of an NVSwitch since the boot.

An SXid says in its line whether it is fatal. A fatal one takes the links of the switch down until GPUs and switch are
reset together; one that is not is a warning. Both at once are one finding, the fatal one first.
"""

from typing import Optional, Sequence

from ...report import Finding, Status
from .. import Case, Check, incidents
from ..incidents import Told


def run(case: Case) -> Sequence[Finding]:
    return incidents.findings(CHECK, case.seen, _judge, _describe, _remedy, "no SXid since the boot")


def _judge(one: Told) -> Status:
    return Status.CRIT if one.event.severity == "fatal" else Status.WARN


def _describe(ones: Sequence[Told]) -> str:
    first, *others = ones
    word = {"fatal": "fatal", "non-fatal": "not fatal"}.get(first.event.severity or "", "of unknown severity")
    tail = "; with SXid {}".format(", ".join(str(one.event.number) for one in others)) if others else ""
    return "SXid {}, {} ({}){}".format(first.event.number, word, incidents.times(first.event), tail)


def _remedy(ones: Sequence[Told]) -> Optional[str]:
    if ones[0].event.severity == "fatal":
        return (
            "drain the node, stop nvidia-fabricmanager, reset all GPUs and switches: `nvidia-smi --gpu-reset`, start it"
        )
    return "look whether the NVLinks are up (`brctl node-manager check`); no reset is needed while they are"


CHECK = Check(
    id="nvswitch-sxid",
    title="The driver has told of no NVSwitch error",
    tags=("health",),
    needs=("kernel_log",),
    run=run,
    group="log",
)
