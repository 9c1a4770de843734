"""Folders of configuration files."""

from typing import Callable

from brctl.node.host.machine import Machine
from brctl.node.tune.drop_ins import paths

Make = Callable[..., Machine]


def test_the_name_orders_and_the_earliest_folder_holds(machine: Make) -> None:
    files = ("/etc/x.d/50-b.conf", "/usr/x.d/50-b.conf", "/usr/x.d/10-a.conf", "/etc/x.d/README", "/etc/x.d/.h.conf")
    host = machine([], dict.fromkeys(files, ""))
    folders = ("/etc/x.d", "/run/x.d", "/usr/x.d")
    assert paths(host, folders, ".conf") == ("/usr/x.d/10-a.conf", "/etc/x.d/50-b.conf")
    assert paths(host, folders) == ("/usr/x.d/10-a.conf", "/etc/x.d/50-b.conf", "/etc/x.d/README")
    assert paths(host, ("/none",)) == ()
