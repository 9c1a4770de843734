"""Rules that compare an environment with what it is for: RDMA devices, GIDs and interfaces of the node, the switch's
DSCP, the framework's fabric."""

from typing import Iterator, NamedTuple, Optional, Sequence, Tuple

from ..facts import Gid, RdmaPort
from ..probe.rdma import is_link_local
from ..report import Evidence, Finding, Status
from .case import Case, Rule
from .number import strtoll
from .rendering import HCA, render
from .settings import Setting


class Selection(NamedTuple):
    """`^=mlx5_0,mlx5_3:1` of NCCL_IB_HCA, `eth,ib` of NCCL_SOCKET_IFNAME (its parseStringList and matchIfList)."""

    without: bool
    exact: bool
    words: Tuple[str, ...]

    def takes(self, name: str) -> bool:
        return self.without != any(name == word if self.exact else name.startswith(word) for word in self.words)


def selection(text: str) -> Selection:
    without = text.startswith("^")
    text = text[without:]
    exact = text.startswith("=")
    words = (word.split(":")[0] for word in text[exact:].split(","))
    return Selection(without, exact, tuple(filter(None, words)))


def _hca(case: Case) -> Iterator[Finding]:
    for setting in case.of(HCA) if case.seen.rdma is not None else ():
        devices = sorted({port.device for port in case.seen.rdma or ()})
        taken = [device for device in devices if selection(setting.value).takes(device)]
        evidence = Evidence("RDMA devices", ", ".join(devices) or "none", "/sys/class/infiniband")
        if taken:
            yield from _against_rails(case, setting, taken, evidence)
        else:
            text = "it leaves no device: NCCL goes over TCP or fails"
            yield case.finding("hca", Status.CRIT, setting, text, "name devices of this node", evidence)


def _against_rails(case: Case, setting: Setting, taken: Sequence[str], evidence: Evidence) -> Iterator[Finding]:
    rendered = render(case.seen, case.want, case.comm)
    rails = [hca.split(":")[0] for hca in rendered.hcas]
    meant = "write ={}".format(",".join(rendered.hcas))
    missing = [rail for rail in rails if rail not in taken]
    others = [device for device in taken if device not in rails] if rails else []
    chosen = selection(setting.value)
    if missing:
        text = "it leaves out {}, which carries a rail".format(", ".join(missing))
        yield case.finding("hca", Status.CRIT, setting, text, meant, evidence)
    surplus = [device for device in others if not (chosen.exact or chosen.without or device in chosen.words)]
    if surplus:
        text = "without `=` its words are prefixes, and take {} too".format(", ".join(surplus))
        yield case.finding("hca", Status.WARN, setting, text, meant, evidence)
    elif others:
        text = "it takes {}, which is none of the compute fabric's".format(", ".join(others))
        yield case.finding("hca", Status.WARN, setting, text, meant, evidence)


def _ports(case: Case) -> Tuple[RdmaPort, ...]:
    """The RoCE ports that the environment makes NCCL use."""
    chosen = next((selection(setting.value) for setting in case.of(HCA)), None)
    active = [port for port in case.seen.rdma or () if port.link_layer == "Ethernet"]
    return tuple(port for port in active if port.state == "ACTIVE" and (chosen is None or chosen.takes(port.device)))


def _gid(case: Case) -> Iterator[Finding]:
    for setting in case.of("NCCL_IB_GID_INDEX"):
        index = strtoll(setting.value)
        bad = [port for port in _ports(case) if index >= 0 and not _routed(port, index)]
        if bad:
            kinds = sorted({_kind(port, index) for port in bad})
            path = "/sys/class/infiniband/{}/ports/{}/gid_attrs/types/{}".format(bad[0].device, bad[0].port, index)
            devices = ", ".join(port.device for port in bad)
            text = "GID {} is not one of RoCE v2 that is routed, but {}, on {}".format(
                index, " or ".join(kinds), devices
            )
            remedy = "leave it out: since 2.21 NCCL finds the right one; `brctl tune env` names it"
            yield case.finding("gid", Status.WARN, setting, text, remedy, Evidence("GID type", kinds[0], path))


def _gid_at(port: RdmaPort, index: int) -> Optional[Gid]:
    return next((gid for gid in port.gids if gid.gid_index == index), None)


def _routed(port: RdmaPort, index: int) -> bool:
    gid = _gid_at(port, index)
    return gid is not None and gid.type == "RoCE v2" and not is_link_local(gid)


def _kind(port: RdmaPort, index: int) -> str:
    gid = _gid_at(port, index)
    if gid is None:
        return "empty"
    return "{}{}".format(gid.type, ", link-local" if is_link_local(gid) else "")


def _traffic_class(case: Case) -> Iterator[Finding]:
    for setting in (*case.of("NCCL_IB_TC"), *case.of("NCCL_IB_FIFO_TC")):
        value = strtoll(setting.value)
        if value < 0:  # NCCL's own
            continue
        dscp, declared = value >> 2, case.comm.dscp
        evidence = (Evidence("DSCP", str(declared), "comm.dscp"),) if declared is not None else ()
        if declared is not None and dscp != declared:
            also = ": the class is four times the DSCP" if value == declared else ""
            text = "class {} is DSCP {}, and the switch's lossless one is {}{}".format(value, dscp, declared, also)
            yield case.finding("traffic-class", Status.WARN, setting, text, "write {}".format(declared << 2), *evidence)
        elif value & 3:
            text = "class {} is DSCP {} with bits of ECN set, which the NIC sets itself".format(value, dscp)
            remedy = "write four times the DSCP: {}, or {} if DSCP {} is meant".format(dscp << 2, value << 2, value)
            yield case.finding("traffic-class", Status.WARN, setting, text, remedy, *evidence)


def _interface(case: Case) -> Iterator[Finding]:
    if case.seen.nics is None:
        return
    up = [nic.name for nic in case.seen.nics if nic.operstate in ("up", "unknown")]
    for setting in (*case.of("NCCL_SOCKET_IFNAME"), *case.of("NCCL_OOB_NET_IFNAME")):
        chosen = selection(setting.value)
        taken = [name for name in up if chosen.takes(name)]
        evidence = (Evidence("interfaces that are up", ", ".join(up) or "none", "/sys/class/net"),)
        surplus = [name for name in taken if name not in chosen.words]
        if not taken:
            text = "no interface that is up fits it: NCCL finds none to meet on"
            yield case.finding("interface", Status.CRIT, setting, text, "name an interface of this node", *evidence)
        elif surplus and any(name in chosen.words for name in taken) and not (chosen.exact or chosen.without):
            text = "without `=` it is a prefix, and takes {} too".format(", ".join(surplus))
            remedy = "write ={}".format(",".join(chosen.words))
            yield case.finding("interface", Status.WARN, setting, text, remedy, *evidence)


def _cross_nic(case: Case) -> Iterator[Finding]:
    for setting in case.of("NCCL_CROSS_NIC"):
        if case.comm.rail_only and strtoll(setting.value) != 0:
            text = "no switch joins the rails of this fabric: a ring that changes them finds no way"
            evidence = (Evidence("topology", "rail-only", "topology.kind"),)
            yield case.finding("cross-nic", Status.CRIT, setting, text, "write 0", *evidence)


RULES: Tuple[Rule, ...] = (_hca, _gid, _traffic_class, _interface, _cross_nic)
