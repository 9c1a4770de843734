"""`ibstat` -> RDMA ports."""

from __future__ import annotations

import re

from ..node.facts import Inventory, RdmaPort
from .stream import UnreadableError

_CA = re.compile(r"CA '([^']+)'")
_PORT = re.compile(r"\s+Port (\d{1,3}):\s*\Z")
_VALUE = re.compile(r"\s+([A-Za-z ]+): (.*?)\s*\Z")


def parse(data: bytes) -> Inventory:
    """Raises UnreadableError: no port is in it."""
    ports: list[RdmaPort] = []
    device: dict[str, str] = {}
    name, port = "", 0
    values: dict[str, str] = {}
    for line in [*data.decode("utf-8", "replace").splitlines(), "CA 'end'"]:
        ca, begins, value = _CA.match(line), _PORT.match(line), _VALUE.match(line)
        if (ca or begins) and port:
            ports.append(_port(name, port, device, values))
            values, port = {}, 0
        if ca:
            name, device = ca.group(1), {}
        elif begins:
            port, values = int(begins.group(1)), {}
        elif value:
            (values if port else device)[value.group(1)] = value.group(2)
    if not ports:
        raise UnreadableError("has no port: it is cut off")
    return Inventory(nics=(), rdma=tuple(ports))


def _port(name: str, port: int, device: dict[str, str], values: dict[str, str]) -> RdmaPort:
    """The rate of a port without a link is a placeholder, and none."""
    state = {"Active": "ACTIVE", "Down": "DOWN", "Initializing": "INIT", "Armed": "ARMED"}.get(values.get("State", ""))
    rate = values.get("Rate", "")
    return RdmaPort(
        device=name,
        port=port,
        state=state or values.get("State", "").upper() or None,
        physical_state=values.get("Physical state"),
        rate_gbps=float(rate) if state == "ACTIVE" and re.fullmatch(r"[0-9]{1,6}(?:\.[0-9]{1,3})?", rate) else None,
        link_layer=values.get("Link layer", "Unspecified"),
        rdma_mtu=None,
        firmware=device.get("Firmware version"),
        board_id=None,
        hca_type=device.get("CA type"),
        pci=None,
        netdev=None,
        gids=(),
    )
