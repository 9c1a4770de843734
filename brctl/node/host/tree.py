"""Tree: the files of a machine that is not here. Its form is that of `files` in machine.py."""

import errno
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Tuple, cast

from ..deadline import HungError

LINK_LIMIT = 40
"""Links one behind the other; Linux gives up at the same number (MAXSYMLINKS), of a whole path."""

_NO_NAMES = frozenset(("", ".", ".."))
_FORMS = 'a text, {"link": TARGET}, {"names": [NAME, ...]}, {"errno": NAME}, {"hung": SECONDS} or null'


class NotRecordedError(OSError):
    """A partial machine was asked for what it does not know."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.ENODATA, "is not in this recording", what)


class InvalidMachineError(ValueError):
    """The JSON is no machine; the message names the place."""


def follow(way: str, path: str, link_at: Callable[[str], Optional[str]], start: str = "") -> str:
    """Where `way`, a part of `path`, leads from the folder `start`, without links; the root is empty. Raises OSError.

    `link_at` is asked where each entry on the way leads, and gives None for what is no link.
    """
    here, names, links = start, way.split("/")[::-1], 0
    while names:
        name = names.pop()
        if name in _NO_NAMES:
            here = here.rpartition("/")[0] if name == ".." else here
            continue
        target = link_at(here + "/" + name)
        if target is None:
            here += "/" + name
            continue
        links += 1
        if links > LINK_LIMIT:
            raise os_error(errno.ELOOP, path)
        here = "" if target.startswith("/") else here
        names += target.split("/")[::-1]
    return here


def os_error(code: int, path: str) -> OSError:
    """As the system raises it."""
    return OSError(code, os.strerror(code), path)


class Tree:
    def __init__(self, files: Mapping[str, Any], partial: bool) -> None:
        """Raises InvalidMachineError. Of a partial tree, what is not in `files` is unknown."""
        self._partial = partial
        self._texts: Dict[str, str] = {}
        self._links: Dict[str, str] = {}
        self._errors: Dict[str, int] = {}
        self._hung: Dict[str, float] = {}
        self._nothing: Set[str] = set()
        self._listed: Dict[str, Tuple[str, ...]] = {}
        self._folders: Dict[str, List[str]] = {"": []}
        self._resolved: Dict[str, str] = {}
        for path, entry in files.items():
            if not (type(entry) is str and self._add_text(path, entry)):
                self._add(path, entry)
        self._ways = frozenset().union(self._links, self._errors, self._hung)
        """What is none of these leads to itself."""
        for folder, names in self._listed.items():
            for name in sorted(set(self._folders[folder]).difference(names)):
                raise InvalidMachineError("files: {}: {} is not among its names".format(folder, name))

    def reach(self, path: str, verb: str, asked: str = "") -> str:
        """The path without links. Raises OSError or HungError where an entry on the way is one.

        `verb` is the call, and `asked` what it was about, where that is not the path itself.
        """
        there = self._resolved.get(path)
        if there is not None:
            return there
        asked = asked or path

        def link_at(entry: str) -> Optional[str]:
            if entry not in self._ways:
                return None
            if entry in self._errors:
                raise os_error(self._errors[entry], asked)
            if entry in self._hung:
                raise HungError(verb + " " + asked, self._hung[entry])
            return self._links.get(entry)

        known, names = path.rstrip("/"), []
        while known and known not in self._resolved:
            known, _, name = known.rpartition("/")
            names.append(name)
        there = self._resolved.get(known, "")
        while names:  # each on the way is remembered
            name = names.pop()
            known, there = known + "/" + name, follow(name, asked, link_at, there)
            self._resolved[known] = there
        return there

    def text(self, real: str, path: str) -> Optional[str]:
        """What the file at `real` holds, which was asked for as `path`. Raises OSError."""
        if real in self._folders:
            raise os_error(errno.EISDIR, path)
        if real not in self._texts:
            self._check_absent(real, path)
        return self._texts.get(real)

    def names(self, real: str, path: str) -> Optional[Tuple[str, ...]]:
        """What is in the folder at `real`, sorted. Raises OSError."""
        if real in self._listed:
            return self._listed[real]
        if real in self._folders and not self._partial:
            return tuple(sorted(self._folders[real]))
        if real not in self._texts:
            self._check_absent(real, path)
        return None

    def link(self, entry: str, path: str) -> Optional[str]:
        """Where the link `entry` leads, in a folder without links. Raises OSError."""
        if not any(entry in those for those in (self._links, self._texts, self._folders, self._errors, self._hung)):
            self._check_absent(entry, path)
        return self._links.get(entry)

    def _check_absent(self, real: str, path: str) -> None:
        """Raises OSError where a partial tree does not know that there is nothing."""
        absent = not self._partial
        while real and not absent:
            folder, _, name = real.rpartition("/")
            absent = real in self._nothing or real in self._texts or name not in self._listed.get(folder, (name,))
            real = folder
        if not absent:
            raise NotRecordedError(path)

    def _add_text(self, path: str, text: str) -> bool:
        """Add a file in a folder that has one, as most are. False: it takes more."""
        folder, _, name = path.rpartition("/")
        siblings = self._folders.get(folder) if folder else None
        if siblings is None or name in _NO_NAMES or path in self._folders:
            return False
        self._texts[path] = text
        siblings.append(name)
        return True

    def _add(self, path: str, entry: Any) -> None:
        folder, _, name = path.rpartition("/")
        if path[:1] != "/" or name in _NO_NAMES or not (folder in self._folders or _is_folder(folder)):
            raise InvalidMachineError("files: {!r} is no absolute path in its shortest form".format(path))
        if entry is None:
            self._nothing.add(path)
            return
        if isinstance(entry, str):
            self._texts[path] = entry
        elif _is(entry, "link", str):
            self._links[path] = entry["link"]
        elif _is(entry, "names", list) and all(map(_is_name, entry["names"])):
            self._listed[path] = tuple(sorted(entry["names"]))
        elif _is(entry, "hung", float, int):
            self._hung[path] = entry["hung"]
        elif isinstance(entry, dict) and list(entry) == ["errno"]:
            self._errors[path] = errno_of("files: " + path, entry["errno"])
        else:
            raise InvalidMachineError("files: {}: {} is expected".format(path, _FORMS))
        if path in self._listed:
            self._make_folder(path, path)
        elif path in self._folders:
            raise InvalidMachineError("files: {}: other paths make this a folder".format(path))
        else:
            self._add_to_folder(path, path)

    def _add_to_folder(self, entry: str, path: str) -> None:
        """List `entry`, which is `path` or a folder on the way to it, in its own folder."""
        folder, _, name = entry.rpartition("/")
        if folder not in self._folders:
            self._make_folder(folder, path)
        self._folders[folder].append(name)

    def _make_folder(self, folder: str, path: str) -> None:
        if folder in self._folders:
            return
        if folder in self._texts or folder in self._links or folder in self._errors or folder in self._hung:
            raise InvalidMachineError("files: {}: {} is no folder".format(path, folder))
        self._folders[folder] = []
        self._add_to_folder(folder, path)


def errno_of(where: str, name: Any) -> int:
    """The number of `EACCES`. Raises InvalidMachineError."""
    code = getattr(errno, name, None) if isinstance(name, str) and name.startswith("E") else None
    if code is None or code == errno.ENOENT:
        hint = "null says it" if code else "a name such as EACCES is expected"
        raise InvalidMachineError("{}: errno {!r}: {}".format(where, name, hint))
    return cast(int, code)


def _is(entry: Any, key: str, *kinds: type) -> bool:
    return isinstance(entry, dict) and list(entry) == [key] and type(entry[key]) in kinds


def _is_folder(path: str) -> bool:
    """Whether it is an absolute path in its shortest form."""
    return path[:1] == "/" and _NO_NAMES.isdisjoint(path[1:].split("/"))


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and "/" not in name and name not in _NO_NAMES
