"""Node sets as ClusterShell writes them, with bounds, and with no groups but those of the config."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException
from ClusterShell.NodeUtils import GroupResolver, GroupSource

MOST_NODES = 16384
MOST_CHARACTERS = 1 << 16
MOST_LOOKUPS = 64  # each may be as long as the cluster
MOST_FOLDED = 1000
MOST_WORDS = 256
WILDCARD = 4  # what ClusterShell does to match a node takes so many times as long as to name it
LONGEST = 253  # of a name, as in DNS
ALL = "all"
"""The group that every cluster has: all of its nodes."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TOKEN = re.compile(r"([0-9]*)\[([^\]]*\]?)|[,!&^]")
_RANGE = re.compile(r" *([0-9]{1,18})(?:-([0-9]{1,18})(?:/[0-9]{1,9})?)? *")
_BRACKETS = re.compile(r"\[[^\]]*\]")
_OPERATOR = re.compile(r"[,!&^]")
_LOOKUP = re.compile(r"[@*?]")
_WILDCARD = re.compile(r"[*?]")
_GROUP = re.compile(r"@([^,!&^\s]*)")


class UnknownGroupError(ValueError):
    """The nearest is looked for when somebody reads the message: there may be thousands."""

    def __init__(self, name: str, groups: Iterable[str]) -> None:
        super().__init__(name)
        self.name, self.groups = name, groups

    def __str__(self) -> str:
        near = nearest(self.name, self.groups)
        return f"no group is called {self.name!r}" + (f"; did you mean {near!r}?" if near else "")


def expand(text: str, groups: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The names in a node set. `groups`: group -> its node set, with `all`; None: groups have no meaning here.

    Raises ValueError for a set that is malformed, empty or too large, or holds what is no node name.
    """
    resolver = RESOLVER_NOGROUP
    if groups is None:
        plain(text)
    else:
        _known(bounded(text), groups)
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


def bounded(text: str) -> str:
    """The text. Raises ValueError where it is too much to expand; what else is wrong shows only then."""
    if len(text) > MOST_CHARACTERS or bound(text) > MOST_NODES:
        raise ValueError(f"more than {MOST_NODES} nodes")
    if len(_LOOKUP.findall(text)) > MOST_LOOKUPS:
        raise ValueError(f"more than {MOST_LOOKUPS} groups and wildcards")
    if max(map(len, _OPERATOR.split(_BRACKETS.sub("", text)))) > LONGEST:
        raise ValueError(f"a name of more than {LONGEST} characters")
    return text


def plain(text: str) -> str:
    """Likewise; raises ValueError also for a group or wildcard."""
    if _LOOKUP.search(bounded(text)):
        raise ValueError("a group or wildcard means nothing here: write the nodes themselves")
    return text


def fold(names: Iterable[str]) -> str:
    """`gpu[001-004]`; of very many the first, as it takes its time."""
    every = list(names)
    more = f" and {len(every) - MOST_FOLDED} more" if len(every) > MOST_FOLDED else ""
    return f"{fold_all(every[:MOST_FOLDED])}{more}"


def fold_all(names: Iterable[str]) -> str:
    """Likewise, and nobody is left out: a node set that `expand` reads again."""
    return str(NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP))


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word that was probably meant, None where none is near; of very many words the first are looked at."""
    return next(iter(difflib.get_close_matches(word, list(words)[:MOST_WORDS], 1)), None)


def nearest_or(word: str, words: Iterable[str], otherwise: str) -> str:
    """The hint about a word that is none of those."""
    near = nearest(word, words)
    return f"did you mean {near!r}?" if near else otherwise


def _known(text: str, groups: Mapping[str, str]) -> None:
    for name in _GROUP.findall(text):
        if name not in groups and name != "*":
            raise UnknownGroupError(name, groups)


def bound(text: str, groups: Mapping[str, int] | None = None) -> int:
    """At least as many as the set holds, counted without expanding it: `gpu[1-999999999]` must cost nothing.

    `groups`: how many each holds, with `all`; None: a group or wildcard counts as one.
    """
    count = sum(_sizes(text))
    if groups:
        wildcards = WILDCARD * len(_WILDCARD.findall(text))
        count += sum(groups.get(name, 0) for name in _GROUP.findall(text)) + wildcards * groups[ALL]
    return count


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
