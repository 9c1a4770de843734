"""The driver answers where GPUs are, and has the version that the config declares.

No answer (no library, the module not loaded, versions of the two that differ) is critical. GPUs that another driver
holds (nouveau, vfio-pci for a virtual machine) are nobody's fault unless accelerators are declared. A version out of
the declared range is a warning.

A range is `>=550,<600`: all its bounds must hold. They are compared number by number, and only as far as the bound
goes, so that 550.54 is neither above nor below 550.
"""

import operator
import re
from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Tuple

from ...facts import AcceleratorDriver, PciDevice, Problem
from ...report import Evidence, Finding, Status
from ...request import ExpectedAccelerator
from .. import Case, Check, gpus, reason

_PARTS = ("accelerator_driver", "gpus", "pci")
"""Whose problems tell why there is no driver; the first of them the best."""
_KEY = "hardware.accelerator.driver"
_HOLDS: Dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "!=": operator.ne,
    "==": operator.eq,
    "": operator.eq,
}
_BOUND = re.compile(r"(>=|<=|>|<|!=|==|)\s*(\d+(?:\.\d+)*)\Z")

_REMEDIES = {
    "no-library": "install what is missing: libnvidia-ml.so.1 of the kernel module's version, "
    "or the Python package nvidia-ml-py",
    "no-driver": "`modprobe nvidia`; if that fails, `dmesg` and `dkms status` tell why: not built for this kernel, "
    "nouveau in the way, secure boot",
    "version-mismatch": "the package was upgraded under the running module: end what uses the GPUs and reload the "
    "module, or reboot",
}
_OTHERWISE = "look for NVRM lines in the kernel log; reload the module, or reboot"
_BIND = "give the GPUs to NVIDIA's driver (blocklist nouveau, take them from vfio-pci), or correct the config"
_VERSION = "drain the node, install a driver in the declared range and reboot; or correct the config"


def run(case: Case) -> Iterator[Finding]:
    driver = case.seen.accelerator_driver
    if driver is None:
        yield _no_answer(case)
    else:
        yield _version(driver, (case.want.accelerator or ExpectedAccelerator()).driver)


def in_range(version: str, bounds: str) -> bool:
    """Whether `550.54.15` is within `>=550,<600`. Raises ValueError for what is no version or no range."""
    return all(_holds(version, bound.strip()) for bound in bounds.split(","))


def _holds(version: str, bound: str) -> bool:
    parsed = _BOUND.match(bound)
    if parsed is None:
        raise ValueError("{!r} is no bound of a version".format(bound))
    limit = [int(number) for number in parsed.group(2).split(".")]
    seen = [int(number) for number in version.split(".")[: len(limit)]]
    return bool(_HOLDS[parsed.group(1)](seen, limit))


def _version(driver: AcceleratorDriver, want: Optional[str]) -> Finding:
    name = "{} driver {}".format(driver.vendor, driver.version)
    if want is None:
        return CHECK.finding(Status.PASS, "{}; no version declared".format(name))
    if in_range(driver.version, want):
        return CHECK.finding(Status.PASS, "{}, expected {}".format(name, want))
    evidence = (Evidence("driver", driver.version, "nvmlSystemGetDriverVersion"), Evidence("declared", want, _KEY))
    return CHECK.finding(Status.WARN, "{}, expected {}".format(name, want), evidence=evidence, remedy=_VERSION)


def _no_answer(case: Case) -> Finding:
    devices = gpus.on_bus(case.seen) or ()
    problems = [problem for problem in case.seen.problems if problem.part in _PARTS and problem.subject is None]
    problem = min(problems, key=lambda problem: _PARTS.index(problem.part), default=None)
    if problem and (problem.part == "pci" or problem.reason in ("hung", "permission")):
        return CHECK.finding(Status.UNKNOWN, problem.message, reason=reason(problem.reason))
    if not (devices or problem):
        return CHECK.finding(Status.NA, "no NVIDIA GPU on the PCI bus")
    drivers = sorted({device.driver or "no driver" for device in devices})
    held = "{} NVIDIA GPUs on the PCI bus, held by {}".format(len(devices), ", ".join(drivers) or "no driver")
    foreign = bool(drivers) and not {"nvidia", "no driver"} & set(drivers)
    if foreign and case.want.accelerator is None:
        return CHECK.finding(Status.NA, held)
    summary = "{}: {}".format(held, problem.message) if problem else held
    remedy = _BIND if foreign else _REMEDIES.get(problem.reason if problem else "", _OTHERWISE)
    return CHECK.finding(Status.CRIT, summary, evidence=_evidence(devices, problem), remedy=remedy)


def _evidence(devices: Sequence[PciDevice], problem: Optional[Problem]) -> Tuple[Evidence, ...]:
    path = "/sys/bus/pci/devices/{}/driver"
    held = [Evidence(device.address, device.driver or "no driver", path.format(device.address)) for device in devices]
    return ((Evidence("answer", problem.message, "libnvidia-ml.so.1"),) if problem else ()) + tuple(held)


CHECK = Check(
    id="gpu-driver",
    title="The GPU driver answers and has the declared version",
    tags=("inventory",),
    needs=(),
    run=run,
    group="gpu",
)
