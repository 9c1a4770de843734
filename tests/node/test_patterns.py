import pytest

from brctl.node.patterns import fits, words


@pytest.mark.parametrize(
    ("value", "patterns", "verdict"),
    [
        ("96.00.99.00.01", "96.00.99.*,96.00.89.*", True),
        ("96.00.89.00.01", "96.00.99.*, 96.00.89.*", True),
        ("96.00.74.00.01", "96.00.99.*,96.00.89.*", False),
        ("NVIDIA H200", "NVIDIA H100 80GB HBM3,NVIDIA H200", True),
        ("NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3,NVIDIA H200", False),
        ("Board [rev 2]", "Board [rev 2]", True),
        ("Board [rev 2]", "Other, Board [rev 2]", True),
        ("Board r", "Board [rev 2]", True),  # as a pattern
        ("One, Two", "One, Two", True),
        ("ens1np0", "ens*np?", True),
        ("ENS1NP0", "ens*", False),
    ],
)
def test_names_and_patterns_with_commas_between_them(value: str, patterns: str, verdict: bool) -> None:
    assert fits(value, patterns) is verdict


def test_words() -> None:
    assert words(" ens*np*,bond0 , eno1") == ("ens*np*", "bond0", "eno1")
