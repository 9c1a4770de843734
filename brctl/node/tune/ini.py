"""Files of sections and `option = value` lines, as systemd, NetworkManager and tuned have them."""

from typing import NamedTuple, Tuple


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
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
        elif line and line[0] not in "#;":
            option, _, value = line.partition("=")
            entries.append(Entry(section, option.strip(), value.strip(), number))
    return tuple(entries)
