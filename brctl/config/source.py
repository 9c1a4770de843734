"""YAML text -> plain data in which every value knows its line and column. Stricter than YAML where YAML surprises.

Bounded: bytes, depth and number of values. Words are read as YAML 1.2 reads them (`no` is text, `010` is no octal).
"""

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from .mistake import ConfigError, Mistake, Place

MOST_BYTES = 4 << 20
MOST_DEPTH = 32
MOST_VALUES = 100_000

Loc = tuple[str | int, ...]
"""A key: `("overrides", 0, "nodes")`."""
Mark = tuple[int, int]
"""Line and column, from 0."""

_NOTHING: Any = object()
_NULLS = ("", "~", "null", "Null", "NULL")
_WORDS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?([eE][-+]?[0-9]{1,3})?")
_UNPRINTABLE = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_TAB = re.compile(r"^ *(?=\t)", re.MULTILINE)

_LEAST = "the least is two lines: version: 1, and cluster: {name: NAME, nodes: NODES}"
_QUOTE = "put quotes around the value"
_CLOSE = "close it, or put quotes around a value with [ ] { } or ,"
_UNCLOSED = ("the quotes that open here are not closed", "close them on this line")
_ALIGN = "align it with the keys that it belongs to"
_SYNTAX = (
    ("expected ',' or '}'", "{ is not closed", _CLOSE),
    ("expected ',' or ']'", "[ is not closed", _CLOSE),
    ("unexpected end of stream", *_UNCLOSED),
    ("found character that cannot start any token", "a value cannot begin like this", _QUOTE),
    ("did not find expected alphabetic", "* and & have a meaning in YAML", _QUOTE),
    ("did not find expected comment", "> and | begin a block of text in YAML", _QUOTE),
    ("did not find expected node content", "a value is expected here", _QUOTE),
    ("block sequence entries are not allowed", "a list item cannot stand here", "begin the list on the next line"),
)
"""libyaml's words, what they mean, and what mostly helps."""


class Marks(NamedTuple):
    """Of a key (or list item) and of its value."""

    key: Mark
    value: Mark


class Document(NamedTuple):
    file: str
    lines: Sequence[str]
    data: dict[str, Any]
    marks: dict[Loc, Marks]
    mistakes: list[Mistake]
    """What could be stepped over; the data lacks those values."""

    def place(self, loc: Loc, key: bool = False) -> Place:
        """Where the value (or the key) stands; for one that is not there, where the nearest around it does."""
        while loc and loc not in self.marks:
            loc, key = loc[:-1], True
        marks = self.marks[loc]
        return _place(self.file, self.lines, marks.key if key else marks.value)


def dotted(loc: Loc) -> str:
    """`overrides[0].nodes`"""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")


def read(path: Path) -> bytes:
    """The bytes of a config file. Raises ConfigError; a file that is too large is not read."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(MOST_BYTES + 1) if size <= MOST_BYTES else b""
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        hint = _missing(path) if isinstance(error, FileNotFoundError) else None
        raise ConfigError([Mistake(f"{path}: {reason[:1].lower()}{reason[1:]}", hint=hint)]) from None
    if max(size, len(data)) > MOST_BYTES:
        raise ConfigError([Mistake(f"{path}: more than {MOST_BYTES >> 20}MiB: this is no config")])
    return data


def _missing(path: Path) -> str:
    """What to do about a file that is not there; no command makes its folder."""
    if path.parent.is_dir():
        return f"`brctl config init {shlex.quote(str(path))}` writes one that fits this host"
    return f"there is no folder {path.parent}"


def parse(data: bytes, file: str) -> Document:
    """The document in `data`; `file` is its name in messages. Raises ConfigError for what is no YAML mapping."""
    text = _decode(data, file)
    lines = text.splitlines() or [""]
    builder = _Builder(Document(file, lines, {}, {}, []), yaml.parse(text, Loader=yaml.CSafeLoader))
    try:
        return builder.document()
    except yaml.MarkedYAMLError as error:
        quote = _open_quote(text, error)
        wrong = Mistake(_UNCLOSED[0], _place(file, lines, quote), hint=_UNCLOSED[1]) if quote else None
        raise ConfigError([*builder.result.mistakes, wrong or _syntax(error, file, lines)]) from None


def missing_colon(text: str) -> str:
    """What to write instead of `count 8` or `count:8`."""
    word = re.match(r"[\w.-]+(?=\s)", text)
    return f"a colon is missing after {word.group()!r}?" if word else "write `key: value`, with a space after the colon"


def _open_quote(text: str, error: yaml.MarkedYAMLError) -> Mark | None:
    """Where quotes open that another line's first quote closed, so that the rest of that line makes no sense."""
    found = None
    try:
        for token in yaml.scan(text, Loader=yaml.CSafeLoader):
            quoted = isinstance(token, yaml.ScalarToken) and token.style in ("'", '"')
            if quoted and error.problem_mark and token.start_mark.line < token.end_mark.line == error.problem_mark.line:
                found = _mark(token)
    except yaml.MarkedYAMLError:
        pass
    return found


