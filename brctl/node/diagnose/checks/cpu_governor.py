"""The CPUs run at full speed when there is work: governor `performance`.

The others look at the load of some milliseconds and raise the clock after it, while launches of kernels and network
interrupts come in bursts of microseconds. On Intel's and AMD's newer drivers `powersave` leaves it to the hardware, and
is slow to rise as well (tuned, latency-performance; NVIDIA's Grace guide).
"""

from typing import Sequence

from ...report import Evidence, Finding, Status
from .. import Case, Check, hosts

_WANTED = "performance"
_PATH = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_governor"


def run(case: Case) -> Sequence[Finding]:
    found = case.seen.cpu_governors or ()
    total = sum(len(one.policies) for one in found)
    slow = [one for one in found if one.governor != _WANTED]
    if not slow:
        return (CHECK.finding(Status.PASS, "{} on all {} CPUs".format(_WANTED, total)),)
    status = hosts.unfit(case.seen)
    words = ", ".join("{} on {} of {} CPUs".format(one.governor, len(one.policies), total) for one in slow)
    evidence = tuple(Evidence(one.governor, str(len(one.policies)), _PATH.format(one.policies[0])) for one in slow)
    remedy = "`brctl tune apply --set cpu_governor=performance`" if status is Status.WARN else None
    return (CHECK.finding(status, words, evidence=evidence, remedy=remedy),)


CHECK = Check(
    id="cpu-governor",
    title="The CPUs are governed for performance",
    tags=("health",),
    needs=("cpu_governors",),
    run=run,
    reads=("pci",),
)
