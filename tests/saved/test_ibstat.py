from typing import Any

import pytest

from brctl.saved.ibstat import parse
from brctl.saved.stream import UnreadableError

TEXT = """\
CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 2
\tFirmware version: 28.39.1002
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tLink layer: InfiniBand
\tPort 2:
\t\tState: Down
\t\tPhysical state: Polling
\t\tRate: 10
\t\tLink layer: InfiniBand
CA 'mlx5_3'
\tCA type: MT4129
\tPort 1:
\t\tState: Initializing
\t\tPhysical state: LinkUp
\t\tRate: x
"""


def rows() -> Any:
    return parse(TEXT.encode()).rdma


def test_ports() -> None:
    shown = [(port.device, port.port, port.state, port.physical_state, port.rate_gbps) for port in rows()]
    assert shown == [
        ("mlx5_0", 1, "ACTIVE", "LinkUp", 400.0),
        ("mlx5_0", 2, "DOWN", "Polling", None),
        ("mlx5_3", 1, "INIT", "LinkUp", None),
    ]
    assert [port.firmware for port in rows()] == ["28.39.1002", "28.39.1002", None]
    assert rows()[2].link_layer == "Unspecified"


@pytest.mark.parametrize("text", ["", "CA 'mlx5_0'\n\tCA type: MT4129\n"])
def test_no_port(text: str) -> None:
    with pytest.raises(UnreadableError, match="has no port"):
        parse(text.encode())
