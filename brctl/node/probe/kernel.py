"""Kernel, distribution, and what the machine is called."""

import shlex
from typing import Optional

from ..facts import Kernel
from ..host import Host
from ..units import finite
from .rows import Reading, Row

_DMI = "/sys/class/dmi/id/"
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO (include/linux/proc_ns.h)."""
_OS_RELEASE = ("/etc/os-release", "/usr/lib/os-release")  # the order of os-release(5)


def read(host: Host) -> Optional[Reading]:
    """None where there is no /proc. Raises OSError, ValueError."""
    hostname = host.read("/proc/sys/kernel/hostname")
    release = host.read("/proc/sys/kernel/osrelease")
    uptime = host.read("/proc/uptime")
    if hostname is None or release is None or uptime is None:
        return None
    row = Row("kernel")
    row.value = Kernel(hostname.strip(), release.strip(), "unknown", None, None, parse_uptime(uptime), None)
    row.run(lambda row: _rest(row, host))
    return Reading(row.value, tuple(row.problems))


def parse_uptime(text: str) -> float:
    """Seconds since boot, the first of /proc/uptime's two numbers. Raises ValueError."""
    return finite(text.split(" ")[0])


def parse_os_release(text: str) -> Optional[str]:
    """PRETTY_NAME of os-release(5), quoted there as in a shell. Raises ValueError: an open quote."""
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            try:
                return " ".join(shlex.split(value)) or None
            except ValueError as error:
                raise ValueError("os-release: {}: {}".format(line, error)) from None
    return None


def _rest(row: Row, host: Host) -> None:
    row.fill(
        distribution=lambda: _distribution(host),
        boot_id=lambda: (host.read("/proc/sys/kernel/random/boot_id") or "").strip() or None,
        product=lambda: _product(host),
        architecture=lambda: _architecture(host),
        own_pid_namespace=lambda: _own_pid_namespace(host),
    )


def _architecture(host: Host) -> str:
    text = host.read("/proc/sys/kernel/arch")  # since Linux 6.1
    if text is None:
        uname = host.run(["uname", "-m"])
        text = uname.stdout if uname else "unknown"
    return text.strip()


def _own_pid_namespace(host: Host) -> Optional[bool]:
    link = host.readlink("/proc/self/ns/pid")
    return None if link is None else link != _FIRST_PID_NAMESPACE


def _distribution(host: Host) -> Optional[str]:
    for path in _OS_RELEASE:
        text = host.read(path)
        if text is not None:
            return parse_os_release(text)
    return None


def _product(host: Host) -> Optional[str]:
    names = (host.read(_DMI + "sys_vendor"), host.read(_DMI + "product_name"))
    return " ".join(name.strip() for name in names if name and name.strip()) or None
