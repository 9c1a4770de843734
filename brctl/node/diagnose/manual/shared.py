"""Steps and causes that several cards have."""

from . import BAD, NOTED, PASS, Fact, Fix, PossibleCause, Step

NOTHING = "nothing"
LOOK_LONGER = Step("`brctl diagnose run --level full --interval 1m`", "1 min", NOTHING)
COMPARE = Step("`brctl diagnose run -w @all`: does another node show it too?", "seconds", NOTHING)
STRESS = Step("`dcgmi diag -r 3`", "up to 30 min", "all else on the GPUs")
RESET = Fix(
    "`brctl node-manager drain --reason gpu-reset --wait 30m`, then `nvidia-smi --gpu-reset -i N`; with NVSwitch all "
    "GPUs of the node",
    "ends what runs on the GPU",
    "`brctl diagnose run --only gpu,log` tells of nothing new, also under load",
)
RMA = Fix(
    "drain it and have it replaced (RMA) if it comes back after a reset",
    "the node is away",
    "`dcgmi diag -r 3` passes on the new one",
)
POWER_CYCLE = Fix(
    "`brctl node-manager drain --reason gpu-lost --wait 30m`, then power-cycle the node cold; if it comes back, reseat "
    "GPU and riser, then RMA",
    "ends all jobs of the node",
    "`brctl node-manager check` finds all GPUs",
)
_CLEAN_LINK = "`brctl diagnose run --only network` passes"

MEMORY_XIDS = ("Xid 48", "Xid 63", "Xid 64", "Xid 94", "Xid 95", "Xid 140", "Xid 171", "Xid 172")

MEMORY_ERRORS = PossibleCause(
    "memory-errors",
    "GPU memory makes errors",
    (
        Fact("gpu-ecc-volatile", BAD, 6, "an uncorrected error is a wrong value that a job may have read"),
        Fact("gpu-ecc-volatile", PASS, -1.5, "ECC has seen no wrong value since the driver was loaded"),
        Fact("gpu-ecc-aggregate", BAD, 6, "uncorrected errors are being made now"),
        Fact("gpu-sram", BAD, 6, "the chip's own memory made more errors than NVIDIA allows"),
        Fact("gpu-sram", PASS, -0.5, "nor has the chip's own memory"),
        Fact("gpu-remap", BAD, 6, "a row is remapped only after an error in it"),
        Fact("gpu-remap", PASS, -0.5, "no row waits to be remapped"),
        Fact("gpu-retired-pages", BAD, 6, "a page is retired only after an error in it"),
        Fact("gpu-xid", BAD, 3, "the driver told of a memory error", MEMORY_XIDS),
        Fact("gpu-xid", PASS, -0.5, "the driver told of none"),
        Fact("gpu-ecc-rate", BAD, 1, "many corrected errors often come before uncorrected ones"),
    ),
    (LOOK_LONGER, STRESS),
    (RESET, RMA),
    ("gpu-latency", "gpu-recovery-action"),
)

LINK_DOWN_OR_SLOW = PossibleCause(
    "nic-link",
    "a NIC has no link, or a slow one",
    (
        Fact("nic-speed", BAD, 5, "collectives run as fast as the slowest rail"),
        Fact("nic-speed", PASS, -2, "all links are up and of one speed"),
        Fact("rdma-state", BAD, 6, "RDMA has no link there, or no subnet manager"),
        Fact("nic-flaps", BAD, 6, "a link that comes and goes breaks what is under way each time"),
        Fact("nic-flaps", NOTED, 1, "it was lost before"),
        Fact("nic-errors", BAD, 6, "what arrives damaged is sent again"),
        Fact("nic-count", BAD, 6, "a rail is missing"),
        Fact("nic-firmware-error", BAD, 3, "the card's firmware failed"),
        Fact("nic-firmware-error", PASS, -1, "no card's firmware has failed since the boot"),
    ),
    (Step("`ethtool IF` and `ethtool -m IF`: speed, light, module", "seconds", NOTHING), COMPARE),
    (Fix("clean or swap the cable or module; then the switch port", "the rail is away", _CLEAN_LINK),),
    ("nic-mtu", "nic-firmware"),
)

