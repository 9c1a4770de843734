"""TCP over a fast network may have buffers as large as the network needs.

A connection has bandwidth x delay in flight: 12 MB at 100 Gb/s and a millisecond. TCP finds its size by itself, up to
net.ipv4.tcp_rmem and tcp_wmem; net.core.rmem_max and wmem_max bound what programs ask for. RDMA uses none of them.
Without a port of 100 Gb/s or more that carries Ethernet, the defaults do.
"""

from typing import Optional, Sequence

from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold, hosts

_FAST_MBPS = 100_000
_MIB = 1 << 20
_KEYS = ("net.core.rmem_max", "net.core.wmem_max", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")


def run(case: Case) -> Sequence[Finding]:
    fast = [nic for nic in case.seen.nics or () if nic.carrier and (nic.speed_mbps or 0) >= _FAST_MBPS]
    if not fast or not hosts.serves_gpus(case.seen):
        return (CHECK.finding(Status.NA, "no Ethernet port of 100 Gb/s or more beside a GPU"),)
    sizes = {key: _most(hosts.sysctl(case.seen, key)) for key in _KEYS}
    least = case.thresholds["least_mib"] * _MIB
    small = [(key, size) for key, size in sizes.items() if size is not None and size < least]
    if not small:
        return (CHECK.finding(Status.PASS, "at least {:g} MiB each".format(least / _MIB)),)
    words = ", ".join("{} {} KiB".format(key, size >> 10) for key, size in small)
    path = "/proc/sys/{}"
    evidence = tuple(Evidence(key, str(size), path.format(key.replace(".", "/"))) for key, size in small)
    remedy = "set {} to 64 MiB under tune.sysctl in the config, then `brctl tune apply`".format(
        " and ".join(key for key, _ in small)
    )
    return (
        CHECK.finding(Status.WARN, "small for {}: {}".format(fast[0].name, words), evidence=evidence, remedy=remedy),
    )


def _most(value: Optional[str]) -> Optional[int]:
    """The last number: of three, the most that TCP takes."""
    last = value.split()[-1] if value else ""
    return int(last) if last.isdecimal() else None


CHECK = Check(
    id="sysctl-buffers",
    title="TCP may use buffers that fit the network",
    tags=("health",),
    needs=("sysctls",),
    run=run,
    thresholds=(
        Threshold(
            "least_mib",
            16,
            "MiB",
            "tuned's network-throughput sets 16 MiB, which is 100 Gb/s for 1.3 ms; ESnet's fasterdata goes to 64 MiB "
            "and beyond for longer ways.",
        ),
    ),
    reads=("nics", "pci"),
)
