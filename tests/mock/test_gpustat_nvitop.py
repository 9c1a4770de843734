"""gpustat and nvitop, as they are on PyPI, over the mock: they show the same numbers as brctl."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import pytest

from brctl.mock.machines import load
from brctl.node.facts import Gpu
from brctl.node.probe import inventory

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not (find_spec("gpustat") and find_spec("nvitop")), reason="gpustat and nvitop are missing"),
]

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import runpy, sys
from brctl.mock.machines import load
load(sys.argv[1]).accelerators()  # from here on the mock is under pynvml
sys.argv[:] = sys.argv[2:]
runpy.run_module(sys.argv[0], run_name="__main__")
"""
HEALTHY = ["dgx-a100", "hgx-b200", "hgx-h200", "l40s-pcie", "sixteen-gpus", "vgpu-guest", "h100-mig"]
FAULTY = "dgx-h100+gpu1-thermal+gpu3-lost+gpu5-ecc-dbe+gpu7-power-capped"
FOR_GPUSTAT = [*HEALTHY, FAULTY, "dgx-h100+gpu2-unsupported:nvmlDeviceGetPowerUsage"]
"""It gives up on an old driver, and where a GPU does not answer for any reason but that it is lost."""
FOR_NVITOP = [*HEALTHY, FAULTY, "dgx-h100+gpu0-reset-required", "old-driver"]
MIB = 1 << 20


def run(spec: str, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        [sys.executable, "-c", RUN, spec, *command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout


def seen(spec: str) -> Tuple[Gpu, ...]:
    return inventory(load(spec)).gpus or ()


def answering(gpu: Gpu) -> bool:
    return gpu.fault is None


@pytest.mark.parametrize("spec", FOR_GPUSTAT)
def test_gpustat(spec: str, own_pynvml: Any) -> None:
    theirs, ours = json.loads(run(spec, "gpustat", "--json"))["gpus"], seen(spec)
    assert [one["index"] for one in theirs] == [gpu.gpu_index for gpu in ours]
    for one, gpu in zip(theirs, ours, strict=True):
        assert ("uuid" in one) == answering(gpu)
        if answering(gpu):
            assert {key: one[key] for key in of_gpustat(gpu)} == of_gpustat(gpu)
        else:
            assert (one["name"], one["processes"]) == ("(({}))".format(gpu.fault and gpu.fault.message), None)


def of_gpustat(gpu: Gpu) -> Dict[str, Any]:
    assert gpu.identity and gpu.telemetry and gpu.limits  # noqa: PT018
    assert gpu.identity.memory_bytes is not None
    assert gpu.telemetry.memory_used_bytes is not None
    limit, power = gpu.limits.enforced_power_limit_watts, gpu.telemetry.power_watts
    return {
        "uuid": gpu.uuid,
        "name": gpu.identity.name,
        "temperature.gpu": gpu.telemetry.temperature_celsius,
        "utilization.gpu": gpu.telemetry.gpu_utilization_percent,
        "power.draw": None if power is None else int(power),
        "enforced.power.limit": None if limit is None else int(limit),
        "memory.used": gpu.telemetry.memory_used_bytes // MIB,
        "memory.total": gpu.identity.memory_bytes // MIB,
    }


@pytest.mark.parametrize("spec", FOR_NVITOP)
def test_nvitop(spec: str, own_pynvml: Any) -> None:
    table, ours = run(spec, "nvitop", "--once", "--ascii"), seen(spec)
    assert [of_nvitop_table(row) for row in rows(table)] == [of_nvitop(gpu) for gpu in ours]


def rows(table: str) -> List[str]:
    """Two lines for each GPU, as one."""
    lines = table.splitlines()
    firsts = [place for place, line in enumerate(lines) if re.match(r"\| +\d+  \S", line)]
    return [lines[place] + lines[place + 1] for place in firsts]


def of_nvitop_table(row: str) -> Dict[str, Any]:
    cells = [cell.split() for cell in row.split("|")]
    (number, *_, persistence), (bus, _), (*_, ecc) = cells[1:4]
    _, temperature, state, power, *_, limit = next(cell for cell in cells[5:] if "/" in cell)
    return {
        "index": int(number),
        "persistence": {"On": True, "Off": False, "N/A": None}[persistence],
        "pci": None if bus == "N/A" else "0000:" + bus[9:].lower(),
        "uncorrected": None if ecc == "N/A" else int(ecc),
        "temperature": quantity(temperature, "C"),
        "state": quantity(state.lstrip("P"), ""),
        "power": quantity(power, "W"),
        "limit": quantity(limit, "W"),
    }


def quantity(text: str, unit: str) -> Optional[int]:
    return None if text == "N/A" else int(text[: len(text) - len(unit)])


def of_nvitop(gpu: Gpu) -> Dict[str, Any]:
    identity, telemetry, errors, limits = gpu.identity, gpu.telemetry, gpu.errors, gpu.limits
    power, limit = telemetry and telemetry.power_watts, limits and limits.power_limit_watts
    return {
        "index": gpu.gpu_index,
        "persistence": identity and identity.persistence_mode,
        "pci": gpu.pci if answering(gpu) else None,
        "uncorrected": errors and errors.volatile_uncorrected,
        "temperature": telemetry and telemetry.temperature_celsius,
        "state": telemetry and telemetry.performance_state,
        "power": None if power is None else round(power),
        "limit": None if limit is None else round(limit),
    }


def test_nvitop_shows_the_mig_devices(own_pynvml: Any) -> None:
    table, (gpu,) = run("h100-mig", "nvitop", "--once", "--ascii"), seen("h100-mig")
    found = re.findall(r"0:(\d) +(\S+) @ GI/CI: *(\d+)/(\d) \| +([\d.]+)MiB / +([\d.]+)(MiB|GiB)", table)
    theirs = [
        (
            int(index),
            profile,
            int(gpu_id),
            int(ci),
            float(used) * MIB,
            float(total) * (MIB if unit == "MiB" else 1024 * MIB),
        )
        for index, profile, gpu_id, ci, used, total, unit in found
    ]
    assert theirs == [
        (
            one.mig_index,
            one.profile,
            one.gpu_instance_id,
            one.compute_instance_id,
            one.memory_used_bytes,
            one.memory_bytes,
        )
        for one in gpu.instances or ()
    ]
    assert len(theirs) == 4
