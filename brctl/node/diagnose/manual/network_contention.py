"""The network is slow when others use it."""

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
    NOTHING,
    PAIRS,
    SHAPED,
    TCP_BUFFERS,
    WRONG_CLASS,
)

CARD = Card(
    "network-contention",
    "The network is slow, most of all when others use it",
    Needs(
        every=("nic-speed", "nic-pause"),
        optional=(
            "nic-drops",
            "nic-congestion",
            "nic-lossless",
            "nic-priority",
            "nic-pcie",
            "nic-qdisc",
            "nic-count",
            "nic-firmware",
            "gpu-peermem",
            "sysctl-buffers",
            "iommu",
            "pci-acs",
        ),
    ),
    (BACK_PRESSURE, WRONG_CLASS, LINK_DOWN_OR_SLOW, NIC_SLOT, MTU, FIRMWARE, TCP_BUFFERS, SHAPED, DETOUR),
    (
        Step(
            "`brctl diagnose symptom network-contention --level full --interval 1m` while others use it",
            "1 min",
            NOTHING,
        ),
        Step("the switch: PFC and ECN of the class that DSCP puts RoCE in, and its headroom", "minutes", NOTHING),
        PAIRS,
        COMPARE,
    ),
    (MTU_NOTE,),
)
