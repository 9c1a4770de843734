"""What systemd-tmpfiles writes at boot: the `w` lines of tmpfiles.d(5), which set what has no other file of its own.

As watched with systemd 252: files are read in the order of their names, whatever the folder. All paths are patterns,
and what several fit is written several times, in that order; but of lines with one and the same pattern the first
holds, and the others are ignored. So our files sort last, and have a pattern of their own.
"""

from fnmatch import fnmatchcase
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..host import Host
from . import Place, Scene, Step, Write, cmdline, file_value, refused
from .drop_ins import paths

FOLDERS = ("/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/local/lib/tmpfiles.d", "/usr/lib/tmpfiles.d")
"""Of files of one name, that in the folder that stands first here hides the others."""

_FIELDS = 6
"""Type, path, mode, user, group, age; then comes the argument."""
_HEAD = "# Written by `brctl tune apply --persist`; `brctl tune rollback` takes it back.\n"


class Line(NamedTuple):
    path: str
    value: str
    source: str


class Wish(NamedTuple):
    """A value of /sys that is to be set at boot, too."""

    file: str
    """The one of our own for it."""
    path: str
    """As that file says it: a pattern that no other has."""
    names: Tuple[str, ...]
    """Paths by which lines of others may mean it."""
    kernel: Optional[str]
    """What the kernel's command line says of it."""


def lasting(scene: Scene, step: Step, wish: Wish) -> Step:
    """The Step with what the next boot gives and, where that is not what is wanted, our file. Raises OSError."""
    change, lines = step.change, read(scene.host)
    now = winner(lines, wish.names)
    if now:
        change = change._replace(boot=now.value, boot_source=now.source)
    elif wish.kernel:
        change = change._replace(boot=wish.kernel, boot_source=cmdline.SOURCE)
    want = change.wanted or ""
    if not scene.persist or change.boot == want:
        return step._replace(change=change)
    then = winner(_with_ours(lines, Line(wish.path, want, wish.file + ":2")), wish.names)
    if not is_booted(scene.host):
        reason = "systemd does not run here, whose tmpfiles would set it at boot"
    elif then and then.value != want:
        reason = "{0.source} sets {0.value} and would win over {1}: change it there".format(then, wish.file)
    else:
        return step._replace(change=change, boot=(_write(wish, want),))
    return refused(change, reason)


def is_booted(host: Host) -> bool:
    """Whether systemd runs this machine (sd_booted(3)). Raises OSError."""
    return host.listdir("/run/systemd/system") is not None


def read(host: Host) -> Tuple[Line, ...]:
    """All lines that write something, in the order of their files; none where their folders cannot be listed."""
    try:
        files = paths(host, FOLDERS, ".conf")
    except OSError:
        return ()
    return tuple(line for path in files for line in _lines(host, path))


def winner(lines: Sequence[Line], paths: Sequence[str]) -> Optional[Line]:
    """The one that is written last to a file that goes by these `paths`."""
    first: Dict[str, Line] = {}
    for line in lines:
        first.setdefault(line.path, line)
    fitting = [line for line in first.values() if any(_matches(line.path, path) for path in paths)]
    return fitting[-1] if fitting else None


def _matches(pattern: str, path: str) -> bool:
    """glob(7): no star goes beyond a slash."""
    parts, names = pattern.split("/"), path.split("/")
    return len(parts) == len(names) and all(map(fnmatchcase, names, parts))


def _with_ours(lines: Sequence[Line], ours: Line) -> Tuple[Line, ...]:
    """As they were if our file held that line alone."""
    name = _name(ours)
    before = [line for line in lines if _name(line) < name]
    after = [line for line in lines if _name(line) > name]
    return (*before, ours, *after)


def _write(wish: Wish, value: str) -> Write:
    return Write(Place("file", wish.file), file_value("{}w {} - - - - {}\n".format(_HEAD, wish.path, value)))


def _lines(host: Host, file: str) -> List[Line]:
    try:
        text = host.read(file) or ""
    except OSError:
        return []
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        fields = line.split(None, _FIELDS)
        if len(fields) > _FIELDS and fields[0].startswith("w"):
            found.append(Line(fields[1], fields[_FIELDS].strip(), "{}:{}".format(file, number)))
    return found


def _name(line: Line) -> str:
    """Of its file."""
    return line.source.rpartition(":")[0].rpartition("/")[2]
