"""The seeded fault suite: what `diagnose run` says of a fault is its cause, and nothing else.

benchmarks/diagnose.py runs all of it, and prints precision, recall and top-k; here are all faults on few machines.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from brctl.mock import machines as mocked
from brctl.mock.harm import rails
from brctl.mock.machines import _decode as decoded
from brctl.mock.machines import idle_faults, load, names
from brctl.node.agent import answer
from brctl.node.report import Finding, Status
from brctl.node.request import Request

CAUSES = {
    "lost": "gpu-responding",
    "hang": "gpu-responding",
    "reset-required": "gpu-responding",
    "no-permission": "gpu-responding",
    "xid-79": "gpu-xid",
    "ecc-dbe": "gpu-ecc-volatile",
    "ecc-storm": "gpu-ecc-rate",
    "ecc-growing": "gpu-ecc-aggregate",
    "remap-pending": "gpu-remap",
    "remap-failure": "gpu-remap",
    "remap-exhausted": "gpu-remap",
    "retire-pending": "gpu-retired-pages",
    "sram": "gpu-sram",
    "inforom": "gpu-inforom",
    "recovery-reset": "gpu-recovery-action",
    "link-down": "gpu-links",
    "nvlink-crc": "gpu-nvlink-errors",
    "nvlink-retrains": "gpu-nvlink-errors",
    "no-fabric": "gpu-fabric",
    "fabric-degraded": "gpu-fabric",
    "pcie-x4": "gpu-pcie",
    "pcie-gen1": "gpu-pcie",
    "pcie-replays": "gpu-pcie-replay",
    "thermal": "gpu-temperature",
    "power-brake": "gpu-throttle",
    "power-capped": "gpu-power",
    "slow-clock": "gpu-clocks",
    "no-persistence": "gpu-persistence",
    "ecc-off-pending": "gpu-pending",
    "orphan": "gpu-owners",
    "ghost-memory": "gpu-owners",
    "gsp-mismatch": "gpu-gsp",
    "gsp-timeout": "gpu-xid",
    "memory-error": "gpu-remap",
    "slow-calls": "gpu-latency",
}
"""Of each fault of a GPU, the check whose finding is its cause."""
DRIVER_CAUSES = {"no-library": "gpu-driver", "no-driver": "gpu-driver", "version-mismatch": "gpu-driver"}
NOT_OF_MIG = ("ghost-memory", "pcie-gen1")
"""Memory is its instances' there, and whether it works is not told."""
SLOW = "slow-calls"
"""It takes seconds of true time: of the benchmark alone."""
HOST_CAUSES = {
    "numa-balancing": ("numa-balancing", "host"),
    "hung-task": ("kernel-hung-task", "host"),
    "oom": ("kernel-oom", "host"),
    "slow-governor": ("cpu-governor", "host"),
    "edac-ue": ("edac", "host"),
    "hpet": ("clock-sync", "host"),
    "unsynchronized": ("clock-sync", "host"),
    "read-only-root": ("mount-read-only", "/"),
    "disk-full": ("disk-space", "/"),
    "vlan-mtu": ("nic-mtu-chain", "bond0.100"),
}
"""Of each fault of a host with GPUs, the check and what it is about."""
NIC_CAUSES = {
    "down": "rdma-state",
    "mtu-odd": "nic-mtu",
    "pfc-storm": "nic-pause",
    "paused": "nic-pause",
    "flaps": "nic-flaps",
    "crc": "nic-errors",
    "discards": "nic-drops",
    "ack-timeouts": "nic-drops",
    "no-descriptors": "nic-rings",
    "small-ring": "nic-rings",
    "wrong-priority": "nic-lossless",
    "congested": "nic-congestion",
    "pfc-off": "nic-priority",
    "trust-pcp": "nic-priority",
    "no-address": "rdma-gid",
    "no-tso": "nic-offloads",
    "shaped": "nic-qdisc",
    "x8": "nic-pcie",
    "no-numa": "nic-affinity",
}
"""Of each fault of a rail, the check whose finding is its cause."""
NOT_OF_INFINIBAND = ("mtu-odd", "congested")
"""The MTU of the interface says nothing about RDMA there, and marks and their answers are RoCE's."""
ON_ONE_NUMA_NODE = ("h100-mig", "vgpu-guest")
"""There are no pages to move there."""
AMONG_SIBLINGS = ("no-persistence", "link-down")
"""Of a GPU alone they are no fault: there is nothing that it differs from."""
_CALLS = (Status.WARN, Status.CRIT, Status.UNKNOWN)
INTERVAL_S = 0.05


class Trial(NamedTuple):
    spec: str
    causes: frozenset[tuple[str, str]]
    """Check and subject's name of each fault."""


class Outcome(NamedTuple):
    trial: Trial
    told: Sequence[tuple[str, str]]
    """What calls for somebody and follows from nothing else, as ordered."""


def singles(seed: int, machines: Sequence[str] = names()) -> Iterator[Trial]:
    """Each fault on each machine where it makes sense, on a GPU by chance."""
    chance = random.Random(seed)
    for machine in machines:
        for fault, cause in CAUSES.items():
            spec, subject = _on_gpu(machine, fault, chance.randrange(_gpus(machine) or 1))
            if _makes_sense(machine, fault, spec):
                yield Trial(spec, frozenset({(cause, subject)}))
        yield from _on_rails(machine, chance)
        for fault, cause in DRIVER_CAUSES.items():
            spec = f"{machine}+{fault}"
            if not idle_faults(spec) and _gpus(machine):
                yield Trial(spec, frozenset({(cause, "host")}))
        for fault, told in HOST_CAUSES.items():
            spec = f"{machine}+{fault}"
            alone = fault == "numa-balancing" and machine in ON_ONE_NUMA_NODE
            if not idle_faults(spec) and _gpus(machine) and not alone:
                yield Trial(spec, frozenset({told}))


