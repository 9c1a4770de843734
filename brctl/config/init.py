"""A first config, written from what one machine is: `brctl config init`."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ..node import ports
from ..node.diagnose.checks import memory_size
from ..node.facts import Gpu, Inventory
from ..node.ports import Port
from ..node.request import Expected, ExpectedNics
from ..node.units import rate
from . import nodes
from .mistake import ConfigError, Mistake

GIB = 1 << 30
_BANK = 16 * GIB
"""Memory is fitted in multiples of this on servers."""
_SHARED = ("nfs", "nfs4", "lustre", "beegfs", "gpfs", "ceph", "wekafs", "cifs")
"""File systems that a node of the cluster is expected to have, and not only this one."""
_PASSING = ("/run/", "/var/lib/docker/", "/var/lib/containers/")
"""What is mounted below comes and goes with users and containers, as it does below any `kubelet`."""
_BY_INTERFACE = ("roce", "ethernet")
"""Kinds of port that are nothing without an interface of the kernel; another's may be down, or none."""

T = TypeVar("T")


def text(seen: Inventory, node: str, mock: str | None = None) -> str:
    """The config of a cluster of one node, this one; it validates, and the node passes its own check. `mock` says of a
    machine that is not there that it is none.

    Raises ConfigError for what is no node name.
    """
    gpus = [gpu for gpu in seen.gpus or () if gpu.fault is None]
    group, role = ("compute", ", role: compute") if gpus else ("servers", "")
    rails = _rails(seen)
    lines = [
        *([f"# {mock}"] if mock else []),
        *_HEAD.format(node=_quoted(_checked(node)), group=group, role=role).splitlines(),
        *_section(f"  {group}:", [*_accelerator(gpus, seen), *_nics(rails, seen), *_host(seen)]),
        *_tune(rails),
    ]
    return "\n".join(lines) + "\n"


_HEAD = """\
# Written by `brctl config init` from one host, which is the only node so far: add the others to `nodes`.
# `brctl config explain KEY` tells what a key means; what you leave out is compared among siblings.

version: 1

cluster:
  name: cluster # how reports and metrics call it
  nodes: {node} # a ClusterShell node set: "gpu[001-128]"
  groups:
    {group}: {{nodes: {node}{role}}}

hardware: # what each node of a group should have; `brctl node-manager check` compares"""


def _checked(node: str) -> str:
    try:
        if nodes.expand(node) == (node,):
            return node
        message = f"{node!r} is more than one node"
    except ValueError as error:
        message = str(error)
    raise ConfigError([Mistake(message, hint="--as NODE names this host")])


def _section(title: str, lines: list[str]) -> list[str]:
    return [title, *("    " + line for line in lines)] if lines else [title + " {}"]


def _accelerator(gpus: list[Gpu], seen: Inventory) -> Iterator[str]:
    if not gpus:
        return
    identities = [gpu.identity for gpu in gpus if gpu.identity]
    yield "accelerator:"
    yield from _same("  model: {}", identities, lambda it: it.name)
    yield f"  count: {len(seen.gpus or ())}"
    yield from _same("  memory: {}MiB", identities, lambda it: (it.memory_bytes or 0) >> 20 or None)
    driver = seen.accelerator_driver
    if driver and driver.version.partition(".")[0].isdecimal():
        major = int(driver.version.partition(".")[0])
        yield f'  driver: ">={major},<{major + 1}" # now {driver.version}'
    yield from _same("  vbios: {}", identities, lambda it: it.vbios)
    yield from _same("  nvlinks: {}", gpus, _active_links)


def _active_links(gpu: Gpu) -> int | None:
    return None if gpu.links is None else sum(link.active for link in gpu.links)


