"""Knobs of a real kernel: plan, apply, plan again, roll back. Those of the whole machine are put back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.root

OURS = "/etc/sysctl.d/99-zz-brctl.conf"
SET_UP = f"""
mount -t tmpfs none /etc/sysctl.d
mkdir -p /etc/tmpfiles.d
mount -t tmpfs none /etc/tmpfiles.d
mount -t tmpfs none /run
mount -t tmpfs none /var/lib
mkdir -p /run/systemd/system
ip link set lo up
ip link add d0.100.2 type veth peer name d1
cat >/run/config.yaml <<'END'
version: 1
cluster: {{name: test, nodes: n1}}
tune:
  sysctl:
    net.ipv4.tcp_rmem: [8KiB, 128KiB, 8MiB]
    net.ipv4.conf.d0/100/2.arp_ignore: 1
    net.ipv4.conf.lo.arp_announce: 0
    net.ipv4.ip_local_port_range: [20000, 50000]
END
cat >{OURS} <<'END'
# somebody's note
net.ipv4.conf.lo.arp_notify=1
END
echo ready
exec sleep 1000
"""
PATHS = [
    f"/proc/sys/net/ipv4/{key}"
    for key in ("tcp_rmem", "conf/d0.100.2/arp_ignore", "conf/lo/arp_announce", "ip_local_port_range")
]


class Node:
    """Network and mount namespaces of its own."""

    def __init__(self) -> None:
        command = ["unshare", "--net", "--mount", "sh", "-ec", SET_UP]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout and self.process.stdout.readline() == "ready\n"  # noqa: PT018

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        into = ["nsenter", "--target", str(self.process.pid), "--net", "--mount", f"--wd={os.getcwd()}"]
        return subprocess.run([*into, *argv], capture_output=True, text=True, check=False)

    def tune(self, *words: str) -> tuple[int, dict[str, Any]]:
        """The exit status, and the report of `brctl tune WORDS`."""
        program = [sys.executable, "-m", "brctl", "-c", "/run/config.yaml", "--as", "n1", "tune"]
        done = self.run(*program, *words, "-o", "json")
        assert done.stderr == ""
        (report,) = json.loads(done.stdout)["reports"]
        return done.returncode, report

    def state(self) -> list[str]:
        return [self.run("cat", path).stdout for path in (*PATHS, OURS)]


@pytest.fixture
def node() -> Iterator[Node]:
    node = Node()
    yield node
    node.process.kill()
    node.process.communicate()


def outcomes(report: dict[str, Any]) -> dict[str, str]:
    return {change["key"]: change["outcome"] for change in report["changes"]}


KEYS = [
    "net.ipv4.tcp_rmem",
    "net.ipv4.conf.d0/100/2.arp_ignore",
    "net.ipv4.conf.lo.arp_announce",
    "net.ipv4.ip_local_port_range",
]


def test_there_and_back(node: Node) -> None:
    before = node.state()
    code, report = node.tune("plan")
    assert (code, outcomes(report)) == (1, dict(zip(KEYS, ["pending", "pending", "ok", "pending"], strict=True)))
    assert node.state() == before

    code, report = node.tune("apply", "--persist", "--yes")
    assert (code, outcomes(report)) == (0, dict.fromkeys(KEYS, "changed"))
    assert node.state()[:-1] == [
        "8192\t131072\t8388608\n",
        "1\n",
        "0\n",
        "20000\t50000\n",
    ]
    assert node.run("cat", OURS).stdout.splitlines()[2:] == [
        "net.ipv4.conf.lo.arp_notify = 1",
        "net.ipv4.tcp_rmem = 8192 131072 8388608",
        "net/ipv4/conf/d0.100.2/arp_ignore = 1",
        "net.ipv4.conf.lo.arp_announce = 0",
        "net.ipv4.ip_local_port_range = 20000 50000",
    ]
    code, report = node.tune("plan", "--persist")
    assert (code, outcomes(report)) == (0, dict.fromkeys(KEYS, "ok"))
    assert {change["boot_source"] for change in report["changes"]} == {f"{OURS}:{line}" for line in (4, 5, 6, 7)}

    code, report = node.tune("rollback")
    assert code == 0
    assert {change["outcome"] for change in report["changes"]} == {"restored"}
    assert node.state() == before


def test_what_lasts_is_what_the_loader_sets(node: Node) -> None:
    node.tune("apply", "--persist", "--yes")
    after = node.state()
    node.run("sh", "-c", f"echo 4096 4096 4096 >{PATHS[0]}; echo 0 >{PATHS[1]}; echo 1000 2000 >{PATHS[3]}")
    assert node.state() != after
    # The prefix keeps it off what is the whole machine's.
    if node.run("/lib/systemd/systemd-sysctl", "--prefix=/net/ipv4").returncode == 127:
        pytest.skip("systemd is not installed")
    assert node.state() == after


def test_what_is_the_hosts_is_refused_in_words(node: Node) -> None:
    """sysctl(8) says `Invalid argument` and exits with 0."""
    live = node.run("cat", "/proc/sys/net/core/rmem_max").stdout.strip()
    if not live:
        pytest.skip("this kernel shows no rmem_max in a network namespace")
    code, report = node.tune("apply", "--yes", "--set", "sysctl.net.core.rmem_max=65MiB")
    change = report["changes"][0]
    assert (code, change["outcome"], change["live"]) == (3, "refused", live)
    assert change["reason"] == "not settable here (EACCES): set it on the host"
    assert {one["outcome"] for one in report["changes"][1:]} == {"not attempted", "ok"}
    code, report = node.tune("plan", "--set", f"sysctl.net.core.rmem_max={live}B")
    assert (report["changes"][0]["outcome"], report["changes"][0]["effects"]) == (
        "ok",
        ["it is not settable here, and is as wanted: set it on the host"],
    )


def test_a_proc_that_is_read_only(node: Node) -> None:
    node.run("sh", "-ec", "mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys")
    code, report = node.tune("plan")
    assert (code, outcomes(report)) == (3, dict(zip(KEYS, ["refused", "refused", "ok", "refused"], strict=True)))
    assert report["changes"][0]["reason"] == "not settable here (EROFS): set it on the host"


THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.fixture
def _thp() -> Iterator[None]:
    if not THP.exists():
        pytest.skip("this kernel has no transparent huge pages")
    before = THP.read_text()
    yield
    THP.write_text(before.partition("[")[2].partition("]")[0])


@pytest.mark.usefixtures("_thp")
def test_a_choice_of_the_kernel_there_and_back(node: Node) -> None:
    before, other = THP.read_text(), "never" if "[never]" not in THP.read_text() else "madvise"
    words = ("--set", f"transparent_hugepage={other}", "--only", "transparent-hugepage")
    code, report = node.tune("apply", "--persist", "--yes", *words)
    assert (code, outcomes(report)) == (0, {"transparent_hugepage": "changed"})
    assert f"[{other}]" in THP.read_text()
    code, report = node.tune("plan", "--persist", *words)
    assert (code, outcomes(report)) == (0, {"transparent_hugepage": "ok"})

    THP.write_text("always" if other != "always" else "never")
    if node.run("systemd-tmpfiles", "--create", "--boot", f"--prefix={THP.parent}").returncode != 127:
        assert f"[{other}]" in THP.read_text()  # as at boot
    code, report = node.tune("rollback")
    assert (code, {change["outcome"] for change in report["changes"]} <= {"restored", "conflict"}) == (0, True)
    assert THP.read_text() == before
    assert node.run("ls", "/etc/tmpfiles.d").stdout == ""


@pytest.fixture
def ratio() -> Iterator[str]:
    """The path of a knob of the whole machine, which excludes vm.dirty_background_bytes; put back in the end."""
    path = Path("/proc/sys/vm/dirty_background_ratio")
    before = path.read_text()
    if before == "0\n":
        pytest.skip("vm.dirty_background_bytes is in use here")
    yield str(path)
    path.write_text(before)


def test_two_that_exclude_each_other_both_come_back(node: Node, ratio: str) -> None:
    """The kernel refuses to write the 0 that was there before (redhat-performance/tuned#882)."""
    paths = (ratio, ratio.replace("ratio", "bytes"))
    before = [node.run("cat", path).stdout for path in paths]
    code, report = node.tune("apply", "--yes", "--set", "sysctl.vm.dirty_background_bytes=1073741824")
    assert (code, outcomes(report)["vm.dirty_background_bytes"]) == (0, "changed")
    assert [node.run("cat", path).stdout for path in paths] == ["0\n", "1073741824\n"]
    code, report = node.tune("rollback")
    assert [node.run("cat", path).stdout for path in paths] == before
    assert (code, {change["outcome"] for change in report["changes"]}) == (0, {"restored"})


HALF = """
from brctl.node import agent
from brctl.node.host.local import Local
from brctl.node.codec import dumps
from brctl.node.request import KernelParameter, Request, Tuning, Wanted

wanted = Wanted(sysctls=(KernelParameter("net.ipv4.tcp_rmem", "8192 16384 2147483648"),))
print(dumps(agent.answer(Local(), Request("n1", "tune-apply", tune=Tuning(wanted, ("sysctl",), who="test")))))
"""


def test_a_value_that_the_kernel_takes_in_half(node: Node) -> None:
    """It sets the first words of a triple whose last one it refuses; they are put back."""
    before = node.state()
    node.run("sh", "-c", f"echo 8192 16384 2147483648 >{PATHS[0]}")
    assert node.run("cat", PATHS[0]).stdout.split()[:2] == ["8192", "16384"]
    node.run("sh", "-c", f"echo {before[0].strip()} >{PATHS[0]}")

    report = json.loads(node.run(sys.executable, "-c", HALF).stdout)
    (change,) = report["changes"]
    assert (change["outcome"], change["reason"]) == ("refused", "the kernel refuses this value (EINVAL)")
    assert node.state() == before
    assert report["transactions"][0]["state"] == "failed"
