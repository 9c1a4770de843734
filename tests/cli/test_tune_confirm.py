"""A change of what a mocked host is reached by: what is said, what comes back, and what stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

LINK = ["--only", "nic-mtu", "--set", "network.mtu=9000", "--set", "network.interfaces=ens2f0np0"]


def brctl(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "brctl", "--mock", "cpu-only", *words]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


def states(*words: str) -> list[str]:
    reports = json.loads(brctl(*words, "-o", "json", "tune", "history").stdout)["reports"]
    return [each["state"] for report in reports for each in report["transactions"]]


def test_it_says_how_it_is_kept_and_is_kept() -> None:
    applied = brctl("tune", "apply", "--yes", "--allow-mgmt", "--confirm-within", "60s", *LINK)
    assert applied.returncode == 0
    assert applied.stderr == (
        "warning: cpu001: what it is reached by was changed, and comes back by itself in 60 s\n"
        "hint: to keep it, over a new connection: brctl --mock cpu-only tune confirm\n"
    )
    assert states() == ["unconfirmed"]
    assert brctl("tune", "confirm").returncode == 0
    assert (states(), brctl("tune", "plan", *LINK).returncode) == (["done"], 0)


def test_it_comes_back_by_itself_on_each_of_many() -> None:
    nodes = ("-w", "n[1-2]")
    applied = brctl(*nodes, "tune", "apply", "-q", "--yes", "--allow-mgmt", "--confirm-within", "1s", *LINK)
    assert applied.returncode == 0
    assert applied.stderr == (
        "warning: n[1-2]: what it is reached by was changed, and comes back by itself in 1 s\n"
        "hint: to keep it, over a new connection: brctl --mock cpu-only -w 'n[1-2]' tune confirm\n"
    )
    end = time.monotonic() + 20
    while states(*nodes) != ["rolled back", "rolled back"]:
        assert time.monotonic() < end
    assert brctl(*nodes, "tune", "plan", *LINK).returncode == 1
    late = brctl(*nodes, "tune", "confirm")
    assert late.returncode == 3
    assert "nothing waits for a confirmation" in late.stdout