def _rails(seen: Inventory) -> list[Port]:
    """The fastest ports with a link, of one kind: those with RDMA, where there is any."""
    found = ports.expected(seen, Expected(nics=ExpectedNics()))
    speeds = {port: (port.speed_mbps, port.kind) for port in found if port.speed_mbps and not port.fault}
    many = Counter(speeds.values())
    best = max(many, key=lambda it: (it[0] or 0, many[it]), default=None)
    return [port for port, speed in speeds.items() if speed == best]


def _nics(rails: list[Port], seen: Inventory) -> Iterator[str]:
    if not rails:
        return
    yield "nics:"
    yield f"  interfaces: {_quoted(_pattern(rails, seen))}"
    yield f"  count: {len(rails)}"
    yield f"  speed: {rate(rails[0].speed_mbps or 0).replace(' ', '')}"
    yield f"  kind: {rails[0].kind}"
    yield from _same("  firmware: {}", rails, _firmware)


def _firmware(port: Port) -> str | None:
    return (port.nic.firmware if port.nic else None) or (port.rdma.firmware if port.rdma else None)


def _pattern(rails: list[Port], seen: Inventory) -> str:
    """`ens*np0` where that names these and no others, else the names: of RDMA devices, where they need no interface."""
    names = [port.nic.name if port.nic and port.kind in _BY_INTERFACE else port.device for port in rails]
    columns = zip(*(re.split("([0-9]+)", name) for name in names), strict=False)
    pattern = "".join(column[0] if len({*column}) == 1 else "*" for column in columns)
    return pattern if pattern[0] != "*" and list(ports.named(seen, pattern)) == rails else ",".join(names)


def _host(seen: Inventory) -> Iterator[str]:
    if seen.cpu:
        numa_nodes = sum(bool(node.cpus) for node in seen.numa or ())
        counts = (("sockets", seen.cpu.sockets), ("numa_nodes", numa_nodes), ("threads", seen.cpu.threads))
        yield f"cpu: {{{', '.join(f'{key}: {count}' for key, count in counts if count)}}}"
    if seen.memory:
        yield f"memory: {_fitted(seen.memory.total_bytes - memory_size.apart(seen.numa))}"
    mounts = [_quoted(target) for target in _mounts(seen)]
    if mounts:
        yield f"mounts: [{', '.join(mounts)}]"


def _fitted(total: int) -> str:
    """What is fitted, if the kernel shows little less than whole modules or GiB; else what it shows."""
    allowed = memory_size.CHECK.thresholds[0].default / 100 / 2
    rounded = (-(-total // unit) * unit for unit in (_BANK, GIB))
    return next((f"{size // GIB}GiB" for size in rounded if size - total <= size * allowed), f"{total >> 20}MiB")


def _mounts(seen: Inventory) -> Iterator[str]:
    """Shared file systems that are there for good and may be written to."""
    last = {mount.target: mount for mount in seen.mounts or ()}  # of several on one path that one is seen
    passing = (*_PASSING, *(f"{mount.target}/" for mount in last.values() if mount.fstype == "autofs"))
    for target, mount in last.items():
        passes = target.startswith(passing) or "/kubelet/" in target
        if mount.fstype in _SHARED and not mount.read_only and not passes:
            yield target


def _tune(rails: list[Port]) -> list[str]:
    mtus = {port.nic.mtu for port in rails if port.nic and port.kind in _BY_INTERFACE}
    if len(mtus) != 1 or not 1280 <= min(mtus) <= 65520:  # the config takes no others
        return []
    return ["", "tune: # what `node-manager check` also looks at", "  network:", f"    mtu: {mtus.pop()}"]


def _same(form: str, parts: Iterable[T], read: Callable[[T], str | int | None]) -> Iterator[str]:
    """The line, if all parts agree and have such a value."""
    values = {read(part) for part in parts}
    value = values.pop() if len(values) == 1 else None
    if value not in (None, ""):
        yield form.format(_quoted(value) if isinstance(value, str) else value)


def _quoted(value: str) -> str:
    """As a YAML string in double quotes, whatever is in it."""
    escaped = (c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value)
    return f'"{"".join(escaped)}"'
