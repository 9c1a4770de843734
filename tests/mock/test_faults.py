import pytest

from brctl.mock.faults import Fault, UnknownFaultError, idle, parse


def test_faults_are_parsed_in_order() -> None:
    assert parse("gpu3-lost+gpu12-hang@5+no-driver") == (
        Fault("lost", 3, 0, "gpu3-lost"),
        Fault("hang", 12, 5, "gpu12-hang@5"),
        Fault("no-driver", None, 0, "no-driver"),
    )
    assert parse("") == ()


def test_a_fault_of_a_gpu_that_is_not_named_is_of_the_first() -> None:
    assert parse("lost@2") == (Fault("lost", 0, 2, "lost@2"),)


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("gpu3-lots", "gpu3-lost"),
        ("gpu3-hung@4", "gpu3-hang"),
        ("nodriver", "no-driver"),
        ("gpu3-no-library", "no-library"),
        ("no-driver@3", "no-driver"),
        ("gpu3-lost@", "gpu3-lost"),
        ("gpu3-lost@x", "gpu3-lost"),
        ("gpu99999-lost", "gpu99999-lost"),
    ],
)
def test_an_unknown_fault_names_the_nearest(text: str, nearest: str) -> None:
    with pytest.raises(UnknownFaultError) as caught:
        parse("gpu1-lost+" + text)
    assert caught.value.nearest == nearest
    assert str(caught.value) == "unknown fault {!r}; nearest: {!r}".format(text, nearest)


def test_an_empty_fault_is_unknown() -> None:
    with pytest.raises(UnknownFaultError):
        parse("gpu3-lost+")


def test_faults_that_find_nothing_to_act_on() -> None:
    faults = parse("gpu7-lost+gpu8-lost+no-library")
    assert [fault.text for fault in idle(faults, 8)] == ["gpu8-lost"]
    assert idle(faults, 0) == faults
