"""What tree mode costs this host. Run as root: python benchmarks/tree.py

Nodes as in benchmarks/fleet.py, of which two are gateways; connections are new in one run and kept in the next. The
client's CPU time is compared, not the wall time: nodes and gateways share this host's CPUs. No bound: it is not meant
to be cheaper, and how much dearer it is stands in brctl/fleet/tree.py.
"""

import runpy
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WAYS = {"flat": "", "two gateways": 'tree: {gateways: "gpu[1-2]", above: 1}'}


def main() -> None:
    """Print the figures."""
    hosts = runpy.run_path(str(ROOT / "tests" / "fleet" / "conftest.py"))["Cluster"]
    fleet = runpy.run_path(str(ROOT / "benchmarks" / "fleet.py"))
    nodes = fleet["NODES"]
    with tempfile.TemporaryDirectory() as folder:
        cluster = hosts(Path(folder), nodes)
        try:
            cluster.start()
            cluster.brctl(f"gpu[1-{nodes}]")  # the bundle is there
            for name, more in WAYS.items():
                command = cluster.command(f"gpu[1-{nodes}]", more=more)
                cluster.forget()
                for connections in ("new", "kept"):
                    cpu, wall = fleet["_cpu"](cluster, *command)
                    print(f"{name:13} {nodes} nodes, {connections:4} connections: CPU {cpu:.2f} s, wall {wall:.1f} s")
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
