import re
from pathlib import Path
from typing import Any

import pytest

from brctl.mock.faults import KINDS, UnknownFaultError, parse, spelling


def parsed(text: str) -> Any:
    return [(fault.kind.name, fault.number, fault.after, fault.function) for fault in parse(text)]


def test_faults_are_parsed_in_order() -> None:
    assert parsed("gpu3-lost+gpu12-hang@5+no-driver+nic1-down+numa-balancing@2") == [
        ("lost", 3, 0, ""),
        ("hang", 12, 5, ""),
        ("no-driver", 0, 0, ""),
        ("down", 1, 0, ""),
        ("numa-balancing", 0, 2, ""),
    ]
    assert [fault.text for fault in parse("lost+gpu1-xid-79@5")] == ["lost", "gpu1-xid-79@5"]
    assert parse("") == ()


def test_without_a_number_it_is_the_first() -> None:
    assert parsed("lost@2+pfc-storm") == [("lost", 0, 2, ""), ("pfc-storm", 0, 0, "")]


def test_a_function_that_is_not_supported() -> None:
    assert parsed("gpu2-unsupported:nvmlDeviceGetFanSpeed_v2@3") == [("unsupported", 2, 3, "nvmlDeviceGetFanSpeed_v2")]


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("gpu3-lots", "gpu3-lost"),
        ("gpu3-hung@4", "gpu3-hang"),
        ("termal", "thermal"),
        ("nic3-dwn", "nic3-down"),
        ("nic3-lost", "nic3-congested"),
        ("gpu3-down", "gpu3-link-down"),
        ("nodriver", "no-driver"),
        ("gpu3-no-library", "no-library"),
        ("no-driver@3", "no-driver"),
        ("gpu3-lost@", "gpu3-lost"),
        ("gpu3-lost@x", "gpu3-lost"),
        ("gpu99999-lost", "lost"),
        ("gpu3-lost:nvmlDeviceGetName", "gpu3-lost"),
        ("gpu3-unsupported", "gpu3-unsupported:nvmlDeviceGetName"),
        ("gpu3-unsupported:nvmlDeviceGetUUIDs", "gpu3-unsupported:nvmlDeviceGetUUID"),
        ("gpu3-unsuported:nvmlDeviceGetUUID@4", "gpu3-unsupported:nvmlDeviceGetUUID"),
    ],
)
def test_an_unknown_fault_names_the_nearest(text: str, nearest: str) -> None:
    with pytest.raises(UnknownFaultError) as caught:
        parse("gpu1-lost+" + text)
    assert caught.value.near[0] == nearest
    assert str(caught.value) == "unknown fault {!r}; nearest: {!r}".format(text, nearest)


def test_an_empty_fault_is_unknown() -> None:
    with pytest.raises(UnknownFaultError):
        parse("gpu3-lost+")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_is_written_as_it_is_spelled(kind: Any) -> None:
    text = re.sub(r"\[(...)N-\]", r"\g<1>4-", spelling(kind)).replace("FUNCTION", "nvmlDeviceGetName")
    (fault,) = parse(text)
    assert fault.kind is kind
    assert fault.number == (4 if "4-" in text else 0)
    assert kind.says[0].islower() or kind.says[0].isdigit()
    assert not kind.says.endswith(".")


def test_a_few_near_ones_are_named_where_all_are_too_many() -> None:
    with pytest.raises(UnknownFaultError) as caught:
        parse("nic1-dwon")
    assert caught.value.near[0] == "nic1-down"
    assert len(caught.value.near) <= 3
    page = (Path(__file__).parents[2] / "docs/mock.md").read_text()
    assert all("| `{}` |".format(spelling(kind)) in page for kind in KINDS)


def test_names_are_of_one_kind_each() -> None:
    names = [kind.name for kind in KINDS]
    assert len(set(names)) == len(names)
    assert {kind.of for kind in KINDS} == {"gpu", "nic", "host", "driver"}
