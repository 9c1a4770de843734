"""The troubleshooting manual: its data, and each card by three fixtures."""

import inspect
import json
import sys
from pathlib import Path
from typing import Dict, Iterator, Mapping, Tuple

import pytest

from brctl.node.codec import dumps, loads
from brctl.node.diagnose import engine, manual, ranking, xid
from brctl.node.diagnose.manual import BAD, HUNG, NOTED, PASS, SYMPTOMS, Card, Fact, PossibleCause, card
from brctl.node.diagnose.ranking import Answer, Conclusion, Ranked, Verdict
from brctl.node.report import HOST, Cause, Evidence, Finding, Report, Status, Subject

CHECKS = {check.id: check for check in engine.registry()}
UNREAD, ABSENT = "unread", "absent"
_STATUS = {
    BAD: Status.CRIT,
    NOTED: Status.INFO,
    PASS: Status.PASS,
    HUNG: Status.UNKNOWN,
    UNREAD: Status.UNKNOWN,
    ABSENT: Status.NA,
}
GPU3 = Subject("gpu", "GPU-3", "GPU 3")

every_card = pytest.mark.parametrize("it", [card(symptom) for symptom in SYMPTOMS], ids=SYMPTOMS)
every_cause = pytest.mark.parametrize(
    ("it", "cause"), [(card(symptom), cause) for symptom in SYMPTOMS for cause in card(symptom).causes]
)


def finding(check: str, state: str, summary: str = "", subject: Subject = HOST) -> Finding:
    reason = {HUNG: "hung", UNREAD: "permission"}.get(state)
    return Finding(check, _STATUS[state], subject, summary or check + " " + state, reason=reason)


def judged(it: Card, states: Mapping[str, str], says: Tuple[str, ...] = ()) -> Answer:
    """What the card says where these checks found this, in these words, and all others pass."""
    found = {**dict.fromkeys(it.checks(), PASS), **states}
    words = {check: " ".join(says) for check, state in states.items() if state in (BAD, NOTED)}
    return ranking.answer(
        it, Report("n", 0, 0, findings=tuple(finding(c, s, words.get(c, "")) for c, s in found.items()))
    )


def of(answer: Answer, cause: str) -> Ranked:
    return next(one for one in answer.causes if one.id == cause)


def facts(it: Card) -> Iterator[Tuple[PossibleCause, Fact]]:
    return ((cause, fact) for cause in it.causes for fact in cause.facts)


# The data -------------------------------------------------------------------------------------------------------------


def test_every_symptom_is_a_file_and_every_file_a_symptom() -> None:
    files = {path.stem.replace("_", "-") for path in Path(manual.__file__).parent.glob("[!_]*.py")}
    assert files == {*SYMPTOMS, "shared"}
    assert [card(symptom).symptom for symptom in SYMPTOMS] == list(SYMPTOMS)


@every_card
def test_what_a_card_names_exists(it: Card) -> None:
    needs = it.needs.every + it.needs.any + it.needs.optional
    assert it.checks() <= CHECKS.keys()
    assert set(needs) <= it.checks()
    assert len(needs) == len(set(needs))
    assert it.needs.every or it.needs.any
    assert {check for cause in it.causes for check in cause.masks} <= CHECKS.keys()
    assert len({cause.id for cause in it.causes}) == len(it.causes)
    assert it.beyond
    for cause, fact in facts(it):
        assert fact.found in (BAD, NOTED, PASS, HUNG), cause.id
        assert (fact.weight < 0) == (fact.found == PASS), cause.id
        assert fact.why
        assert cause.tests
        assert cause.fixes


@every_card
def test_the_words_that_a_fact_waits_for_are_said_by_its_check(it: Card) -> None:
    for _, fact in facts(it):
        source = inspect.getsource(sys.modules[CHECKS[fact.check].run.__module__])
        for word in fact.says:
            if word.startswith("Xid "):
                assert xid.of(int(word[4:])).action != "unused" or xid.of(int(word[4:])).name
            else:
                assert word in " ".join(source.split()) or word == "fallen off the bus", (fact.check, word)


@every_cause
def test_a_fact_that_decides_does_so_against_all_others(it: Card, cause: PossibleCause) -> None:
    for fact in cause.facts:
        if fact.weight >= 4:
            answer = judged(it, {fact.check: fact.found}, fact.says)
            assert of(answer, cause.id).verdict is Verdict.LIKELY, (cause.id, fact)
            assert answer.conclusion is Conclusion.FOUND
        elif 0 < fact.weight < 3:
            assert of(judged(it, {fact.check: fact.found}, fact.says), cause.id).verdict is not Verdict.LIKELY, fact


# Three fixtures a card ------------------------------------------------------------------------------------------------

