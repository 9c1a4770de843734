"""The fault suite through the cards: the cause of a symptom is the fault. benchmarks/diagnose.py runs it everywhere."""

from __future__ import annotations

import pytest

from brctl.mock.machines import load
from brctl.node.agent import answer
from brctl.node.diagnose import ranking
from brctl.node.diagnose.manual import card
from brctl.node.diagnose.ranking import Conclusion
from brctl.node.report import Report
from brctl.node.request import Request

FAULTS = {
    "lost": ("gpu-lost", "off-the-bus"),
    "hang": ("gpu-lost", "hangs"),
    "reset-required": ("gpu-lost", "reset-needed"),
    "xid-79": ("gpu-lost", "off-the-bus"),
    "recovery-reset": ("gpu-lost", "reset-needed"),
    "ecc-dbe": ("nan-loss", "memory-errors"),
    "ecc-growing": ("nan-loss", "memory-errors"),
    "remap-pending": ("nan-loss", "memory-errors"),
    "remap-failure": ("nan-loss", "memory-errors"),
    "remap-exhausted": ("gpu-memory", "memory-errors"),
    "retire-pending": ("gpu-memory", "memory-errors"),
    "sram": ("gpu-memory", "memory-errors"),
    "orphan": ("gpu-memory", "held"),
    "ghost-memory": ("gpu-memory", "held"),
    "ecc-off-pending": ("gpu-memory", "mode-pending"),
    "thermal": ("slow-node", "heat"),
    "power-brake": ("slow-node", "power"),
    "power-capped": ("slow-node", "power"),
    "slow-clock": ("slow-node", "low-clocks"),
    "ecc-storm": ("slow-node", "slow-driver"),
    "pcie-x4": ("slow-node", "pcie"),
    "pcie-gen1": ("slow-comm", "pcie"),
    "pcie-replays": ("slow-comm", "pcie"),
    "link-down": ("slow-comm", "nvlink"),
    "nvlink-crc": ("slow-comm", "nvlink"),
    "nvlink-retrains": ("slow-comm", "nvlink"),
    "no-fabric": ("slow-comm", "nvlink"),
    "fabric-degraded": ("slow-comm", "nvlink"),
}
"""Of a fault of one GPU, a symptom that it makes, and its cause there."""

MACHINES = {"retire-pending": "old-driver", "fabric-degraded": "hgx-b200"}
"""Others have nothing that these could act on."""


def ranked(fault: str, report: Report) -> list[str]:
    """The ids of the causes of its symptom that something speaks for, the likeliest first; none where it abstains."""
    said = ranking.answer(card(FAULTS[fault][0]), report)
    named = said.conclusion is Conclusion.FOUND
    return [cause.id for cause in said.causes if cause.speaks_for and named]


@pytest.mark.parametrize("fault", FAULTS)
def test_the_cause_of_a_fault_comes_first(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "hang":  # else a busy machine has its time
        monkeypatch.setattr("brctl.node.deadline.CALL_LIMIT_S", 0.5)
    report = answer(load(f"{MACHINES.get(fault, 'dgx-h100')}+gpu1-{fault}"), Request("n", "diagnose", interval_s=0.05))
    assert ranked(fault, report)[:1] == [FAULTS[fault][1]]
