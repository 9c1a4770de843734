"""Reads and edits an owner's files. Texts are bytes as latin-1, as in a Write: nothing of an operator's lines is lost.
An edit changes one line, or adds it; all others, comments too, stay as they are. Lines end at newlines alone, where
`str.splitlines` would also cut within the UTF-8 of many letters."""

from typing import Dict, List, Optional, Sequence

from ...host import Host
from ..ini import BLANKS, Entry, parse


def read(host: Host, path: str) -> str:
    """Empty where there is no such file. Raises OSError."""
    return (host.read_bytes(path) or b"").decode("latin-1")


def state(host: Host, path: str, before: str = "") -> Dict[str, str]:
    """`KEY=VALUE` lines as text, without the prefix `before`; empty where there is no such file. Raises OSError."""
    lines = (host.read(path) or "").split("\n")
    pairs = (line[len(before) :].partition("=") for line in lines if line.startswith(before))
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def lines(text: str) -> List[str]:
    """Without their ends; `joined` makes a text of them again."""
    found = text.split("\n")
    return found if found[-1] else found[:-1]


def joined(lines: Sequence[str]) -> str:
    """The last one has an end too, whether it had one or not."""
    return "".join(line + "\n" for line in lines)


def last(text: str, section: str, option: str) -> Optional[Entry]:
    """The one that counts, its value without quotes."""
    found = [entry for entry in parse(text) if (entry.section, entry.option) == (section, option)]
    return found[-1]._replace(value=found[-1].value.strip("\"'")) if found else None


def put(text: str, section: str, option: str, value: str) -> str:
    """With this value: in the line that has another, else at the end of the section, else in a new one."""
    old, new = lines(text), "{}={}".format(option, value)
    there, at = last(text, section, option), _end_of(old, section)
    if there:
        old[there.line - 1] = new
    elif at is None:
        old += [*([""] if old else []), "[{}]".format(section), new]
    else:
        old.insert(at, new)
    return joined(old)


def _end_of(lines: Sequence[str], section: str) -> Optional[int]:
    """The place after the last line of a section that is not blank; None: there is no such section."""
    inside, at = not section, None if section else 0
    for number, line in enumerate(lines, 1):
        plain = line.strip(BLANKS)
        if plain.startswith("[") and plain.endswith("]"):
            inside = plain[1:-1].strip(BLANKS) == section
        if inside and plain:
            at = number
    return at
