import pytest

from brctl.node.report import Subject
from brctl.node.siblings import Comparison, Group, compare, median

A, B, C, D = (Subject("gpu", name, name) for name in "ABCD")


@pytest.mark.parametrize("values", [[], [(A, 1)]])
def test_fewer_than_two_have_nothing_to_compare(values: "list[tuple[Subject, int]]") -> None:
    assert compare(values) is None


def test_all_agree() -> None:
    assert compare([(A, 1), (B, 1)]) == Comparison(Group(1, (A, B)), ())


def test_a_strict_majority_makes_the_others_odd() -> None:
    assert compare([(A, 2), (B, 1), (C, 1)]) == Comparison(Group(1, (B, C)), (Group(2, (A,)),))


def test_every_odd_value_is_a_group_the_largest_first() -> None:
    values = [(Subject("gpu", str(number), ""), value) for number, value in enumerate("aaaaabccddd")]
    found = compare([*values, (A, "a"), (B, "a")])
    assert found
    assert found.common
    assert (found.common.value, len(found.common.subjects)) == ("a", 7)
    assert [group.value for group in found.others] == ["d", "c", "b"]


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ([(A, 1), (B, 2)], (Group(1, (A,)), Group(2, (B,)))),
        ([(A, 2), (B, 1), (C, 1), (D, 2)], (Group(2, (A, D)), Group(1, (B, C)))),
        ([(A, 2), (B, 1), (C, 1), (D, 3)], (Group(1, (B, C)), Group(2, (A,)), Group(3, (D,)))),
    ],
)
def test_half_is_no_majority(values: "list[tuple[Subject, int]]", groups: "tuple[Group, ...]") -> None:
    assert compare(values) == Comparison(None, groups)


def test_the_median() -> None:
    assert median([3, 1, 2]) == 2
    assert median(iter([4, 1, 2, 3])) == 2.5
    assert median([7]) == 7
