from brctl.node.report import Sample, State
from brctl.node.samples import Group, Samples, grouped, of


def _sample(series: str, label: str) -> Sample:
    return Sample(series, (label,), 1.0, State.MEASURED, 10.0)


FIRST = [_sample("a", "1"), _sample("b", "1"), _sample("a", "2")]
SECOND = [_sample("b", "9")]


def test_groups_are_samples_in_their_order() -> None:
    samples = Samples((Group(FIRST), Group(()), Group(SECOND)))
    assert samples == (*FIRST, *SECOND)
    assert [tuple(group) for group in grouped(samples)] == [tuple(FIRST), (), tuple(SECOND)]
    assert Samples(()) == ()


def test_those_of_a_series_are_found_in_groups_and_without() -> None:
    for samples in (Samples((Group(FIRST), Group(SECOND))), (*FIRST, *SECOND)):
        assert of(samples, "a") == [FIRST[0], FIRST[2]]
        assert of(samples, "b") == [FIRST[1], SECOND[0]]
        assert of(samples, "c") == []


def test_samples_by_themselves_are_one_group() -> None:
    (group,) = grouped(FIRST)
    assert group == tuple(FIRST)
    assert group.places == {"a": [0, 2], "b": [1]}


def test_groups_are_alike_by_series_and_labels() -> None:
    group = Group(FIRST)
    later = [one._replace(value=2.0) for one in FIRST]
    assert group.alike(Group(later))
    assert group.alike(Group(later, group.places))
    assert not group.alike(Group(FIRST[::-1]))
    assert not group.alike(Group(FIRST[:2]))
    assert not group.alike(Group([FIRST[0], FIRST[1], _sample("a", "3")]))
