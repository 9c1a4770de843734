"""Folders of configuration files, as systemd and those that follow it have them."""

from typing import Dict, Sequence, Tuple

from ..host import Host


def paths(host: Host, folders: Sequence[str], suffix: str = "") -> Tuple[str, ...]:
    """Files of these folders in the order of their names; of those of one name, that in the earliest folder.

    Hidden ones are none. Raises OSError.
    """
    found: Dict[str, str] = {}
    for folder in folders:
        for name in host.listdir(folder) or ():
            if name.endswith(suffix) and not name.startswith("."):
                found.setdefault(name, folder + "/" + name)
    return tuple(found[name] for name in sorted(found))
