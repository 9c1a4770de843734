"""`diagnose comm` between 32 hosts with real sshd, on links of 50 Mb/s, so that two cores are not what is measured."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.root
Cluster = Any  # of conftest.py

NODES = range(1, 33)
SHAPE = ("tbf", "rate", "50mbit", "burst", "64kb", "latency", "40ms")


@pytest.fixture(scope="module")
def fabric(cluster: Cluster) -> Iterator[Cluster]:
    """Every link shaped, in both directions."""
    if not shutil.which("tc") or not shutil.which("iperf3"):
        pytest.skip("tc or iperf3 is not installed")
    for i in NODES:
        cluster.on(i, "tc", "qdisc", "add", "dev", "eth0", "root", *SHAPE)
        cluster.run("tc", "qdisc", "add", "dev", f"p{i}", "root", *SHAPE)
    yield cluster
    for i in NODES:
        cluster.on(i, "tc", "qdisc", "del", "dev", "eth0", "root")
        cluster.run("tc", "qdisc", "del", "dev", f"p{i}", "root")


def _comm(cluster: Cluster, nodes: str, *options: str) -> Any:
    config = Path(cluster.folder, "comm.yaml")
    config.write_text(cluster.config().read_text() + "hardware: {fabric: {nics: {interfaces: eth0}}}\n")
    text = config.read_text().replace("cluster: {", "cluster: {groups: {fabric: {nodes: 'gpu[1-32]'}}, ")
    config.write_text(text)
    common = ["-c", str(config), "-w", nodes, "-o", "json"]
    return cluster.run(sys.executable, "-m", "brctl", *common, "diagnose", "comm", *options, limit_s=200)


def _bad(run: Any) -> dict[str, list[str]]:
    """What is said of each node that something is said of."""
    found = {}
    for report in json.loads(run.out)["reports"]:
        bad = [finding["check"] for finding in report["findings"] if finding["status"] != "pass"]
        if bad:
            found[report["node"]] = bad
    return found


def _all_ended(cluster: Cluster) -> None:
    assert [line for line in cluster.processes() + cluster.local() if "iperf3" in line or "brctl" in line] == []


def test_healthy_links_blame_nobody(fabric: Cluster) -> None:
    run = _comm(fabric, "gpu[1-32]", "--level", "full")
    assert run.out, run.err
    assert (run.code, _bad(run)) == (0, {}), run.out[-3000:] + run.err
    _all_ended(fabric)


NFT = "add table inet x; add chain inet x in { type filter hook input priority 0; }; add rule inet x in "
FAULTS = {
    "path-mtu": (["ip", "link", "set", "eth0", "mtu", "1400"], ["ip", "link", "set", "eth0", "mtu", "1500"]),
    "bandwidth": (
        ["tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", "20mbit", "burst", "64kb", "latency", "40ms"],
        ["tc", "qdisc", "replace", "dev", "eth0", "root", *SHAPE],
    ),
    "loss": (["nft", NFT + "numgen random mod 100 < 1 drop"], ["nft", "delete table inet x"]),
    "reach": (["nft", NFT + "tcp dport 40000-60010 drop"], ["nft", "delete table inet x"]),
}
"""What is done to a node, and how it is undone."""


@pytest.fixture
def harmed(fabric: Cluster, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Node -> what is wrong with it."""
    harm: dict[str, str] = request.param
    for node, fault in harm.items():
        fabric.on(int(node[3:]), *FAULTS[fault][0])
    yield harm
    for node, fault in harm.items():
        fabric.on(int(node[3:]), *FAULTS[fault][1])


@pytest.mark.parametrize(
    "harmed",
    [{"gpu7": "path-mtu"}, {"gpu12": "loss"}, {"gpu20": "bandwidth", "gpu4": "reach"}],
    indirect=True,
    ids=["mtu", "loss", "two-at-once"],
)
def test_what_is_bad_is_named_and_nothing_else(fabric: Cluster, harmed: dict[str, str]) -> None:
    level = "full" if "bandwidth" in harmed.values() else "quick"
    run = _comm(fabric, "gpu[1-32],refused", "--level", level)
    assert run.out, run.err
    assert run.code == 3  # nobody listens at `refused`
    assert {report["node"] for report in json.loads(run.out)["reports"] if report["errors"]} == {"refused"}
    assert _bad(run) == {node: [f"comm-{fault}"] for node, fault in harmed.items()}, run.out[-4000:]
    _all_ended(fabric)
