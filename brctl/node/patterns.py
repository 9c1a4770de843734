"""Names as the config and the command line write several: `ens*np*, bond0`."""

from fnmatch import fnmatchcase
from typing import Tuple


def words(patterns: str) -> Tuple[str, ...]:
    """Those of `ens*np*, bond0`."""
    return tuple(word.strip() for word in patterns.split(","))


def fits(value: str, patterns: str) -> bool:
    """Whether a value is one of these names or shell patterns, comma between them; brackets in a name are no harm."""
    return value == patterns or any(value == word or fnmatchcase(value, word) for word in words(patterns))
