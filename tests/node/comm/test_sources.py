"""What the machine says beside its inventory."""

import pytest

from brctl.mock.machines import load
from brctl.node.comm.sources import environment, of_process
from brctl.node.host.local import Local
from brctl.node.probe import inventory
from brctl.node.request import Communication, Expected


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
