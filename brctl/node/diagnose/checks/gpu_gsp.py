"""The GPU System Processor runs the firmware of the driver.

Another version is what a package upgrade under a running module leaves behind: a warning. GSP firmware that is
switched off where the GPU has it on by default is a choice, and noted. A GSP that hangs is seen as a GPU that does not
answer, and as Xid 119 in the kernel log.
"""

from typing import Optional, Sequence

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from .. import Case, Check
from ..verdicts import ANSWERING, WELL, Verdict, judge

_VERSION, _MODE = "nvmlDeviceGetGspFirmwareVersion", "nvmlDeviceGetGspFirmwareMode"
_REMEDY = "end what uses the GPUs and load the driver's modules anew, or reboot"


def run(case: Case) -> Sequence[Finding]:
    driver = case.seen.accelerator_driver
    version = driver.version if driver else ""
    return judge(CHECK, case, lambda gpu: _look(gpu, version), "GSP firmware of the driver", "its GSP firmware")


def _look(gpu: Gpu, driver: str) -> Optional[Verdict]:
    health = gpu.health
    if health is None or (health.gsp_firmware_version is None and health.gsp_enabled is None):
        return None
    if health.gsp_enabled is False and health.gsp_enabled_by_default:
        off = (Evidence("GSP firmware", "off; on by default", _MODE),)
        return Verdict(Status.INFO, "GSP firmware is switched off", off)
    if health.gsp_firmware_version not in (None, driver):
        evidence = (
            Evidence("GSP firmware", str(health.gsp_firmware_version), _VERSION),
            Evidence("driver", driver, "nvmlSystemGetDriverVersion"),
        )
        text = "GSP firmware {}, driver {}".format(health.gsp_firmware_version, driver)
        return Verdict(Status.WARN, text, evidence, _REMEDY)
    return WELL


CHECK = Check(
    id="gpu-gsp",
    title="The GPU System Processor runs the firmware of the driver",
    tags=("health",),
    needs=("gpus", "accelerator_driver"),
    run=run,
    group="gpu",
    after=ANSWERING,
)
