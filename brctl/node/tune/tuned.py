"""What the active profile of tuned sets, for tuned sets it again whenever it starts (tuned-profiles(7), tuned.conf(5)).

A profile's variables are not worked out: a value that has one is shown as it is written.
"""

import contextlib
from typing import List, NamedTuple, Sequence, Tuple

from ..host import Host
from . import ini

ACTIVE = "/etc/tuned/active_profile"
MAIN = "/etc/tuned/tuned-main.conf"
FOLDERS = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
"""Since tuned 2.23 profiles lie in folders of that name; /etc hides /usr/lib."""
REAPPLIED = ("/run/", "/etc/")
"""Where the sysctl files lie that it reads after its profile."""
_TRUE = ("1", "true", "yes", "on")


class Assignment(NamedTuple):
    profile: str
    unit: str
    """The name of its section."""
    kind: str
    """The plugin: `sysctl`, `vm`, `cpu`; the section's name where it says no `type`."""
    option: str
    value: str


def read(host: Host) -> Tuple[Assignment, ...]:
    """Of the active profiles and those that they include; a later one wins. What cannot be read is left out."""
    found: List[Assignment] = []
    seen: List[str] = []
    with contextlib.suppress(OSError):
        for name in (host.read(ACTIVE) or "").split():
            _load(host, name, found, seen)
    return tuple(found)


def also_sets(host: Host, kind: str, options: Sequence[str], wanted: str) -> Tuple[str, ...]:
    """A warning where a profile sets something else than `wanted`. An option may offer several values: `a|b`."""
    fitting = [one for one in read(host) if one.kind == kind and one.option in options]
    if not fitting or fitting[-1].value.split("|")[0] == wanted:
        return ()
    return ("tuned, profile {0.profile}, sets it to {0.value} whenever it starts".format(fitting[-1]),)


def reapplies_sysctl(host: Host) -> bool:
    """Whether tuned reads the sysctl files of /run and /etc again after its profile: its default. Raises OSError."""
    for line in (host.read(MAIN) or "").split("\n"):
        name, _, value = line.partition("=")
        if name.strip() == "reapply_sysctl":
            return value.strip().lower() in _TRUE
    return True


def _load(host: Host, name: str, found: List[Assignment], seen: List[str]) -> None:
    if name in seen or "/" in name:
        return
    seen.append(name)
    texts = (host.read("{}/{}/tuned.conf".format(folder, name)) for folder in FOLDERS)
    entries = ini.parse(next((text for text in texts if text is not None), ""))
    for entry in entries:
        if (entry.section, entry.option) == ("main", "include"):
            for other in entry.value.replace(",", " ").split():
                _load(host, other, found, seen)
    kinds = {entry.section: entry.value for entry in entries if entry.option == "type"}
    for entry in entries:
        if entry.option == "replace" and entry.value.lower() in _TRUE:
            found[:] = [one for one in found if one.unit != entry.section]
    for entry in entries:
        if entry.section != "main" and entry.option not in ("type", "replace"):
            kind, value = kinds.get(entry.section, entry.section), entry.value.strip("\"'")
            found.append(Assignment(name, entry.section, kind, entry.option, value))
