from collections.abc import Callable

from brctl.fleet.fold import fold, key, node_set, ordered, silences, stem, tellings, worst
from brctl.node.report import HOST, Finding, NodeError, Report, Status

Look = Callable[..., Report]


def _report(node: str, *findings: Finding) -> Report:
    return Report(node, 0, 0, findings=findings)


def _finding(status: Status, fold: str, summary: str = "it is so") -> Finding:
    return Finding("some-check", status, HOST, summary, fold=fold)


def _silent(node: str, kind: str, message: str = "no", hint: str = "look") -> Report:
    return Report(node, 0, 0, errors=(NodeError(kind, message, hint),))


def test_names_fold_and_expand_in_natural_order() -> None:
    assert node_set(["gpu10", "gpu9", "a"]) == "a,gpu[9-10]"
    assert node_set(["gpu007"]) == "gpu007"
    assert ordered(["gpu10", "gpu9", "gpu9"]) == ("gpu9", "gpu10")
    assert [stem(name) for name in ("gpu001", "r2-gpu1", "login")] == ["gpu*", "r*-gpu*", "login"]


def test_the_lost_gpu_is_the_outlier_and_the_rest_is_one_line(look: Look) -> None:
    reports = [look(f"gpu{i:03}") for i in range(1, 128)]
    reports[126] = look("gpu127", "dgx-h100+gpu3-lost")
    groups = fold(reports)
    assert [(group.nodes, group.worst) for group in groups] == [
        ("gpu127", Status.CRIT),
        ("gpu[001-126]", Status.PASS),
    ]
    assert [report.node for report in groups[1].reports][:2] == ["gpu001", "gpu002"]


def test_pass_and_na_are_alike_unless_everything_counts() -> None:
    reports = [
        _report("n1", _finding(Status.PASS, "a pass host")),
        _report("n2", _finding(Status.NA, "a n/a host")),
        _report("n3"),
    ]
    assert [group.nodes for group in fold(reports)] == ["n[1-3]"]
    assert len(fold(reports, everything=True)) == 3


def test_worse_goes_before_better_and_few_before_many() -> None:
    def many(first: int, count: int, status: Status, fold: str) -> list[Report]:
        return [_report(f"n{i}", _finding(status, fold)) for i in range(first, first + count)]

    reports = [
        *many(1, 3, Status.CRIT, "a"),
        *many(4, 2, Status.CRIT, "b"),
        *many(6, 1, Status.WARN, "c"),
        *many(7, 1, Status.INFO, "d"),
        *many(8, 1, Status.PASS, "e"),
        *many(9, 1, Status.UNKNOWN, "f"),
        _silent("n10", "refused"),
    ]
    assert [group.nodes for group in fold(reports)] == ["n10", "n[4-5]", "n[1-3]", "n6", "n9", "n7", "n8"]


def test_the_same_fault_on_another_part_is_another_group() -> None:
    reports = [_report("n1", _finding(Status.CRIT, "x GPU 3")), _report("n2", _finding(Status.CRIT, "x GPU 4"))]
    assert [group.nodes for group in fold(reports)] == ["n1", "n2"]


def test_a_finding_without_a_fold_key_has_one_of_its_own() -> None:
    assert key(_finding(Status.WARN, "")) == "some-check warn host"


def test_one_fault_in_other_words_is_one_group_with_its_wordings() -> None:
    reports = [
        _report(f"n{i}", _finding(Status.CRIT, "lost GPU 3", f"GPU 3 ({uuid}) is lost"))
        for i, uuid in enumerate(["A", "B", "B"])
    ]
    (group,) = fold(reports)
    ((first, second),) = tellings(group, lambda _: True)
    assert (first.nodes, first.node_count, first.finding.summary) == ("n[1-2]", 2, "GPU 3 (B) is lost")
    assert (second.nodes, second.node_count, second.finding.summary) == ("n0", 1, "GPU 3 (A) is lost")


def test_only_chosen_findings_are_told() -> None:
    (group,) = fold([_report("n1", _finding(Status.WARN, "a"), _finding(Status.PASS, "b"))])
    told = tellings(group, lambda finding: finding.status is Status.WARN)
    assert [wordings[0].finding.fold for wordings in told] == ["a"]


def test_silent_nodes_fold_by_kind_and_hint() -> None:
    reports = [
        _silent("n1", "timeout", "no answer in 4 s"),
        _silent("n2", "refused", "10.0.0.2: refused"),
        _silent("n3", "timeout", "no answer in 4 s"),
        _silent("n4", "refused", "10.0.0.4: refused"),
        _silent("n5", "refused", "10.0.0.5: refused"),
        _report("n6"),
    ]
    found = [(it.nodes, it.node_count, it.error.kind, it.speaker) for it in silences(reports)]
    assert found == [("n[1,3]", 2, "timeout", None), ("n[2,4-5]", 3, "refused", "n2")]
    assert [group.worst for group in fold(reports)] == [None, None, Status.PASS]


def test_worst_of_nothing_is_pass() -> None:
    assert worst(_report("n1")) is Status.PASS
    assert worst(_report("n1", _finding(Status.INFO, "a"), _finding(Status.UNKNOWN, "b"))) is Status.UNKNOWN
