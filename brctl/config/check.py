"""What is wrong between one part of a config and another, and what is legal and surely not meant."""

from collections.abc import Iterator, Sequence
from itertools import chain

from ..node.diagnose import Check
from .mistake import Mistake
from .models import Shared
from .nodes import ALL, fold, nearest
from .resolve import Clash, Config, Layers
from .source import Loc

DEFAULT_WATTS = {
    "NVIDIA H100 80GB HBM3": 700,
    "NVIDIA H200": 700,
    "NVIDIA B200": 1000,
    "NVIDIA A100-SXM4-80GB": 400,
    "NVIDIA A100-SXM4-40GB": 400,
    "NVIDIA H100 PCIe": 350,
    "NVIDIA L40S": 350,
}
"""Default power limits: NVIDIA's data sheets of these products."""
DEEP_CUT = 0.6
"""Share of the default below which a power limit costs so much clock that it is surely not meant."""
LATE_LOSS = 0.1
"""Percent. Go-back-N RoCE suffers from about 0.001 %, and near 1 % stands still (10.1109/ICCCN.2019.8846946)."""


def across(config: Config) -> Iterator[Mistake]:
    """What one part of the file says and another contradicts."""
    return chain(_groups(config), _roles(config), _hardware(config), _sets(config), _clashes(config))


def _parts(config: Config) -> Iterator[tuple[Loc, Shared]]:
    """Everywhere that the sections of a node can stand."""
    yield (), config.settings
    for i, override in enumerate(config.settings.overrides):
        yield ("overrides", i), override


def _groups(config: Config) -> Iterator[Mistake]:
    for name, members in config.groups.items():
        loc = ("cluster", "groups", name)
        outside = set(members).difference(config.nodes)
        if outside:
            yield config.mistake((*loc, "nodes"), f"not among cluster.nodes: {fold(outside)}")
        if name == ALL:
            yield config.mistake(loc, f"{ALL!r} is every node by itself", "choose another name", key=True)


def _roles(config: Config) -> Iterator[Mistake]:
    groups = config.settings.cluster.groups
    told = set()
    for node, names in config.groups_of.items():
        first, *others = [name for name in names if groups[name].role] or [""]
        for name in others:
            if groups[name].role != groups[first].role and (first, name) not in told:
                told.add((first, name))
                message = f"{node} is {groups[name].role} here and {groups[first].role} in group {first}"
                yield config.mistake(("cluster", "groups", name, "role"), message, "a node has one role")


def _hardware(config: Config) -> Iterator[Mistake]:
    known = [*config.groups, ALL]
    for name in config.settings.hardware:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near!r}?" if near else f"the groups are {', '.join(known)}"
            yield config.mistake(("hardware", name), f"no group is called {name!r}", hint, key=True)


def _sets(config: Config) -> Iterator[Mistake]:
    """Node sets with groups in them, which cannot be judged before the cluster is known; and ratios without a unit."""
    sets: list[tuple[Loc, str]] = [
        (("overrides", i, "nodes"), it.nodes) for i, it in enumerate(config.settings.overrides)
    ]
    sets += [((*loc, "monitor", "peers"), part.monitor.peers) for loc, part in _parts(config) if part.monitor.peers]
    for loc, text in sets:
        doubt = config.members(text)[1]
        if doubt:
            yield config.mistake(loc, doubt)
    for loc, part in _parts(config):
        alert = part.alerting.get("network_loss")
        if alert and alert.threshold and alert.threshold.unit != "%":
            here = (*loc, "alerting", "network_loss", "threshold")
            yield config.mistake(here, "a loss is a share of the packets", "write it in percent: 0.001%")


def _clashes(config: Config) -> Iterator[Mistake]:
    alike: dict[Layers, list[str]] = {}
    for node, layers in config.layers_of.items():
        alike.setdefault(layers, []).append(node)
    told: dict[Clash, list[str]] = {}
    for layers, names in alike.items():
        for clash in config.merged(layers).clashes:
            told.setdefault(clash, []).extend(names)
    for clash, names in told.items():
        line = config.document.place(clash.first).line
        message = f"line {line} sets it differently, and both are for {fold(names)}"
        yield config.mistake(clash.second, message, "let only one of the two name these nodes")