MTU = PossibleCause(
    "mtu-mismatch",
    "frames of the wrong size",
    (
        Fact("nic-mtu", BAD, 5, "frames longer than the other end takes are dropped, and waited for in vain"),
        Fact("nic-mtu", PASS, -3, "the ports are alike; the switch and the far end may still differ"),
        Fact("nic-mtu-chain", BAD, 6, "frames of a VLAN, VXLAN or bridge do not fit into what carries them"),
        Fact("rdma-mtu", BAD, 6, "RDMA ports cut packets to other sizes"),
    ),
    (Step("`ping -M do -s 8972 PEER` for MTU 9000, to each rail's peer", "seconds", NOTHING), COMPARE),
    (
        Fix(
            "`brctl tune apply --set network.mtu=9000`, with the switch set to at least as much",
            "the link may go down for a moment",
            "`brctl diagnose run --only nic-mtu` passes, and the ping does",
        ),
    ),
)

BACK_PRESSURE = PossibleCause(
    "back-pressure",
    "the network is told to wait (PFC), or drops",
    (
        Fact("nic-pause", BAD, 5, "who is told to wait holds up those behind it; what is dropped costs a time-out"),
        Fact("nic-pause", PASS, -2, "little was paused while brctl looked"),
        Fact("nic-drops", BAD, 6, "what is dropped costs a time-out"),
        Fact("nic-drops", PASS, -1, "little was dropped or sent again"),
        Fact("nic-congestion", BAD, 6, "switches mark packets: more goes to a link than it carries"),
        Fact("nic-congestion", PASS, -0.5, "hardly any packet was marked"),
        Fact("nic-rings", BAD, 3, "receive rings are too small for bursts"),
    ),
    (
        Step(
            "`ethtool -S IF | grep -E 'prio._(pause|discards)'`, twice: in which class, which way", "seconds", NOTHING
        ),
        Step("`rdma statistic show`: out_of_sequence, packet_seq_err and CNPs, twice", "seconds", NOTHING),
    ),
    (
        Fix(
            "a node that pauses its switch receives too slowly: look there first (`brctl diagnose symptom slow-node`)",
            "none",
            "`brctl diagnose run --only nic-pause --level full --interval 1m` passes under load",
        ),
        Fix(
            "one priority, DSCP and PFC class on both ends of each link (`mlnx_qos -i IF`, and the switch)",
            "frames are lost while it is set",
            "the same, on all nodes",
        ),
    ),
)

WRONG_CLASS = PossibleCause(
    "wrong-class",
    "RDMA is not in the lossless class, or not on a routed GID",
    (
        Fact("nic-lossless", BAD, 6, "RDMA that is dropped sends all that followed again"),
        Fact("nic-lossless", PASS, -1.5, "its traffic is on a lossless priority"),
        Fact("nic-priority", BAD, 6, "ports are set otherwise than their like: what they send is in another class"),
        Fact("nic-priority", NOTED, 1, "no port has PFC: the fabric must do without"),
        Fact("nic-priority", PASS, -1.5, "all ports have PFC on one priority"),
        Fact("rdma-gid", BAD, 6, "without a routed GID packets do not leave the subnet, and are waited for in vain"),
        Fact("rdma-gid", PASS, -1, "all ports have a routed GID"),
    ),
    (
        Step("`mlnx_qos -i IF` on both ends, `show_gids`; the switch's map of DSCP to class", "seconds", NOTHING),
        Step("`brctl tune env --lint FILE`: NCCL_IB_TC and NCCL_IB_GID_INDEX", "seconds", NOTHING),
    ),
    (
        Fix(
            "`mlnx_qos -i IF --trust dscp --pfc 0,0,0,1,0,0,0,0`; NCCL_IB_TC of four times the DSCP; the switch alike",
            "frames are lost while it is set",
            "`brctl diagnose run --only network --level full --interval 1m` passes under load",
        ),
    ),
    ("nic-drops", "nic-congestion"),
)

