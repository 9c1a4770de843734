from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def grown(well: Inventory, index: int, *links: int, **more: int) -> Inventory:
    """One GPU, some of whose links count so much more."""
    gpus = list(well.gpus or ())
    health = gpus[index].health
    assert health
    errors = [
        link._replace(**{name: getattr(link, name) + amount for name, amount in more.items()})
        if link.link_index in links
        else link
        for link in health.link_errors or ()
    ]
    gpus[index] = gpus[index]._replace(health=health._replace(link_errors=tuple(errors)))
    return well._replace(gpus=tuple(gpus))


def test_totals_of_a_long_life_say_nothing(well: Inventory, examine: Examine, later: Any) -> None:
    (found,) = examine(later(well, 0.1), before=well)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs: NVLinks with no more errors than are normal")


@pytest.mark.parametrize(
    ("more", "seconds", "status", "words"),
    [
        ({"crc_errors": 99}, 0.1, Status.PASS, ""),
        ({"crc_errors": 100}, 0.1, Status.WARN, "has CRC errors"),
        ({"crc_errors": 499}, 5, Status.PASS, ""),
        ({"crc_errors": 500}, 5, Status.WARN, "has CRC errors"),
        ({"replays": 1}, 0.1, Status.WARN, "sends packets again"),
        ({"replays": 9}, 600, Status.PASS, ""),
        ({"replays": 10}, 600, Status.WARN, "sends packets again"),
        ({"recoveries": 1}, 600, Status.CRIT, "was trained anew"),
    ],
)
def test_growth(
    well: Inventory, examine: Examine, later: Any, more: Any, seconds: float, status: Status, words: str
) -> None:
    (found,) = examine(later(grown(well, 3, 7, **more), seconds), before=well)
    assert found.status is status
    if words:
        assert found.summary == "GPU 3: NVLink 7 " + words


def test_several_links(well: Inventory, examine: Examine, later: Any) -> None:
    (found,) = examine(later(grown(well, 3, *range(18), crc_errors=900), 1), before=well)
    assert found.summary == "GPU 3: 18 NVLinks: each has CRC errors"
    assert [item.what for item in found.evidence] == ["link 0", "link 1", "link 2", "link 3"]


def test_one_look_and_no_links(well: Inventory, dgx: Inventory, examine: Examine) -> None:
    for seen in (well, dgx):
        (found,) = examine(seen)
        assert (found.status, found.summary) == (Status.NA, "no GPU tells at what rate its NVLinks make errors")
