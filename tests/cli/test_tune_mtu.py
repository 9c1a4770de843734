"""MTUs of veth, bridge, VXLAN and macvlan, for real: plan, apply, plan again, roll back to what was."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.root

SET_UP = """
mount -t sysfs none /sys
for folder in /run /var/lib /etc/systemd/network /etc/network; do mkdir -p $folder; mount -t tmpfs none $folder; done
ip link set lo up
ip link add v0 type veth peer name v1
ip link add br0 type bridge
ip link set v0 master br0
ip link add vx type vxlan id 5 dev v1 dstport 4789
ip link add mv link v1 type macvlan mode bridge
for link in v0 v1 br0 vx mv; do ip link set $link up; done
ip addr add 10.0.0.1/24 dev v1
ip addr add 2001:db8::1/64 dev v1 nodad
ip addr add 10.1.0.1/24 dev mv
ip addr add 10.2.0.1/24 dev vx
ip addr add 10.3.0.1/24 dev br0
ip route add 10.9.0.0/16 via 10.0.0.9 mtu lock 1300
echo ready
exec sleep 1000
"""
UNIT = "/etc/systemd/network/20-v1.network"
OWNED = f"""
mkdir -p /run/systemd/netif/links
printf 'ADMIN_STATE=configured\\nNETWORK_FILE={UNIT}\\n' >/run/systemd/netif/links/$(cat /sys/class/net/v1/ifindex)
printf '# ours\\n[Match]\\nName=v1\\n\\n[Link]\\nMTUBytes=1500\\n' >{UNIT}
"""


class Node:
    """Network and mount namespaces of its own."""

    def __init__(self) -> None:
        command = ["unshare", "--net", "--mount", "sh", "-ec", SET_UP]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout and self.process.stdout.readline() == "ready\n"  # noqa: PT018
        for name in ("v0", "v1", "br0", "vx", "mv"):  # their addresses come when they have settled
            while "tentative" in self.run("ip", "-6", "addr", "show", "dev", name).stdout:
                pass

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        into = ["nsenter", "--target", str(self.process.pid), "--net", "--mount", f"--wd={os.getcwd()}"]
        return subprocess.run([*into, *argv], capture_output=True, text=True, check=False)

    def tune(self, command: str, *words: str) -> tuple[int, dict[str, Any]]:
        """The exit status, and the report of `brctl tune`."""
        yes = ["--yes"] if command == "apply" else []
        done = self.run(sys.executable, "-m", "brctl", "-o", "json", "tune", command, *yes, *words)
        (report,) = json.loads(done.stdout)["reports"]
        return done.returncode, report

    def mtus(self) -> dict[str, int]:
        return {link["ifname"]: link["mtu"] for link in json.loads(self.run("ip", "-j", "link").stdout)}

    def picture(self) -> list[Any]:
        """Every address, route and MTU."""
        words = (["-d", "link"], ["addr"], ["route", "show", "table", "all"], ["-6", "route", "show", "table", "all"])
        pictures = [json.loads(self.run("ip", "-j", *each).stdout) for each in words]
        for link in pictures[0]:  # a bridge's timers run, and its port takes part in what it learns
            link.pop("linkinfo", None)
        return pictures


@pytest.fixture
def node() -> Iterator[Node]:
    node = Node()
    yield node
    node.process.kill()
    node.process.communicate()


def wanted(interfaces: str, mtu: int) -> list[str]:
    return ["--only", "nic-mtu", "--set", f"network.mtu={mtu}", "--set", f"network.interfaces={interfaces}"]


def outcomes(report: dict[str, Any]) -> dict[str, str]:
    return {change["subject"]["name"]: change["outcome"] for change in report["changes"]}


@pytest.mark.parametrize(
    ("interfaces", "mtu", "order", "changed"),
    [
        ("v0", 9000, ["v0"], {"v0": 9000, "br0": 9000}),
        ("v1", 1400, ["v1"], {"v1": 1400, "mv": 1400}),
        ("mv,v1", 1280, ["mv", "v1"], {"v1": 1280, "mv": 1280}),
        ("vx", 1400, ["vx"], {"vx": 1400}),
    ],
)
def test_there_and_back(node: Node, interfaces: str, mtu: int, order: list[str], changed: dict[str, int]) -> None:
    before, mtus = node.picture(), node.mtus()
    words = wanted(interfaces, mtu)
    code, report = node.tune("plan", *words)
    assert (code, list(outcomes(report)), set(outcomes(report).values())) == (1, order, {"pending"})
    assert node.picture() == before

    code, report = node.tune("apply", *words)
    assert (code, set(outcomes(report).values())) == (0, {"changed"})
    assert {name: value for name, value in node.mtus().items() if value != mtus[name]} == changed
    code, report = node.tune("plan", *words)
    assert (code, set(outcomes(report).values())) == (0, {"ok"})

    code, report = node.tune("rollback")
    assert (code, set(outcomes(report).values())) == (0, {"restored"})
    assert node.picture() == before


@pytest.mark.parametrize(
    ("interfaces", "mtu", "reason"),
    [
        ("v1,mv", 65520, None),
        ("vx", 1451, "vx needs 1501 under it, and v1 has 1500"),
        ("mv", 1501, "mv needs 1501 under it, and v1 has 1500"),
    ],
)
def test_what_the_kernel_would_refuse_is_known_before(
    node: Node, interfaces: str, mtu: int, reason: str | None
) -> None:
    before = node.picture()
    code, report = node.tune("plan", *wanted(interfaces, mtu))
    assert (code, {change["reason"] for change in report["changes"]}) == (3 if reason else 1, {reason})
    for name in interfaces.split(","):  # a macvlan's driver tells its range only when it is asked
        tried = node.run("ip", "link", "set", name, "mtu", str(mtu))
        assert (tried.returncode == 0) == (reason is None)
    assert reason is None or node.picture() == before


def test_the_range_is_that_of_the_kernel(node: Node) -> None:
    """No config takes these, so it is the setting that is asked."""
    script = (
        "import sys; from brctl.node.host.local import Local; from brctl.node.probe import net;"
        "from brctl.node.facts import Inventory; from brctl.node.request import Expected, Wanted;"
        "from brctl.node.tune import Scene; from brctl.node.tune.settings.nic_mtu import plan;"
        "seen = Inventory(nics=net.read(Local()).facts); want = Wanted(int(sys.argv[1]), 'v1');"
        "print([step.change.reason for step in plan(Scene(Local(), seen, want, Expected(), False))][0])"
    )
    for mtu, reason in (
        ("65536", "its driver takes 68 to 65535"),
        ("67", "its driver takes 68 to 65535"),
        ("1279", "below 1280 the kernel takes all IPv6 addresses off v1, and brings none back"),
        ("65535", "None"),
    ):
        assert node.run(sys.executable, "-c", script, mtu).stdout == reason + "\n"
    assert "mtu greater than device maximum" in node.run("ip", "link", "set", "v1", "mtu", "65536").stderr
    assert node.mtus()["v1"] == 1500


def test_a_vxlan_that_would_send_into_a_black_hole_is_named(node: Node) -> None:
    for words in (("v1", "9000"), ("vx", "8950")):
        node.run("ip", "link", "set", words[0], "mtu", words[1])
    before = node.picture()
    code, report = node.tune("apply", *wanted("v1", 1500))
    assert code == 0
    text = "vx breaks: it sends up to 9000 bytes, and v1 carries 1500: set it to 1450"
    assert node.mtus()["vx"] == 8950
    assert report["changes"][0]["effects"] == [text]
    assert node.tune("rollback")[0] == 0
    assert node.picture() == before


def test_without_sys_of_this_namespace_nothing_is_touched(node: Node) -> None:
    """`nsenter --net` alone shows the interfaces of one namespace, and the /sys of another."""
    node.run("umount", "/sys")
    code, report = node.tune("plan", *wanted("eth0,v1", 9000))
    assert code in (0, 3)
    assert "pending" not in outcomes(report).values()


def test_it_lasts_where_the_owner_of_the_link_is_known(node: Node) -> None:
    code, report = node.tune("plan", "--persist", *wanted("v1", 9000))
    reason = "no file here says what brings it up, so its MTU cannot be made to last"
    assert (code, report["changes"][0]["reason"]) == (3, reason)
    node.run("sh", "-c", OWNED)
    _, report = node.tune("plan", *wanted("v1", 9000))
    assert (report["changes"][0]["boot"], report["changes"][0]["boot_source"]) == ("1500", UNIT + ":6")
    assert node.tune("apply", "--persist", *wanted("v1", 9000))[0] == 0
    assert node.run("cat", UNIT).stdout == "# ours\n[Match]\nName=v1\n\n[Link]\nMTUBytes=1500\n"
    assert node.run("cat", UNIT + ".d/50-brctl.conf").stdout == "# Written by brctl tune.\n[Link]\nMTUBytes=9000\n"
    if shutil.which("systemd-analyze"):
        merged = node.run("systemd-analyze", "cat-config", "systemd/network/20-v1.network").stdout
        assert [line for line in merged.splitlines() if line.startswith("MTUBytes")][-1] == "MTUBytes=9000"
    code, report = node.tune("plan", "--persist", *wanted("v1", 9000))
    assert (code, outcomes(report), report["changes"][0]["boot"]) == (0, {"v1": "ok"}, "9000")
    assert node.tune("rollback")[0] == 0
    assert node.run("ls", UNIT + ".d").stdout == ""
    assert node.mtus()["v1"] == 1500
