from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Evidence, Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def test_none_asked_for(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs: no recovery asked for")


@pytest.mark.parametrize(
    ("action", "status", "words"),
    [
        ("gpu-reset", Status.CRIT, "nvidia-smi --gpu-reset"),
        ("node-reboot", Status.CRIT, "reboot the node"),
        ("drain-p2p", Status.WARN, "several GPUs"),
        ("drain-and-reset", Status.WARN, "let its work end"),
        ("recover-imex-domain", Status.CRIT, "nvidia-imex"),
        ("bus-reset", Status.CRIT, "PCI bus"),
        ("system-reboot", Status.CRIT, "power-cycle"),
        ("9", Status.WARN, "until then drain"),
    ],
)
def test_the_drivers_own_word(with_values: Values, examine: Examine, action: str, status: Status, words: str) -> None:
    (found,) = examine(with_values(3, errors={"recovery_action": action}))
    assert (found.status, found.summary) == (status, "GPU 3: the driver asks for {}".format(action))
    assert found.evidence == (Evidence("recovery action", action, "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION"),)
    assert words in found.remedy


def test_an_older_driver_does_not_tell(dgx: Inventory, examine: Examine) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.NA, "no GPU tells what recovery it needs")
