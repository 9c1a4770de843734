"""Changes of a config's text: one value is replaced where it stands, and every other byte stays as it is."""

import codecs
import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ..node.host import files
from . import source
from .mistake import ConfigError, Mistake
from .nodes import expand, fold_all

_NODES = ("cluster", "nodes")
_SPECIAL = frozenset("[]{},")
"""Within { } a value with one of these needs quotes; where it had one without quotes, it may have another."""


class Edit(NamedTuple):
    """A config's bytes before and after."""

    path: Path
    old: bytes
    new: bytes

    def diff(self) -> tuple[str, ...]:
        """The lines of a unified diff, without their ends; none where nothing changes."""
        old, new = (_text(data).splitlines() for data in (self.old, self.new))
        return tuple(difflib.unified_diff(old, new, str(self.path), str(self.path), lineterm=""))

    def apply(self) -> None:
        """Write it, at once or not at all, with the file's own mode and owner. Raises ConfigError."""
        target = self.path.resolve()  # a symbolic link stays one
        if source.read(target) != self.old:
            raise ConfigError([Mistake(f"{self.path} was changed meanwhile", hint="run it again")])
        try:
            files.replace(str(target), self.new, 0o644)
        except OSError as error:
            raise ConfigError([Mistake(f"cannot write {self.path}: {error.strerror}")]) from None


def add_nodes(path: Path, names: Iterable[str]) -> Edit:
    """`cluster.nodes` with more nodes in it. Raises ConfigError where the file cannot be read as it is."""
    old = source.read(path)
    text = _text(old)
    document = source.parse(old, str(path))
    first, last, value = _span(text, document)
    wanted = fold_all([*expand(value), *names])
    written = text[:first] + _written(wanted, text[first:last]) + text[last:]
    new = (codecs.BOM_UTF8 if old.startswith(codecs.BOM_UTF8) else b"") + written.encode()
    document.data["cluster"]["nodes"] = wanted
    if source.parse(new, str(path)).data != document.data:  # nobody's file is worth a guess
        raise ConfigError([Mistake(f"{path}: cluster.nodes stands in a form that cannot be changed", hint=wanted)])
    return Edit(path, old, new)


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig")


def _span(text: str, document: source.Document) -> tuple[int, int, str]:
    """Where the value of cluster.nodes begins and ends in the text, in characters, and what it says."""
    mark = document.marks[_NODES].value
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        start: Any = event.start_mark
        end: Any = event.end_mark
        if isinstance(event, yaml.ScalarEvent) and (start.line, start.column) == mark:
            return start.index, start.index + len(text[start.index : end.index].rstrip()), event.value
    raise AssertionError(f"no value begins at {mark}")


def _written(nodes: str, old: str) -> str:
    """As it was written before; a node set holds nothing that would need an escape in either kind of quotes."""
    if old[0] in "'\"":
        return old[0] + nodes + old[0]
    block = old[0] in ">|"
    return f'"{nodes}"' if block or (_SPECIAL & set(nodes) and not _SPECIAL & set(old)) else nodes
