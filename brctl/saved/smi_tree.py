"""The two forms of `nvidia-smi -q` as trees of values, by paths of lower-case words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from xml.parsers import expat

from .stream import UnreadableError

DEPTH = 32
"""Of elements; nvidia-smi's have eight."""
_TEXT_BYTES = 1000
"""Of one value."""
_HEAD = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*\Z")
_LINE = re.compile(r"( *)(\S[^:]*?) *(?:: ?(.*))?\Z")
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,9})?(?![0-9])")
_NOTHING = ("", "N/A", "[N/A]", "Requested functionality has been deprecated", "Not Supported")


class Tree(NamedTuple):
    """Of one GPU."""

    id: str
    """Its PCI address, as nvidia-smi writes it."""
    values: Mapping[str, str]

    def word(self, *paths: str) -> str | None:
        """The first of these that is told."""
        for path in paths:
            value = self.values.get(path, "")
            if value not in _NOTHING:
                return value
        return None

    def number(self, *paths: str) -> float | None:
        """Without its unit; None for what is no number, such as `ERR!`."""
        found = _NUMBER.match(self.word(*paths) or "")
        return float(found.group()) if found else None

    def integer(self, *paths: str) -> int | None:
        number = self.number(*paths)
        return None if number is None else int(number)

    def bytes(self, *paths: str) -> int | None:
        """Of MiB."""
        number = self.integer(*paths)
        return None if number is None else number << 20

    def power(self, *names: str) -> float | None:
        """Watts, wherever a driver has its power readings."""
        groups = ("gpu_power_readings", "power_readings")
        return self.number(*(f"{group}/{name}" for name in names for group in groups))

    def yes(self, *paths: str) -> bool | None:
        word = self.word(*paths)
        return None if word not in ("Yes", "No") else word == "Yes"

    def switch(self, *paths: str) -> bool | None:
        word = self.word(*paths)
        return None if word not in ("Enabled", "Disabled") else word == "Enabled"


class Trees(NamedTuple):
    gpus: tuple[Tree, ...]
    driver: str | None
    """Its version."""
    cuda: str | None


def word(text: str) -> str:
    """`GPU T.Limit Temp` is `gpu_t_limit_temp`."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def of_text(text: str) -> Trees:
    """Of the last query in it."""
    last = text.rpartition("NVSMI LOG")[2]
    gpus: dict[str, dict[str, str]] = {}
    head: dict[str, str] = {}
    into, path = head, [(-1, "")]
    for line in last.splitlines():
        start = _HEAD.match(line)
        if start:
            into, path = gpus.setdefault(start.group(1), {}), [(-1, "")]
            continue
        found = _LINE.match(line)
        if found is None:
            if into is not head and line.startswith("#"):  # what was saved behind it
                break
            continue
        indent, name, value = len(found.group(1)), word(found.group(2)), found.group(3)
        if into is not head and indent == 0:
            break
        path = [step for step in path if step[0] < indent][:DEPTH]
        whole = "/".join([step for _, step in path[1:]] + [name])
        if value is None:
            path.append((indent, name))
        else:
            into.setdefault(whole, value.strip()[:_TEXT_BYTES])
    trees = tuple(Tree(address, values) for address, values in gpus.items())
    return Trees(trees, head.get("driver_version"), head.get("cuda_version"))


def of_xml(data: bytes) -> Trees:
    """Raises UnreadableError: it is broken, nested too deep, or declares an entity, of which nvidia-smi has none."""
    reader = _XmlReader()
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler, parser.EntityDeclHandler = reader.text, reader.refuse
    try:
        parser.Parse(data[data.find(b"<") :], True)
    except expat.ExpatError as error:
        raise UnreadableError(f"is broken XML: line {error.lineno}: {expat.ErrorString(error.code)}") from None
    trees = tuple(Tree(address, values) for address, values in reader.gpus.items())
    return Trees(trees, reader.head.get("driver_version"), reader.head.get("cuda_version"))


class _XmlReader:
    """Keeps the texts of elements that have no others in them."""

    def __init__(self) -> None:
        self.gpus: dict[str, dict[str, str]] = {}
        self.head: dict[str, str] = {}
        self._path: list[str] = []
        self._into = self.head
        self._text = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._path) >= DEPTH:
            raise UnreadableError(f"is no output of nvidia-smi: its elements are nested more than {DEPTH} deep")
        self._path.append(word(name))
        self._text = ""
        if self._path[1:] == ["gpu"]:
            self._into = self.gpus.setdefault(attributes.get("id", ""), {})

    def end(self, name: str) -> None:  # noqa: ARG002  # expat's form
        skip = 2 if self._path[1:2] == ["gpu"] else 1
        value = self._text.strip()
        if value:
            self._into.setdefault("/".join(self._path[skip:]), value)
        if self._path[1:] == ["gpu"]:
            self._into = self.head
        self._path.pop()
        self._text = ""

    def text(self, text: str) -> None:
        if len(self._text) < _TEXT_BYTES:
            self._text += text[:_TEXT_BYTES]

    def refuse(self, name: str, *rest: object) -> None:  # noqa: ARG002  # expat's form
        raise UnreadableError(f"is not read: its XML declares the entity {name!r}, and nvidia-smi's declares none")
