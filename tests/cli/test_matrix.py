"""Every machine with every fault: the program ends in time, tells the truth and nothing else.

A fact of a faulty machine is that of the healthy one, or None, or what the fault makes of it: nothing is invented.
"""

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import pytest

from brctl.mock import machines
from brctl.mock.faults import BUSY, KINDS, UNSUPPORTED
from brctl.mock.gpu_faults import GPU_KINDS
from brctl.mock.host_faults import HOST_KINDS
from brctl.mock.machines import idle_faults, names
from brctl.mock.net_faults import NET_KINDS
from brctl.node import actions, deadline

Brctl = Callable[..., Any]  # the fixture of conftest.py
Facts = dict[str, Any]

FAULTS = [
    kind.name + (":nvmlDeviceGetVbiosVersion" if kind is UNSUPPORTED else "")
    for kind in KINDS
    if kind not in (*GPU_KINDS, *HOST_KINDS, *NET_KINDS, BUSY)  # of test_diagnose_faults.py; to be busy is none
]
CALL_LIMIT_S = 1.5


class AtLeast(int):
    """Equal to whatever is not less."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int) and other >= int(self)

    __hash__ = int.__hash__


GPU, PCI, NIC, RDMA = "gpus/0/", "pci/{pci}/", "nics/{nic}/", "rdma/{rdma}/"
REASONS = GPU + "telemetry/clocks_event_reasons/"
THROTTLED = {
    REASONS + "0": "hw_slowdown",
    GPU + "telemetry/sm_clock_mhz": lambda was: was[GPU + "limits/max_sm_clock_mhz"] // 4,
}
MARGIN, TEMPERATURE = GPU + "telemetry/temperature_margin_celsius", GPU + "telemetry/temperature_celsius"

CHANGED: dict[str, Facts] = {
    "ecc-dbe": {GPU + "errors/volatile_uncorrected": 1, GPU + "errors/aggregate_uncorrected": 1},
    "ecc-storm": {
        GPU + "errors/volatile_corrected": AtLeast(100000),
        GPU + "errors/aggregate_corrected": AtLeast(100000),
    },
    "remap-pending": {
        GPU + "errors/remap_pending": True,
        GPU + "errors/remapped_rows_uncorrectable": 1,
        GPU + "errors/recovery_action": "drain-and-reset",
    },
    "remap-failure": {GPU + "errors/remap_failure": True},
    "link-down": {GPU + "links/3/active": False},
    "pcie-x4": {GPU + "pcie/width": 4, PCI + "link_width": 4},
    "thermal": {
        **THROTTLED,
        TEMPERATURE: 90,
        MARGIN: lambda was: was[MARGIN] + was[TEMPERATURE] - 90,
        REASONS + "1": "hw_thermal_slowdown",
        GPU + "telemetry/hw_thermal_slowdown_ns": AtLeast(10**9),
    },
    "power-brake": {
        **THROTTLED,
        REASONS + "1": "hw_power_brake_slowdown",
        GPU + "telemetry/hw_power_brake_slowdown_ns": AtLeast(10**9),
    },
    "power-capped": {
        GPU + "limits/enforced_power_limit_watts": lambda was: was[GPU + "limits/default_power_limit_watts"] / 2
    },
    "inforom": {GPU + "errors/inforom_valid": False},
    "down": {
        NIC + "carrier": False,
        NIC + "operstate": "down",
        RDMA + "state": "DOWN",
        RDMA + "physical_state": "Polling",
    },
    "mtu-odd": {NIC + "mtu": 1500, RDMA + "rdma_mtu": lambda was: 1024 if "nics/ens1np0/mtu" in was else 4096},
    "numa-balancing": {"sysctls/kernel.numa_balancing/value": "1"},
    "small-buffers": {
        "sysctls/net.core.rmem_max/value": "212992",
        "sysctls/net.core.wmem_max/value": "212992",
    },
}
"""What a fault makes of facts."""

LOST: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("lost", "hang", "reset-required", "no-permission"), (GPU,)),
    "xid-79": (GPU, PCI + "link_speed_gts", PCI + "link_width"),
    "unsupported": (GPU + "identity/vbios",),
    "link-down": (GPU + "links/3/version",),
    "inforom": (GPU + "identity/inforom_version",),
    "down": (NIC + "speed_mbps", RDMA + "rate_gbps"),
    "no-library": ("gpus/", "accelerator_driver/"),
    "no-driver": ("gpus/", "accelerator_driver/", "pci/"),
    "version-mismatch": ("gpus/", "accelerator_driver/"),
}
"""What is not known any more, by how its path begins."""

CRIT, UNKNOWN = {"gpu-responding": "crit"}, {"gpu-responding": "unknown"}
NO_DRIVER = {"gpu-driver": "crit"}
FOUND: dict[str, dict[str, str]] = {
    "lost": CRIT,
    "hang": UNKNOWN,
    "reset-required": CRIT,
    "no-permission": UNKNOWN,
    "xid-79": CRIT,
    "no-library": NO_DRIVER,
    "no-driver": NO_DRIVER,
    "version-mismatch": NO_DRIVER,
    "link-down": {"gpu-links": "warn"},
    "mtu-odd": {"nic-mtu": "warn"},
}
"""What the checks say; a fault that none is for yet shows in the facts alone."""
WITH_NVSWITCH = ("dgx-a100", "dgx-h100", "hgx-b200", "hgx-h200")
"""There a missing NVLink is critical."""
ROCE = ("dgx-h100", "hgx-b200", "l40s-pcie")
"""On InfiniBand the interface's MTU says nothing about RDMA, and is not judged."""


