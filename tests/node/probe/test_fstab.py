from typing import Any

from brctl.node.probe.fstab import read

TEXT = """\
# <target>
UUID=1 / ext4 errors=remount-ro 0 1
UUID=2 /mnt/a\\040b xfs defaults 0 0
UUID=3 /iso iso9660 ro,noauto 0 0
/swap.img none swap sw 0 0
short
"""


def test_what_is_meant_to_be_writable(machine: Any) -> None:
    assert read(machine({"/etc/fstab": TEXT})) == ("/", "/mnt/a b")
    assert read(machine({})) is None
