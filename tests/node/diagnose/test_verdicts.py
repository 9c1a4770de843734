from typing import Any, Callable, Optional

import pytest

from brctl.node.diagnose import Case, Check, verdicts
from brctl.node.diagnose.verdicts import WELL, Verdict
from brctl.node.facts import Gpu, GpuFault, Inventory
from brctl.node.report import HOST, Evidence, Status
from brctl.node.request import Expected

CHECK = Check("a-check", "A check", (), ("gpus",), lambda _: ())


def judge(seen: Inventory, look: Callable[[Gpu], Optional[Verdict]]) -> Any:
    return verdicts.judge(CHECK, Case(seen, Expected(), {}), look, "well", "its value")


def with_faults(seen: Inventory, *kinds: Optional[str]) -> Inventory:
    faults = [GpuFault(kind, "call", "message") if kind else None for kind in kinds]
    gpus = tuple(gpu._replace(fault=fault) for gpu, fault in zip(seen.gpus or (), faults))
    return seen._replace(gpus=gpus)


def test_one_finding_for_all_that_are_well_and_one_for_each_that_is_not(dgx: Inventory) -> None:
    (found,) = judge(dgx, lambda _: WELL)
    assert (found.status, found.subject, found.summary) == (Status.PASS, HOST, "8 of 8 GPUs: well")
    found = judge(dgx, lambda gpu: Verdict(Status.WARN, "ill") if (gpu.gpu_index or 0) > 5 else WELL)
    assert [(one.status, one.summary) for one in found] == [
        (Status.WARN, "GPU 6: ill"),
        (Status.WARN, "GPU 7: ill"),
    ]


def test_all_that_are_ill_alike_are_one_finding(dgx: Inventory) -> None:
    ill = Verdict(Status.CRIT, "ill", (Evidence("what", "value", "source"),), "mend it")
    (found,) = judge(with_faults(dgx, None, "lost", None), lambda _: ill)
    assert (found.status, found.subject, found.summary) == (Status.CRIT, HOST, "2 of 3 GPUs: ill")
    assert (found.evidence, found.remedy) == (ill.evidence, "mend it")
    found = judge(dgx, lambda gpu: ill._replace(text="ill {}".format(gpu.gpu_index)))
    assert [one.summary for one in found][:2] == ["GPU 0: ill 0", "GPU 1: ill 1"]
    (found,) = judge(dgx._replace(gpus=(dgx.gpus or ())[:1]), lambda _: ill)
    assert found.summary == "GPU 0: ill"


def test_those_that_do_not_tell_or_do_not_answer_are_left_out(dgx: Inventory) -> None:
    (found,) = judge(dgx, lambda gpu: None if gpu.gpu_index == 3 else WELL)
    assert found.summary == "7 of 8 GPUs: well"
    (found,) = judge(with_faults(dgx, None, "lost", None), lambda _: WELL)
    assert found.summary == "2 of 3 GPUs: well"
    (found,) = judge(with_faults(dgx, None, "lost"), lambda _: None)
    assert (found.status, found.summary) == (Status.NA, "no GPU tells its value")


@pytest.mark.parametrize(("kinds", "reason"), [(("lost", "lost"), "error"), (("lost", "hung"), "hung")])
def test_none_that_answers_is_unknown(dgx: Inventory, kinds: Any, reason: str) -> None:
    (found,) = judge(with_faults(dgx, *kinds), lambda _: WELL)
    assert (found.status, found.reason, found.summary) == (Status.UNKNOWN, reason, "none of 2 GPUs could be read")
