"""A first config, written from what one machine is: `brctl config init`."""

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from ..node.facts import Gpu, GpuIdentity, Inventory, Nic, RdmaPort
from .units import RATE

GIB = 1 << 30
_BANK = 16 * GIB
"""Memory is fitted in multiples of this on servers; the kernel shows 1 to 2 % less than what is fitted."""
_SHARED = ("nfs", "nfs4", "lustre", "beegfs", "gpfs", "ceph", "wekafs", "cifs")
"""File systems that a node of the cluster is expected to have, and not only this one."""

T = TypeVar("T")


def text(seen: Inventory, node: str) -> str:
    """The config of a cluster of one node, this one; it validates, and the node passes its own check."""
    gpus = [gpu for gpu in seen.gpus or () if gpu.fault is None]
    group = "compute" if gpus else "servers"
    role = f"{{nodes: {node}, role: compute}}" if gpus else f"{{nodes: {node}}}"
    rails = _rails(seen)
    lines = [
        *_HEAD.format(node=node, group=group, role=role).splitlines(),
        *_section(f"  {group}:", [*_accelerator(gpus, seen), *_nics(rails, seen), *_host(seen)]),
        *_tune(rails),
    ]
    return "\n".join(lines) + "\n"


_HEAD = """\
# Written by `brctl config init` from this host, which is the only node so far: add the others to `nodes`.
# `brctl config explain KEY` tells what a key means; what you leave out is compared among siblings.

version: 1

cluster:
  name: cluster # how reports and metrics call it
  nodes: "{node}" # a ClusterShell node set: "gpu[001-128]"
  groups:
    {group}: {role}

hardware: # what each node of a group should have; `brctl node-manager check` compares"""


def _section(title: str, lines: list[str]) -> list[str]:
    return [title, *("    " + line for line in lines)] if lines else [title + " {}"]


def _accelerator(gpus: list[Gpu], seen: Inventory) -> Iterator[str]:
    if not gpus:
        return
    identities = [gpu.identity for gpu in gpus if gpu.identity]
    yield "accelerator:"
    yield from _same("  model: {}", identities, lambda it: _quoted(it.name))
    yield f"  count: {len(seen.gpus or ())}"
    yield from _same("  memory: {}MiB", identities, _mebibytes)
    driver = seen.accelerator_driver
    if driver and driver.version.partition(".")[0].isdigit():
        major = int(driver.version.partition(".")[0])
        yield f'  driver: ">={major},<{major + 1}" # now {driver.version}'
    yield from _same("  vbios: {}", identities, lambda it: it.vbios and _quoted(it.vbios))
    yield from _same("  nvlinks: {}", gpus, _active_links)


def _mebibytes(identity: GpuIdentity) -> int | None:
    return identity.memory_bytes and identity.memory_bytes >> 20


def _active_links(gpu: Gpu) -> int | None:
    return None if gpu.links is None else sum(link.active for link in gpu.links)


def _rails(seen: Inventory) -> list[Nic]:
    """The fastest physical NICs with a link: those with RDMA, if any has it."""
    up = [nic for nic in seen.nics or () if nic.kind == "physical" and nic.carrier and nic.speed_mbps]
    candidates = [nic for nic in up if nic.rdma] or up
    fastest = max((nic.speed_mbps or 0 for nic in candidates), default=0)
    return [nic for nic in candidates if nic.speed_mbps == fastest]


def _nics(rails: list[Nic], seen: Inventory) -> Iterator[str]:
    if not rails:
        return
    ports = {port.device: port for port in seen.rdma or ()}
    yield "nics:"
    yield f"  interfaces: {_quoted(_pattern(rails, seen.nics or ()))}"
    yield f"  count: {len(rails)}"
    yield f"  speed: {_rate(rails[0].speed_mbps or 0)}"
    yield from _same("  kind: {}", rails, lambda nic: _kind(ports.get(nic.rdma or "")))
    yield from _same("  firmware: {}", rails, lambda nic: nic.firmware and _quoted(nic.firmware))


def _kind(port: RdmaPort | None) -> str:
    if port is None:
        return "ethernet"
    return "infiniband" if port.link_layer == "InfiniBand" else "roce"


def _pattern(rails: list[Nic], nics: Iterable[Nic]) -> str:
    """`ens*np*` where that names these and no others, else the names."""
    names = [nic.name for nic in rails]
    patterns = {re.sub("[0-9]+", "*", name) for name in names}
    others = [nic.name for nic in nics if nic.name not in names]
    if len(names) > 1 and len(patterns) == 1 and not any(fnmatchcase(other, *patterns) for other in others):
        return patterns.pop()
    return ",".join(names)


def _host(seen: Inventory) -> Iterator[str]:
    if seen.cpu:
        nodes = sum(bool(node.cpus) for node in seen.numa or ())
        numa = f", numa_nodes: {nodes}" if nodes else ""
        yield f"cpu: {{sockets: {seen.cpu.sockets}{numa}, threads: {seen.cpu.threads}}}"
    if seen.memory:
        yield f"memory: {_fitted(seen.memory.total_bytes) // GIB}GiB"
    shared = [_quoted(mount.target) for mount in seen.mounts or () if mount.fstype in _SHARED]
    if shared:
        yield f"mounts: [{', '.join(shared)}]"


def _fitted(total: int) -> int:
    banks = -(-total // _BANK) * _BANK
    return banks if banks - total < total * 0.04 else -(-total // GIB) * GIB


def _tune(rails: list[Nic]) -> list[str]:
    mtus = {nic.mtu for nic in rails}
    if len(mtus) != 1:
        return []
    return ["", "tune: # what `node-manager check` also looks at", "  network:", f"    mtu: {mtus.pop()}"]


def _same(form: str, parts: Iterable[T], read: Callable[[T], Any]) -> Iterator[str]:
    """The line, if all parts agree and have such a value."""
    values = {read(part) for part in parts}
    value = values.pop() if len(values) == 1 else None
    if value is not None:
        yield form.format(value)


def _rate(mbps: int) -> str:
    worth, unit = max((worth, unit) for unit, worth in RATE.units.items() if mbps % worth == 0)
    return f"{mbps // int(worth)}{unit}"


def _quoted(value: str) -> str:
    """As a YAML string in double quotes, whatever is in it."""
    escaped = (c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value)
    return f'"{"".join(escaped)}"'
