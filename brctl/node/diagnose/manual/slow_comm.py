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
    NIC_SLOT,
    NVLINK,
    PAIRS,
    PCIE,
    SHAPED,
    TCP_BUFFERS,
    WRONG_CLASS,
)

CARD = Card(
    "slow-comm",
    "Collectives are slower than they should be",
    Needs(
        any=("nic-speed", "gpu-links", "gpu-pcie"),
        optional=(
            "nic-count",
            "nic-pause",
            "nic-drops",
            "nic-errors",
            "nic-flaps",
            "nic-congestion",
            "nic-lossless",
            "nic-priority",
            "nic-pcie",
            "rdma-gid",
            "rdma-state",
            "nic-firmware",
            "gpu-peermem",
            "sysctl-buffers",
            "iommu",
            "pci-acs",
            "gpu-fabric",
        ),
    ),
    (LINK_DOWN_OR_SLOW, BACK_PRESSURE, WRONG_CLASS, NVLINK, PCIE, NIC_SLOT, DETOUR, FIRMWARE, MTU, TCP_BUFFERS, SHAPED),
    (
        Step("`all_reduce_perf -b 8 -e 8G -f 2 -g 8` on this node alone: NVLink or network?", "2 min", "8 GPUs"),
        PAIRS,
        COMPARE,
    ),
    (MTU_NOTE,),
)
