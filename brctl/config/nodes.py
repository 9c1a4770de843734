"""Node sets as ClusterShell writes them, with bounds, and with no groups but those of the config."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException
from ClusterShell.NodeUtils import GroupResolver, GroupSource

MOST_NODES = 16384
MOST_CHARACTERS = 1 << 16
MOST_LOOKUPS = 64  # each may be as long as the cluster
LONGEST = 253  # of a name, as in DNS
ALL = "all"
"""The group that every cluster has: all of its nodes."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TOKEN = re.compile(r"([0-9]*)\[([^\]]*\]?)|[,!&^]")
_RANGE = re.compile(r" *([0-9]{1,18})(?:-([0-9]{1,18})(?:/[0-9]{1,9})?)? *")
_BRACKETS = re.compile(r"\[[^\]]*\]")
_OPERATOR = re.compile(r"[,!&^]")
_LOOKUP = re.compile(r"[@*?]")
_GROUP = re.compile(r"@([^,!&^\s]*)")


def expand(text: str, groups: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The names in a node set. `groups`: group -> its node set, with `all`; None: groups have no meaning here.

    Raises ValueError for a set that is malformed, empty or too large, or holds what is no node name.
    """
    if len(text) > MOST_CHARACTERS or _bound(text) > MOST_NODES:
        raise ValueError(f"more than {MOST_NODES} nodes")
    if len(_LOOKUP.findall(text)) > MOST_LOOKUPS:
        raise ValueError(f"more than {MOST_LOOKUPS} groups and wildcards")
    if max(map(len, _OPERATOR.split(_BRACKETS.sub("", text)))) > LONGEST:
        raise ValueError(f"a name of more than {LONGEST} characters")
    resolver = RESOLVER_NOGROUP
    if groups is not None:
        _known(text, groups)
        resolver = GroupResolver(GroupSource("config", dict(groups), groups[ALL]))
    try:
        names = tuple(NodeSet(text, resolver=resolver))
    except (NodeSetException, ValueError) as error:
        raise ValueError(f"not a node set: {error}") from None
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no node name: letters, digits, '.', '_' and '-' are allowed")
    if not names:
        raise ValueError("the node set is empty")
    return names


def fold(names: Iterable[str]) -> str:
    """`gpu[001-004]`"""
    return str(NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP))


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word that was probably meant, None where none is near."""
    return next(iter(difflib.get_close_matches(word, list(words), 1)), None)


def _known(text: str, groups: Mapping[str, str]) -> None:
    for name in _GROUP.findall(text):
        if name not in groups and name != "*":
            near = nearest(name, groups)
            raise ValueError(f"no group is called {name!r}" + (f"; did you mean {near!r}?" if near else ""))


def _bound(text: str) -> int:
    """At least as many as the set holds, counted without expanding it: `gpu[1-999999999]` must cost nothing."""
    return sum(_sizes(text))


def _sizes(text: str) -> Iterator[int]:
    size = 1
    for token in _TOKEN.finditer(text):
        if token.group(2) is None:
            yield size
            size = 1
        else:
            size = min(size * _size(*token.groups()), MOST_NODES + 1)
    yield size


def _size(digits: str, ranges: str) -> int:
    """Of `9[1-4,8]`. Digits before the bracket become part of each bound: `9[1-16]` is 91 to 916 to ClusterShell."""
    if not ranges.endswith("]"):
        raise ValueError("not a node set: '[' is not closed")
    bounds = []
    for part in ranges[:-1].split(","):
        match = _RANGE.fullmatch(part)
        if not match:
            raise ValueError(f"not a node set: {part!r} in brackets is no range such as 001-128")
        bounds.append((match.group(1), match.group(2) or match.group(1)))
    if not digits:
        return sum(max(1, int(last) - int(first) + 1) for first, last in bounds)
    numbers = [int(digits[-18:] + bound) for pair in bounds for bound in pair]
    return max(numbers) - min(numbers) + 1
