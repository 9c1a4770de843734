"""What pydantic found, in our words: what is wrong, and what to do about it."""

import re
from collections.abc import Sequence
from typing import Any

from . import reference, types
from .mistake import Mistake
from .models import Hardware
from .nodes import nearest
from .source import Document, Loc, dotted, missing_colon
from .units import shown


def mistakes(errors: Sequence[Any], document: Document) -> list[Mistake]:
    """In our words. What is missing because it was refused or misspelt is told once."""
    told = {mistake.path for mistake in document.mistakes}
    unknown = [error["loc"] for error in errors if error["type"] == "extra_forbidden"]
    told |= {dotted(near) for near in map(reference.meant, unknown) if near}
    return [_mistake(error, document) for error in errors if dotted(error["loc"]) not in told]


def _mistake(error: Any, document: Document) -> Mistake:
    loc: Loc = tuple(part for part in error["loc"] if part != "[key]")
    message, hint = _words(error["type"], error, loc)
    at_key = error["type"] == "extra_forbidden" or loc != error["loc"]
    return Mistake(message, document.place(loc, at_key), dotted(loc), hint)


_TYPES = {
    "int_type": ("a whole number is expected", None),
    "float_type": ("a number is expected", None),
    "finite_number": ("a number is expected", None),
    "bool_type": ("true or false is expected", "yes, no, on and off are text in YAML 1.2"),
    "string_type": ("text is expected", "put quotes around it"),
    "tuple_type": ("a list is expected", "write [A, B], or a line `- A` for each"),
    "dict_type": ("`key: value` lines are expected", "indent its keys below it"),
    "model_type": ("`key: value` lines are expected", "indent its keys below it"),
}
"""pydantic's errors about a type: what they mean, and what mostly helps."""


def _words(kind: str, error: Any, loc: Loc) -> tuple[str, str | None]:
    """What is wrong, and what to do about it."""
    value, about = error["input"], reference.lookup(loc)
    if kind == "value_error":
        return str(error["ctx"]["error"]), getattr(error["ctx"]["error"], "hint", None)
    if kind == "extra_forbidden":
        return "unknown key", _ungrouped(loc, value) or reference.instead(loc)
    if kind in _TYPES:
        expected, hint = _TYPES[kind]
        elsewhere = reference.misplaced(loc) if kind == "model_type" else None
        better = elsewhere or (about and _rewritten(kind, value, loc, about))
        return f"{expected}, not {shown(value)}", better or hint or (about and about.kind)
    if about is None or loc != error["loc"]:
        return f"{loc[-1]!r} is no name", "a name is of letters, digits, '.', '_' and '-'"
    if kind == "missing":
        return "missing", about.meaning
    if kind == "literal_error":
        near = nearest(str(value), about.kind.split(" | "))
        hint = "without quotes" if near == value else f"did you mean {near!r}?" if near else None
        return f"{shown(value)} is {'none of' if '|' in about.kind else 'not'} {about.kind.replace(' | ', ', ')}", hint
    if kind == "too_long":
        return f"{len(value)} are too many", f"the most is {error['ctx']['max_length']}"
    if kind in ("greater_than_equal", "less_than_equal"):
        return f"{shown(value)} is out of range", about.kind
    return f"{shown(value)} is no {about.kind}", about.example and f"for example {about.example}"


def _rewritten(kind: str, value: Any, loc: Loc, about: reference.Explanation) -> str | None:
    """What to write instead of a value of another type, where the value tells that."""
    if kind == "string_type" and isinstance(value, (list, dict)):
        joined = isinstance(value, list) and about.kind in (types.NODES, types.GLOB, types.VERSIONS)
        return f'write "{",".join(map(str, value))}"' if joined else about.kind
    if kind == "model_type" and isinstance(value, str) and re.split(r"[\s:]", value)[0] in about.keys:
        return missing_colon(value)
    keys = [reference.lookup((*loc, key)) for key in about.keys]
    needed = [key.key.rpartition(".")[2] for key in keys if key and key.required]
    lone = kind == "model_type" and isinstance(value, str) and len(needed) == 1
    return f'write {{{needed[0]}: "{value}"}}' if lone else None


def _ungrouped(loc: Loc, value: Any) -> str | None:
    """About a group under the hardware of an override, which has its nodes already."""
    if loc[0] != "overrides" or loc[2:-1] != ("hardware",) or not isinstance(value, dict):
        return None
    return "leave the group out: `nodes` says which are meant" if {*value} & {*Hardware.model_fields} else None