def thresholds(config: Config, checks: Sequence[Check]) -> tuple[list[Mistake], list[Mistake]]:
    """Under `diagnose.checks`: thresholds that their check does not have, and checks that do not exist.

    The second are no errors: the file may be written for a later version.
    """
    known = {check.id: [threshold.name for threshold in check.thresholds] for check in checks}
    wrong, unknown = [], []
    for part, shared in _parts(config):
        for check, given in shared.diagnose.checks.items():
            loc: Loc = (*part, "diagnose", "checks", check)
            if check not in known:
                near = nearest(check, known)
                hint = f"did you mean {near!r}?" if near else "it is ignored"
                unknown.append(config.mistake(loc, f"no check is called {check!r}", hint, key=True))
            for name in given.keys() - known.get(check, given):
                hint = f"its thresholds are {', '.join(known[check])}" if known[check] else "it has none"
                wrong.append(config.mistake((*loc, name), f"{check} has no such threshold", hint, key=True))
    return wrong, unknown


def advice(config: Config) -> Iterator[Mistake]:
    """Values that are legal and surely not meant."""
    for loc, part in _parts(config):
        yield from _buffer_size(config, (*loc, "comm", "env", "NCCL_BUFFSIZE"), part.comm.env.get("NCCL_BUFFSIZE", ""))
        yield from _mtu(config, (*loc, "tune", "network", "mtu"), part.tune.network.mtu)
        yield from _power(config, loc, part)
        yield from _loss(config, loc, part)
    topology = config.settings.topology
    if topology.kind == "dragonfly" and topology.group_nodes:
        yield from _dragonfly(config, topology.group_nodes)


def _buffer_size(config: Config, loc: Loc, text: str) -> Iterator[Mistake]:
    digits = text[: len(text) - len(text.lstrip("0123456789"))]  # as strtoll(text, NULL, 0) reads it, but for 0x
    if digits and digits != text and not text.lower().startswith("0x"):
        yield config.mistake(
            loc, f"NCCL knows no units: it reads {text!r} as {digits}", "leave it out: NCCL takes 4194304"
        )


def _mtu(config: Config, loc: Loc, mtu: int | None) -> Iterator[Mistake]:
    if mtu and 2048 + 96 <= mtu < 4096 + 96:
        message = f"with an MTU of {mtu} RDMA uses 2048, as it needs 96 bytes more than its own"
        yield config.mistake(loc, message, "4200 is enough for an RDMA MTU of 4096; 9000 is usual")


def _power(config: Config, loc: Loc, part: Shared) -> Iterator[Mistake]:
    for pattern, limit in (part.tune.gpu.power_limit or {}).items():
        for model in _models(config, loc) if pattern == "*" else [pattern]:
            default = DEFAULT_WATTS.get(model)
            share = limit.value / 100 if limit.unit == "%" else limit.value / default if default else 1
            if share < DEEP_CUT:
                message = f"{1 - share:.0%} below the default of {model}" + (f", {default}W" if default else "")
                yield config.mistake((*loc, "tune", "gpu", "power_limit"), message, "jobs become as much slower")


def _models(config: Config, loc: Loc) -> list[str]:
    """The GPU models that `hardware` names for the nodes that a part of the file is about."""
    hardware = config.settings.hardware
    names = config.members(config.settings.overrides[int(loc[1])].nodes)[0] if loc else config.nodes
    used = {layer[1] for name in names for layer in config.layers_of.get(name, ()) if layer[0] == "hardware"}
    return sorted({hardware[str(group)].accelerator.model or "" for group in used})


def _loss(config: Config, loc: Loc, part: Shared) -> Iterator[Mistake]:
    alert = part.alerting.get("network_loss")
    if alert and alert.threshold and alert.threshold.value > LATE_LOSS:
        message = f"too late: RoCE hardly moves at {alert.threshold.value:g}% loss"
        yield config.mistake((*loc, "alerting", "network_loss", "threshold"), message, "warn from about 0.001%")


def _dragonfly(config: Config, size: int) -> Iterator[Mistake]:
    balanced = [2 * p * p for p in range(1, 200)]
    if size not in balanced:
        below = max((other for other in balanced if other < size), default=None)
        above = next(other for other in balanced if other > size)
        near = " or ".join(str(other) for other in (below, above) if other)
        message = f"no balanced dragonfly (a = 2p = 2h) has groups of {size}"
        yield config.mistake(("topology", "group_nodes"), message, f"the nearest is {near}")
