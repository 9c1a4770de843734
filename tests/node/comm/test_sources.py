"""What the machine says beside its inventory."""

import pytest

from brctl.mock.machines import load
from brctl.node.comm.sources import default_route, environment, of_process
from brctl.node.host.local import Local
from brctl.node.probe import inventory
from brctl.node.request import Communication, Expected

ROUTES = """Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eno1\t00000000\t010AA8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
bond0\t00000000\t010BA8C0\t0003\t0\t0\t50\t00000000\t0\t0\t0
old0\t00000000\t010BA8C0\t0002\t0\t0\t10\t00000000\t0\t0\t0
eno1\t000AA8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
"""


def test_default_route() -> None:
    assert default_route(ROUTES) == "bond0"
    assert default_route("") is None
    assert default_route("Iface\nx\n") is None


def test_environment_of_a_machine() -> None:
    host = load("hgx-b200", "n1")
    found = environment(host, inventory(host), Expected(), Communication(pid=4242))
    assert len(found.hcas) == 8
    assert found.configured is None
    assert found.process is None


@pytest.mark.real
@pytest.mark.process
def test_of_a_process_only_what_concerns_communication() -> None:
    import subprocess

    process = subprocess.Popen(["/bin/sleep", "60"], env={"NCCL_DEBUG": "INFO", "TOKEN": "hunter2", "NCCL_A": "x=y"})
    try:
        assert of_process(Local(), process.pid) == "NCCL_DEBUG=INFO\nNCCL_A=x=y"
    finally:
        process.kill()
        process.wait()
    assert of_process(Local(), process.pid) is None
