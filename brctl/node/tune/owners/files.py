"""Reads and edits an owner's files. Texts are bytes as latin-1, as in a Write: nothing of an operator's lines is lost.
An edit changes one line, or adds it; all others, comments too, stay as they are."""

from typing import Dict, Optional, Sequence

from ...host import Host
from ..ini import Entry, parse


def read(host: Host, path: str) -> str:
    """Empty where there is no such file. Raises OSError."""
    return (host.read_bytes(path) or b"").decode("latin-1")


def state(host: Host, path: str, before: str = "") -> Dict[str, str]:
    """`KEY=VALUE` lines, without the prefix `before`; empty where there is no such file. Raises OSError."""
    lines = (line[len(before) :] for line in read(host, path).splitlines() if line.startswith(before))
    pairs = (line.partition("=") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}


def last(text: str, section: str, option: str) -> Optional[Entry]:
    """The one that counts, its value without quotes."""
    found = [entry for entry in parse(text) if (entry.section, entry.option) == (section, option)]
    return found[-1]._replace(value=found[-1].value.strip("\"'")) if found else None


def put(text: str, section: str, option: str, value: str) -> str:
    """With this value: in the line that has another, else at the end of the section, else in a new one."""
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    new = "{}={}\n".format(option, value)
    there = last(text, section, option)
    if there:
        lines[there.line - 1] = new
        return "".join(lines)
    at = _end_of(lines, section)
    if at is None:
        return "".join([*lines, *(["\n"] if lines else []), "[{}]\n".format(section), new])
    return "".join([*lines[:at], new, *lines[at:]])


def _end_of(lines: Sequence[str], section: str) -> Optional[int]:
    """The place after the last line of a section that is not blank; None: there is no such section."""
    inside, at = not section, None if section else 0
    for number, line in enumerate(lines, 1):
        plain = line.strip()
        if plain.startswith("[") and plain.endswith("]"):
            inside = plain[1:-1] == section
        if inside and plain:
            at = number
    return at
