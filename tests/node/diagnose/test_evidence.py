"""Taken away, evidence makes a check abstain, not guess."""

import runpy
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

import pytest

from brctl.node.diagnose import Check, Earlier, engine
from brctl.node.facts import Gpu, Inventory
from brctl.node.host.members import of_ids
from brctl.node.report import Status
from brctl.node.request import Expected

cuts = runpy.run_path(str(Path(__file__).with_name("test_absence.py")))["cuts"]

FAULTS: Dict[str, Dict[str, Dict[str, Any]]] = {
    "gpu-recovery-action": {"errors": {"recovery_action": "gpu-reset"}},
    "gpu-ecc-volatile": {"errors": {"volatile_uncorrected": 1}},
    "gpu-ecc-aggregate": {"errors": {"aggregate_uncorrected": 7}},
    "gpu-ecc-rate": {"errors": {"volatile_corrected": 9000000}},
    "gpu-remap": {"errors": {"remap_pending": True}},
    "gpu-retired-pages": {"errors": {"retired_pages_pending": True}},
    "gpu-sram": {"errors": {"sram_threshold_exceeded": True}},
    "gpu-inforom": {"errors": {"inforom_valid": False}},
    "gpu-throttle": {"telemetry": {"clocks_event_reasons": ("hw_power_brake_slowdown",)}},
    "gpu-temperature": {"telemetry": {"temperature_margin_celsius": -1}},
    "gpu-power": {"limits": {"enforced_power_limit_watts": 350.0}},
    "gpu-clocks": {
        "telemetry": {"gpu_utilization_percent": 100, "clocks_event_reasons": (), "sm_clock_mhz": 345},
    },
    "gpu-persistence": {"identity": {"persistence_mode": False}},
    "gpu-pending": {"health": {"ecc_pending": False}},
    "gpu-pcie": {"pcie": {"width": 4}},
    "gpu-pcie-replay": {"pcie": {"replay_counter": 9000}},
    "gpu-fabric": {"fabric": {"state": "not-started"}},
    "gpu-owners": {"telemetry": {"memory_used_bytes": 2**36}},
    "gpu-gsp": {"health": {"gsp_firmware_version": "535.54.03"}},
}
"""One value of one GPU that makes each check find something."""


CHOSEN = [check for check in engine.registry() if check.group == "gpu" and "health" in check.tags]


def diagnosed(seen: Inventory, before: Inventory, chosen: Sequence[Check] = CHOSEN) -> Tuple[str, ...]:
    """The checks that call for somebody, and follow from nothing else."""
    found = engine.run(seen, Expected(), (), chosen, (Earlier(before, "the first sample"),))
    assert not [one.summary for one in found if "itself failed" in one.summary or "None" in one.summary]
    return tuple(one.check for one in found if one.status in (Status.WARN, Status.CRIT))


def three(seen: Inventory) -> Inventory:
    """As many GPUs as a majority needs."""
    return Inventory(kernel=seen.kernel, accelerator_driver=seen.accelerator_driver, gpus=(seen.gpus or ())[:3])


def lacking(seen: Inventory) -> List[Inventory]:
    """The machine, each time with one thing missing of its first GPU, at any depth."""
    first, *others = seen.gpus or ()
    cut = [edit(first) for edit in cuts(Gpu)]
    return [seen._replace(gpus=(gpu, *others)) for gpu in cut if gpu != first]


def test_a_healthy_machine_of_which_anything_is_unknown(well: Inventory, later: Callable[..., Inventory]) -> None:
    before, now = three(well), later(three(well), 0.1)
    found = lacking(now)
    assert len(found) > 80
    for seen in (now, *found, now._replace(kernel=None), now._replace(accelerator_driver=None)):
        assert diagnosed(seen, before) == ()


@pytest.mark.parametrize("check", sorted(FAULTS))
def test_a_fault_of_which_anything_is_unknown(
    well: Inventory, with_values: Callable[..., Inventory], later: Callable[..., Inventory], check: str
) -> None:
    before, ill = three(well), later(three(with_values(0, **FAULTS[check])), 0.1)
    assert diagnosed(ill, before) == (check,)
    alone = of_ids(engine.registry(), [check])
    verdicts = {diagnosed(seen, before, alone) for seen in lacking(ill)}
    assert verdicts == {(check,), ()}, "what it rests on was among what was taken away"
