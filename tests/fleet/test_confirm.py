"""The link by which a host is reached is changed under guard: real sshd, real kernel, in network namespaces."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.root
Cluster = Any  # of conftest.py

NODE, NAME = 1, "gpu1"
SLOW = """\
#!/bin/sh
[ "$(cat /sys/class/net/eth0/mtu)" = 1400 ] && [ -e /run/slow ] && sleep 77
exec /usr/sbin/ip "$@"
"""
"""It hangs once the MTU is written, so that there is somebody to kill."""


CUT = """\
import sys
from brctl.fleet.engine import ask_all
from brctl.fleet.order import Limits, Order
from brctl.fleet.transport import Transport
from brctl.node.request import Request, Tuning, Wanted
tune = Tuning(Wanted(mtu=68, interfaces="eth0"), ("nic-mtu",), allow_mgmt=True, confirm_within_s=6)
order = Order("gpu1", Request("gpu1", "tune-apply", tune=tune))
ask_all([order], Transport(ssh_config=sys.argv[1]), Limits(answer_s=20))
"""
"""As `tune apply` would, had the config not refused such an MTU."""


def until(true: Callable[[], bool], limit_s: float) -> None:
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < limit_s, "it did not come to that"
        time.sleep(0.1)


def command(cluster: Cluster, *words: str, timeout: str = "20s") -> list[str]:
    common = ["-c", str(cluster.config()), "-w", NAME, "-o", "json", "--timeout", timeout]
    return [sys.executable, "-m", "brctl", *common, "tune", *words]


def applying(cluster: Cluster, mtu: int, within: str, timeout: str = "20s") -> list[str]:
    wanted = ["--set", f"network.mtu={mtu}", "--set", "network.interfaces=eth0", "--only", "nic-mtu"]
    return command(cluster, "apply", "--yes", "--allow-mgmt", "--confirm-within", within, *wanted, timeout=timeout)


def mtu(cluster: Cluster) -> int:
    return int(cluster.on(NODE, "cat", "/sys/class/net/eth0/mtu"))


def picture(cluster: Cluster) -> list[Any]:
    """All that a change of MTU may take along."""
    words = (["-d", "link"], ["addr"], ["route", "show", "table", "all"], ["-6", "route", "show", "table", "all"])
    return [json.loads(cluster.on(NODE, "/usr/sbin/ip", "-j", *each)) for each in words]


def states(cluster: Cluster) -> list[str]:
    """Of all transactions, the newest first."""
    (report,) = cluster.run(*command(cluster, "history")).reports.values()
    return [each["state"] for each in report["transactions"]]


def guards(cluster: Cluster) -> list[str]:
    return [line for line in cluster.processes() if "tune.guard" in line]


@pytest.fixture
def before(cluster: Cluster) -> Iterator[list[Any]]:
    """How the node was; afterwards it is as new."""
    cluster.on(NODE, "sh", "-c", "for i in default eth0; do echo 1 >/proc/sys/net/ipv6/conf/$i/disable_ipv6; done")
    yield picture(cluster)
    until(lambda: not guards(cluster), 20)
    cluster.forget()
    cluster.on(
        NODE,
        "sh",
        "-c",
        "rm -rf /var/lib/brctl /run/brctl /run/slow /usr/local/bin/ip; /usr/sbin/ip link set eth0 mtu 1500",
    )


def test_without_leave_it_is_not_touched(cluster: Cluster, before: list[Any]) -> None:
    words = [word for word in applying(cluster, 1400, "5s") if word != "--allow-mgmt"]
    run = cluster.run(*words)
    (change,) = run.reports[NAME]["changes"]
    assert (run.code, change["outcome"]) == (3, "refused")
    assert change["reason"] == "this host is reached by it: give --allow-mgmt"
    assert any("(ssh from 10.77.255.254)" in effect for effect in change["effects"])
    assert picture(cluster) == before


def test_a_link_that_was_cut_comes_back_by_itself(cluster: Cluster, before: list[Any]) -> None:
    """Through an MTU of 68 no packet of TCP comes that holds data."""
    child = cluster.popen(sys.executable, "-c", CUT, str(cluster.folder / "ssh_config"))
    until(lambda: mtu(cluster) == 68, 20)
    login = ("ssh", "-F", str(cluster.folder / "ssh_config"), "-oBatchMode=yes", NAME, "true")
    assert cluster.run("timeout", "2", *login).code == 124
    until(lambda: mtu(cluster) == 1500, 12)
    child.communicate(timeout=40)  # its answer comes late, or not at all
    until(lambda: not guards(cluster), 5)
    assert picture(cluster) == before
    assert cluster.run(*login).code == 0
    assert states(cluster) == ["rolled back"]
    late = cluster.run(*command(cluster, "confirm"))
    assert (late.code, late.reports[NAME]["errors"][0]["message"]) == (3, "nothing waits for a confirmation")


def test_what_is_confirmed_stays(cluster: Cluster, before: list[Any]) -> None:
    applied = cluster.run(*applying(cluster, 1400, "30s"))
    assert (applied.code, applied.reports[NAME]["transactions"][0]["state"]) == (0, "unconfirmed")
    assert "gpu1: what it is reached by was changed, and comes back by itself in 30 s" in applied.err
    assert f"brctl -c {cluster.config()} -w gpu1 tune confirm" in applied.err
    confirmed = cluster.run(*command(cluster, "confirm"))
    assert (confirmed.code, confirmed.reports[NAME]["transactions"][0]["state"]) == (0, "done")
    until(lambda: not guards(cluster), 5)  # so nobody is left who would take it back
    assert mtu(cluster) == 1400
    wanted = ["--set", "network.mtu=1400", "--set", "network.interfaces=eth0", "--only", "nic-mtu"]
    assert cluster.run(*command(cluster, "plan", *wanted)).code == 0
    assert cluster.run(*command(cluster, "rollback")).code == 0
    assert picture(cluster) == before


def test_what_nobody_confirms_comes_back(cluster: Cluster, before: list[Any]) -> None:
    assert cluster.run(*applying(cluster, 1400, "8s")).code == 0
    assert mtu(cluster) == 1400
    second = cluster.run(*applying(cluster, 1300, "8s"))
    assert (second.code, "waits for its confirmation" in second.out) == (3, True)
    until(lambda: mtu(cluster) == 1500, 15)
    until(lambda: not guards(cluster), 5)
    assert picture(cluster) == before
    assert states(cluster) == ["rolled back"]


def _kill_agent(cluster: Cluster, child: subprocess.Popen[bytes]) -> None:
    cluster.on(NODE, "pkill", "-9", "-f", "exec.zlib.decompress")


def _kill_brctl(cluster: Cluster, child: subprocess.Popen[bytes]) -> None:
    child.kill()


def _kill_ssh(cluster: Cluster, child: subprocess.Popen[bytes]) -> None:
    """The kept connection, and what speaks through it."""
    for pid in cluster.pids("ssh"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("kill", [_kill_agent, _kill_brctl, _kill_ssh])
def test_whoever_is_killed_in_the_middle(cluster: Cluster, before: list[Any], kill: Callable[..., None]) -> None:
    cluster.on(NODE, "sh", "-c", f"cat >/usr/local/bin/ip <<'X'\n{SLOW}X\nchmod 755 /usr/local/bin/ip; touch /run/slow")
    child = cluster.popen(*applying(cluster, 1400, "60s"))
    until(lambda: "sleep 77" in cluster.processes(), 20)
    assert (mtu(cluster), len(guards(cluster))) == (1400, 1)
    cluster.on(NODE, "rm", "/run/slow")
    kill(cluster, child)
    until(lambda: mtu(cluster) == 1500, 20)
    child.communicate(timeout=30)
    cluster.on(NODE, "sh", "-c", "pkill sleep || true")
    until(lambda: not guards(cluster), 5)
    assert picture(cluster) == before
    assert states(cluster) == ["rolled back"]


def test_a_cache_that_is_gone_does_not_matter(cluster: Cluster, before: list[Any]) -> None:
    assert cluster.run(*applying(cluster, 1400, "5s")).code == 0
    cluster.on(NODE, "rm", "-r", "/var/cache/brctl")
    assert mtu(cluster) == 1400
    until(lambda: mtu(cluster) == 1500, 10)
    until(lambda: not guards(cluster), 5)
    assert picture(cluster) == before


def test_a_bundle_that_is_in_no_file(cluster: Cluster, before: list[Any]) -> None:
    """Where the cache cannot be used, the guard has its modules from the agent's memory, and outlives that too."""
    cluster.on(NODE, "sh", "-c", "rm -rf /var/cache/brctl; mkdir -m 777 /var/cache/brctl")
    run = cluster.run(*applying(cluster, 1400, "3s"))
    assert (run.code, len(run.reports[NAME]["notes"])) == (0, 1)
    until(lambda: mtu(cluster) == 1500, 10)
    until(lambda: not guards(cluster), 5)
    cluster.on(NODE, "rmdir", "/var/cache/brctl")
    assert picture(cluster) == before
    assert states(cluster) == ["rolled back"]


