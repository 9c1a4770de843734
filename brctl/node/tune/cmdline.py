"""The kernel's command line: what it asks of every boot, before any file has a say."""

import re
from typing import NamedTuple, Optional, Tuple

from ..host import Host

SOURCE = "kernel command line"


class Argument(NamedTuple):
    name: str
    """With underscores: dashes are the same to the kernel (admin-guide/kernel-parameters)."""
    value: str


def read(host: Host) -> Tuple[Argument, ...]:
    """Those that have a value, in order; a later one wins. None where it cannot be read."""
    try:
        text = host.read("/proc/cmdline") or ""
    except OSError:
        return ()
    words = re.findall(r'(?:"[^"]*"|[^\s"])+', text)
    pairs = (word.replace('"', "").partition("=") for word in words)
    return tuple(Argument(name.replace("-", "_"), value) for name, equals, value in pairs if equals)


def value(host: Host, name: str) -> Optional[str]:
    """The last value of `name`; None: it has none."""
    found = [argument.value for argument in read(host) if argument.name == name]
    return found[-1] if found else None
