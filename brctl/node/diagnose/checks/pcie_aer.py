"""The kernel has told of no PCIe error (AER) that a device or link did not get over.

A fatal one ends the link: what sits below is lost, and what the driver says of that is its consequence. One that is
uncorrected but not fatal loses a transaction. Corrected ones are normal at a rate that the link's bit error rate
allows; the kernel tells only some of them, so that a low rate here is no proof.
"""

from functools import partial
from typing import Optional, Sequence

from ...facts import LogEvent
from ...report import Finding, Status
from .. import Case, Check, Threshold, incidents
from ..incidents import Told


def run(case: Case) -> Sequence[Finding]:
    judge = partial(_judge, case.thresholds["corrected_per_minute"])
    return incidents.findings(CHECK, case.seen, judge, _describe, _remedy, "no PCIe error since the boot")


def _judge(limit: float, one: Told) -> Status:
    if one.event.severity == "corrected":
        return Status.WARN if _per_minute(one.event) > limit else Status.INFO
    return Status.CRIT if one.event.severity == "fatal" else Status.WARN


def _per_minute(event: LogEvent) -> float:
    """Over a minute at least: a burst is no rate."""
    if event.first_s is None or event.last_s is None:
        return 0.0
    return event.occurrences * 60 / max(60.0, event.last_s - event.first_s)


def _describe(ones: Sequence[Told]) -> str:
    event = ones[0].event
    word = {"fatal": "a fatal", "non-fatal": "an uncorrected", "corrected": "a corrected"}[event.severity or ""]
    return "{} PCIe error{} ({})".format(word, ", " + event.detail if event.detail else "", incidents.times(event))


def _remedy(ones: Sequence[Told]) -> Optional[str]:
    if ones[0].event.severity == "corrected":
        return "reseat the card or riser below it, then the cable; if the rate stays, replace it"
    return "drain the node and power-cycle it; if it comes back, look at slot, riser and power supply, then RMA"


CHECK = Check(
    id="pcie-aer",
    title="The kernel has told of no PCIe error",
    tags=("health",),
    needs=("kernel_log",),
    run=run,
    thresholds=(
        Threshold(
            "corrected_per_minute",
            31,
            "errors per minute",
            "What a link of generation 5 with 16 lanes has at a bit error rate of 1e-12, as DCGM counts replays: 16 x "
            "1.92 a minute (dcgmlib, PCIe replay rate).",
        ),
    ),
    group="log",
)