class Run:
    """What brctl says about one machine, by three commands that look at it once."""

    def __init__(self, brctl: Brctl, spec: str) -> None:
        self.check = brctl("--mock", spec, "node-manager", "check", "-o", "json")
        self.table = brctl("--mock", spec, "node-manager", "check", "-v")
        self.show = brctl("--mock", spec, "node-manager", "show", "-v")
        (report,) = json.loads(self.check.out)["reports"]
        self.elapsed_s = report["elapsed_s"]
        self.inventory = report["inventory"]
        self.facts = dict(facts(report["inventory"], ""))
        self.found = {
            finding["check"]: finding["status"]
            for finding in report["findings"]
            if finding["status"] not in ("pass", "n/a", "info")
        }


def facts(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Each value with its path; the parts of a list by their names."""
    if isinstance(value, dict):
        value = value.items()
    elif isinstance(value, list):
        value = [(str(name_of(item, place)), item) for place, item in enumerate(value)]
    else:
        yield path.rstrip("/"), value
        return
    for key, item in value:
        if key not in ("problems", "accelerator_libraries", "fault", "unsupported"):
            yield from facts(item, f"{path}{key}/")


def name_of(item: Any, place: int) -> Any:
    names = ("gpu_index", "address", "name", "device", "key", "target")
    return next((item[name] for name in names if isinstance(item, dict) and name in item), place)


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine is made and looked at once, however many commands ask."""
    look, make = actions.inventory, machines.HarmedMachine
    seen: Facts = {}
    made: Facts = {}

    def inventory(host: Any) -> Any:
        if host.mock.machine not in seen:
            seen[host.mock.machine] = look(host)
        return seen[host.mock.machine]

    def machine(plain: Any, mock: str, *more: Any) -> Any:
        if mock not in made:
            made[mock] = make(plain, mock, *more)
        return made[mock]

    monkeypatch.setattr(actions, "inventory", inventory)
    monkeypatch.setattr(machines, "HarmedMachine", machine)
    monkeypatch.setattr(machines, "_parse", lru_cache(maxsize=None)(machines._parse))


@pytest.fixture
def healthy(brctl: Brctl, once: None, machine: str) -> Run:
    if machine not in _HEALTHY:
        _HEALTHY[machine] = Run(brctl, machine)
    return _HEALTHY[machine]


_HEALTHY: dict[str, Run] = {}

every_machine = pytest.mark.parametrize("machine", names())


@every_machine
def test_a_healthy_machine_is_clean(healthy: Run) -> None:
    assert healthy.found == {}
    for result in (healthy.check, healthy.table, healthy.show):
        assert (result.code, result.err) == (0, "")


@every_machine
@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_machine(
    brctl: Brctl, healthy: Run, machine: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "hang":
        monkeypatch.setattr(deadline, "CALL_LIMIT_S", CALL_LIMIT_S)
    spec, name = f"{machine}+{fault}", fault.partition(":")[0]
    run, idle = Run(brctl, spec), idle_faults(spec)
    assert run.elapsed_s < 20
    for result in (run.check, run.table, run.show):
        assert result.err == "".join(f"warning: {line}\n" for line in idle)
    if idle:
        assert (run.facts, run.found) == (healthy.facts, {})
        return
    assert run.found == expected_findings(name, machine)
    bad = {"crit", "warn"} & set(run.found.values())
    assert run.check.code == run.table.code == (3 if fault == "hang" else 1 if bad else 0)
    assert run.show.code == (3 if fault == "hang" else 0)
    compare(run.facts, healthy.facts, name, places(healthy))


def expected_findings(fault: str, machine: str) -> dict[str, str]:
    if fault == "link-down" and machine in WITH_NVSWITCH:
        return {"gpu-links": "crit"}
    if fault == "mtu-odd" and machine not in ROCE:
        return {}
    return FOUND.get(fault, {})


def places(healthy: Run) -> dict[str, str]:
    """Where the first GPU and the first NIC are."""
    seen = healthy.inventory
    nics = sorted((nic["pci"], nic["name"], nic["rdma"]) for nic in seen["nics"] if nic["rdma"] and nic["speed_mbps"])
    _, nic, rdma = nics[0] if nics else ("", "", "")
    return {"pci": seen["gpus"][0]["pci"] if seen["gpus"] else "", "nic": nic, "rdma": rdma}


def compare(now: Facts, was: Facts, fault: str, place: dict[str, str]) -> None:
    changed = {path.format(**place): value for path, value in CHANGED.get(fault, {}).items()}
    has = {path: value for path, value in changed.items() if was.get(path) is not None or path.startswith(REASONS)}
    want = {path: value(was) if callable(value) else value for path, value in has.items()}
    assert {path: now.get(path) for path in want} == want
    differ = [path for path, value in now.items() if value is not None and was.get(path) != value and path not in want]
    assert differ == [], "invented"
    lost = tuple(path.format(**place) for path in LOST.get(fault, ()))
    gone = [path for path, value in was.items() if value is not None and now.get(path) is None]
    assert [path for path in gone if not path.startswith(lost)] == [], "lost"