FIXTURES: Tuple[Tuple[str, str, Dict[str, str], Tuple[str, str], str], ...] = (
    # symptom, cause, wins, what others defeat (and in which words), without what it abstains
    ("nan-loss", "memory-errors", {"gpu-ecc-volatile": BAD}, ("gpu-xid", "Xid 94"), "gpu-ecc-volatile"),
    ("mpi-timeout", "rank-stuck", {"gpu-responding": HUNG}, ("gpu-xid", ""), "kernel-hung-task"),
    ("sched-jitter", "slow-driver", {"gpu-latency": BAD}, ("gpu-persistence", ""), "gpu-latency"),
    ("slow-comm", "nic-link", {"nic-speed": BAD}, ("nic-firmware-error", ""), "nic-speed"),
    ("slow-node", "pcie", {"gpu-pcie": BAD}, ("pcie-aer", ""), "gpu-pcie"),
    ("gpu-memory", "less-memory", {"gpu-memory": BAD}, ("gpu-model", ""), "gpu-memory"),
    ("network-contention", "p2p-detour", {"pci-acs": BAD}, ("iommu", ""), "nic-speed"),
    ("gpu-lost", "does-not-start", {"gpu-xid": BAD}, ("gpu-responding", "does not list it"), "gpu-xid"),
)
every_fixture = pytest.mark.parametrize("fixture", FIXTURES, ids=[fixture[0] for fixture in FIXTURES])
Fixture = Tuple[str, str, Dict[str, str], Tuple[str, str], str]


def test_every_card_has_its_fixtures() -> None:
    assert [fixture[0] for fixture in FIXTURES] == list(SYMPTOMS)


@every_fixture
def test_a_cause_wins(fixture: Fixture) -> None:
    symptom, cause, wins, _, _ = fixture
    answer = judged(card(symptom), wins, ("RmInitAdapter failed",))
    assert answer.conclusion is Conclusion.FOUND
    assert answer.causes[0].id == cause
    assert answer.causes[0].verdict is Verdict.LIKELY
    assert [one.check for one in answer.causes[0].speaks_for] == list(wins)


@every_fixture
def test_evidence_against_defeats_a_cause(fixture: Fixture) -> None:
    symptom, cause, _, (check, words), _ = fixture
    it = card(symptom)
    others = {fact.check for one, fact in facts(it) if one.id == cause} - {check}
    alone = judged(it, {**dict.fromkeys(others, ABSENT), check: BAD}, (words,))
    assert of(alone, cause).verdict is Verdict.LIKELY
    defeated = of(judged(it, {check: BAD}, (words,)), cause)
    assert defeated.verdict in (Verdict.POSSIBLE, Verdict.UNLIKELY)
    assert defeated.against


@every_fixture
def test_without_its_evidence_a_card_abstains(fixture: Fixture) -> None:
    symptom, _, _, _, check = fixture
    answer = judged(card(symptom), {check: UNREAD})
    assert answer.conclusion is Conclusion.ABSTAINED
    assert answer.status is Status.UNKNOWN
    assert check in answer.reason
    (told,) = ranking.told(answer)
    assert (told.check, told.status, told.reason) == (symptom, Status.UNKNOWN, "permission")


@every_card
def test_of_a_healthy_machine_every_cause_is_ruled_out(it: Card) -> None:
    answer = judged(it, {})
    assert answer.conclusion is Conclusion.NONE
    assert {cause.verdict for cause in answer.causes} == {Verdict.RULED_OUT}
    assert [cause.id for cause in answer.causes] == [cause.id for cause in it.causes]
    assert answer.reason.startswith("nothing on this host explains it: ")
    assert ranking.told(answer)[0].status is Status.PASS


@every_card
def test_whatever_is_removed_no_cause_is_named_nor_is_it_called_clean(it: Card) -> None:
    for check in it.checks() - set(it.needs.optional):
        for state in (UNREAD, ABSENT, HUNG) if check not in ("gpu-driver", "gpu-responding") else (UNREAD,):
            answer = judged(it, {check: state})
            assert answer.conclusion is not Conclusion.FOUND, (check, state)
            assert answer.conclusion is Conclusion.ABSTAINED or state is ABSENT, (check, state)
    assert ranking.answer(it, Report("n", 0, 0)).conclusion is Conclusion.ABSTAINED
    nothing = judged(it, dict.fromkeys(it.checks(), ABSENT))
    assert (nothing.conclusion, nothing.status) == (Conclusion.ABSTAINED, Status.INFO)


# The ranking ----------------------------------------------------------------------------------------------------------


def test_what_could_not_be_read_must_not_be_able_to_overturn_it() -> None:
    it = card("nan-loss")
    weak = {"gpu-xid": BAD, "gpu-ecc-volatile": UNREAD, "gpu-sram": ABSENT, "gpu-remap": ABSENT}
    cause = of(judged(it, weak, ("Xid 94",)), "memory-errors")
    assert (cause.score, cause.verdict) == (1.0, Verdict.POSSIBLE)
    answer = judged(it, weak, ("Xid 94",))
    assert answer.reason == "possible, not certain: GPU memory makes errors: Xid 94"
    assert of(judged(it, {**weak, "gpu-ecc-volatile": BAD}), "memory-errors").verdict is Verdict.LIKELY


