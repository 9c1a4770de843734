"""What holds for one node: the cluster's sections, the hardware of its groups, and the overrides that name it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ..node.request import (
    Communication,
    Expected,
    ExpectedAccelerator,
    ExpectedCpu,
    ExpectedNics,
    Override,
    Setenv,
)
from . import nodes
from .mistake import ConfigError, Mistake
from .models import Alert, Comm, Diagnose, Hardware, Monitor, Settings, Shared, Tune
from .source import Document, Loc, dotted

MOST_MEMBERS = 1 << 19
"""Of all groups, hardware, overrides and peers together: each is expanded, and no file may cost more than seconds."""
Layers = tuple[Loc, ...]
"""Where the values stand that make a node differ: `("hardware", "compute")`, `("overrides", 0)`. Later ones win."""


class Node(NamedTuple):
    name: str | None
    """None: no node of the config, for which the cluster-wide values hold."""
    groups: tuple[str, ...]
    role: str | None
    hardware: Hardware
    tune: Tune
    comm: Comm
    monitor: Monitor
    alerting: Mapping[str, Alert]
    diagnose: Diagnose


class Config:
    """A cluster-config.yaml of which each part is valid by itself."""

    def __init__(self, path: Path, document: Document, settings: Settings) -> None:
        self.path = path
        self.document = document
        self.settings = settings
        self.warnings: tuple[Mistake, ...] = ()
        groups = settings.cluster.groups
        self._sets = {**{name: group.nodes for name, group in groups.items()}, nodes.ALL: settings.cluster.nodes}
        self._refuse_too_many()
        self.nodes = nodes.expand(settings.cluster.nodes)
        self._place = {name: i for i, name in enumerate(self.nodes)}
        self._expanded = lru_cache(maxsize=None)(self._expand)
        self.groups = {name: self.members(group.nodes) for name, group in groups.items()}
        self.groups_of: Mapping[str, tuple[str, ...]] = _invert(self.groups)
        members = {loc[:2]: self.members(text) for loc, text in self._layers()}
        self.layers_of: Mapping[str, Layers] = _invert(members)
        self.bits = {loc: self._bits(names) for loc, names in members.items()}
        """The nodes of each layer as a number: bit i is node i. Thousands of layers must be compared at once."""
        self._resolve = lru_cache(maxsize=1024)(self._values)

    def parts(self) -> Iterator[tuple[Loc, Shared]]:
        """Everywhere that the sections of a node can stand."""
        yield (), self.settings
        for i, override in enumerate(self.settings.overrides):
            yield ("overrides", i), override

    def _layers(self) -> Iterator[tuple[Loc, str]]:
        """The node set of each hardware entry and override."""
        yield from ((("hardware", name), f"@{name}") for name in self.settings.hardware)
        yield from ((("overrides", i, "nodes"), override.nodes) for i, override in enumerate(self.settings.overrides))

    def sets(self) -> Iterator[tuple[Loc, str]]:
        """Each node set of the file, the cluster's own apart, and where it stands."""
        for name, group in self.settings.cluster.groups.items():
            yield ("cluster", "groups", name, "nodes"), group.nodes
        yield from self._layers()
        for loc, part in self.parts():
            if part.monitor.peers:
                yield (*loc, "monitor", "peers"), part.monitor.peers

    def _refuse_too_many(self) -> None:
        sizes = {name: nodes.bound(text) for name, text in self._sets.items()}
        left = MOST_MEMBERS
        for loc, text in self.sets():
            left -= nodes.bound(text, sizes)
            if left < 0:
                message = f"more than {MOST_MEMBERS} nodes in the node sets up to here"
                raise ConfigError([self.mistake(loc, message, "what holds for all nodes needs no override")])

    def mistake(self, loc: Loc, message: str, hint: str | None = None, key: bool = False) -> Mistake:
        """One about a value of this file, or about its key."""
        return Mistake(message, self.document.place(loc, key), dotted(loc), hint)

    def _expand(self, text: str) -> tuple[str, ...] | ValueError:
        try:
            names = nodes.expand(text, self._sets)
        except ValueError as error:
            return error
        return tuple(self.nodes[self._place[name]] if name in self._place else name for name in names)

    def members(self, text: str) -> tuple[str, ...]:
        """The nodes of the config that a node set names."""
        found = self._expanded(text)
        return () if isinstance(found, ValueError) else tuple(name for name in found if name in self._place)

    def doubt(self, text: str) -> str | None:
        """What is wrong with a node set; put into words only when it is asked for, as that takes its time."""
        found = self._expanded(text)
        if isinstance(found, ValueError):
            return str(found)
        unknown = [name for name in found if name not in self._place]
        return f"not among cluster.nodes: {nodes.fold(unknown)}" if unknown else None

    def select(self, text: str) -> tuple[str, ...]:
        """The nodes in a node set, as `--nodes` takes it; `@rack1` is a group of the config, `@all` every node.

        Raises ConfigError for a malformed or empty set, and for a node or group that the config does not know.
        """
        doubt = self.doubt(text)
        if doubt:
            raise ConfigError([Mistake(doubt)])
        return self.members(text)

    def _bits(self, names: Iterable[str]) -> int:
        bits = bytearray(len(self.nodes) // 8 + 1)
        for place in map(self._place.__getitem__, names):
            bits[place // 8] |= 1 << place % 8
        return int.from_bytes(bits, "little")

    def named(self, bits: int) -> Iterator[str]:
        """The nodes that such a number stands for."""
        return (name for name, place in self._place.items() if bits >> place & 1)

    def hardware_of(self, loc: Loc) -> list[Hardware]:
        """What the file says of the hardware of the nodes that a part of it (see `parts`) is about."""
        bits, groups = self.bits.get(loc, -1), self.settings.hardware.items()
        own = [self.settings.overrides[int(loc[1])].hardware] if loc else []
        return own + [hardware for name, hardware in groups if bits & self.bits["hardware", name]]

    def node(self, name: str | None) -> Node:
        """What holds for a node; the cluster-wide values for None and for a name that the config does not know."""
        groups = self.groups_of.get(name or "", ())
        roles = (self.settings.cluster.groups[group].role for group in groups)
        values = self._resolve(self.layers_of.get(name or "", ()))
        shared = {key: getattr(values, key) for key in Shared.model_fields}
        return Node(name, groups, next(filter(None, roles), None), values.hardware[nodes.ALL], **shared)

    def _values(self, layers: Layers) -> Settings:
        """As a file that holds one node's values alone: a validator for that exists, another would cost 8 ms."""
        values = self.merged(layers).values
        hardware = {nodes.ALL: values.pop("hardware", {})}
        cluster = {"name": self.settings.cluster.name, "nodes": self.nodes[0]}
        return Settings.model_validate({**values, "version": 1, "cluster": cluster, "hardware": hardware})

    def merged(self, layers: Layers) -> "Merge":
        """The values of a node as they are written in the file."""
        data = self.document.data
        merge = Merge({key: data[key] for key in Shared.model_fields if key in data})
        for loc in layers:
            top: Any = data[str(loc[0])][loc[1]]
            top = {"hardware": top} if loc[0] == "hardware" else {key: top[key] for key in top if key != "nodes"}
            merge.values = merge.overlay(merge.values, top, loc, ())
        return merge


class Merge:
    """Plain values with others laid over them; what lies below is shared, never changed."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.origins: dict[Loc, Loc] = {}
        """Key of the result -> where it stands in the file, if not at the same key."""

    def overlay(self, below: Mapping[str, Any], top: Mapping[str, Any], loc: Loc, path: Loc) -> dict[str, Any]:
        """`below` with `top` over it: sections key by key, all else as a whole. `top` stands at `loc` in the file."""
        result = dict(below)
        for key, value in top.items():
            here = (*path, key)
            source = loc if here == loc[:1] else (*loc, key)  # hardware.GROUP becomes the node's `hardware`
            old = below.get(key)
            if isinstance(value, dict) and isinstance(old, (dict, type(None))):
                result[key] = self.overlay(old or {}, value, source, here)
            else:
                result[key] = value
            self.origins[here] = source
        return result


def _invert(members: Mapping[Any, tuple[str, ...]]) -> dict[str, tuple[Any, ...]]:
    """What each node is in, from what is in each."""
    result: dict[str, list[Any]] = defaultdict(list)
    for key, names in members.items():
        for name in names:
            result[name].append(key)
    return {name: tuple(keys) for name, keys in result.items()}


def expected(node: Node) -> Expected:
    """What the checks of a node compare with; a part that the config does not describe is None."""
    hardware, network = node.hardware, node.tune.network
    gpu, nics, cpu = hardware.accelerator, hardware.nics, hardware.cpu
    accelerator = ExpectedAccelerator(gpu.vendor, gpu.model, gpu.count, gpu.memory, gpu.driver, gpu.vbios, gpu.nvlinks)
    return Expected(
        accelerator=accelerator if gpu.model_fields_set else None,
        nics=ExpectedNics(nics.interfaces, nics.count, nics.speed, nics.kind, nics.firmware)
        if nics.model_fields_set
        else None,
        cpu=ExpectedCpu(cpu.sockets, cpu.numa_nodes, cpu.threads) if cpu.model_fields_set else None,
        memory_bytes=hardware.memory,
        mounts=hardware.mounts,
        mtu=network.mtu,
        mtu_interfaces=network.interfaces or nics.interfaces,
    )


def communication(node: Node, kind: str) -> Communication:
    """What is said of the communication environment of a node's jobs; `kind` is the topology's."""
    comm = node.comm
    env = tuple(Setenv(name, value) for name, value in comm.env.items())
    return Communication(
        comm.backend, comm.framework, comm.rails, comm.dscp, kind == "rail-only", env, bool(comm.model_fields_set)
    )


def thresholds(node: Node) -> tuple[Override, ...]:
    """The thresholds that the config sets, in its order."""
    checks = node.diagnose.checks.items()
    return tuple(Override(check, name, value) for check, given in checks for name, value in given.items())


def kin(config: Config, name: str) -> str | None:
    """What nodes that should be alike have in common: the hardware that is declared of them, else their role.

    None where the config says neither.
    """
    hardware = [str(layer[1]) for layer in config.layers_of.get(name, ()) if layer[0] == "hardware"]
    return "+".join(hardware) or config.node(name).role
