"""The pages of `tune explain`."""

import re

import pytest

from brctl.node.tune import engine
from brctl.node.tune.manual import BY_HAND, Page, pages


def test_every_setting_has_a_page_and_then_come_those_by_hand() -> None:
    found = pages(engine.registry())
    by_hand = ["gpu-modes", "acs", "pfc", "rings", "irq-affinity", "pcie-read-size"]
    assert [page.id for page in found] == [*(setting.id for setting in engine.registry()), *by_hand]
    (sysctl,) = (page for page in found if page.id == "sysctl")
    assert sysctl.keys == ("sysctl", "numa_balancing")
    assert sysctl.text.startswith("Kernel parameters: those of `tune.sysctl`")


@pytest.mark.parametrize("page", BY_HAND, ids=lambda page: page.id)
def test_what_is_set_by_hand_comes_with_its_commands_and_the_reason(page: Page) -> None:
    paragraphs = page.text.split("\n\n")
    assert sum(paragraph.startswith("    ") for paragraph in paragraphs) >= 2  # to see it, and to set it
    assert "brctl does not write it" in paragraphs[-1]
    assert re.search("boot|cannot be put back|reboot", page.text)
    assert (page.keys, page.title[-9:]) == ((), ", by hand")
