"""Access Control Services of PCIe bridges: whether they send what GPUs and NICs say to each other up to the CPU."""

import errno
import os
import re
from typing import List, Optional, Tuple

from ..facts import AcsPort
from ..host import Host
from . import hypervisor
from .rows import first_line

_DEVICES = "/sys/bus/pci/devices"
_DISPLAY = ("0x0300", "0x0302", "0x0380")
COMMAND = ("lspci", "-D", "-vv", "-d", "*:*:0604")
"""PCI bridges alone: reading all there is of every device takes seconds."""
_HEAD = re.compile(r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ")
_CONTROL = re.compile(r"\s+ACSCtl:\s+(.*)")


def read(host: Host) -> Optional[Tuple[AcsPort, ...]]:
    """None in a virtual machine, whose bridges are the hypervisor's, and where there is no GPU.

    Raises OSError: there is no lspci, or it may not see that much; HungError.
    """
    if hypervisor.read(host) or not any(_is_gpu(host, address) for address in host.listdir(_DEVICES) or ()):
        return None
    answer = host.run(COMMAND)
    if answer is None:
        raise OSError(errno.ENOENT, "is not installed (pciutils)", "lspci")
    if answer.returncode != 0:
        raise OSError(errno.EIO, first_line(answer.stderr), "lspci")
    if "<access denied>" in answer.stdout:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), "lspci: capabilities of PCI bridges")
    return parse(answer.stdout)


def _is_gpu(host: Host, address: str) -> bool:
    """3D controllers, and NVIDIA's and AMD's display controllers: the others belong to the board's management."""
    kind = (host.read("{}/{}/class".format(_DEVICES, address)) or "")[: len("0x0302")]
    vendor = (host.read("{}/{}/vendor".format(_DEVICES, address)) or "").strip() if kind in _DISPLAY else ""
    return kind == "0x0302" or vendor in ("0x10de", "0x1002")


def parse(text: str) -> Tuple[AcsPort, ...]:
    """Of `lspci -D -vv`, those with ACS."""
    found: List[AcsPort] = []
    address = ""
    for line in text.splitlines():
        head, control = _HEAD.match(line), _CONTROL.match(line)
        if head:
            address = head.group(1)
        elif control and address:
            words = control.group(1).split()
            found.append(AcsPort(address, tuple(word[:-1] for word in words if word.endswith("+"))))
    return tuple(found)
