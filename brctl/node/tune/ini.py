"""Files of sections and `option = value` lines, as systemd, NetworkManager and tuned have them."""

from typing import NamedTuple, Tuple

BLANKS = " \t\r\n\v\f"
"""What surrounds a word. In latin-1 two bytes more are blank to Python, and they stand in the UTF-8 of letters."""


class Entry(NamedTuple):
    section: str
    option: str
    value: str
    """With quotes and all; empty where there is no `=`."""
    line: int


def parse(text: str) -> Tuple[Entry, ...]:
    """All options in the order of the text; one that stands twice comes twice. What is none is left out."""
    entries, section = [], ""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip(BLANKS)
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip(BLANKS)
        elif line and line[0] not in "#;":
            option, _, value = line.partition("=")
            entries.append(Entry(section, option.strip(BLANKS), value.strip(BLANKS), number))
    return tuple(entries)
