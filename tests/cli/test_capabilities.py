"""`node-manager capabilities`: by what the GPUs of each vendor are read, and what they do not support."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Brctl = Callable[..., Any]  # the fixture of conftest.py


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")


def test_one_row_a_vendor_and_gpus_that_are_alike_together(brctl: Brctl) -> None:
    result = brctl("--mock", "dgx-h100+gpu3-lost", "node-manager", "capabilities")
    title, _, header, nvidia, amd, biren, *rest = result.out.splitlines()
    assert title == "gpu001  mock machine dgx-h100+gpu3-lost, composed"
    assert header.split("  ")[0] == "Vendor"
    assert "Tested on hardware" in header
    assert nvidia.split() == ["nvidia", "libnvidia-ml.so.1", "yes", "8", "no", "-"]
    assert amd.endswith("no        -  no                  neither amd-smi nor rocm-smi is installed")
    assert biren.endswith("brsmi is not installed")
    text = "\n".join(rest)
    assert "GPU 0-2  NVIDIA H100 80GB HBM3 does not support:\n    nvmlDeviceGetRetiredPages(0), " in text
    assert "GPU 3  LOST does not answer" in text
    assert "GPU 4-7  NVIDIA H100" in text
    assert (result.code, result.err) == (0, "")


def test_80_columns_are_enough(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = brctl("--mock", "dgx-h100", "node-manager", "capabilities").out.splitlines()
    assert [line.split("  ")[0].strip() for line in out[2:8]] == ["Vendor", "nvidia", "amd", "", "biren", out[7]]
    assert out[4] == "amd     amd-smi or rocm-smi     -  no                  neither amd-smi nor"
    assert out[5] == " " * 55 + "rocm-smi is installed"
    assert out[7] == "not shown at 80 columns: Found"


def test_a_machine_without_gpus(brctl: Brctl) -> None:
    result = brctl("--mock", "cpu-only", "node-manager", "capabilities")
    assert len(result.out.splitlines()) == 6, result.err
    assert result.code == 0


def test_another_vendor(brctl: Brctl, tmp_path: Path) -> None:
    query = "brsmi gpu --query-gpu=index,name,memory.used,memory.free --format=csv,noheader,nounits"
    machine = {
        "name": "biren",
        "recorded": False,
        "sources": [],
        "files": {"/proc/sys/kernel/hostname": "br1\n"},
        "commands": {query: {"stdout": "0, BR166M, 512, 64512\n"}},
    }
    file = tmp_path / "biren.json"
    file.write_text(json.dumps(machine))
    result = brctl("--mock", str(file), "node-manager", "capabilities", "-o", "json")
    (report,) = json.loads(result.out)["reports"]
    libraries = report["inventory"]["accelerator_libraries"]
    assert [library["found"] for library in libraries] == [False, False, True]
    assert libraries[2] == {
        "vendor": "biren",
        "source": "brsmi",
        "found": True,
        "message": None,
        "gpu_count": 1,
        "tested_on_hardware": False,
    }
    (gpu,) = report["inventory"]["gpus"]
    assert (gpu["vendor"], gpu["identity"]["name"], gpu["identity"]["memory_bytes"]) == ("biren", "BR166M", 65024 << 20)
    text = brctl("--mock", str(file), "node-manager", "capabilities").out
    assert text.splitlines()[-1] == "GPU 0  BR166M supports all that is asked for"
    assert "BR166M" in brctl("--mock", str(file), "node-manager", "show").out


def test_mig_devices_have_a_table_of_their_own(brctl: Brctl) -> None:
    out = brctl("--mock", "h100-mig", "node-manager", "show").out
    assert "GPU  MIG  Profile  GI  CI    Memory" in out
    (row,) = [line for line in out.splitlines() if "2g.20gb" in line]
    assert row.split()[:8] == ["0", "1", "2g.20gb", "3", "0", "19.6", "GiB", "17"]


def test_a_guest_shows_no_power(brctl: Brctl) -> None:
    out = brctl("--mock", "vgpu-guest", "node-manager", "show").out
    assert "L40S-48C" in out
    assert "-/- W" not in out
