"""What is wrong between one part of a config and another, and what is legal and surely not meant."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from ..node.diagnose import Check
from ..node.patterns import fits
from .mistake import Mistake
from .models import Shared
from .nodes import ALL, fold, nearest_or
from .resolve import Config
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
    for name, group in groups.items():
        doubt = config.doubt(group.nodes)
        if doubt:
            yield config.mistake(("cluster", "groups", name, "nodes"), doubt)
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
    return chain(
        _hardware(config),
        _sets(config),
        _alerts(config),
        _clashes(config),
        _collectors(config),
        _thresholds(config, checks),
    )


def _sets(config: Config) -> Iterator[Mistake]:
    for loc, text in config.sets():
        doubt = loc[0] != "hardware" and config.doubt(text)
        if doubt:
            yield config.mistake(loc, doubt)


def _hardware(config: Config) -> Iterator[Mistake]:
    known = {**config.groups, ALL: config.nodes}
    for name in config.settings.hardware:
        if name not in known:
            hint = nearest_or(name, known, f"the groups are {', '.join(known)}")
            yield config.mistake(("hardware", name), f"no group is called {name!r}", hint, key=True)


def _collectors(config: Config) -> Iterator[Mistake]:
    for loc, part in config.parts():
        if part.monitor.collectors:
            from ..node.monitor import registry  # two dozen modules, of no use to most files

            known = [collector.id for collector in registry()]
            for name in part.monitor.collectors:
                if name not in known:
                    hint = nearest_or(name, known, f"there are {', '.join(known)}")
                    here = (*loc, "monitor", "collectors", name)
                    yield config.mistake(here, f"no collector is called {name!r}", hint, key=True)


def _alerts(config: Config) -> Iterator[Mistake]:
    if any(part.alerting for _, part in config.parts()):
        from .alerts import mistakes  # of no use to most files

        yield from mistakes(config)


_SECTION: Any = object()
"""Stands for the value of a section."""


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
            yield (*path, key), _SECTION
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


def _checks(config: Config) -> Iterator[tuple[Loc, str, Mapping[str, float]]]:
    for loc, part in config.parts():
        for check, given in part.diagnose.checks.items():
            yield (*loc, "diagnose", "checks", check), check, given


def _thresholds(config: Config, checks: Sequence[Check]) -> Iterator[Mistake]:
    known = {check.id: [threshold.name for threshold in check.thresholds] for check in checks}
    for loc, check, given in _checks(config):
        for name in given.keys() - known.get(check, given):
            hint = f"its thresholds are {', '.join(known[check])}" if known[check] else "it has none"
            yield config.mistake((*loc, name), f"{check} has no such threshold", hint, key=True)


def advice(config: Config, checks: Sequence[Check]) -> Iterator[Mistake]:
    """What is legal and surely not meant; and checks that do not exist, as the file may be for a later version."""
    known = [check.id for check in checks]
    for loc, check, _ in _checks(config):
        if known and check not in known:
            hint = nearest_or(check, known, "it is ignored")
            yield config.mistake(loc, f"no check is called {check!r}", hint, key=True)
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


def _mtu(config: Config, loc: Loc, part: Shared) -> Iterator[Mistake]:
    mtu = part.tune.network.mtu
    if mtu and 2048 + 96 <= mtu < 4096 + 96:
        kinds = {hardware.nics.kind for hardware in config.hardware_of(loc)} - {None}
        if "roce" in kinds or not kinds:  # InfiniBand's own MTU is no interface's
            message = f"with an MTU of {mtu} RDMA uses 2048, as it needs 96 bytes more than its own"
            hint = "4200 is enough for an RDMA MTU of 4096; 9000 is usual"
            yield config.mistake((*loc, "tune", "network", "mtu"), message, hint)


def _power(config: Config, loc: Loc, part: Shared) -> Iterator[Mistake]:
    for model, limit in (part.tune.gpu.power_limit or {}).items():
        share, default = limit.value / 100, "default"
        if limit.unit == "W":
            declared = [it.accelerator.model for it in config.hardware_of(loc)] if model == "*" else ()
            names = (name for each in declared for name in _products(each))
            name = max(names, key=DEFAULT_WATTS.__getitem__, default=model)
            watts = DEFAULT_WATTS.get(name, limit.value)
            share, default = limit.value / watts, f"default of {name}, {watts}W"
        if share < DEEP_CUT:
            hint = "a power cap lowers clocks under load: measure what it costs"
            yield config.mistake((*loc, "tune", "gpu", "power_limit"), f"{1 - share:.0%} below the {default}", hint)


@lru_cache(maxsize=8192)
def _products(model: str | None) -> tuple[str, ...]:
    """Those of DEFAULT_WATTS that a name or pattern fits."""
    return tuple(name for name in DEFAULT_WATTS if model and fits(name, model))


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
