"""What fstab(5) means to be writable."""

import re
from typing import Optional, Tuple

from ..host import Host

_PATH = "/etc/fstab"


def read(host: Host) -> Optional[Tuple[str, ...]]:
    """Mount points that it does not want read-only; None where there is none. Raises OSError."""
    text = host.read(_PATH)
    return None if text is None else parse(text)


def parse(text: str) -> Tuple[str, ...]:
    """Blanks in a name are written `\\040`."""
    rows = (line.split() for line in text.splitlines() if not line.lstrip().startswith("#"))
    wanted = (words[1] for words in rows if len(words) >= 4 and "ro" not in words[3].split(","))
    return tuple(re.sub(r"\\040", " ", target) for target in wanted if target.startswith("/"))