def test_sudo_does_not_hide_who_came(cluster: Cluster, before: list[Any]) -> None:
    """It takes SSH_CONNECTION out of the agent's environment; it stands in its own, and in sshd's sockets."""
    if not shutil.which("sudo"):
        pytest.skip("there is no sudo")
    line = "op:*:4242:4242::/run/op-home:/bin/sh"
    cluster.on(NODE, "sh", "-c", f"mkdir -p /run/op-home; (cat /etc/passwd; echo '{line}') >/run/passwd")
    cluster.on(NODE, "sh", "-c", "mount --bind /run/passwd /etc/passwd; echo 'op ALL=(root) NOPASSWD: ALL' >/run/op")
    cluster.on(NODE, "mount", "--bind", "/run/op", "/etc/sudoers")
    config = str(cluster.config("user: op, sudo: true"))
    wanted = ["--set", "network.mtu=1400", "--set", "network.interfaces=eth0", "--only", "nic-mtu"]
    run = cluster.run(sys.executable, "-m", "brctl", "-c", config, "-w", NAME, "-o", "json", "tune", "plan", *wanted)
    cluster.on(NODE, "umount", "/etc/passwd", "/etc/sudoers")
    (change,) = run.reports[NAME]["changes"]
    assert run.code == 1
    assert change["effects"][-1] == "this host is reached by it (ssh from 10.77.255.254): needs --allow-mgmt"
    assert picture(cluster) == before
