"""The default route."""

from brctl.mock.machines import load
from brctl.node.probe.route import default_route, parse_default_route

ROUTES = """Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eno1\t00000000\t010AA8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
bond0\t00000000\t010BA8C0\t0003\t0\t0\t50\t00000000\t0\t0\t0
old0\t00000000\t010BA8C0\t0002\t0\t0\t10\t00000000\t0\t0\t0
eno1\t000AA8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
"""


def test_parse_default_route() -> None:
    assert parse_default_route(ROUTES) == "bond0"
    assert parse_default_route("") is None
    assert parse_default_route("Iface\nx\n") is None


def test_default_route_of_a_machine() -> None:
    assert default_route(load("dgx-h100", "n1")) == "eno1"
