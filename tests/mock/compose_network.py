"""What `ip` and the owner of the links say of a composed machine's interfaces.

Ranges of MTU are those that the drivers set (min_mtu, max_mtu): mlx5_core 68 to 9978, as `ip -d link` of ConnectX cards
shows in public reports; tg3, igb, i40e, bnxt_en, ena, gve, vmxnet3 and virtio_net as in their sources.
"""

import json
from collections.abc import Sequence
from typing import Any

from compose_parts import Files, Interface

RANGES = {
    "mlx5_core": (68, 9978),
    "tg3": (60, 9000),
    "igb": (68, 9216),
    "ixgbe": (68, 9710),
    "i40e": (68, 9702),
    "bnxt_en": (60, 9500),
    "ena": (128, 9216),
    "gve": (68, 8896),
    "vmxnet3": (60, 9190),
    "virtio_net": (68, 65535),
    "bond": (68, 65535),
    "vlan": (0, 65535),
}
_ROUTES = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
_RENDERED = "/run/systemd/network/10-netplan-{}.network"


def network_files(interfaces: Sequence[Interface]) -> Files:
    """A default route through the first port that is up and no fabric's; netplan, with networkd, has all links."""
    links = [one for one in interfaces if one.name != "lo"]
    first = next(one for one in links if one.state == "up" and not one.card)
    route = f"{first.name}\t00000000\t0100010A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
    files: Files = {"/proc/net/route": _ROUTES + route, "/etc/netplan/10-links.yaml": _netplan(links)}
    for one in links:
        files[f"/run/systemd/netif/links/{one.index}"] = (
            f"ADMIN_STATE=configured\nOPER_STATE=routable\nNETWORK_FILE={_RENDERED.format(one.name)}\n"
        )
    return files


def network_commands(interfaces: Sequence[Interface]) -> dict[str, dict[str, str]]:
    return {"ip -d -j link": {"stdout": json.dumps([_link(one) for one in interfaces], separators=(",", ":")) + "\n"}}


def _link(one: Interface) -> dict[str, Any]:
    kind = one.device_type or (one.pci.driver if one.pci else "")
    least, greatest = RANGES[kind] if one.name != "lo" else (0, 0)
    found: dict[str, Any] = {"ifindex": one.index, "ifname": one.name, "mtu": one.mtu}
    if one.device_type == "vlan":
        found["link"] = one.lower[0]
    if one.master:
        found["master"] = one.master
    found |= {"operstate": one.state.upper(), "link_type": "infiniband" if one.is_infiniband else "ether"}
    found |= {"address": one.mac, "min_mtu": least, "max_mtu": greatest}
    if one.device_type:
        found["linkinfo"] = {"info_kind": one.device_type}
    return found


def _netplan(links: Sequence[Interface]) -> str:
    lines = ["network:", "  version: 2", "  renderer: networkd"]
    for section, kind in (("ethernets", ""), ("bonds", "bond"), ("vlans", "vlan")):
        of_kind = [one for one in links if one.device_type == kind]
        lines += [f"  {section}:"] if of_kind else []
        for one in of_kind:
            lines += [f"    {one.name}:", f"      mtu: {one.mtu}"]
            lines += [f"      interfaces: [{', '.join(one.lower)}]"] if kind == "bond" else []
            lines += (
                [f"      id: {one.name.rpartition('.')[2]}", f"      link: {one.lower[0]}"] if kind == "vlan" else []
            )
    return "\n".join([*lines, ""])
