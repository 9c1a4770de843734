"""What the kernel's command line asks of a boot."""

from typing import Callable

from brctl.node.host.machine import Machine
from brctl.node.tune import cmdline

Make = Callable[..., Machine]


def test_the_command_line(machine: Make) -> None:
    host = machine([], {"/proc/cmdline": 'ro "sysctl.a.b=1 2 3" thp="a b" cpu-freq=x thp=c quiet\n'})
    assert cmdline.read(host)[:2] == (cmdline.Argument("sysctl.a.b", "1 2 3"), cmdline.Argument("thp", "a b"))
    values = [cmdline.value(host, name) for name in ("thp", "cpu_freq", "quiet")]
    assert values == ["c", "x", None]
    assert cmdline.read(machine([])) == ()
    assert cmdline.read(machine([], {"/proc/cmdline": {"errno": "EACCES"}})) == ()
