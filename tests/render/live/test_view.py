"""What the keys do."""

import pytest

from brctl.render.live.ink import Cell, Column
from brctl.render.live.items import Item, Section
from brctl.render.live.view import Order, View, arranged, focused, press


def _item(name: str, number: "float | None") -> Item:
    return Item(name, (number, name), f"{name} Of-Ann", lambda: [Cell(name)])


ITEMS = (_item("b", 2.0), _item("a", 1.0), _item("d", None), _item("c", 3.0))
NODES = Section("nodes", "NODES", (Column("N"),), ITEMS, ("number", "name"))
PROCESSES = Section("processes", "P", (Column("N"),), ITEMS[:2], ("number",), frozenset({"number"}),
                    lambda: [ITEMS[3], ITEMS[0]])  # fmt: skip
ALL = (NODES, PROCESSES)


def _press(*keys: str, view: "View | None" = None, refused: str = "") -> View:
    view = view or View()
    for key in keys:
        view = press(view, key, ALL, 2, refused)
    return view


def _names(view: View, section: Section = NODES) -> str:
    return "".join(item.id for item in arranged(view, section))


def test_the_greatest_comes_first_and_what_has_no_value_last() -> None:
    assert _names(View()) == "cbad"
    assert _names(_press("r")) == "abcd"
    assert _names(_press("r", "r")) == "cbad"


def test_names_and_what_is_said_to_ascend_begin_with_the_least() -> None:
    view = _press("s")
    assert view.said == "sorted by name"
    assert _names(view) == "abcd"
    assert _names(_press("s", "r")) == "dcba"
    assert _names(_press("s", "s")) == "cbad"
    assert _names(View(), PROCESSES) == "ab"


def test_a_filter_is_in_force_while_it_is_typed() -> None:
    view = _press("/", "A", "x", "backspace", "up")
    assert (view.typed, view.filter) == ("A", "")
    assert _names(view) == "cbad", "every row has the word"
    view = _press("backspace", "a", " ", "b", view=view)
    assert _names(view) == "b", "rows have all words"
    kept = _press("enter", view=view)
    assert (kept.typed, kept.filter) == (None, "a b")
    assert _names(kept) == "b"
    assert _names(_press("escape", view=kept)) == "cbad"
    assert _press("escape", view=view).filter == ""
    assert _names(_press("/", "z")) == ""


def test_the_cursor_stays_among_the_rows() -> None:
    assert _press("down").cursor == 1
    assert _press("up").cursor == 0
    assert _press("page-down").cursor == 2
    assert _press("page-down", "page-down").cursor == 3
    assert _press("end").cursor == 3
    assert _press("end", "up", "home").cursor == 0
    assert _press("end", "page-up").cursor == 1
    assert press(View(filter="z"), "down", ALL, 2).cursor == 0


def test_tab_goes_round() -> None:
    assert focused(View(), ALL) is NODES
    assert focused(_press("tab"), ALL) is PROCESSES
    assert focused(_press("tab", "tab"), ALL) is NODES
    assert focused(View(focus="gone"), ALL) is NODES
    assert focused(View(), ()) is None


def test_enter_looks_into_the_node_under_the_cursor_and_escape_comes_back() -> None:
    view = _press("s", "down", "enter")
    assert (view.node, view.cursor, view.sorts) == ("b", 0, {"nodes": "name"})
    assert _press("escape", view=view).node is None
    assert _press("tab", "enter").node is None
    assert press(View(filter="z"), "enter", ALL, 2).node is None


def test_pause_help_and_quit() -> None:
    assert _press("p").paused
    assert not _press("p", " ").paused
    assert _press("?").help
    assert _press("h").help
    assert not _press("?", "x").help
    assert not press(View(help=1), "down", ALL, 1).help, "there is no other page"
    assert _press("?", "q").quit
    assert _press("q").quit


def test_a_process_is_asked_about_before_it_gets_a_signal() -> None:
    asked = _press("tab", "down", "k")
    assert asked.asking == "b"
    assert _press("t", view=asked).order == Order("b", "SIGTERM")
    assert _press("K", view=asked).order == Order("b", "SIGKILL")
    assert _press("i", view=asked).order == Order("b", "SIGINT")
    left = _press("y", view=asked)
    assert (left.order, left.asking, left.said) == (None, None, "nothing was sent")
    assert _press("t", "p", view=asked).order is None, "an order is given once"


def test_no_process_is_signalled_where_that_is_refused_or_none_is_chosen() -> None:
    view = _press("tab", "k", refused="--read-only was given")
    assert (view.asking, view.said) == (None, "--read-only was given")
    assert _press("k").said == "Tab to the processes, and choose one"


def test_processes_as_a_tree() -> None:
    view = _press("t")
    assert _names(view, PROCESSES) == "cb"
    assert _names(view._replace(filter="b"), PROCESSES) == "b"
    assert _names(_press("t", "t"), PROCESSES) == "ab"
    assert press(View(), "t", (NODES,), 2).said == "whose children processes are is known of this host alone"


@pytest.mark.parametrize("key", ["s", "tab", "enter", "k", "t", "down", "escape", "x", "\N{GREEK SMALL LETTER ALPHA}"])
def test_keys_for_which_there_is_nothing_do_no_harm(key: str) -> None:
    assert not press(View(), key, (), 1).quit
