"""What the active profile of tuned sets."""

from typing import Callable, Optional

import pytest

from brctl.node.host.machine import Machine
from brctl.node.tune import tuned

Make = Callable[..., Machine]


def test_a_profile_of_tuned_with_those_that_it_includes(machine: Make) -> None:
    host = machine(
        [],
        {
            tuned.ACTIVE: "mine ../evil\n",
            "/etc/tuned/mine/tuned.conf": "[main]\nsummary=x\ninclude=base, base gone\n[vm]\n"
            'transparent_hugepages=always\n[net]\ntype=sysctl\nnet.a.b="1 2"\n[sysctl]\nreplace=1\nvm.swappiness=10\n',
            "/usr/lib/tuned/mine/tuned.conf": "[sysctl]\nhidden=1\n",
            "/usr/lib/tuned/profiles/base/tuned.conf": "[main]\ninclude=mine\n[sysctl]\nvm.swappiness=60\nvm.x=1\n",
        },
    )
    assert tuned.read(host) == (
        tuned.Assignment("mine", "vm", "vm", "transparent_hugepages", "always"),
        tuned.Assignment("mine", "net", "sysctl", "net.a.b", "1 2"),
        tuned.Assignment("mine", "sysctl", "sysctl", "vm.swappiness", "10"),
    )
    assert tuned.also_sets(host, "vm", ("transparent_hugepages",), "always") == ()
    assert tuned.also_sets(host, "vm", ("other",), "always") == ()
    assert tuned.also_sets(host, "vm", ("transparent_hugepages",), "never") == (
        "tuned, profile mine, sets it to always whenever it starts",
    )


def test_no_tuned(machine: Make) -> None:
    assert tuned.read(machine([])) == ()
    assert tuned.read(machine([], {tuned.ACTIVE: {"errno": "EACCES"}})) == ()


@pytest.mark.parametrize(
    ("text", "truth"), [(None, True), ("reapply_sysctl = 0\n", False), ("x=1\nreapply_sysctl=True", True)]
)
def test_whether_tuned_gives_way_to_the_files(machine: Make, text: Optional[str], truth: bool) -> None:
    assert tuned.reapplies_sysctl(machine([], {tuned.MAIN: text})) is truth
