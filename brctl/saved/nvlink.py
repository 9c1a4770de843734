"""`nvidia-smi nvlink --status` -> the NVLinks of each GPU."""

from __future__ import annotations

import re

from ..node.facts import Gpu, GpuIdentity, GpuLink, Inventory

_GPU = re.compile(r"GPU (\d{1,4}): (.+?) \(UUID: (\S+)\)\s*\Z")
_LINK = re.compile(r"\s*Link (\d{1,4}): (.+?)\s*\Z")
_NONE_ACTIVE = re.compile(r"(?i)all links are inactive")


def parse(data: bytes) -> Inventory:
    """A link is active where it has a speed. Where `all links are inActive`, the GPU has links and none is up; how many
    it has is then told by its siblings."""
    found: list[Gpu] = []
    for line in data.decode("utf-8", "replace").splitlines():
        gpu, link = _GPU.match(line), _LINK.match(line)
        if gpu:
            found.append(_gpu(int(gpu.group(1)), gpu.group(2), gpu.group(3)))
        elif found and link:
            one = GpuLink(int(link.group(1)), "inactive" not in link.group(2).lower(), None)
            found[-1] = found[-1]._replace(links=(*(found[-1].links or ()), one))
        elif found and _NONE_ACTIVE.search(line):
            found[-1] = found[-1]._replace(links=())
    return Inventory(gpus=tuple(found))


def _gpu(index: int, name: str, uuid: str) -> Gpu:
    identity = GpuIdentity(name, None, None, None, None, None)
    return Gpu(index, uuid, None, None, None, None, identity=identity, vendor="nvidia")
