"""Every RoCE port has a GID of RoCE v2 that is routed, at the same index as its like.

That GID follows from the interface's address, and is what leaves the subnet; RoCE v1 and link-local GIDs do not: a job
that uses one ends in `transport retry exceeded` (vendor error 129). NCCL finds the right one by itself since 2.21;
older ones, and programs that are told an index, need one that is right for all ports.
"""

from typing import Iterator, List, Optional, Tuple

from ... import ports
from ...ports import Port
from ...probe.rdma import roce_v2_index
from ...report import HOST, Evidence, Finding, Status
from .. import Case, Check

_REMEDY = "give the interface its address: the kernel then adds the GID; see `ip address` and `show_gids`"


def run(case: Case) -> Iterator[Finding]:
    chosen = [port for port in ports.expected(case.seen, case.want) if port.kind == "roce" and port.rdma]
    active = [port for port in chosen if port.rdma and port.rdma.state == "ACTIVE" and port.rdma.gids]
    if not active:
        yield CHECK.finding(Status.NA, "no active RoCE port")
        return
    found = [(port, roce_v2_index(port.rdma)) for port in active if port.rdma]
    without = [port for port, place in found if place is None]
    bare = len(without) == len(active)
    if bare:
        summary = "no RoCE port has an address, and so no GID that is routed"
        yield CHECK.finding(Status.INFO, summary, HOST, tuple(map(_table, without)))
        return
    yield from (_without(port) for port in without)
    places = sorted({place for _, place in found if place is not None})
    if len(places) > 1:
        yield _differ(found)
    elif not without:
        yield CHECK.finding(Status.PASS, "{} RoCE ports: GID {} is RoCE v2, routed".format(len(active), places[0]))


def _without(port: Port) -> Finding:
    summary = "{}: no GID of RoCE v2 with an address, only link-local ones or RoCE v1".format(port.subject.name)
    return CHECK.finding(Status.WARN, summary, port.subject, (_table(port),), _REMEDY)


def _differ(found: "List[Tuple[Port, Optional[int]]]") -> Finding:
    """A job that names no index is well: it is only noted."""
    words = ", ".join("{} on {}".format(place, port.subject.name) for port, place in found if place is not None)
    summary = "the routed GID has not one index on all ports ({}): NCCL_IB_GID_INDEX must stay unset".format(words)
    return CHECK.finding(Status.INFO, summary, HOST, tuple(_table(port) for port, _ in found))


def _table(port: Port) -> Evidence:
    rdma = port.rdma
    told = "; ".join("{} {} {}".format(*gid[:3]) for gid in (rdma.gids[:6] if rdma else ()))
    path = "/sys/class/infiniband/{}/ports/{}/gids".format(rdma.device, rdma.port) if rdma else ""
    return Evidence(port.subject.name, told, path)


CHECK = Check(
    id="rdma-gid",
    title="Every RoCE port has a GID that is routed",
    tags=("health",),
    needs=("rdma",),
    run=run,
    reads=("nics", "pci"),
    group="network",
    after=("rdma-state", "nic-speed"),
)
