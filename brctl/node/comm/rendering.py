"""Renders the communication environment: what is declared, and what the node has. A reason and a source for each line,
and for what is better left unset too."""

from typing import Iterator, NamedTuple, Optional, Tuple

from .. import ports
from ..facts import Inventory, RdmaPort
from ..probe.rdma import roce_v2_index
from ..report import Environment, EnvironmentVariable
from ..request import Communication, Expected, RailOut
from .variables import SOURCE, known

HCA = "NCCL_IB_HCA"
NOBODY = "read by no public library"
_RDMA = "/sys/class/infiniband/*"
_TIME_OUT = "20, NCCL's own, is 4.3 s, and up to 8 tries; 22 is 17 s, where links flap and jobs should outlive that"
_BUFFER = "4 MiB is NCCL's own; every channel of every communicator costs as much GPU memory"
_FRAMEWORK = {
    "megatron-tp": "tensor and sequence parallelism need their kernels in order, in one queue, up to Hopper",
    "fsdp": "it overlaps gathering and computing, which one queue would forbid; CUDA's own 8 do",
    "ddp": "8 are CUDA's own, and all that it needs",
}
_FRAMEWORK_SOURCE = {
    "megatron-tp": "NVIDIA/Megatron-LM#533",
    "fsdp": "pytorch/torchtitan#1147",
    "ddp": "CUDA programming guide, environment variables",
}


class _Fabric(NamedTuple):
    ports: Tuple[RdmaPort, ...]
    """In the order of the rails."""
    kind: Optional[str]
    """`roce` or `infiniband`; None: no RDMA."""
    out: Optional[str] = None
    """Which device is left out, and why."""


class _RefusedError(Exception):
    """There is no right environment; the message says why."""


def render(seen: Inventory, want: Expected, comm: Communication, route: Optional[str] = None) -> Environment:
    """What jobs on this node should have. `route` is the interface of the default route."""
    try:
        _refuse_others(seen, comm)
        fabric = _fabric(seen, want, comm)
    except _RefusedError as refused:
        return Environment(refused=str(refused))
    given = tuple(_given(comm))
    taken = {variable.name for variable in given}
    found = [variable for variable in _found(seen, comm, fabric, route) if variable.name not in taken]
    return Environment((*found, *given), tuple(map(_hca, fabric.ports)), out=fabric.out)


def _refuse_others(seen: Inventory, comm: Communication) -> None:
    gpus = seen.gpus or ()
    if not gpus:
        raise _RefusedError("this node has no GPU: there are no collectives to set up")
    vendors = sorted({gpu.vendor or "unknown" for gpu in gpus} - {"nvidia"})
    if vendors and comm.backend == "nccl":
        raise _RefusedError("NCCL is NVIDIA's, and the GPUs here are of {}".format(", ".join(vendors)))
    if any(gpu.instances is not None for gpu in gpus):
        raise _RefusedError("GPUs are divided by MIG: NCCL joins whole GPUs, and a job sees one instance of one")


def _fabric(seen: Inventory, want: Expected, comm: Communication) -> _Fabric:
    """The RDMA ports that carry collectives. Raises _RefusedError: they are not what the config says, or not all up."""
    found = [port for port in ports.expected(seen, want) if port.rdma and port.kind in ("roce", "infiniband")]
    if want.nics is None or want.nics.interfaces is None:
        found = [port for port in found if not (port.nic and port.nic.master)]  # under a bond: storage, mostly
    down = [port.device for port in found if port.rdma and port.rdma.state not in ("ACTIVE", None)]
    found = [port for port in found if port.device not in down]
    if down and comm.rails is not None and len(found) < comm.rails:
        raise _RefusedError("no link on {}: with other devices than its peers have, NCCL hangs".format(", ".join(down)))
    kinds = sorted({port.kind for port in found})
    if len(kinds) > 1:
        raise _RefusedError("RoCE and InfiniBand side by side: name one kind with hardware.nics.interfaces")
    if comm.rails is not None and len(found) != comm.rails:
        here = "{} RDMA ports are here".format(len(found)) if found else "no RDMA port is here"
        raise _RefusedError("comm.rails is {}, and {}: see hardware.nics.interfaces".format(comm.rails, here))
    nearest = {gpu.nearest_nic: place for place, gpu in reversed(list(enumerate(seen.gpus or ())))}
    order = sorted(found, key=lambda port: nearest.get(port.subject.name, len(nearest)))
    fabric = _Fabric(tuple(port.rdma for port in order if port.rdma), kinds[0] if kinds else None)
    return _without(fabric, comm.out) if comm.out else fabric


