"""Collectives are slower than they should be."""

from . import Card, Needs, Step
from .shared import (
    BACK_PRESSURE,
    COMPARE,
    DETOUR,
    FIRMWARE,
    LINK_DOWN_OR_SLOW,
    MTU,
    MTU_NOTE,
    NVLINK,
    PCIE,
    TCP_BUFFERS,
)

CARD = Card(
    "slow-comm",
    "Collectives are slower than they should be",
    Needs(
        any=("nic-speed", "gpu-links", "gpu-pcie"),
        optional=(
            "nic-count",
            "nic-pause",
            "nic-firmware",
            "gpu-peermem",
            "sysctl-buffers",
            "iommu",
            "pci-acs",
            "gpu-fabric",
        ),
    ),
    (LINK_DOWN_OR_SLOW, BACK_PRESSURE, NVLINK, PCIE, DETOUR, FIRMWARE, MTU, TCP_BUFFERS),
    (
        Step("`all_reduce_perf -b 8 -e 8G -f 2 -g 8` on this node alone: NVLink or network?", "2 min", "8 GPUs"),
        Step("the same over pairs of nodes: a node that is slow with each partner", "2 min a pair", "the pair"),
        COMPARE,
    ),
    (MTU_NOTE,),
)
