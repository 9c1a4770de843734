"""Who decides how fast CPUs run."""

from typing import Dict, List, Optional, Tuple

from ..facts import CpuGovernor
from ..host import Host

_POLICIES = "/sys/devices/system/cpu/cpufreq"


def read(host: Host) -> Optional[Tuple[CpuGovernor, ...]]:
    """By governor; None where frequencies are nothing of this machine's, as in a virtual one. Raises OSError."""
    found: Dict[str, List[int]] = {}
    for name in host.listdir(_POLICIES) or ():
        number = name[len("policy") :]
        text = host.read("{}/{}/scaling_governor".format(_POLICIES, name)) if number.isdecimal() else None
        if text:
            found.setdefault(text.strip(), []).append(int(number))
    return tuple(CpuGovernor(governor, tuple(sorted(found[governor]))) for governor in sorted(found)) or None
