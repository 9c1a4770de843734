"""Kernel parameters that decide how a GPU node performs."""

from typing import Optional

from ..facts import Sysctl
from ..host import Host
from .rows import Reading, Row, collected

KEYS = (
    # How large a socket buffer may get, asked for (core) or found by TCP itself: bandwidth x delay of a fast link.
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.core.netdev_max_backlog",
    "net.core.default_qdisc",
    "net.ipv4.tcp_congestion_control",
    # Jumbo frames over a path that drops them in silence.
    "net.ipv4.tcp_mtu_probing",
    # Several rails in one subnet: without these a node answers ARP for one NIC on another.
    "net.ipv4.conf.all.arp_ignore",
    "net.ipv4.conf.all.arp_announce",
    "net.ipv4.conf.all.rp_filter",
    # A large fabric has more neighbours than the default table holds.
    "net.ipv4.neigh.default.gc_thresh3",
    # Pages that move between NUMA nodes, or go to swap, under pinned GPU buffers: jitter.
    "kernel.numa_balancing",
    "vm.zone_reclaim_mode",
    "vm.swappiness",
    # What large jobs run into: refused allocations, maps, processes; and memory set aside.
    "vm.overcommit_memory",
    "vm.max_map_count",
    "vm.min_free_kbytes",
    "vm.nr_hugepages",
    "kernel.pid_max",
)


def read(host: Host) -> Optional[Reading]:
    """Those of KEYS that this kernel has; None where there is no /proc. Raises OSError."""
    if host.listdir("/proc/sys") is None:
        return None
    rows = [Row("sysctls", key) for key in KEYS]
    for row in rows:
        row.run(lambda row: _read_one(row, host))
    return collected(rows)


def parse_value(text: str) -> str:
    """Without the tabs between numbers and the newline."""
    return " ".join(text.split())


def _read_one(row: Row, host: Host) -> None:
    key = row.subject or ""
    text = host.read("/proc/sys/" + key.replace(".", "/"))
    if text is not None:
        row.value = Sysctl(key, parse_value(text))
