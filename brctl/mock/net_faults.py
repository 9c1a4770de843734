"""Faults of network ports: counters that grow, and settings that are not as they should be."""

from typing import Tuple

from .fault_kind import Kind

_PORT = "/sys/class/infiniband/{rdma}/ports/1/"
_NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000\n"
_WIDTH = "/sys/bus/pci/devices/{pci}/current_link_width"
_NODE = "/sys/bus/pci/devices/{pci}/numa_node"
_VLAN_MTU = "/sys/class/net/bond0.100/mtu"
_QOS = """\
DCBX mode: OS controlled
Priority trust state: {}
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   {}   0   0   0   0
"""
_RING = "Ring parameters:\nPre-set maximums:\nRX:\t\t8192\nCurrent hardware settings:\nRX:\t\t128\n"
_FEATURES = """\
Features:
rx-checksumming: on
tx-checksumming: on
tcp-segmentation-offload: off
generic-receive-offload: on
"""
_SHAPED = '[{"kind":"netem","handle":"8001:","root":true,"options":{"limit":1000}}]\n'

NET_KINDS: Tuple[Kind, ...] = (
    Kind(
        "flaps",
        "nic",
        "its link is lost again and again",
        needs="link_down_events_phy",
        statistics={"link_down_events_phy": 120},
        grows={"/sys/class/net/{nic}/carrier_changes": 240},
    ),
    Kind(
        "crc",
        "nic",
        "5000 packets a second arrive damaged",
        needs="rx_crc_errors_phy",
        statistics={"rx_crc_errors_phy": 5000},
    ),
    Kind(
        "discards",
        "nic",
        "20000 packets a second find no buffer",
        needs="rx_discards_phy",
        statistics={"rx_discards_phy": 20000},
    ),
    Kind(
        "no-descriptors",
        "nic",
        "4000 packets a second find no receive descriptor",
        needs="rx_out_of_buffer",
        statistics={"rx_out_of_buffer": 4000},
    ),
    Kind(
        "ack-timeouts",
        "nic",
        "500 acknowledgements a second do not come",
        needs=_PORT + "hw_counters/local_ack_timeout_err",
        grows={_PORT + "hw_counters/local_ack_timeout_err": 500},
    ),
    Kind(
        "paused",
        "nic",
        "its switch tells it to pause for 30 % of the time",
        needs="rx_prio3_pause",
        statistics={"rx_prio3_pause": 25000, "rx_prio3_pause_duration": 300000},
    ),
    Kind(
        "wrong-priority",
        "nic",
        "its RDMA traffic is on priority 0",
        needs="rx_prio0_bytes",
        statistics={"rx_prio0_bytes": 10**10, "tx_prio0_bytes": 10**10},
        grows={_PORT + "counters/port_xmit_data": 25 * 10**8, _PORT + "counters/port_rcv_data": 25 * 10**8},
    ),
    Kind(
        "congested",
        "nic",
        "switches mark a tenth of what it receives",
        needs=_PORT + "hw_counters/np_ecn_marked_roce_packets",
        grows={
            _PORT + "counters/port_rcv_packets": 2 * 10**6,
            _PORT + "hw_counters/np_ecn_marked_roce_packets": 2 * 10**5,
            _PORT + "hw_counters/np_cnp_sent": 2 * 10**5,
        },
    ),
    Kind("pfc-off", "nic", "it has PFC on no priority", outputs={"mlnx_qos -i {nic}": _QOS.format("dscp", 0)}),
    Kind("trust-pcp", "nic", "it trusts the VLAN tag", outputs={"mlnx_qos -i {nic}": _QOS.format("pcp", 1)}),
    Kind(
        "no-address",
        "nic",
        "it has no GID but link-local ones",
        needs=_PORT + "gids/3",
        files={_PORT + "gids/2": _NO_GID, _PORT + "gids/3": _NO_GID},
    ),
    Kind("small-ring", "nic", "its receive ring has 128 of 8192", outputs={"ethtool -g {nic}": _RING}),
    Kind("no-tso", "nic", "it has TCP segmentation offload off", outputs={"ethtool -k {nic}": _FEATURES}),
    Kind("shaped", "nic", "netem is left over on it", outputs={"tc -j qdisc show dev {nic} root": _SHAPED}),
    Kind("x8", "nic", "its PCIe link has 8 lanes", needs=_WIDTH, files={_WIDTH: "8\n"}),
    Kind("no-numa", "nic", "the firmware does not tell its NUMA node", needs=_NODE, files={_NODE: "-1\n"}),
    Kind("vlan-mtu", "host", "a VLAN has a larger MTU than its bond", needs=_VLAN_MTU, files={_VLAN_MTU: "9216\n"}),
)
