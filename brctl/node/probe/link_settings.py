"""How physical interfaces are set: rings, offloads, queueing discipline, priorities.

By `ethtool`, `tc`, and `mlnx_qos` or else `dcb`; a tool that is not installed, or does not serve this driver, leaves
its values None.
"""

import json
import re
from functools import partial
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..deadline import CALL_LIMIT_S
from ..facts import LinkSettings, Ring
from ..host import Host
from .pci import function_above, read_physical_function
from .rows import Reading, Row, collected, run_groups

_NET = "/sys/class/net"
OFFLOADS = ("rx-checksumming", "tx-checksumming", "tcp-segmentation-offload", "generic-receive-offload")
"""Without one of these a core, and not the link, limits TCP (Documentation/networking/segmentation-offloads.rst)."""


def read(host: Host) -> Optional[Reading]:
    """By name, of interfaces with hardware that are no virtual functions; None where there is no /sys. Raises OSError.

    Each is asked in a thread of its own.
    """
    names = host.listdir(_NET)
    if names is None:
        return None
    rows = [Row("link_settings", name) for name in names if _is_physical(host, name)]
    run_groups([[row] for row in rows], partial(_ask, host=host))
    return collected(rows)


def _is_physical(host: Host, name: str) -> bool:
    pci = function_above(host.readlink("{}/{}".format(_NET, name)) or "")
    return pci is not None and read_physical_function(host, pci) is None


def _ask(row: Row, host: Host) -> None:
    name = row.subject or ""

    def said(*argv: str) -> str:
        answer = host.run(argv, CALL_LIMIT_S)
        return answer.stdout if answer and answer.returncode == 0 else ""

    row.value = LinkSettings(name)
    row.fill(
        ring=lambda: parse_ring(said("ethtool", "-g", name)),
        features_off=lambda: parse_features(said("ethtool", "-k", name)),
        qdisc=lambda: parse_qdisc(said("tc", "-j", "qdisc", "show", "dev", name, "root")),
    )
    qos = said("mlnx_qos", "-i", name)
    if qos:
        row.fill(lossless=lambda: parse_qos_pfc(qos), trust=lambda: parse_qos_trust(qos))
        return
    row.fill(
        lossless=lambda: parse_dcb_pfc(said("dcb", "-j", "pfc", "show", "dev", name)),
        trust=lambda: parse_dcb_trust(said("dcb", "-j", "app", "show", "dev", name)),
    )


def parse_ring(text: str) -> Optional[Ring]:
    """The receive ring of `ethtool -g`: first the maximum, then what is set."""
    found = re.findall(r"(?m)^RX:\s+(\d+)$", text)
    return Ring(int(found[1]), int(found[0])) if len(found) == 2 else None


def parse_features(text: str) -> Optional[Tuple[str, ...]]:
    """Of `ethtool -k`, the judged offloads that are off though the driver could: not `[fixed]`, nor what it `[requested
    on]`."""
    found: Dict[str, str] = dict(re.findall(r"(?m)^([\w-]+): (on|off)(?= |$)(?! \[)", text))
    return tuple(name for name in OFFLOADS if found.get(name) == "off") if text else None


def parse_qdisc(text: str) -> Optional[str]:
    """The kind of the root of `tc -j qdisc show`."""
    for each in _list(text):
        if isinstance(each, dict) and (each.get("root") or each.get("parent") is None) and "kind" in each:
            return str(each["kind"])
    return None


def parse_qos_pfc(text: str) -> Optional[Tuple[int, ...]]:
    """The priorities with PFC of `mlnx_qos -i`."""
    match = re.search(r"PFC configuration:\s+priority\s+[\d\s]+enabled\s+((?:[01]\s+){8})", text + "\n")
    return tuple(place for place, word in enumerate(match.group(1).split()) if word == "1") if match else None


def parse_qos_trust(text: str) -> Optional[str]:
    """`dscp` or `pcp`, of `mlnx_qos -i`."""
    match = re.search(r"Priority trust state: (\w+)", text)
    return match.group(1) if match else None


def parse_dcb_pfc(text: str) -> Optional[Tuple[int, ...]]:
    """The priorities with PFC of `dcb -j pfc show`."""
    flags = _object(text).get("prio_pfc")
    if not isinstance(flags, list):
        return None
    return tuple(place for place, flag in enumerate(flags) if flag in (True, "on"))


def parse_dcb_trust(text: str) -> Optional[str]:
    """mlx5 and bnxt trust DSCP once an application priority is given for one (dcb-app(8)). None: nothing is said."""
    return "dscp" if _object(text).get("dscp_prio") else None


def _object(text: str) -> Dict[str, Any]:
    found = _json(text)
    return found if isinstance(found, dict) else {}


def _list(text: str) -> Sequence[Any]:
    found: List[Any] = _json(text) or []
    return found if isinstance(found, list) else []


def _json(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None
