from typing import Any

import pytest

from brctl.node.facts import Clock
from brctl.node.probe.clock import CHRONY, SYSTEMD, read

SOURCE = {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n"}
TIMEDATECTL, CHRONYC = " ".join(SYSTEMD), " ".join(CHRONY)
BUS = {"returncode": 1, "stderr": "Failed to connect to bus\n"}


@pytest.mark.parametrize(
    ("commands", "clock"),
    [
        ({TIMEDATECTL: {"stdout": "yes\n"}}, Clock(True, "timedatectl show", "tsc")),
        ({TIMEDATECTL: {"stdout": "no\n"}}, Clock(False, "timedatectl show", "tsc")),
        ({TIMEDATECTL: BUS, CHRONYC: {"stdout": "A,1,Normal\n"}}, Clock(True, CHRONYC, "tsc")),
        ({CHRONYC: {"stdout": "0,0,Not synchronised\n"}}, Clock(False, CHRONYC, "tsc")),
        ({}, Clock(None, None, "tsc")),
    ],
)
def test_clock(machine: Any, commands: Any, clock: Clock) -> None:
    assert read(machine(SOURCE, commands=commands)) == clock


def test_none(machine: Any) -> None:
    assert read(machine({})) is None


@pytest.mark.parametrize(("command", "name"), [(TIMEDATECTL, "timedatectl"), (CHRONYC, "chronyc")])
def test_one_that_does_not_answer(machine: Any, command: str, name: str) -> None:
    with pytest.raises(OSError, match="Failed to connect to bus") as raised:
        read(machine(SOURCE, commands={command: BUS}))
    assert raised.value.filename == name