NIC_SLOT = PossibleCause(
    "nic-slot",
    "a NIC's slot is too slow, or far from its GPU",
    (
        Fact("nic-pcie", BAD, 5, "its PCIe link carries less than its network link"),
        Fact("nic-pcie", PASS, -1.5, "PCIe carries what the links do"),
        Fact("nic-affinity", BAD, 3, "what goes between GPU and NIC crosses the CPUs"),
        Fact("nic-affinity", PASS, -1, "each GPU has its NIC beside it"),
    ),
    (Step("`lspci -vv`: LnkSta of the NIC; `nvidia-smi topo -m`", "seconds", NOTHING),),
    (
        Fix(
            "reseat the card, or move it to the slot that its like have",
            "the node is away",
            "`brctl diagnose run --only nic-pcie,nic-affinity` passes",
        ),
    ),
    ("nic-pause", "nic-drops"),
)

SHAPED = PossibleCause(
    "shaped",
    "the host slows down what it sends",
    (
        Fact("nic-qdisc", BAD, 5, "a shaper or emulator stands before the port; RDMA passes by it"),
        Fact("nic-qdisc", PASS, -3, "nothing shapes it"),
        Fact("nic-offloads", BAD, 3, "a core does what the card could do"),
        Fact("nic-offloads", PASS, -1, "the cards do what they can"),
    ),
    (Step("`tc -s qdisc show dev IF`: does it drop?", "seconds", NOTHING),),
    (
        Fix(
            "`tc qdisc del dev IF root`; `ethtool -K IF tso on gro on`",
            "none",
            "`brctl diagnose run --only nic-qdisc,nic-offloads` passes",
        ),
    ),
)

PAIRS = Step("`brctl diagnose comm -w @all --level full`: node, NIC or path?", "minutes", "fills links for seconds")

MTU_NOTE = (
    "MTU 9000 lowered to 8192 changes nothing for RDMA: its own MTU is a power of two, 4096 at most, and both carry "
    "it. Look for ports that differ (nic-mtu), then at priority and DSCP on both ends: traffic in the wrong class may "
    "be dropped."
)

DETOUR = PossibleCause(
    "p2p-detour",
    "traffic between GPUs and NICs goes through the CPU",
    (
        Fact("pci-acs", BAD, 5, "bridges send peer-to-peer traffic up to the root"),
        Fact("pci-acs", PASS, -1, "no bridge redirects it"),
        Fact("iommu", BAD, 3, "addresses are translated on the way"),
        Fact("iommu", PASS, -1, "none are translated"),
        Fact("gpu-peermem", BAD, 3, "NICs do not reach the GPUs' memory: all is copied through the host"),
        Fact("gpu-peermem", PASS, -1, "NICs reach the GPUs' memory"),
    ),
    (Step("`NCCL_DEBUG=INFO`: do the rings say GDRDMA?", "a short job", NOTHING),),
    (
        Fix("`modprobe nvidia-peermem`", "none", "`brctl diagnose run --only gpu-peermem` passes"),
        Fix(
            "ACS off and `iommu=pt` (not where virtual machines get devices), then reboot",
            "less isolation of devices",
            "`brctl diagnose run --only pci-acs,iommu` passes",
        ),
    ),
)

NVLINK = PossibleCause(
    "nvlink",
    "NVLink or its fabric is not whole",
    (
        Fact("gpu-links", BAD, 5, "the other links carry its traffic"),
        Fact("gpu-links", PASS, -1, "all links are up"),
        Fact("gpu-fabric", BAD, 5, "a GPU that has not joined talks by PCIe, or not at all"),
        Fact("gpu-fabric", PASS, -1, "all have joined"),
        Fact("gpu-nvlink-errors", BAD, 5, "what arrives damaged is sent again"),
        Fact("gpu-nvlink-errors", PASS, -1, "little is sent again"),
        Fact("nvswitch-sxid", BAD, 3, "a switch told of an error"),
        Fact("gpu-xid", BAD, 2, "the driver told of an NVLink error", ("Xid 74", "Xid 144", "Xid 145", "Xid 149")),
    ),
    (Step("`nvidia-smi nvlink -e`", "seconds", NOTHING), LOOK_LONGER),
    (RESET, RMA),
    ("gpu-recovery-action",),
)