def test_a_consequence_speaks_for_its_cause_alone() -> None:
    it = card("slow-node")
    hot = finding("gpu-temperature", BAD, "GPU 3: hot", GPU3)
    slowed = finding("gpu-throttle", NOTED, "GPU 3: slowed for heat", GPU3)._replace(
        cause=Cause("gpu-temperature", GPU3)
    )
    rest = [finding(check, PASS) for check in it.checks() - {"gpu-temperature", "gpu-throttle"}]
    answer = ranking.answer(it, Report("n", 0, 0, findings=(hot, slowed, *rest)))
    assert [cause.id for cause in answer.causes if cause.speaks_for] == ["heat"]
    assert answer.causes[0].explains == ("gpu-throttle: GPU 3: slowed for heat",)
    strange = slowed._replace(cause=Cause("gpu-vbios", GPU3))
    answer = ranking.answer(it, Report("n", 0, 0, findings=(strange, *rest)))
    assert of(answer, "heat").speaks_for, "what it follows from is no evidence here"


def test_a_likely_cause_explains_away_what_it_masks_on_the_same_part() -> None:
    it = card("slow-node")
    hot = finding("gpu-temperature", BAD, "GPU 3: hot", GPU3)
    other = Subject("gpu", "GPU-5", "GPU 5")
    rest = [finding(check, PASS) for check in it.checks() - {"gpu-temperature", "gpu-clocks"}]
    slow = finding("gpu-clocks", BAD, "GPU 3: slow", GPU3)
    answer = ranking.answer(it, Report("n", 0, 0, findings=(hot, slow, *rest)))
    assert [cause.id for cause in answer.causes if cause.verdict is Verdict.LIKELY] == ["heat"]
    assert answer.causes[0].explains == ("gpu-clocks: GPU 3: slow",)
    slow = finding("gpu-clocks", BAD, "GPU 5: slow", other)
    answer = ranking.answer(it, Report("n", 0, 0, findings=(hot, slow, *rest)))
    likely = [cause.id for cause in answer.causes if cause.verdict is Verdict.LIKELY]
    assert set(likely) == {"heat", "low-clocks"}, "two faults are two causes"
    assert [told.check for told in ranking.told(answer)] == likely


def test_the_same_on_eight_gpus_is_no_stronger() -> None:
    it = card("nan-loss")
    bad = tuple(finding("gpu-ecc-rate", BAD, "", Subject("gpu", str(n), str(n))) for n in range(8))
    rest = tuple(finding(check, PASS) for check in it.checks() - {"gpu-ecc-rate"})
    cause = of(ranking.answer(it, Report("n", 0, 0, findings=(*bad, *rest))), "memory-errors")
    assert (cause.score, len(cause.speaks_for), cause.verdict) == (-4.0, 8, Verdict.UNLIKELY)


def test_a_gpu_that_does_not_answer_is_not_ruled_out() -> None:
    it = card("nan-loss")
    lost = finding("gpu-responding", BAD, "GPU 3 is lost", GPU3)
    rest = tuple(finding(check, PASS) for check in it.checks())
    answer = ranking.answer(it, Report("n", 0, 0, findings=(lost, *rest)))
    cause = of(answer, "memory-errors")
    assert cause.verdict is Verdict.OPEN
    assert ("gpu-ecc-volatile", "part") in [(one.check, one.kind) for one in cause.missing]
    assert answer.beside == ("gpu-responding: GPU 3 is lost",)


def test_the_words_of_a_finding_tell_causes_apart() -> None:
    it = card("slow-node")
    brake = judged(it, {"gpu-throttle": BAD}, ("GPU 1: the power brake signal slows it down",))
    assert [cause.id for cause in brake.causes if cause.speaks_for] == ["power"]
    heat = judged(it, {"gpu-throttle": BAD}, ("GPU 1: the driver slows it down for heat",))
    assert [cause.id for cause in heat.causes if cause.speaks_for] == ["heat"]
    xid94 = Finding("gpu-xid", Status.WARN, GPU3, "several", (Evidence("Xid 94 CONTAINED_ERROR", "", ""),))
    answer = ranking.answer(card("nan-loss"), Report("n", 0, 0, findings=(xid94,)))
    assert of(answer, "memory-errors").speaks_for[0].check == "gpu-xid"
    xid9 = xid94._replace(evidence=(Evidence("Xid 9 X", "", ""), Evidence("Xid 948 X", "", "")))
    answer = ranking.answer(card("nan-loss"), Report("n", 0, 0, findings=(xid9,)))
    assert not of(answer, "memory-errors").speaks_for


def test_what_was_told_of_something_else_speaks_for_nothing() -> None:
    answer = judged(card("nan-loss"), {"gpu-xid": BAD}, ("Xid 79",))
    cause = of(answer, "program-fault")
    assert (cause.verdict, cause.score, cause.speaks_for, cause.missing) == (Verdict.UNLIKELY, -2.0, (), ())
    assert answer.conclusion is Conclusion.NONE
    assert answer.beside == ("gpu-xid: Xid 79",)


def test_an_answer_is_plain_data() -> None:
    answer = judged(card("gpu-lost"), {"gpu-driver": BAD})
    assert loads(Answer, dumps(answer)) == answer
    assert json.loads(dumps(answer))["causes"][0]["verdict"] == "likely"
