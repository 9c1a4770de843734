"""What the one at the keys has chosen: a key and a View -> the next View. Nothing here draws or reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from .items import Item, Section

SIGNALS = {"t": "SIGTERM", "i": "SIGINT", "K": "SIGKILL"}
"""Key -> the signal that it sends, once a process was asked about."""
KEYS = (
    ("q", "quit"),
    ("Tab", "next table"),
    ("up down PgUp PgDn Home End", "move"),
    ("s", "sort by the next column"),
    ("r", "reverse"),
    ("/", "filter by words; Enter keeps it, Esc drops it"),
    ("p Space", "pause"),
    ("Enter", "look into a node"),
    ("Esc", "back"),
    ("t", "processes as a tree"),
    ("k", "signal the process under the cursor (asks)"),
    ("h ?", "this help"),
)


class Order(NamedTuple):
    """A signal that is to be sent."""

    process: str
    """The id of its row."""
    signal: str
    """`SIGTERM`"""


class View(NamedTuple):
    focus: str = ""
    """The Section that the keys move in; empty: the first."""
    node: str | None = None
    """The node that is looked into; None: all of them, or the only one."""
    sorts: Mapping[str, str] = {}  # nobody writes to it
    """By which column, by Section."""
    reverse: bool = False
    filter: str = ""
    typed: str | None = None
    """The filter while it is typed."""
    paused: bool = False
    cursor: int = 0
    """Which row, of those that the filter lets through."""
    tree: bool = False
    help: int = 0
    """Which page of it is shown, from 1; 0: none."""
    asking: str | None = None
    """The id of the process that is to get a signal."""
    order: Order | None = None
    """What is to be done now."""
    said: str = ""
    """An answer to the last key."""
    quit: bool = False


def focused(view: View, sections: Sequence[Section]) -> Section | None:
    """The Section that the keys move in."""
    return next((each for each in sections if each.id == view.focus), sections[0] if sections else None)


def arranged(view: View, section: Section) -> list[Item]:
    """Its rows as they are to be shown: those that the filter lets through, sorted; rows without a value come last."""
    wanted = (view.filter if view.typed is None else view.typed).lower().split()
    as_tree = section.tree() if section.tree and view.tree else None
    items = [item for item in as_tree or section.items if all(word in item.words.lower() for word in wanted)]
    if as_tree:
        return items
    by = view.sorts.get(section.id, section.sorts[0])
    place = section.sorts.index(by) if by in section.sorts else 0
    known = [item for item in items if item.keys[place] is not None]
    descending = bool(known) and not isinstance(known[0].keys[place], str) and by not in section.ascending
    known.sort(key=lambda item: item.keys[place], reverse=descending != view.reverse)  # type: ignore[arg-type,return-value]
    return known + [item for item in items if item.keys[place] is None]


def press(view: View, key: str, sections: Sequence[Section], page: int, refused: str = "") -> View:
    """After a key: a letter, or `up`, `down`, `page-up`, `page-down`, `home`, `end`, `enter`, `escape`, `tab`,
    `backspace`. `page` is how many rows are seen at once, or how many pages the help has; `refused` says why no process
    is signalled, empty where one can be."""
    view = view._replace(said="", order=None)
    if view.typed is not None:
        return _type(view, view.typed, key)
    if view.asking is not None:
        if key in SIGNALS:
            return view._replace(asking=None, order=Order(view.asking, SIGNALS[key]))
        return view._replace(asking=None, said="nothing was sent")
    if view.help:
        turned = (view.help - 1 + _PAGES[key]) % page + 1 if page > 1 and key in _PAGES else 0
        return view._replace(help=turned, quit=key == "q")
    section = focused(view, sections)
    if key in _MOVES and section:
        return _moved(view, key, len(arranged(view, section)), page)
    if key in _PLAIN:
        return _PLAIN[key](view)
    return _chosen(view, key, sections, refused)


def _type(view: View, typed: str, key: str) -> View:
    if key == "enter":
        return view._replace(filter=typed, typed=None, cursor=0)
    if key == "escape":
        return view._replace(filter="", typed=None, cursor=0)
    if key == "backspace":
        return view._replace(typed=typed[:-1], cursor=0)
    return view._replace(typed=typed + key, cursor=0) if len(key) == 1 and key.isprintable() else view


_PAGES = {"down": 1, "page-down": 1, "up": -1, "page-up": -1}
_MOVES = ("up", "down", "page-up", "page-down", "home", "end")
_PLAIN: Mapping[str, Callable[[View], View]] = {
    "q": lambda view: view._replace(quit=True),
    "r": lambda view: view._replace(reverse=not view.reverse),
    "/": lambda view: view._replace(typed=""),
    "p": lambda view: view._replace(paused=not view.paused),
    " ": lambda view: view._replace(paused=not view.paused),
    "h": lambda view: view._replace(help=1),
    "?": lambda view: view._replace(help=1),
}


def _moved(view: View, key: str, rows: int, page: int) -> View:
    steps = {"up": -1, "down": 1, "page-up": -page, "page-down": page, "home": -rows, "end": rows}
    return view._replace(cursor=max(0, min(rows - 1, min(view.cursor, rows - 1) + steps[key])))


def _chosen(view: View, key: str, sections: Sequence[Section], refused: str) -> View:
    section = focused(view, sections)
    if section is None:
        return view
    if key == "tab":
        ids = [each.id for each in sections]
        return view._replace(focus=ids[(ids.index(section.id) + 1) % len(ids)], cursor=0)
    if key == "s":
        by = view.sorts.get(section.id, section.sorts[0])
        after = section.sorts[(section.sorts.index(by) + 1) % len(section.sorts)]
        return view._replace(sorts={**view.sorts, section.id: after}, said=f"sorted by {after}")
    if key == "escape":
        return view._replace(filter="", focus="" if view.node else view.focus, node=None, cursor=0)
    rows = arranged(view, section)
    item = rows[min(view.cursor, len(rows) - 1)] if rows else None
    if key == "enter" and item and section.id == "nodes":
        return View(node=item.id, sorts=view.sorts, paused=view.paused)
    return _of_processes(view, key, sections, item if section.id == "processes" else None, refused)


def _of_processes(view: View, key: str, sections: Sequence[Section], item: Item | None, refused: str) -> View:
    if key == "t":
        if any(section.tree for section in sections):
            return view._replace(tree=not view.tree)
        return view._replace(said="whose children processes are is known of this host alone")
    if key == "k":
        if item is None:
            return view._replace(said="Tab to the processes, and choose one")
        return view._replace(said=refused) if refused else view._replace(asking=item.id)
    return view