PCIE = PossibleCause(
    "pcie",
    "a PCIe link is narrow, slow or noisy",
    (
        Fact("gpu-pcie", BAD, 5, "fewer lanes or an older generation than both ends have"),
        Fact("gpu-pcie", PASS, -1, "all links are as wide as they can be"),
        Fact("gpu-pcie-replay", BAD, 5, "packets are sent again"),
        Fact("gpu-pcie-replay", PASS, -1, "few packets are sent again"),
        Fact("pcie-aer", BAD, 3, "the kernel told of bus errors"),
        Fact("pcie-aer", PASS, -1, "the kernel told of none"),
    ),
    (Step("`lspci -vv`: LnkSta of the GPU and of the port above", "seconds", NOTHING), LOOK_LONGER),
    (POWER_CYCLE,),
)

FIRMWARE = PossibleCause(
    "nic-firmware",
    "the firmware of a NIC failed or is another",
    (
        Fact("nic-firmware-error", BAD, 5, "the card does not answer its driver"),
        Fact("nic-firmware-error", PASS, -3, "no card's firmware has failed since the boot"),
        Fact("nic-firmware", BAD, 3, "cards of other firmware have other defaults and other bugs"),
        Fact("nic-firmware", PASS, -1, "like cards have one firmware"),
    ),
    (Step("`journalctl -k -b | brctl diagnose log -`", "seconds", NOTHING),),
    (
        Fix(
            "drain, `mlxfwreset -d DEV reset`, update if it comes back",
            "the card is away for a minute",
            "`brctl diagnose run --only network,log` passes",
        ),
    ),
    ("nic-speed", "nic-mtu"),
)

TCP_BUFFERS = PossibleCause(
    "tcp-buffers",
    "TCP buffers too small for the network",
    (
        Fact("sysctl-buffers", BAD, 5, "one connection cannot fill a fast link; RDMA does not use them"),
        Fact("sysctl-buffers", PASS, -3, "they are large enough"),
    ),
    (Step("`ss -tim`: is it rwnd_limited or sndbuf_limited?", "seconds", NOTHING),),
    (
        Fix(
            "`brctl tune apply --set sysctl.net.core.rmem_max=64MiB --set sysctl.net.core.wmem_max=64MiB`",
            "some memory a connection",
            "`brctl diagnose run --only sysctl-buffers` passes",
        ),
    ),
)

NUMA = PossibleCause(
    "numa-balancing",
    "the kernel moves pages between NUMA nodes",
    (
        Fact("numa-balancing", BAD, 5, "threads fault on their own memory while it is moved"),
        Fact("numa-balancing", NOTED, 3, "it is on; there is no GPU here that it would slow down"),
        Fact("numa-balancing", PASS, -3, "it is off"),
    ),
    (Step("`grep numa_pte_updates /proc/vmstat`, twice: does it grow?", "seconds", NOTHING),),
    (
        Fix(
            "`brctl tune apply --set numa_balancing=false`, with `--persist` also after the next boot",
            "none for jobs that are pinned",
            "`brctl diagnose run --only numa-balancing` passes; the jitter is gone",
        ),
    ),
)

GOVERNOR = PossibleCause(
    "cpu-governor",
    "the CPUs are not governed for performance",
    (
        Fact("cpu-governor", BAD, 5, "clocks follow the load late: each short burst begins slowly"),
        Fact("cpu-governor", NOTED, 3, "it saves power; there is no GPU here that waits for it"),
        Fact("cpu-governor", PASS, -3, "it keeps them fast"),
    ),
    (Step("`grep MHz /proc/cpuinfo`, twice", "seconds", NOTHING),),
    (
        Fix(
            "`brctl tune apply --set cpu_governor=performance`",
            "more power",
            "`brctl diagnose run --only cpu-governor` passes",
        ),
    ),
)

BUSY_CORES = PossibleCause(
    "busy-cores",
    "the CPUs beside the GPUs have no time",
    (
        Fact("gpu-core-load", BAD, 5, "threads that start kernels wait for a CPU"),
        Fact("gpu-core-load", PASS, -3, "these CPUs have time"),
    ),
    (Step("`ps -eLo psr,pcpu,comm --sort -pcpu | head`", "seconds", NOTHING),),
    (
        Fix(
            "pin daemons and data loaders elsewhere (taskset, cgroup cpuset)",
            "less CPU for them",
            "`brctl diagnose run --only gpu-core-load` passes",
        ),
    ),
)
