import time
from typing import Any

from brctl.node.facts import MemoryController
from brctl.node.probe.edac import read


def test_edac(machine: Any) -> None:
    folder = "/sys/devices/system/edac/mc/"
    files = {folder + "mc0/ce_count": "12\n", folder + "mc0/ue_count": "1\n", folder + "power/runtime": "x\n"}
    before_s = time.monotonic()
    (found,) = read(machine(files)) or ()
    assert found._replace(read_at_s=None) == MemoryController("mc0", 12, 1)
    assert before_s <= (found.read_at_s or 0.0) <= time.monotonic()
    assert read(machine({})) is None
    assert read(machine({folder + "power/runtime": "x\n"})) is None