def _without(fabric: _Fabric, out: RailOut) -> _Fabric:
    """All nodes leave out the same rail, so one that has other rails is refused."""
    count = len(fabric.ports)
    if count != out.rails or not 0 <= out.rail < count or count < 2:
        what = "rail {} of {} is out on all nodes ({}), and {} are here".format(*out[:2], out.reason, count)
        raise _RefusedError(what + ": with another set of devices than its peers have, NCCL hangs")
    ports = fabric.ports[: out.rail] + fabric.ports[out.rail + 1 :]
    told = "{}, rail {} of {}, is left out on all nodes: {}".format(_hca(fabric.ports[out.rail]), *out)
    return fabric._replace(ports=ports, out=told)


def _hca(port: RdmaPort) -> str:
    return port.device if port.port == 1 else "{}:{}".format(port.device, port.port)


def _given(comm: Communication) -> Iterator[EnvironmentVariable]:
    if comm.backend == "npo":
        yield EnvironmentVariable("BR_COMM_BACKEND", "npo", NOBODY, "comm.backend")
    for each in comm.env:
        yield EnvironmentVariable(
            each.name, each.value, "as given" if known(each.name) else "as given; " + NOBODY, "comm.env." + each.name
        )


def _found(
    seen: Inventory, comm: Communication, fabric: _Fabric, route: Optional[str]
) -> Iterator[EnvironmentVariable]:
    if fabric.ports:
        names = ",".join(map(_hca, fabric.ports))
        reason = "the devices that carry collectives, a rail each; `=`: whole names, as mlx5_1 also begins mlx5_10"
        reason += "; " + fabric.out if fabric.out else ""
        yield EnvironmentVariable(HCA, "=" + names, reason, _RDMA)
    yield _socket(seen, fabric, route)
    if fabric.kind == "roce":
        yield _gid(fabric)
        yield _traffic_class(comm)
    if fabric.ports:
        if comm.rail_only:
            reason = "no switch joins the rails: a ring that changed them would find no way"
            yield EnvironmentVariable("NCCL_CROSS_NIC", "0", reason, "topology.kind")
        yield EnvironmentVariable("NCCL_IB_TIMEOUT", None, _TIME_OUT, SOURCE)
    yield EnvironmentVariable("NCCL_BUFFSIZE", None, _BUFFER, SOURCE)
    if comm.framework:
        value = "1" if comm.framework == "megatron-tp" else None
        source = _FRAMEWORK_SOURCE[comm.framework]
        yield EnvironmentVariable("CUDA_DEVICE_MAX_CONNECTIONS", value, _FRAMEWORK[comm.framework], source)


def _socket(seen: Inventory, fabric: _Fabric, route: Optional[str]) -> EnvironmentVariable:
    rails = {port.netdev for port in fabric.ports}
    up = {nic.name: nic for nic in seen.nics or () if nic.operstate == "up" and nic.kind in ("physical", "bond")}
    usable = [name for name, nic in up.items() if name not in rails and nic.master is None]
    if route in up:
        reason = "ranks meet over TCP on the interface of the default route; without it NCCL takes any, docker0 too"
        return EnvironmentVariable("NCCL_SOCKET_IFNAME", "={}".format(route), reason, "/proc/net/route")
    if len(usable) == 1:
        reason = "ranks meet over TCP on the only interface that is up and no rail"
        return EnvironmentVariable("NCCL_SOCKET_IFNAME", "=" + usable[0], reason, "/sys/class/net/" + usable[0])
    why = "which of {} is meant cannot be told: name it in comm.env".format(", ".join(usable) or "no interfaces")
    return EnvironmentVariable("NCCL_SOCKET_IFNAME", None, why, "/sys/class/net")


def _gid(fabric: _Fabric) -> EnvironmentVariable:
    source = _RDMA + "/ports/*/gid_attrs/types"
    found = {roce_v2_index(port) for port in fabric.ports}
    index = found.pop() if len(found) == 1 else None
    if index is None:
        why = "there is no one index of RoCE v2 on all devices; since 2.21 NCCL looks for it by itself"
        return EnvironmentVariable("NCCL_IB_GID_INDEX", None, why, source)
    reason = "RoCE v2 with an IPv4 address, on every device; since 2.21 NCCL finds it by itself too"
    return EnvironmentVariable("NCCL_IB_GID_INDEX", str(index), reason, source)


def _traffic_class(comm: Communication) -> EnvironmentVariable:
    if comm.dscp is None:
        why = "comm.dscp is not declared: packets go with DSCP 0, which few switches take as lossless"
        return EnvironmentVariable("NCCL_IB_TC", None, why, "comm.dscp")
    reason = "DSCP {}, times four".format(comm.dscp)
    return EnvironmentVariable("NCCL_IB_TC", str(comm.dscp << 2), reason, "comm.dscp")
