"""A change of what a mocked host is reached by: what is said, what comes back, and what stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from brctl.mock.machines import load

pytestmark = pytest.mark.process

LINK = ["--only", "nic-mtu", "--set", "network.mtu=9000", "--set", "network.interfaces=ens2f0np0"]


def brctl(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "brctl", "--mock", "cpu-only", *words]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


def test_it_says_how_it_is_kept_and_is_kept() -> None:
    applied = brctl("tune", "apply", "--yes", "--allow-mgmt", "--confirm-within", "60s", *LINK)
    assert applied.returncode == 0
    assert applied.stderr == (
        "warning: cpu001: what it is reached by was changed, and comes back by itself in 60 s\n"
        "hint: to keep it, over a new connection: brctl --mock cpu-only tune confirm\n"
    )
    confirmed = brctl("tune", "confirm", "-o", "json")
    (report,) = json.loads(confirmed.stdout)["reports"]
    assert (confirmed.returncode, report["transactions"][0]["state"]) == (0, "done")
    assert brctl("tune", "plan", *LINK).returncode == 0


def test_it_comes_back_by_itself_on_each_of_many() -> None:
    nodes = ("-w", "n[1-2]")
    applied = brctl(*nodes, "tune", "apply", "-q", "--yes", "--allow-mgmt", "--confirm-within", "1s", *LINK)
    assert applied.returncode == 0
    assert applied.stderr == (
        "warning: n[1-2]: what it is reached by was changed, and comes back by itself in 1 s\n"
        "hint: to keep it, over a new connection: brctl --mock cpu-only -w 'n[1-2]' tune confirm\n"
    )
    end = time.monotonic() + 20
    while {load("cpu-only", name).read("/sys/class/net/ens2f0np0/mtu") for name in ("n1", "n2")} != {"1500\n"}:
        assert time.monotonic() < end
        time.sleep(0.1)