def _place(file: str, lines: Sequence[str], mark: Mark) -> Place:
    line = min(mark[0], len(lines) - 1)
    return Place(file, line + 1, min(mark[1], len(lines[line])) + 1, lines[line])


def _decode(data: bytes, file: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8-sig", "replace")
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise ConfigError([_stray(message, text, text.index("\ufffd"), file, "save the file as UTF-8")]) from None
    wrong, tab = _UNPRINTABLE.search(text), _TAB.search(text)
    if wrong:
        message = f"unprintable character U+{ord(wrong.group()):04X}"
        raise ConfigError([_stray(message, text, wrong.start(), file, "remove it")])
    if tab:
        message = "a tab in the indentation"
        raise ConfigError([_stray(message, text, tab.end(), file, "YAML indents with spaces alone")])
    return text


def _stray(message: str, text: str, offset: int, file: str, hint: str) -> Mistake:
    before = (text[:offset] + "x").splitlines()  # "x": the place begins no line of its own
    mark = (len(before) - 1, len(before[-1]) - 1)
    return Mistake(message, _place(file, text.splitlines(), mark), hint=hint)


def _syntax(error: yaml.MarkedYAMLError, file: str, lines: Sequence[str]) -> Mistake:
    problem = error.problem or "no YAML"
    mark = error.problem_mark or error.context_mark
    place = _place(file, lines, (mark.line, mark.column) if mark else (0, 0))
    if "expected ','" in problem and place.text[place.column - 1 :].startswith("["):
        return Mistake("[ within { } begins a list", place, hint='put quotes around a node set: "gpu[001-128]"')
    if error.context_mark and ("while scanning" in str(error.context) or "expected ','" in problem):
        mark = error.context_mark  # where it was opened helps more than where it did not end
    at = (mark.line, mark.column) if mark else (0, 0)
    if "mapping values are not allowed" in problem or "find expected key" in problem:
        return _misplaced_key(at, file, lines, "find expected key" in problem)
    if "find expected ':'" in problem:
        return Mistake("no ': ' after the key", _place(file, lines, at), hint=missing_colon(lines[at[0]][at[1] :]))
    first = next(i for i, line in enumerate(lines) if _written(line))
    if "expected <document start>" in problem and _indent(lines[first]):
        return Mistake(
            "the first key is indented", _place(file, lines, (first, 0)), hint=f"align it with line {at[0] + 1}"
        )
    if "expected '-' indicator" in problem:
        return Mistake("the indentation fits no line above", _place(file, lines, at), hint=_ALIGN)
    known = (entry[1:] for entry in _SYNTAX if entry[0] in problem)
    message, hint = next(known, (problem, None))
    return Mistake(message, _place(file, lines, at), hint=hint)


def _misplaced_key(at: Mark, file: str, lines: Sequence[str], behind: bool) -> Mistake:
    """A key where none can be: behind a value on its line or on the line above, or out of line with all above."""
    if re.search(r":\s", lines[at[0]][: at[1]]):
        place = _place(file, lines, at)
        if behind:
            return Mistake(
                "the value ends before this", place, hint="put quotes around the whole value, and none in it"
            )
        return Mistake("a second ': ' on the line", place, hint="put quotes around a value with ': ' in it")
    above = next((i for i in range(at[0] - 1, -1, -1) if _written(lines[i])), 0)
    indents = [_indent(lines[i]) for i in (above, at[0])]
    if not re.search(r":(\s|$)", lines[above]) and indents[0] == indents[1]:
        place = _place(file, lines, (above, indents[0]))
        return Mistake("no ': ' after the key", place, hint=missing_colon(lines[above].strip()))
    place = _place(file, lines, (at[0], indents[1]))
    if indents[1] <= indents[0]:
        odd = _indented_too_far(lines, at[0])
        if odd is None:
            return Mistake("the indentation fits no line above", place, hint=_ALIGN)
        place = _place(file, lines, (odd, _indent(lines[odd])))
        return Mistake("the key is indented too far", place, hint=f"align it with line {at[0] + 1}")
    return Mistake(
        "the key is indented too far", place, hint=f"line {above + 1} already has a value: align it with that"
    )


def _indented_too_far(lines: Sequence[str], at: int) -> int | None:
    """The one line above that is odd, where the line `at` is as far indented as others of the file are."""
    indent = _indent(lines[at])
    around = [i for i in range(at) if _written(lines[i])]
    owner = max((i for i in around if _indent(lines[i]) < indent), default=None)
    if owner is None:
        return None
    block = [i for i in around if i > owner]
    first = [i for i in block if _indent(lines[i]) == _indent(lines[block[0]])]
    written = [i for i, line in enumerate(lines) if _written(line) and i not in (block[0], at)]
    steps = Counter(_indent(lines[b]) - _indent(lines[a]) for a, b in pairwise(written))
    here, there = (_indent(lines[i]) - _indent(lines[owner]) for i in (at, first[0]))
    return first[0] if len(first) == 1 and (steps[here], here == 2) > (steps[there], there == 2) else None


def _written(line: str) -> bool:
    return bool(line.split("#")[0].strip())


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _mark(event: Any) -> Mark:
    return event.start_mark.line, event.start_mark.column


class _Builder:
    """Builds plain data from the parser's events."""

    def __init__(self, result: Document, events: Iterator[Any]) -> None:
        self.result = result
        self.events = events
        self.values = 0

    def refuse(self, message: str, loc: Loc, mark: Mark, hint: str | None = None, fatal: bool = False) -> Any:
        """Note what is wrong at a place, and give up if it is fatal."""
        place = _place(self.result.file, self.result.lines, mark)
        self.result.mistakes.append(Mistake(message, place, dotted(loc), hint))
        if fatal:
            raise ConfigError(self.result.mistakes)
        return _NOTHING

    def document(self) -> Document:
        starts = (yaml.StreamStartEvent, yaml.DocumentStartEvent)
        event = next(event for event in self.events if not isinstance(event, starts))
        self.result.marks[()] = Marks(_mark(event), _mark(event))
        if isinstance(event, yaml.StreamEndEvent) or (isinstance(event, yaml.ScalarEvent) and event.value in _NULLS):
            hint = f"`brctl config init --force {shlex.quote(self.result.file)}` writes one that fits this host over it"
            self.refuse("the file is empty", (), _mark(event), hint, fatal=True)
        if not isinstance(event, yaml.MappingStartEvent):
            hint = missing_colon(event.value) if re.match(r"\w+ \S+( |$)", getattr(event, "value", "")) else _LEAST
            self.refuse("a config is `key: value` lines", (), _mark(event), hint, fatal=True)
        data = self.value(event, ())
        next(self.events)
        event = next(self.events)
        if not isinstance(event, yaml.StreamEndEvent):
            hint = "a config is one document: remove the `---`"
            self.refuse("a second document begins", (), _mark(event), hint, fatal=True)
        return self.result._replace(data={} if data is _NOTHING else data)

    def value(self, event: Any, loc: Loc) -> Any:
        """The value that begins with `event`, all its events consumed; _NOTHING for one that was refused."""
        self.values += 1
        mark = _mark(event)
        if self.values > MOST_VALUES or len(loc) > MOST_DEPTH:
            limit = f"{MOST_VALUES} values" if self.values > MOST_VALUES else f"{MOST_DEPTH} levels"
            self.refuse(f"more than {limit}: this is no config", loc, mark, fatal=True)
        if isinstance(event, yaml.AliasEvent):
            return self.refuse("YAML aliases are not read", loc, mark, "write the value out, or put quotes around it")
        if isinstance(event, yaml.MappingStartEvent):
            value: Any = self.mapping(loc)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self.sequence(loc)
        else:
            value = self.scalar(event)
        if event.tag is not None:
            return self.refuse(f"YAML tags are not read: {event.tag}", loc, mark, "remove it, or quote the value")
        if value is None:
            hint = "give it a value, or comment it out; if the lines below belong to it, indent them further"
            if loc and re.search(r"[\s:]", str(loc[-1])):
                hint = missing_colon(str(loc[-1]))
            return self.refuse("no value", loc, self.result.marks[loc].key if loc in self.result.marks else mark, hint)
        return value

    def mapping(self, loc: Loc) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key, start = self.key(event, loc), _mark(event)
            event = next(self.events)
            at = (*loc, key or "")
            if key is None:
                self.value(event, (*at, "?"))
            elif at in self.result.marks:
                line = self.result.marks[at].key[0] + 1
                self.refuse("duplicate key", at, start, f"it stands on line {line} too")
                self.value(event, (*at, "?"))
            else:
                self.result.marks[at] = Marks(start, _mark(event))
                value = self.value(event, at)
                if value is not _NOTHING:
                    result[key] = value
        return result

    def key(self, event: Any, loc: Loc) -> str | None:
        """The text of a key; None for one that was refused."""
        plain = isinstance(event, yaml.ScalarEvent) and event.tag is None
        key = self.scalar(event) if plain else self.value(event, (*loc, "?"))
        if plain and isinstance(key, str):
            return key
        hint = f'put quotes around it: "{event.value}"' if plain and event.value else None
        self.refuse("a key must be text", loc, _mark(event), hint)
        return None

    def sequence(self, loc: Loc) -> list[Any]:
        result: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            at = (*loc, len(result))
            self.result.marks[at] = Marks(_mark(event), _mark(event))
            value = self.value(event, at)
            if value is not _NOTHING:
                result.append(value)
        return result

    def scalar(self, event: Any) -> str | int | float | bool | None:
        """What a scalar stands for; a quoted one is always text."""
        text: str = event.value
        if not event.implicit[0] or event.style:
            return text
        if text in _NULLS:
            return None
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            return int(text)
        return float(text) if _NUMBER.fullmatch(text) else text
