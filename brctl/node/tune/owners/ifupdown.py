"""ifupdown: the stanza of an interface in interfaces(5), and the files that it takes in."""

import re
from fnmatch import fnmatchcase
from typing import Iterator, NamedTuple, Optional

from .. import file_value
from ..drop_ins import paths
from ..foreseen import Foreseen
from ..links import Link
from . import Claim, Kept, cloud_init, whole
from .files import joined, lines, read

NAME = "ifupdown"
_MAIN = "/etc/network/interfaces"
_STANZAS = ("iface", "auto", "allow-", "mapping", "source", "no-auto-down", "no-scripts", "template", "rename")
_OPTION = re.compile(r"(\s*mtu\s+)(\d+)(.*)")
_BY_COMMAND = re.compile(r"(\s*(?:pre-up|up|post-up)\s.*\bmtu\s+)(\d+)(.*)")
_WITH_OPTION = ("static", "manual")
"""Methods of `inet` that take the option mtu: interfaces(5) of Debian's ifupdown."""


class _Stanza(NamedTuple):
    path: str
    start: int
    """Index of its first line."""
    end: int
    method: str


def find(draft: Foreseen, link: Link) -> Optional[Claim]:
    name = file_value(link.name)
    stanzas = [one for path in _files(draft) for one in _stanzas(draft, path) if one[0] == name]
    if not stanzas:
        return None
    stanza = stanzas[0][1]
    line = next((line for line in (_mtu_line(draft, one) for _, one in stanzas) if line), None)
    text = read(draft, stanza.path)

    def keep(mtu: int) -> Kept:
        path, new = _edited(draft, line, stanza, name, mtu)
        draft.values[path] = new
        return Kept((whole(path, new),))

    mtu = line.mtu if line else None
    source = "{}:{}".format(line.path, line.number + 1) if line else None
    return Claim(NAME, True, mtu, source, keep, warnings=cloud_init(stanza.path, text))


class _Line(NamedTuple):
    path: str
    number: int
    """From 0."""
    mtu: int


def _files(draft: Foreseen) -> Iterator[str]:
    """The file itself and those that it takes in, one level deep."""
    yield _MAIN
    for words in (line.split() for line in lines(draft.read(_MAIN) or "")):
        if len(words) > 1 and words[0] in ("source", "source-directory"):
            path = words[1] if words[1].startswith("/") else "/etc/network/" + words[1]
            folder, _, pattern = (path if words[0] == "source" else path + "/*").rpartition("/")
            yield from (one for one in paths(draft, [folder]) if fnmatchcase(one.rpartition("/")[2], pattern))


def _stanzas(draft: Foreseen, path: str) -> "Iterator[tuple[str, _Stanza]]":
    every = lines(read(draft, path))
    starts = [number for number, line in enumerate(every) if line.strip().startswith(_STANZAS)]
    for start, end in zip(starts, [*starts[1:], len(every)]):
        words = every[start].split()
        if words[0] == "iface" and len(words) > 3:  # iface NAME FAMILY METHOD
            method = words[3] if words[2] == "inet" else ""
            yield words[1], _Stanza(path, start, end, method)


def _mtu_line(draft: Foreseen, stanza: _Stanza) -> Optional[_Line]:
    every = lines(read(draft, stanza.path))
    for index in range(stanza.start + 1, stanza.end):
        found = _OPTION.match(every[index]) or _BY_COMMAND.match(every[index])
        if found:
            return _Line(stanza.path, index, int(found.group(2)))
    return None


def _edited(draft: Foreseen, line: Optional[_Line], stanza: _Stanza, name: str, mtu: int) -> "tuple[str, str]":
    """Path and text: with another number in the line that names one, else with a line of its own."""
    path = line.path if line else stanza.path
    every = lines(read(draft, path))
    if line:
        found = _OPTION.match(every[line.number]) or _BY_COMMAND.match(every[line.number])
        every[line.number] = found.group(1) + str(mtu) + found.group(3) if found else every[line.number]
        return path, joined(every)
    option = "mtu {}" if stanza.method in _WITH_OPTION else "post-up ip link set dev " + name + " mtu {}"
    every.insert(stanza.start + 1, "    " + option.format(mtu))
    return path, joined(every)
