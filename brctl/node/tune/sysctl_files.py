"""Which line decides a kernel parameter at the next boot: sysctl.d(5), as both programs read it that load such files.

systemd-sysctl runs at boot. `sysctl --system` of procps is what people and packages run afterwards: it reads
/etc/sysctl.conf last, which the other one does not read at all, and takes repeated patterns and `-key` differently.
Both were watched, systemd 252 and procps 4.0.2, over generated sets of files.
"""

import re
from fnmatch import fnmatchcase
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..host import Host

FOLDERS = (
    "/etc/sysctl.d",
    "/run/sysctl.d",
    "/usr/local/lib/sysctl.d",
    "/usr/lib/sysctl.d",
    "/lib/sysctl.d",  # the same as the one before where /usr is merged
)
"""Of files of one name, that in the folder that stands first here hides the others, even if it is empty."""
PROCPS_LAST = "/etc/sysctl.conf"
OURS = "/etc/sysctl.d/99-zz-brctl.conf"
"""Files are read in the order of their names, whatever the folder: this one sorts after Debian's 99-sysctl.conf."""

_HEAD = """\
# Written by `brctl tune apply --persist`: a line for each parameter, and nothing else is kept here.
# `brctl tune plan` says which line of all such files wins; `brctl tune rollback` takes these back.
"""


class File(NamedTuple):
    path: str
    text: str
    unread: str = ""
    """Why it could not be read."""


class Line(NamedTuple):
    key: str
    """A path under /proc/sys; `*`, `?` and `[` make it a pattern."""
    value: Optional[str]
    """None: `-key`, which keeps patterns away from it."""
    source: str
    """`/etc/sysctl.d/99-sysctl.conf:3`"""


class Loaded(NamedTuple):
    """What the two programs make of the files: assignments in the order in which they write them."""

    systemd: Tuple[Line, ...]
    procps: Tuple[Line, ...]
    bad: Tuple[str, ...]
    """Lines that no program understands, files that could not be read: what and why. They hurt no other line."""


def read(host: Host) -> Tuple[File, ...]:
    """Those that are in force, one of each name. Never raises OSError."""
    found: Dict[str, File] = {}
    for folder in FOLDERS:
        try:
            names = host.listdir(folder) or ()
        except OSError as error:
            found[folder] = File(folder, "", error.strerror or str(error))
            continue
        for name in names:
            if name.endswith(".conf") and name not in found:
                found[name] = _file(host, folder + "/" + name)
    return (*found.values(), _file(host, PROCPS_LAST))


def _file(host: Host, path: str) -> File:
    try:
        return File(path, host.read(path) or "")  # a link to nothing hides others, too
    except OSError as error:
        return File(path, "", error.strerror or str(error))


def with_ours(files: Sequence[File], text: str) -> Tuple[File, ...]:
    """As they were if our own file held `text`; it hides those of its name."""
    name = _name(OURS)
    return (*(file for file in files if _name(file.path) != name), File(OURS, text))


def load(files: Sequence[File]) -> Loaded:
    """Each parsed once, for both programs."""
    bad = ["{0.path}: cannot be read: {0.unread}".format(file) for file in files if file.unread]
    systemd: List[Line] = []
    procps: List[Line] = []
    for file in sorted(files, key=lambda file: (file.path == PROCPS_LAST, _name(file.path))):
        lines = _parse(file, bad)
        procps += lines
        if file.path != PROCPS_LAST and not _name(file.path).startswith("."):
            systemd += lines
    return Loaded(_merged(systemd), tuple(procps), tuple(bad))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _parse(file: File, bad: List[str]) -> List[Line]:
    lines: List[Line] = []
    for number, text in enumerate(file.text.split("\n"), 1):
        key, equals, value = text.strip().partition("=")
        source = "{}:{}".format(file.path, number)
        if (not key and not equals) or key.startswith(("#", ";")):
            continue
        excluded = key.startswith("-")
        path = key_path(key[excluded:].strip())
        if not path or not (equals or excluded):
            bad.append("{}: no assignment, ignored at boot: {}".format(source, text.strip()))
        else:
            lines.append(Line(path, value.strip() if equals else None, source))
    return lines


def _merged(lines: Sequence[Line]) -> Tuple[Line, ...]:
    """systemd-sysctl keeps one assignment for each key: another value moves it to the end, the same one does not."""
    kept: Dict[str, Line] = {}
    for line in lines:
        if line.key in kept and kept[line.key].value != line.value:
            del kept[line.key]
        kept[line.key] = line
    return tuple(kept.values())


def key_path(key: str) -> str:
    """`net.ipv4.conf.eth0/100.arp_ignore` is `net/ipv4/conf/eth0.100/arp_ignore`; where a slash comes first, the key
    is such a path already (sysctl(8))."""
    first = re.search("[./]", key)
    swapped = spelt(key) if first and first.group() == "." else key
    return re.sub("/+", "/", swapped).strip("/")


def winner(lines: Sequence[Line], key: str) -> Optional[int]:
    """Which of a Loaded's lines decides over `key`, a path without patterns; None: none of them."""
    named = [index for index, line in enumerate(lines) if line.key == key]
    if not named:
        named = [index for index, line in enumerate(lines) if _matches(line.key, key)]
    valued = [index for index in named if lines[index].value is not None]
    return valued[-1] if valued else None


def _matches(pattern: str, key: str) -> bool:
    """glob(7): no star goes beyond a slash."""
    parts, names = pattern.split("/"), key.split("/")
    if len(parts) != len(names) or not re.search(r"[*?[]", pattern):
        return False
    return all(fnmatchcase(name, part.replace("[^", "[!")) for part, name in zip(parts, names))


def render(text: str, key: str, value: str, drop: Optional[str] = None) -> str:
    """Our file with `key` (a path), when it held `text`: other parameters stay but for `drop`, each once."""
    lines = {line.key: line.value for line in _parse(File(OURS, text), []) if line.value is not None}
    lines[key] = value
    kept = ((name, text) for name, text in lines.items() if name != drop)
    return _HEAD + "".join("{} = {}\n".format(name if "." in name else spelt(name), text) for name, text in kept)


def spelt(path: str) -> str:
    """With dots, as the config has it, and people: `net/ipv4/conf/eth0.100/mtu` is `net.ipv4.conf.eth0/100.mtu`."""
    return path.translate(str.maketrans("./", "/."))
