"""The pages of `tune explain`: of every Setting, and of what brctl does not write, as it could not take it back."""

import sys
from typing import NamedTuple, Sequence, Tuple

from . import Setting


class Page(NamedTuple):
    id: str
    title: str
    keys: Tuple[str, ...]
    """Of the config's tune section; none where nothing is written."""
    text: str
    """Paragraphs with an empty line between; an indented one is of commands."""


def pages(settings: Sequence[Setting]) -> Tuple[Page, ...]:
    """Those of the Settings, which are the docstrings of their files, then the others."""
    return (*(Page(each.id, each.title, each.keys, _text(each)) for each in settings), *BY_HAND)


def _text(setting: Setting) -> str:
    return (sys.modules[setting.plan.__module__].__doc__ or "").strip("\n")


BY_HAND = (
    Page(
        "gpu-modes",
        "ECC and MIG mode of GPUs, by hand",
        (),
        """\
A change of either is accepted at once, and in force only later: ECC after a reboot or a reset of the GPU, MIG after a
reset, which fails while a job, a monitor or nvidia-persistenced holds the GPU (NVIDIA/gpu-operator#118). Until then it
has two modes, that of now and one that waits, and asking again changes nothing: it succeeds again, and waits.

What is set, and what waits; `brctl diagnose run` tells what waits too:

    nvidia-smi --query-gpu=index,ecc.mode.current,ecc.mode.pending,mig.mode.current,mig.mode.pending --format=csv
    brctl diagnose run --only gpu-pending

To set them on GPU 3 of a drained node, and to make it so where a reset is possible:

    nvidia-smi -i 3 -e 1
    nvidia-smi -i 3 -mig 1
    brctl monitor release --for 60s
    nvidia-smi -i 3 --gpu-reset

brctl does not write it: what an apply could set and not see in force it could not take back either.""",
    ),
    Page(
        "acs",
        "PCIe access control, by hand",
        (),
        """\
With ACS on, a PCIe switch sends what one device has for its neighbour up to the root complex and down again: GPUDirect
between GPUs, or from GPU to NIC, becomes slow, or hangs (NVIDIA/nccl#2079). On a node whose jobs run on the host itself
it is turned off on every bridge. Where devices are given to virtual machines it must stay on: it is what keeps one
guest's device out of another's memory. The platform's firmware may have a switch for it, which is the better place.

What is on: `SrcValid+` in

    lspci -vvv | grep -E '^[0-9a-f]|ACSCtl'

To turn it off on the bridge 0000:15:01.0, until the next boot (NVIDIA/nccl#304):

    setpci -v -s 0000:15:01.0 ECAP_ACS+6.w=0000

brctl does not write it, as a mistake here is one in the isolation of devices, and a wrong bridge is not told by any
error.""",
    ),
    Page(
        "pfc",
        "Priority flow control and trust of RoCE, by hand",
        (),
        """\
RoCE loses nothing only if every NIC and every switch port on the way puts it into the same lossless priority: DSCP 26
in priority 3 is what most vendors' guides use (traffic class 106: four times the DSCP, and the ECN bits). One port that
differs drops, and one that pauses the wrong priority can stop a whole fabric. So it is set everywhere at once, with
whoever runs the switches.

What is set, with NVIDIA's tools, and with those of iproute2:

    mlnx_qos -i ens1np0
    dcb pfc show dev ens1np0; dcb app show dev ens1np0

To trust DSCP, and to pause priority 3 alone:

    mlnx_qos -i ens1np0 --trust dscp --pfc 0,0,0,1,0,0,0,0
    dcb app add dev ens1np0 dscp-prio 26:3; dcb pfc set dev ens1np0 prio-pfc all:off 3:on

What the jobs send, for connections by rdma_cm and for NCCL:

    cma_roce_tos -d mlx5_0 -t 106
    NCCL_IB_TC=106

None of it outlives a reboot. brctl does not write it: no host sees what the switches have, and a host alone can make it
worse.""",
    ),
    Page(
        "rings",
        "Ring sizes of NICs, by hand",
        (),
        """\
A longer receive ring helps where the kernel's own network drops packets in bursts, and `rx_out_of_buffer`,
`rx_missed_errors` or `rx_discards` grow. RDMA does not use these rings. Longer ones cost memory and cache.

What is set, and what is possible; and whether it is needed:

    ethtool -g ens1np0
    ethtool -S ens1np0 | grep -E 'out_of_buffer|missed|discard'

To set them, until the next boot:

    ethtool -G ens1np0 rx 8192 tx 8192

To make it last: `RxBufferSize=` and `TxBufferSize=` in a .link file of systemd, `ethtool.ring-rx` in a profile of
NetworkManager.

brctl does not write it, as many drivers take the link down for it (nmstate/nmstate#1759), and RDMA jobs with it.""",
    ),
    Page(
        "irq-affinity",
        "Which CPUs serve the interrupts of NICs, by hand",
        (),
        """\
Interrupts of a NIC are best served on its own NUMA node. It matters for traffic of the kernel, storage over TCP before
all; RDMA that polls has few interrupts. irqbalance moves them again every ten seconds (its issues #275 and #297), and
azhpc-images turn it off on GB200.

The node of the NIC, its CPUs, and where the interrupts go:

    cat /sys/class/net/ens1np0/device/numa_node
    cat /sys/devices/system/node/node0/cpulist
    grep ens1np0 /proc/interrupts

To put them there, with the script of mlnx-tools or by hand, until the next boot or the next turn of irqbalance:

    set_irq_affinity_bynode.sh 0 ens1np0
    echo 0-55 >/proc/irq/123/smp_affinity_list

brctl does not write it: the kernel makes new interrupts with every change of the channels, so that what was there
before cannot be put back.""",
    ),
    Page(
        "pcie-read-size",
        "Maximum read request of PCIe devices, by hand",
        (),
        """\
A NIC that reads from memory or from a GPU asks for at most so many bytes at once. 4096 is what NVIDIA's network
operator sets (Mellanox/nic-configuration-operator); 512 is the default of many platforms, and costs throughput from
200 Gb/s on.

What is set:

    lspci -s 0000:18:00.0 -vvv | grep MaxReadReq

To set 4096, until the next boot: 5 in the bits 12 to 14 of the device control register, and the others left alone:

    setpci -v -s 0000:18:00.0 CAP_EXP+08.w=5000:7000

brctl does not write it, as firmware and drivers set it too, in their own order, and a register is no place to find out
who was last.""",
    ),
)
"""What is told and not done."""
