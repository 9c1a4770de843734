"""Names: as the config writes several (`ens*np*, bond0`), and in the order in which people count."""

import re
from fnmatch import fnmatchcase
from typing import List, Tuple

_NUMBER = re.compile("([0-9]+)")


def words(patterns: str) -> Tuple[str, ...]:
    """Those of `ens*np*, bond0`."""
    return tuple(word.strip() for word in patterns.split(","))


def fits(value: str, patterns: str) -> bool:
    """Whether a value is one of these names or shell patterns, comma between them; brackets in a name are no harm."""
    return value == patterns or any(value == word or fnmatchcase(value, word) for word in words(patterns))


def natural(name: str) -> List[Tuple[int, str]]:
    """A key that sorts mlx5_2 before mlx5_10."""
    pieces = _NUMBER.split(name)  # every second one is a number
    return [(int(piece), "") if place % 2 else (-1, piece) for place, piece in enumerate(pieces)]
