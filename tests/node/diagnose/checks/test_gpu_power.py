from typing import Any, Callable

from brctl.node.facts import Inventory
from brctl.node.report import Evidence, Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def test_as_requested_and_as_the_siblings(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert found.status is Status.PASS
    assert found.summary == "8 of 8 GPUs: power limit as requested and as of the siblings"


def test_capped_from_outside(with_values: Values, examine: Examine) -> None:
    (found,) = examine(with_values(3, limits={"enforced_power_limit_watts": 350.0}))
    assert (found.status, found.summary) == (
        Status.WARN,
        "GPU 3: 350 W are enforced from outside, 700 W requested",
    )
    assert [(item.what, item.value) for item in found.evidence] == [("enforced", "350 W"), ("requested", "700 W")]


def test_lower_than_its_siblings(with_values: Values, examine: Examine) -> None:
    lower = {"enforced_power_limit_watts": 350.0, "power_limit_watts": 350.0}
    (found,) = examine(with_values(3, limits=lower))
    assert (found.status, found.summary) == (Status.WARN, "GPU 3: limited to 350 W, its siblings to 700 W")
    assert found.evidence[1] == Evidence("most siblings", "700 W", "nvmlDeviceGetEnforcedPowerLimit")


def test_all_lowered_alike_is_a_choice(well: Inventory, examine: Examine) -> None:
    gpus = tuple(
        gpu._replace(limits=gpu.limits._replace(enforced_power_limit_watts=500.0, power_limit_watts=500.0))
        for gpu in well.gpus or ()
        if gpu.limits
    )
    (found,) = examine(well._replace(gpus=gpus))
    assert found.status is Status.PASS


def test_models_are_not_compared(with_values: Values, examine: Examine) -> None:
    lower = {"enforced_power_limit_watts": 350.0, "power_limit_watts": 350.0}
    (found,) = examine(with_values(3, limits=lower, identity={"name": "NVIDIA H100 PCIe"}))
    assert found.status is Status.PASS
