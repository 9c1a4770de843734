from typing import Any, Optional

import pytest

from brctl.node.diagnose import Check
from brctl.node.diagnose.parts import Declared, amount, counted, judge, judge_each, pattern, shortage
from brctl.node.report import HOST, Evidence, Finding, Status, Subject
from brctl.node.siblings import Part

CHECK = Check("a-check", "A check", (), (), lambda _: ())
FIRMWARE = Declared("key", "1.*", lambda value: None if value.startswith("1.") else Status.WARN)


def part(name: str, value: Optional[str], text: str = "", kin: Any = None, reason: Optional[str] = None) -> Part:
    return Part(Subject("gpu", name, name), value, text or "version {}".format(value), "source", kin, reason)


def verdicts(*parts: Part, declared: Optional[Declared] = None) -> Any:
    return [(one.status, one.subject.name, one.summary) for one in judge(CHECK, "GPUs", parts, declared, "mend it")]


@pytest.mark.parametrize(
    ("seen", "want", "tolerance", "status"),
    [
        (8, 8, 0, None),
        (7, 8, 0, Status.CRIT),
        (9, 8, 0, Status.WARN),
        (95, 100, 5, None),
        (94, 100, 5, Status.CRIT),
        (105, 100, 5, None),
        (106, 100, 5, Status.WARN),
        (0, 0, 0, None),
    ],
)
def test_less_is_worse_than_more(seen: float, want: float, tolerance: float, status: Any) -> None:
    assert shortage(seen, want, tolerance) is status
    assert amount("key", want, "", tolerance).verdict(seen) is status


def test_counted() -> None:
    assert counted(CHECK, "NICs", 8, 8, "there", "key", "look").summary == "8 of 8 NICs"
    assert counted(CHECK, "NICs", 8, None, "there", "key", "look").status is Status.NA
    found = counted(CHECK, "NICs", 7, 8, "there", "key", "look")
    assert (found.status, found.summary, found.remedy) == (Status.CRIT, "7 of 8 NICs expected", "look")
    assert found.evidence == (Evidence("NICs", "7", "there"), Evidence("declared", "8", "key"))
    assert counted(CHECK, "NICs", 9, 8, "there", "key", "look").summary == "9 NICs, 8 expected"


def test_what_is_declared_is_what_counts() -> None:
    assert verdicts(part("A", "1.1"), part("B", "1.2"), declared=FIRMWARE) == [
        (Status.PASS, "host", "1 of 2 GPUs: version 1.1, 1 of 2 GPUs: version 1.2")
    ]
    (found,) = judge(CHECK, "GPUs", [part("A", "1.1"), part("B", "2.0")], FIRMWARE, "mend it")
    assert found == Finding(
        "a-check",
        Status.WARN,
        Subject("gpu", "B", "B"),
        "B: version 2.0, expected 1.*",
        (Evidence("B", "version 2.0", "source"), Evidence("declared", "1.*", "key")),
        "mend it",
        fold="a-check warn B",
    )


def test_what_is_wrong_with_all_alike_is_told_once() -> None:
    (found,) = judge(CHECK, "GPUs", [part("A", "2.0"), part("B", "2.0")], FIRMWARE, "mend it")
    assert (found.subject, found.summary) == (HOST, "2 of 2 GPUs: version 2.0, expected 1.*")
    assert len(found.evidence) == 3
    assert len(verdicts(part("A", "2.0"), part("B", "3.0"), declared=FIRMWARE)) == 2
    assert verdicts(part("A", "2.0"), declared=FIRMWARE) == [(Status.WARN, "A", "A: version 2.0, expected 1.*")]


def test_siblings_are_compared_where_nothing_is_declared() -> None:
    assert verdicts(part("A", "1"), part("B", "1"), part("C", "2")) == [
        (Status.WARN, "C", "C: version 2, 2 siblings: version 1")
    ]
    assert verdicts(part("A", "1"), part("B", "2")) == [
        (Status.WARN, "host", "siblings differ: version 1 on A; version 2 on B")
    ]
    kin = [part("A", "1", kin="x"), part("B", "1", kin="x"), part("C", "2", kin="y")]
    assert verdicts(*kin) == [(Status.PASS, "host", "2 of 3 GPUs: version 1, 1 of 3 GPUs: version 2")]
    assert verdicts(part("A", "1")) == [
        (Status.NA, "host", "1 of 1 GPUs: version 1; nothing declared, no siblings to compare")
    ]


def test_what_has_no_value_is_not_judged_but_named() -> None:
    assert verdicts(part("A", "1"), part("B", "1"), part("C", None, "no link")) == [
        (Status.PASS, "host", "2 of 3 GPUs: version 1; no link: C")
    ]
    assert verdicts(part("A", None, "no link"), part("B", None, "no link")) == [
        (Status.NA, "host", "no GPUs to judge; no link: A, B")
    ]
    assert verdicts() == [(Status.NA, "host", "no GPUs to judge")]


@pytest.mark.parametrize(("reasons", "reason"), [(("error", "hung"), "hung"), (("permission", "error"), "permission")])
def test_where_none_could_be_read_the_verdict_is_unknown(reasons: Any, reason: str) -> None:
    parts = [part(str(place), None, "not read", reason=why) for place, why in enumerate(reasons)]
    (found,) = judge(CHECK, "GPUs", parts, FIRMWARE, "mend it")
    assert (found.status, found.reason, found.summary) == (Status.UNKNOWN, reason, "none of 2 GPUs could be read")


def test_a_declared_pattern() -> None:
    verdict = pattern("key", "1.*", Status.CRIT).verdict
    assert (verdict("1.2"), verdict("2.1")) == (None, Status.CRIT)


def test_each_part_that_could_not_be_read_is_told() -> None:
    good, odd = [part("GPU 0", "1"), part("GPU 1", "1")], part("GPU 2", "2")
    bad = part("GPU 3", None, "NVML did not return within 3 s", reason="hung")
    assert [found.status for found in judge_each(CHECK, "GPUs", good, None, "")] == [Status.PASS]
    (found,) = judge_each(CHECK, "GPUs", [*good, bad], None, "")
    assert (found.status, found.reason, found.summary) == (Status.UNKNOWN, "hung", bad.text)
    assert found.subject == bad.subject
    both = judge_each(CHECK, "GPUs", [*good, odd, bad], None, "")
    assert [each.status for each in both] == [Status.UNKNOWN, Status.WARN]
