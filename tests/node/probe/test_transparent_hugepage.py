from typing import Any

import pytest

from brctl.node.probe.transparent_hugepage import PATH, parse, read


def test_the_chosen_one(machine: Any) -> None:
    assert read(machine({PATH: "always [madvise] never\n"})) == "madvise"
    assert read(machine({})) is None
    with pytest.raises(ValueError, match="none of 'always' is chosen"):
        parse("always\n")
