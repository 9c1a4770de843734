import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brctl.config import nodes

GROUPS = {"rack": "gpu[2-3]", "a.b-c": "gpu1", "all": "gpu[1-4]"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu[001-003]", ("gpu001", "gpu002", "gpu003")),
        ("b,a", ("a", "b")),
        ("gpu[1-4]!gpu[2-3]", ("gpu1", "gpu4")),
        ("gpu[1-9/4],x", ("gpu1", "gpu5", "gpu9", "x")),
        ("r[1-2]n[1-2].lan", ("r1n1.lan", "r1n2.lan", "r2n1.lan", "r2n2.lan")),
        ("@rack,@a.b-c", ("gpu1", "gpu2", "gpu3")),
        ("@all!@rack", ("gpu1", "gpu4")),
        ("@*", ("gpu1", "gpu2", "gpu3", "gpu4")),
        ("gpu[2,4]&@rack", ("gpu2",)),
        ("gpu?", ("gpu1", "gpu2", "gpu3", "gpu4")),
    ],
)
def test_expand(text: str, names: tuple[str, ...]) -> None:
    assert nodes.expand(text, GROUPS) == names


NO_NAME = "is no node name: letters, digits, '.', '_' and '-' are allowed"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the node set is empty"),
        ("gpu1!gpu1", "the node set is empty"),
        ("gpu[001-", "not a node set: '[' is not closed"),
        ("gpu[x-y]", "not a node set: 'x-y' in brackets is no range such as 001-128"),
        ("gpu[]", "not a node set: '' in brackets is no range such as 001-128"),
        ("gpu[5-1]", 'not a node set: bad range: "invalid values in range : "5-1""'),
        ("gpu1,,gpu2", "not a node set: missing nodeset operand with ',' operator: \"gpu2\""),
        ("@rak", "no group is called 'rak'; did you mean 'rack'?"),
        ("@zebra", "no group is called 'zebra'"),
        ("-oProxyCommand=x", f"'-oProxyCommand=x' {NO_NAME}"),
        ("a b", f"'a b' {NO_NAME}"),
        ("$(id)", f"'$(id)' {NO_NAME}"),
        ("a,b!" + "n" * 254, "a name of more than 253 characters"),
        ("n1" * 30_000, "a name of more than 253 characters"),
        ("n" + "9" * 250, 'not a node set: bad range: "invalid rangeset index : "' + "9" * 250 + '""'),
        ("gpu[1-999999999]", "more than 16384 nodes"),
        ("a[1-999]b[1-999]", "more than 16384 nodes"),
        (
            "gpu[1-9999999999999999999999]",
            "not a node set: '1-9999999999999999999999' in brackets is no range such as 001-128",
        ),
        ("n9[1-16000]", "more than 16384 nodes"),
        ("x" * 70_000, "more than 16384 nodes"),
        ("@all," * 9000 + "gpu1", "more than 64 groups and wildcards"),
        ("gpu*," * 9000 + "gpu1", "more than 64 groups and wildcards"),
    ],
)
def test_refused_at_once(text: str, message: str) -> None:
    began = time.process_time()
    with pytest.raises(ValueError) as caught:  # noqa: PT011  the message is compared
        nodes.expand(text, GROUPS)
    assert time.process_time() - began < 1
    assert str(caught.value) == message


def test_without_groups_their_names_mean_nothing() -> None:
    for text in ("@rack", "gpu*", "gpu?", "a,@*"):
        with pytest.raises(ValueError, match="a group or wildcard means nothing here"):
            nodes.expand(text)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from(["a", "9", "01", "[", "]", "-", ",", "1-5", "01-20", "/2", "!", "&", "@rack", "x[1-3]", "*"])
    )
)
def test_no_set_is_larger_than_was_counted(parts: list[str]) -> None:
    text = "".join(parts)
    try:
        names = nodes.expand(text, GROUPS)
    except ValueError:
        return
    assert len(names) <= nodes.bound(text, {name: nodes.bound(group) for name, group in GROUPS.items()})


def test_fold_and_nearest() -> None:
    assert nodes.fold(["gpu2", "gpu1", "x"]) == "gpu[1-2],x"
    assert nodes.fold(f"gpu{i}" for i in range(1, 1002)) == "gpu[1-1000] and 1 more"
    assert nodes.nearest("sped", ["speed", "kind"]) == "speed"
    assert nodes.nearest("zzz", ["speed", "kind"]) is None
