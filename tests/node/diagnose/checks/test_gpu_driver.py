from typing import Any, Callable

import pytest

from brctl.node.diagnose.checks.gpu_driver import in_range
from brctl.node.facts import Inventory, Problem
from brctl.node.report import HOST, Evidence, Finding, Status
from brctl.node.request import Expected, ExpectedAccelerator


@pytest.mark.parametrize(
    ("version", "bounds", "verdict"),
    [
        ("580.105.08", ">=550,<600", True),
        ("600.12", ">=550, <600", False),
        ("600.12", "<=600", True),
        ("550.54.15", ">550", False),
        ("550.54.15", ">550.54.9", True),
        ("550.54.15", "==550", True),
        ("550.54.15", "!=550.54.15", False),
        ("535.9", "<535.10", True),
        ("580.105.08", "580.105.8", True),
        ("580", ">=580.1", False),
    ],
)
def test_ranges_are_compared_number_by_number(version: str, bounds: str, verdict: bool) -> None:
    assert in_range(version, bounds) is verdict


@pytest.mark.parametrize(("version", "bounds"), [("580", ">=abc"), ("580", "~=580"), ("580", ""), ("x", "<5")])
def test_what_is_no_range_or_version(version: str, bounds: str) -> None:
    with pytest.raises(ValueError, match=r"is no bound of a version|invalid literal"):
        in_range(version, bounds)


def test_in_range(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    assert examine(dgx, declared) == (
        Finding(
            "gpu-driver",
            Status.PASS,
            HOST,
            "nvidia driver 580.105.08, expected >=550,<600",
            fold="gpu-driver pass host",
        ),
    )


def test_an_answer_is_enough_where_no_version_is_declared(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.PASS, "nvidia driver 580.105.08; no version declared")


def test_out_of_range(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx, Expected(accelerator=ExpectedAccelerator(driver="<580")))
    assert (found.status, found.summary) == (Status.WARN, "nvidia driver 580.105.08, expected <580")
    assert found.evidence == (
        Evidence("driver", "580.105.08", "nvmlSystemGetDriverVersion"),
        Evidence("declared", "<580", "hardware.accelerator.driver"),
    )
    assert found.remedy.startswith("drain the node")


def test_a_broken_range_is_unknown_not_a_crash(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx, Expected(accelerator=ExpectedAccelerator(driver="new")))
    assert (found.status, found.reason) == (Status.UNKNOWN, "error")
    assert found.summary == "the check gpu-driver itself failed: ValueError: 'new' is no bound of a version"


@pytest.mark.parametrize(
    ("reason", "driver", "remedy"),
    [
        ("no-driver", None, "`modprobe nvidia`"),
        ("no-library", "nvidia", "install what is missing: libnvidia-ml.so.1"),
        ("version-mismatch", "nvidia", "the package was upgraded under the running module"),
        ("error", "nvidia", "look for NVRM lines"),
    ],
)
def test_gpus_on_the_bus_without_an_answer(
    dgx: Inventory, examine: Callable[..., Any], reason: str, driver: Any, remedy: str
) -> None:
    held = driver or "no driver"
    pci = tuple(device._replace(driver=driver) for device in dgx.pci or ())
    problem = Problem("gpus", reason, "nvmlInitWithFlags: Not Found")
    (found,) = examine(dgx._replace(pci=pci, accelerator_driver=None, gpus=None, problems=(problem,)))
    assert found.status is Status.CRIT
    assert found.summary == "8 NVIDIA GPUs on the PCI bus, held by {}: nvmlInitWithFlags: Not Found".format(held)
    assert found.evidence[:2] == (
        Evidence("answer", "nvmlInitWithFlags: Not Found", "libnvidia-ml.so.1"),
        Evidence("0000:53:00.0", held, "/sys/bus/pci/devices/0000:53:00.0/driver"),
    )
    assert len(found.evidence) == 9
    assert found.remedy.startswith(remedy)


@pytest.mark.parametrize("problems", [(), (Problem("gpus", "no-library", "nvmlInitWithFlags: Not Found"),)])
@pytest.mark.parametrize("driver", ["vfio-pci", "nouveau"])
def test_gpus_that_another_driver_holds(
    dgx: Inventory, declared: Expected, examine: Callable[..., Any], driver: str, problems: Any
) -> None:
    pci = tuple(device._replace(driver=driver) for device in dgx.pci or ())
    seen = dgx._replace(pci=pci, accelerator_driver=None, gpus=None, problems=problems)
    (found,) = examine(seen)
    assert (found.status, found.summary) == (Status.NA, "8 NVIDIA GPUs on the PCI bus, held by " + driver)
    (found,) = examine(seen, declared)
    assert found.status is Status.CRIT
    assert found.summary.startswith("8 NVIDIA GPUs on the PCI bus, held by " + driver)
    assert found.remedy.startswith("give the GPUs to NVIDIA's driver")


@pytest.mark.parametrize("want", [Expected(), Expected(accelerator=ExpectedAccelerator(gpu_count=8))])
@pytest.mark.parametrize("pci", [None, ()])
def test_no_gpu_on_the_bus(examine: Callable[..., Any], want: Expected, pci: Any) -> None:
    """Where some are declared, gpu-count says that they are missing."""
    (found,) = examine(Inventory(pci=pci), want)
    assert (found.status, found.summary) == (Status.NA, "no NVIDIA GPU on the PCI bus")


def test_a_bus_that_could_not_be_read(dgx: Inventory, examine: Callable[..., Any]) -> None:
    problem = Problem("pci", "permission", "/sys/bus/pci/devices: Permission denied")
    (found,) = examine(Inventory(problems=(problem,)))
    assert (found.status, found.reason, found.summary) == (Status.UNKNOWN, "permission", problem.message)
    (found,) = examine(dgx._replace(pci=None, problems=(problem,)))
    assert found.status is Status.PASS


def test_a_driver_that_does_not_answer_without_a_bus(examine: Callable[..., Any]) -> None:
    problem = Problem("gpus", "version-mismatch", "nvmlInitWithFlags: Driver/library version mismatch")
    (found,) = examine(Inventory(problems=(problem,)))
    assert found.status is Status.CRIT
    assert found.evidence == (Evidence("answer", problem.message, "libnvidia-ml.so.1"),)


def test_a_driver_that_hangs(dgx: Inventory, examine: Callable[..., Any]) -> None:
    problem = Problem("gpus", "hung", "nvmlInitWithFlags did not return within 8 s")
    (found,) = examine(dgx._replace(accelerator_driver=None, gpus=None, problems=(problem,)))
    assert (found.status, found.reason, found.summary) == (Status.UNKNOWN, "hung", problem.message)


def test_one_device_that_could_not_be_read_does_not_hide_the_reason(
    dgx: Inventory, examine: Callable[..., Any]
) -> None:
    odd = Problem("pci", "hung", "read /sys/bus/pci/devices/0000:18:00.0/max_link_speed", "0000:18:00.0")
    why = Problem("gpus", "no-driver", "nvmlInitWithFlags: Driver Not Loaded")
    seen = dgx._replace(accelerator_driver=None, gpus=None, problems=(odd, why))
    (found,) = examine(seen)
    assert (found.status, found.evidence[0].value) == (Status.CRIT, why.message)
    (found,) = examine(seen._replace(pci=(), problems=(odd,)))
    assert (found.status, found.summary) == (Status.NA, "no NVIDIA GPU on the PCI bus")
