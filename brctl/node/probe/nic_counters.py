"""What NICs count of loss and pauses.

Names and units are mlx5's (Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst of the kernel);
other drivers have some of them.
"""

import re
import time
from typing import Optional, Tuple

from ..deadline import CALL_LIMIT_S
from ..facts import NicCounter, NicCounters
from ..host import Host
from .rows import Reading, Row, collected, run_groups

_NET = "/sys/class/net"
_KEPT = re.compile(
    r"(?:[rt]x_prio\d_pause_duration|rx_prio\d_discards|tx_pause_storm_(?:warning|error)_events|[rt]x_discards_phy"
    r"|rx_out_of_buffer|link_down_events_phy)\Z"
)
"""Of some 1500."""
_VALUE = re.compile(r"[0-9]{1,19}\Z")


def read(host: Host) -> Optional[Reading]:
    """Of the NICs with RDMA, of which one that hangs holds up no other; None where there is none, or no ethtool.

    Raises OSError.
    """
    names = [name for name in host.listdir(_NET) or () if host.listdir("{}/{}/device/infiniband".format(_NET, name))]
    rows = [Row("nic_counters", name) for name in names]
    run_groups([[row] for row in rows], lambda row: _ask(row, host))
    found = collected(rows)
    return found if found.facts or found.problems else None


def parse(text: str) -> Tuple[NicCounter, ...]:
    """Of `ethtool -S`, those that are kept."""
    pairs = (line.strip().partition(": ") for line in text.splitlines())
    return tuple(NicCounter(name, int(value)) for name, _, value in pairs if _KEPT.match(name) and _VALUE.match(value))


def _ask(row: Row, host: Host) -> None:
    answer = host.run(("ethtool", "-S", row.subject or ""), CALL_LIMIT_S)
    if answer and answer.returncode == 0:  # else it has none, as InfiniBand's interfaces
        row.value = NicCounters(row.subject or "", time.monotonic(), parse(answer.stdout))
