"""What is known of single kernel parameters: which values they refuse, what excludes what, who recommends what.

Keys are paths under /proc/sys.
"""

import difflib
from typing import List, Optional

from ..host import Host
from .sysctl_files import spelt

FOLDER = "/proc/sys/"
NUMA_BALANCING = "kernel/numa_balancing"

_INT_MAX = 2**31 - 1
_BUFFERS = ("net/core/rmem_max", "net/core/wmem_max", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem")
_FLOORS = {
    "net/core/rmem_default": 2304,
    "net/core/rmem_max": 2304,
    "net/core/wmem_default": 4608,
    "net/core/wmem_max": 4608,
}
"""SOCK_MIN_RCVBUF and SOCK_MIN_SNDBUF (include/net/sock.h), as measured on 6.18; the kernel refuses less."""
_CHOICES = {
    "net/ipv4/tcp_congestion_control": ("net/ipv4/tcp_available_congestion_control", "modprobe tcp_{}"),
}
"""Where the kernel says what a word may be, and what makes it be one."""
_PAIRS = (
    ("vm/dirty_bytes", "vm/dirty_ratio"),
    ("vm/dirty_background_bytes", "vm/dirty_background_ratio"),
    ("vm/overcommit_kbytes", "vm/overcommit_ratio"),
)
"""A write to one makes the other 0 (admin-guide/sysctl/vm)."""
_MODULES = (
    ("net/bridge/bridge-nf-", "br_netfilter"),
    ("net/netfilter/nf_conntrack_", "nf_conntrack"),
    ("net/nf_conntrack_max", "nf_conntrack"),
    ("net/rds/", "rds"),
    ("net/sctp/", "sctp"),
    ("sunrpc/", "sunrpc"),
    ("fs/nfs/", "lockd"),
)
"""Which module brings what keys."""
_SOURCES = {
    (NUMA_BALANCING, "0"): "NVIDIA's Grace tuning guide; AMD's ROCm documentation; tuned, hpc-compute",
    ("net/core/rmem_max", "16777216"): "tuned, network-throughput",
    ("net/core/wmem_max", "16777216"): "tuned, network-throughput",
    ("net/core/rmem_max", "67108864"): "400 Gb/s for 1 ms is 50 MB: one data centre",
    ("net/core/wmem_max", "67108864"): "400 Gb/s for 1 ms is 50 MB: one data centre",
    ("net/core/rmem_max", "2147483647"): "ESnet, for 100 Gb/s and more over 100 ms",
    ("net/core/wmem_max", "2147483647"): "ESnet, for 100 Gb/s and more over 100 ms",
    ("net/ipv4/tcp_rmem", "4096 131072 67108864"): "400 Gb/s for 1 ms is 50 MB: one data centre",
    ("net/ipv4/tcp_wmem", "4096 65536 67108864"): "400 Gb/s for 1 ms is 50 MB: one data centre",
    ("vm/swappiness", "10"): "tuned, throughput-performance",
    ("vm/zone_reclaim_mode", "1"): "tuned, hpc-compute",
    ("vm/max_map_count", "1048576"): "azhpc-images, for RCCL",
    ("net/ipv4/neigh/default/gc_thresh3", "16384"): "azhpc-images",
}


def same(one: str, other: str) -> bool:
    """Whether both are one value, word for word; `0x10` is 16."""
    words = (one.split(), other.split())
    return len(words[0]) == len(words[1]) and all(map(_same_word, *words))


def _same_word(one: str, other: str) -> bool:
    return one == other or _number(one) == _number(other) is not None


def _number(word: str) -> Optional[int]:
    try:
        return int(word, 0)
    except ValueError:
        return None


def partner(key: str) -> Optional[str]:
    """The key that a write to this one makes 0, and the other way about."""
    for pair in _PAIRS:
        if key in pair:
            return pair[1 - pair.index(key)]
    return None


def source(key: str, value: str) -> Optional[str]:
    """Who recommends this value."""
    return _SOURCES.get((key, value))


def refusal(host: Host, key: str, value: str) -> Optional[str]:
    """Why the kernel will not take `value`, in words; None: nothing speaks against it. Raises OSError."""
    floor = _FLOORS.get(key)
    number = _number(value)
    if floor and number is not None and not floor <= number <= _INT_MAX:
        return "the kernel takes {} to {}".format(floor, _INT_MAX)
    if key in _CHOICES:
        listing, remedy = _CHOICES[key]
        names = (host.read(FOLDER + listing) or value).split()
        if value not in names:
            return "the kernel offers {}; for another: {}".format(", ".join(names), remedy.format(value))
    if partner(key) and number == 0:
        return "0 means that {} decides: set that".format(spelt(partner(key) or ""))
    return None


def lowers(key: str, value: str, live: str) -> Optional[str]:
    """A warning where a buffer's limit becomes smaller than it is."""
    new, old = _number(value.split()[-1]), _number(live.split()[-1])
    if key in _BUFFERS and new is not None and old is not None and new < old:
        return "lowers the limit: it is {} now".format(old)
    return None


def absence(host: Host, key: str) -> str:
    """Why there is no such key, and the name that was probably meant. Raises OSError."""
    if key == NUMA_BALANCING:
        return "this kernel was built without it (CONFIG_NUMA_BALANCING)"
    for prefix, module in _MODULES:
        if key.startswith(prefix):
            return "the module {0} brings it: `modprobe {0}`, and name it in /etc/modules-load.d".format(module)
    there: List[str] = []
    for name in key.split("/"):
        names = host.listdir(FOLDER + "/".join(there)) or ()
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            nearest = "; nearest: {}".format(spelt("/".join((*there, *close)))) if close else ""
            return "the kernel has no {}{}".format(spelt("/".join((*there, name))), nearest)
        there.append(name)
    return "the kernel does not show it here"
