"""A change rolled over 32 hosts with real sshd and a real kernel: where it ends, how it goes on, and back again."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.root
Cluster = Any  # of conftest.py

KEY = "/proc/sys/net/ipv4/tcp_fin_timeout"
READ_ONLY = "mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys"


@pytest.fixture
def hosts(cluster: Cluster) -> Iterator[Cluster]:
    """With a /var/lib of their own, for their journals."""
    for i in cluster.nodes:
        cluster.on(i, "mount", "-t", "tmpfs", "tmpfs", "/var/lib")
    yield cluster
    for i in cluster.nodes:
        cluster.on(i, "umount", "/var/lib")


def _tune(cluster: Cluster, command: str, nodes: str, *options: str) -> Any:
    common = ["-c", str(cluster.config()), "-w", nodes, "-o", "json"]
    return cluster.run(sys.executable, "-m", "brctl", *common, "tune", command, *options)


def _outcomes(run: Any) -> Counter[str]:
    """How many nodes, by the outcome of their change or the kind of their error."""
    found: Counter[str] = Counter()
    for report in json.loads(run.out)["reports"]:
        found.update([error["kind"] for error in report["errors"]] or [each["outcome"] for each in report["changes"]])
    return found


def _values(cluster: Cluster) -> Counter[str]:
    return Counter(cluster.on(i, "cat", KEY).strip() for i in cluster.nodes)


def test_failures_end_it_and_it_goes_on_from_there(hosts: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRCTL_STATE_DIR", str(hosts.folder / "state"))
    everybody, before = "gpu[1-32],refused", _values(hosts)
    assert before == {"60": 32}
    wanted = ("--yes", "--set", "sysctl.net.ipv4.tcp_fin_timeout=30", "--batch", "8", "--max-failures", "1")
    for broken in (12, 13):
        hosts.on(broken, "sh", "-c", READ_ONLY)
    stopped = _tune(hosts, "apply", everybody, *wanted, "--canary", "2")
    for broken in (12, 13):
        hosts.on(broken, "umount", "/proc/sys")
    assert stopped.code == 3
    assert _outcomes(stopped) == {"changed": 16, "refused": 2, "not-attempted": 15}
    assert "18 of 33 nodes done, 2 failed" in stopped.err
    assert _values(hosts) == {"30": 16, "60": 16}

    resumed = _tune(hosts, "apply", everybody, *wanted, "--retry-failed")
    assert resumed.code == 3  # nobody listens at `refused`
    assert _outcomes(resumed) == {"changed": 16, "refused": 1}
    assert _values(hosts) == {"30": 32}

    again = _tune(hosts, "plan", "gpu[1-32]", *wanted[1:3])
    assert (again.code, _outcomes(again)) == (0, {"ok": 32})
    back = _tune(hosts, "rollback", "gpu[1-32]")
    assert (back.code, _outcomes(back)) == (0, {"restored": 32})
    assert _values(hosts) == before
    left = hosts.processes() + hosts.local()
    assert left == []
