"""There are as many NUMA nodes with CPUs as the config declares: fewer are critical, more a warning.

Nodes of memory alone are not counted: GPUs with coherent memory and CXL devices add such nodes. A kernel built without
NUMA has one node.
"""

from typing import Iterator

from ...report import Finding
from ...request import ExpectedCpu
from .. import Case, Check
from ..parts import counted

_REMEDY = (
    "see the BIOS: node interleaving hides NUMA nodes, Sub-NUMA Clustering (Intel) or NPS (AMD) splits them; "
    "`numa=off` on the kernel's command line leaves one"
)


def run(case: Case) -> Iterator[Finding]:
    nodes = case.seen.numa
    count = 1 if nodes is None else sum(bool(node.cpus) for node in nodes)
    want = (case.want.cpu or ExpectedCpu()).numa_nodes
    yield counted(
        CHECK, "NUMA nodes", count, want, "/sys/devices/system/node/node*/cpulist", "hardware.cpu.numa_nodes", _REMEDY
    )


CHECK = Check(
    id="numa-count",
    title="All declared NUMA nodes are there",
    tags=("inventory",),
    needs=(),
    run=run,
    reads=("numa",),
)
