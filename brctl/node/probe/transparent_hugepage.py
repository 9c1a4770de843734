"""When the kernel gives memory in huge pages."""

import re
from typing import Optional

from ..host import Host

PATH = "/sys/kernel/mm/transparent_hugepage/enabled"


def read(host: Host) -> Optional[str]:
    """`always`, `madvise` or `never`; None where the kernel was built without. Raises OSError, ValueError."""
    text = host.read(PATH)
    return None if text is None else parse(text)


def parse(text: str) -> str:
    """The chosen one of `always [madvise] never`. Raises ValueError."""
    found = re.search(r"\[(\w+)\]", text)
    if found is None:
        raise ValueError("{}: none of {!r} is chosen".format(PATH, text.strip()))
    return found.group(1)
