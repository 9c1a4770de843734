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


def cluster(config: Config) -> Iterator[Mistake]:
    """What is wrong with the groups. Whatever rests on them would then seem wrong only because they are."""
    groups = config.settings.cluster.groups
    if ALL in groups:
        loc = ("cluster", "groups", ALL)
        yield config.mistake(loc, f"{ALL!r} is every node by itself", "choose another name", key=True)
    yield from (mistake for mistake in _sets(config) if mistake.path.startswith("cluster"))
    told = set()
    for node, names in config.groups_of.items():
        first, *others = [name for name in names if groups[name].role] or [""]
        for name in others:
            if groups[name].role != groups[first].role and (first, name) not in told:
                told.add((first, name))
                message = f"{node} is {groups[name].role} here and {groups[first].role} in group {first}"
                yield config.mistake(("cluster", "groups", name, "role"), message, "a node has one role")


def across(config: Config, checks: Sequence[Check]) -> Iterator[Mistake]:
    """What one part of the file says and another contradicts. `checks`: none are known where it is empty."""
    return chain(_hardware(config), _sets(config), _losses(config), _clashes(config), _thresholds(config, checks))


def _sets(config: Config) -> Iterator[Mistake]:
    for loc, text in config.sets():
        doubt = loc[0] != "hardware" and config.members(text).doubt
        if doubt:
            yield config.mistake(loc, doubt)


def _hardware(config: Config) -> Iterator[Mistake]:
    known = [*config.groups, ALL]
    for name in config.settings.hardware:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near!r}?" if near else f"the groups are {', '.join(known)}"
            yield config.mistake(("hardware", name), f"no group is called {name!r}", hint, key=True)


def _losses(config: Config) -> Iterator[Mistake]:
    for loc, part in config.parts():
        alert = part.alerting.get("network_loss")
        if alert and alert.threshold and alert.threshold.unit != "%":
            here = (*loc, "alerting", "network_loss", "threshold")
            yield config.mistake(here, "a loss is a share of the packets", "write it in percent: 0.001%")


class Setting(NamedTuple):
    """A key with a value, in one layer."""

    value: Any
    loc: Loc
    bits: int
    """The nodes that it is for."""


def _clashes(config: Config) -> Iterator[Mistake]:
    """Two overrides, or two groups' hardware, that set one key of one node differently."""
    settings: dict[Loc, list[Setting]] = {}
    for layer, bits in config.bits.items():
        for path, value in _leaves(config.document.data[str(layer[0])][layer[1]], ()):
            settings.setdefault((layer[0], *path), []).append(Setting(value, (*layer, *path), bits))
    for first, second in chain.from_iterable(map(_differing, settings.values())):
        line = config.document.place(first.loc).line
        both = fold(config.named(first.bits & second.bits))
        message = f"line {line} sets it differently, and both are for {both}"
        yield config.mistake(second.loc, message, "let only one of the two name these nodes")


def _leaves(values: Mapping[str, Any], path: Loc) -> Iterator[tuple[Loc, Any]]:
    """Each key with its value; of a section, that it is one."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield (*path, key), Mapping
            yield from _leaves(value, (*path, key))
        elif (*path, key) != ("nodes",):
            yield (*path, key), tuple(value) if isinstance(value, list) else value


def _differing(settings: list[Setting]) -> Iterator[tuple[Setting, Setting]]:
    """Those of one key that differ and have nodes in common, each with the last such before it."""
    every, alike = 0, defaultdict[Any, int](int)
    for i, it in enumerate(settings):
        if it.bits & every & ~alike[it.value]:
            yield next(x for x in reversed(settings[:i]) if x.bits & it.bits and x.value != it.value), it
        every |= it.bits
        alike[it.value] |= it.bits


def _thresholds(config: Config, checks: Sequence[Check]) -> Iterator[Mistake]:
    for loc, name, check in _given(config, checks):
        names = [threshold.name for threshold in check.thresholds] if check else [name]
        if check and name not in names:
            hint = f"its thresholds are {', '.join(names)}" if names else "it has none"
            yield config.mistake((*loc, name), f"{check.id} has no such threshold", hint, key=True)


def advice(config: Config, checks: Sequence[Check]) -> Iterator[Mistake]:
    """Values that are legal and surely not meant, and checks that may be those of a later version."""
    yield from _unknown_checks(config, checks)
    for loc, part in config.parts():
        yield from _buffer_size(config, (*loc, "comm", "env", "NCCL_BUFFSIZE"), part.comm.env.get("NCCL_BUFFSIZE", ""))
        yield from _mtu(config, loc, part)
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
