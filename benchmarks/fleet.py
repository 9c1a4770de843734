"""What a fleet costs. Run as root, with clush installed: python benchmarks/fleet.py [NODES [ROUNDS [MOCKS]]]

The nodes are network namespaces with real sshd (tests/fleet/conftest.py), which share this host's CPUs: so the client's
CPU time is compared, not the wall time. Connections are kept, as between any two runs within a minute. Rounds are
interleaved. Bounds: CPU 2 x that of clush running `true`; 8 kB sent to and 16 kB received from a node; 256 mocked
nodes in 60 s.
"""

import json
import os
import resource
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

NODES, ROUNDS, MOCKS = (*map(int, sys.argv[1:]), *(64, 5, 256)[len(sys.argv) - 1 :])
ROOT = Path(__file__).resolve().parents[1]
CLUSH = Path(sys.executable).parent / "clush"


def main() -> None:
    """Print the figures; exit 1 where a bound is missed."""
    hosts = runpy.run_path(str(ROOT / "tests" / "fleet" / "conftest.py"))["Cluster"]
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        cluster = hosts(Path(folder), NODES)
        try:
            cluster.start()
            missed |= _compare(cluster)
        finally:
            cluster.stop()
    missed |= _mocks()
    sys.exit(missed)


def _compare(cluster: Any) -> bool:
    everyone = f"gpu[1-{NODES}]"
    brctl = cluster.command(everyone)
    first = _cpu(cluster, *brctl)
    print(f"first run, bundle and connections new: {first[1]:.1f} s, client CPU {first[0]:.2f} s")
    (config,) = Path(cluster.runtime, "brctl").glob("*.conf")
    clush = [str(CLUSH), "-S", "-q", "-f", "64", "-w", everyone, "-o", f"-F {config}", "true"]
    commands = {"clush true": clush, "brctl check": brctl}
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    counted = _bytes(cluster)
    for _ in range(ROUNDS):
        for name, command in commands.items():
            before = _bytes(cluster)
            seconds[name].append(_cpu(cluster, *command))
            if name == "brctl check":
                counted = [after - b for after, b in zip(_bytes(cluster), before, strict=True)]
    medians = {
        name: [statistics.median(values) for values in zip(*runs, strict=True)] for name, runs in seconds.items()
    }
    for name, (cpu, wall) in medians.items():
        print(
            f"{name:12} {NODES} nodes: client CPU {cpu:6.2f} s, {cpu / NODES * 1000:5.1f} ms a node; wall {wall:.1f} s"
        )
    ratio = medians["brctl check"][0] / medians["clush true"][0]
    sent, received = (number / NODES for number in counted)
    print(
        f"ratio {ratio:.2f} (bound 2); sent {sent:.0f} bytes a node (bound 8000), received {received:.0f} (bound 16000)"
    )
    return ratio > 2 or sent > 8000 or received > 16000


def _cpu(cluster: Any, *command: str) -> tuple[float, float]:
    """Seconds of CPU time of a command with its children and the kept connections; its wall time."""
    kept, before, began = _kept(cluster), resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    child = cluster.popen(*command)
    _, err = child.communicate()
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if child.returncode:
        sys.exit(err.decode())
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime + _kept(cluster) - kept, wall


def _kept(cluster: Any) -> float:
    """Seconds of CPU time of ssh's kept connections."""
    ticks = 0
    for pid in subprocess.check_output(["ip", "netns", "pids", cluster.switch], text=True).split():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _bytes(cluster: Any) -> list[int]:
    """Sent and received by the client, Ethernet frames and all. (The nodes' own counters have each other's ARP.)"""
    (device,) = json.loads(subprocess.check_output(["ip", "-n", cluster.switch, "-s", "-j", "link", "show", "br0"]))
    return [device["stats64"][way]["bytes"] for way in ("tx", "rx")]


def _mocks() -> bool:
    brctl = [sys.executable, "-m", "brctl", "--mock", "dgx-h100", "-w", f"gpu[1-{MOCKS}]", "-o", "json"]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as state:
        environment = {**os.environ, "BRCTL_STATE_DIR": state, "PYTHONPATH": str(ROOT)}
        out = subprocess.check_output([*brctl, "node-manager", "check"], env=environment, cwd=state)
    wall = time.monotonic() - began
    assert len(json.loads(out)["reports"]) == MOCKS
    print(f"{MOCKS} mocked DGX H100 as children: {wall:.1f} s (bound 60 for 256)")
    return wall > 60


if __name__ == "__main__":
    main()
