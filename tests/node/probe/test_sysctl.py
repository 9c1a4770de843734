from typing import Any

import pytest

from brctl.node.facts import Problem, Sysctl
from brctl.node.host.local import Local
from brctl.node.probe.rows import Reading
from brctl.node.probe.sysctl import KEYS, parse_value, read


def test_parse_value() -> None:
    assert parse_value("4096\t131072\t6291456\n") == "4096 131072 6291456"


def test_dgx(dgx: Any) -> None:
    values = {sysctl.key: sysctl.value for sysctl in read(dgx).facts}
    assert tuple(values) == KEYS
    assert values["net.core.rmem_max"] == "67108864"
    assert values["net.ipv4.tcp_rmem"] == "4096 131072 67108864"
    assert values["kernel.numa_balancing"] == "0"


def test_what_this_kernel_has_not_is_left_out(machine: Any) -> None:
    assert read(machine({"/proc/sys/vm/swappiness": "60\n"})).facts == (Sysctl("vm.swappiness", "60"),)


def test_one_that_may_not_be_read(machine: Any) -> None:
    files = {"/proc/sys/vm/swappiness": "60\n", "/proc/sys/vm/min_free_kbytes": {"errno": "EACCES"}}
    assert read(machine(files)) == Reading(
        (Sysctl("vm.swappiness", "60"),),
        (
            Problem(
                "sysctls",
                "permission",
                "vm.min_free_kbytes: /proc/sys/vm/min_free_kbytes: Permission denied",
                "vm.min_free_kbytes",
            ),
        ),
    )


def test_no_proc(machine: Any) -> None:
    assert read(machine({"/proc/uptime": "1 1\n"})) is None


@pytest.mark.real
def test_against_the_files() -> None:
    sysctls = read(Local()).facts
    assert sysctls
    for sysctl in sysctls:
        with open("/proc/sys/" + sysctl.key.replace(".", "/")) as file:
            assert file.read().split() == sysctl.value.split(" ")
