"""Whom `diagnose comm` blames, again and again. Run as root: python benchmarks/comm.py [ROUNDS]

The nodes are network namespaces with real sshd (tests/fleet/conftest.py) on links of 50 Mb/s, so that two cores are
not what is measured. In each round the healthy rig is tested, and then with faults of tests/fleet/test_comm_hosts.py.
Bounds: nobody is blamed who is well, everybody who is not. A round takes some four minutes.
"""

from __future__ import annotations

import json
import runpy
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROUNDS, NODES = int((*sys.argv[1:], "20")[0]), 32
TESTS = Path(__file__).resolve().parents[1] / "tests" / "fleet"
CASES: tuple[dict[str, str], ...] = (
    {},
    {"gpu7": "path-mtu"},
    {"gpu12": "loss"},
    {"gpu20": "bandwidth"},
    {"gpu20": "bandwidth", "gpu4": "reach"},
)


def main() -> None:
    """Print a line for each test, and the sums; exit 1 where somebody was blamed wrongly or missed."""
    hosts = runpy.run_path(str(TESTS / "conftest.py"))["Cluster"]
    rig = runpy.run_path(str(TESTS / "test_comm_hosts.py"))
    wrong = missed = 0
    with tempfile.TemporaryDirectory() as folder:
        cluster = hosts(Path(folder), NODES)
        try:
            cluster.start()
            for i in cluster.nodes:
                cluster.on(i, "tc", "qdisc", "add", "dev", "eth0", "root", *rig["SHAPE"])
                cluster.run("tc", "qdisc", "add", "dev", f"p{i}", "root", *rig["SHAPE"])
            for number in range(1, ROUNDS + 1):
                for harm in CASES:
                    blamed = _blamed(cluster, rig, harm, f"round {number}")
                    wrong += len(blamed - harm.keys())
                    missed += len(harm.keys() - blamed)
        finally:
            cluster.stop()
    print(
        f"{ROUNDS} rounds of {len(CASES)} tests on {NODES} nodes: {wrong} blamed wrongly, {missed} missed (bounds: 0)"
    )
    sys.exit(bool(wrong or missed))


def _blamed(cluster: Any, rig: dict[str, Any], harm: dict[str, str], where: str) -> set[str]:
    for node, fault in harm.items():
        cluster.on(int(node[3:]), *rig["FAULTS"][fault][0])
    began = time.monotonic()
    run = cluster.run(*rig["_argv"](cluster, f"gpu[1-{NODES}]", "--level", "full"), limit_s=300)
    for node, fault in harm.items():
        cluster.on(int(node[3:]), *rig["FAULTS"][fault][1])
    reports = json.loads(run.out)["reports"]
    bad = {
        report["node"]: [one["check"] for one in report["findings"] if one["status"] in ("warn", "crit")]
        for report in reports
    }
    told = {node: checks for node, checks in bad.items() if checks}
    print(f"{where}: {harm or 'healthy'}: {told or 'nobody'}, {time.monotonic() - began:.0f} s", flush=True)
    return {node for node, checks in told.items() if checks == [f"comm-{harm.get(node)}"] or node not in harm}


if __name__ == "__main__":
    main()