def _on_rails(machine: str, chance: random.Random) -> Iterator[Trial]:
    """Each fault of a rail, on one by chance."""
    found = rails(decoded(str(Path(mocked.__file__).with_name("machines") / f"{machine}.json"))["files"])
    for fault, cause in NIC_CAUSES.items() if len(found) > 2 else ():
        place = chance.randrange(len(found))
        spec = f"{machine}+nic{place}-{fault}"
        of_infiniband = found[place].nic.startswith("ib") and fault in NOT_OF_INFINIBAND
        if not idle_faults(spec) and not of_infiniband:
            yield Trial(spec, frozenset({(cause, found[place].nic)}))


def pairs(seed: int, number: int, machines: Sequence[str] = names()) -> Iterator[Trial]:
    """Two faults together, on two GPUs by chance."""
    chance = random.Random(seed)
    several = [machine for machine in machines if _gpus(machine) > 2]
    while number:
        machine = chance.choice(several)
        faults = chance.sample(sorted(CAUSES), 2)
        places = chance.sample(range(_gpus(machine)), 2)
        made = [_on_gpu(machine, fault, place) for fault, place in zip(faults, places, strict=True)]
        if all(_makes_sense(machine, fault, spec) for fault, (spec, _) in zip(faults, made, strict=True)):
            spec = made[0][0] + "+" + made[1][0].partition("+")[2]
            causes = {(CAUSES[fault], subject) for fault, (_, subject) in zip(faults, made, strict=True)}
            number -= 1
            yield Trial(spec, frozenset(causes))


def _on_gpu(machine: str, fault: str, place: int) -> tuple[str, str]:
    return f"{machine}+gpu{place}-{fault}", f"GPU {place}"


def _makes_sense(machine: str, fault: str, spec: str) -> bool:
    mig = machine == "h100-mig" and fault in NOT_OF_MIG
    few = fault == SLOW and _gpus(machine) < 3
    return _gpus(machine) > (fault in AMONG_SIBLINGS) and not mig and not few and not idle_faults(spec)


def _gpus(machine: str) -> int:
    if machine not in _COUNTS:
        host = load(machine)
        _COUNTS[machine] = len(host.listdir("/proc/driver/nvidia/gpus") or ())
    return _COUNTS[machine]


_COUNTS: dict[str, int] = {}


def run(trial: Trial) -> Outcome:
    """Diagnose it."""
    report = answer(load(trial.spec), Request("node", "diagnose", interval_s=INTERVAL_S))
    told = [finding for finding in report.findings if finding.cause is None and finding.status in _CALLS]
    return Outcome(trial, [(finding.check, _subject(finding)) for finding in told])


def _subject(finding: Finding) -> str:
    return finding.subject.name


FEW = ("dgx-h100", "old-driver")


TRIALS = [
    trial
    for trial in (*singles(1, FEW[:1]), *_on_rails("hgx-h200", random.Random(3)), *pairs(2, 8, FEW))
    if SLOW not in trial.spec
]


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.spec)
def test_a_fault_is_one_finding_and_the_right_one(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    if "hang" in trial.spec:
        monkeypatch.setattr("brctl.node.deadline.CALL_LIMIT_S", 0.5)
    assert frozenset(run(trial).told) == trial.causes


@pytest.mark.parametrize("machine", names())
def test_a_healthy_machine_calls_for_nobody(machine: str) -> None:
    assert run(Trial(machine, frozenset())).told == []


def test_a_port_that_lost_its_gpu_is_the_ports_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brctl.node.deadline.CALL_LIMIT_S", 0.5)
    spec = "dgx-h100+gpu3-surprise-down"
    report = answer(load(spec), Request("node", "diagnose", interval_s=INTERVAL_S))
    (cause,) = [one for one in report.findings if one.cause is None and one.status in _CALLS]
    assert (cause.check, cause.status, cause.subject.kind) == ("pcie-aer", Status.CRIT, "pci")
    under = {(one.check, one.subject.name) for one in report.findings if one.cause}
    assert {("gpu-xid", "GPU 3"), ("gpu-responding", "GPU 3")} <= under
    assert idle_faults("vgpu-guest+surprise-down")


def test_faults_of_nobodys_and_a_log_that_is_not_whole() -> None:
    assert run(Trial("dgx-h100+gpu3-xid-13", frozenset())).told == []
    assert set(run(Trial("dgx-h100+nic2-firmware-hang", frozenset())).told) == {("nic-firmware-error", "ens3np0")}
    assert set(run(Trial("dgx-h100+nic2-pfc-storm", frozenset())).told) == {("nic-pause", "ens3np0")}
    told = run(Trial("dgx-h100+log-rotated", frozenset())).told
    assert {check for check, _ in told} == {
        "gpu-xid", "kernel-hung-task", "kernel-oom", "nic-firmware-error", "nvswitch-sxid", "pcie-aer",
    }  # fmt: skip
    assert ("sysctl-buffers", "host") in run(Trial("dgx-h100+small-buffers", frozenset())).told
