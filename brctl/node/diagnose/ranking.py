"""Ranks the causes of a symptom by the findings of a run. Only what was observed counts; what is missing is listed.

A cause is likely where something speaks for it and nothing that could not be read could overturn that. It is ruled out
where all of its evidence could be read, and speaks against it. Else it stays open: the answer abstains.
"""

import re
from enum import Enum
from typing import Collection, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..report import HOST, Cause, Evidence, Finding, Report, Status, Subject
from . import fold
from .manual import BAD, HUNG, NOTED, PASS, PRIOR, Card, Fact, Fix, PossibleCause, Step
from .verdicts import ANSWERING

LIKELY, RULED_OUT = 1.0, -3.0
"""Log-odds: about three to one, and one to twenty."""
_STATES = {Status.CRIT: BAD, Status.WARN: BAD, Status.INFO: NOTED, Status.PASS: PASS}


class Verdict(Enum):
    """Of a cause."""

    LIKELY = "likely"
    POSSIBLE = "possible"
    OPEN = "open"
    UNLIKELY = "unlikely"
    RULED_OUT = "ruled out"


class Conclusion(Enum):
    """Of all causes together."""

    FOUND = "found"
    ABSTAINED = "abstained"
    NONE = "none"


class Heard(NamedTuple):
    """A finding as evidence."""

    check: str
    subject: Subject
    status: Status
    summary: str
    weight: float
    """Log-odds that it adds."""
    why: str


class Missing(NamedTuple):
    """Evidence that there is none of."""

    check: str
    why: str
    kind: str
    """`absent`: not on this machine; `unread`: not read, or not looked at; `part`: read of some GPUs only."""
    reason: Optional[str] = None
    """As of a Finding: `hung`, `permission` or `error`."""


class Ranked(NamedTuple):
    """A cause with all that is known of it."""

    id: str
    title: str
    verdict: Verdict
    score: float
    """Log-odds, from -2 without evidence."""
    speaks_for: Tuple[Heard, ...]
    against: Tuple[Heard, ...]
    missing: Tuple[Missing, ...]
    explains: Tuple[str, ...]
    """Findings that merely follow from it."""
    tests: Tuple[Step, ...]
    fixes: Tuple[Fix, ...]


class Answer(NamedTuple):
    """What a node's findings say of a symptom."""

    node: str
    symptom: str
    conclusion: Conclusion
    status: Status
    """The worst of what speaks for the causes that are likely; of an abstention unknown or info, else pass."""
    reason: str
    """For people: the likeliest cause and what speaks most for it; why none is named; or what speaks against all."""
    causes: Tuple[Ranked, ...]
    """The likeliest first."""
    beside: Tuple[str, ...]
    """What else is wrong there, and is no evidence for any of them."""


class _Seen(NamedTuple):
    by_check: Mapping[str, Sequence[Finding]]
    evidence: FrozenSet[str]
    """The checks of the card."""
    optional: Sequence[str]
    explained: FrozenSet[Finding] = frozenset()
    """By a likelier cause."""

    def of(self, check: str) -> Sequence[Finding]:
        return self.by_check.get(check, ())

    def state(self, finding: Finding) -> str:
        """BAD, NOTED, PASS, HUNG; `explained`, `unread` or `absent`."""
        if finding in self.explained:
            return "explained"
        if finding.reason:
            return HUNG if finding.reason == "hung" and not finding.cause else "unread"
        if finding.cause:
            return "explained" if finding.cause.check in self.evidence else BAD
        return _STATES.get(finding.status, "absent")

    def in_part(self) -> bool:
        """Whether some GPU does not answer: what passes is then true of the others only."""
        return any(one.status not in (Status.PASS, Status.NA) for check in ANSWERING for one in self.of(check))


def answer(card: Card, report: Report) -> Answer:
    """The causes of a symptom on one node. Pure."""
    causes = _ranked(card, report.findings)
    heard = {(one.check, one.subject) for cause in causes for one in cause.speaks_for}
    beside = tuple(
        "{}: {}".format(finding.check, finding.summary)
        for finding in report.findings
        if finding.status in (Status.WARN, Status.CRIT) and (finding.check, finding.subject) not in heard
    )
    conclusion, status, reason = _concluded(card, causes)
    return Answer(report.node, card.symptom, conclusion, status, reason, causes, beside)


def told(answer: Answer) -> Tuple[Finding, ...]:
    """The answer as Findings, which fold over nodes and make an exit code as all do: one for each likely cause."""
    likely = [cause for cause in answer.causes if cause.verdict is Verdict.LIKELY]
    if answer.conclusion is Conclusion.FOUND:
        return tuple(_told(cause) for cause in likely)
    missing = _lacking(answer.causes)
    reason = next((one.reason for one in missing if one.reason), None) if answer.status is Status.UNKNOWN else None
    plain = fold(answer.symptom, answer.status, HOST)
    return (Finding(answer.symptom, answer.status, HOST, answer.reason, reason=reason, fold=plain),)


def _told(cause: Ranked) -> Finding:
    first = cause.speaks_for[0]
    status = _worst([cause])
    evidence = tuple(
        Evidence(side, one.summary, one.check)
        for side, ones in (("for", cause.speaks_for), ("against", cause.against))
        for one in ones
    )
    return Finding(
        cause.id,
        status,
        first.subject,
        _line(cause),
        evidence,
        cause.fixes[0].step if cause.fixes else None,
        fold=fold(cause.id, status, first.subject),
    )


def _line(cause: Ranked) -> str:
    return "{}: {}".format(cause.title, cause.speaks_for[0].summary)


def _ranked(card: Card, findings: Sequence[Finding]) -> Tuple[Ranked, ...]:
    """The likeliest first; what it masks speaks for none of the others."""
    by_check: Dict[str, List[Finding]] = {}
    for finding in findings:
        by_check.setdefault(finding.check, []).append(finding)
    seen = _Seen(by_check, card.checks(), card.needs.optional)
    left = [(cause, _weighed(cause, seen)) for cause in card.causes]
    found: List[Ranked] = []
    while left:
        likely = [(cause, one) for cause, one in left if one.verdict is Verdict.LIKELY]
        hidden = {cause.id: frozenset(_masked(cause, one.speaks_for, seen)) for cause, one in likely}
        parts = {(finding.check, finding.subject) for masked in hidden.values() for finding in masked}
        best = min(left, key=lambda pair: _order(pair[1], parts))
        left.remove(best)
        found.append(best[1])
        if hidden.get(best[0].id):
            seen = seen._replace(explained=seen.explained | hidden[best[0].id])
            left = [(cause, _weighed(cause, seen)) for cause, _ in left]
    return tuple(found)


def _order(cause: Ranked, masked: Collection[Tuple[str, Subject]]) -> Tuple[int, bool, float]:
    """What merely follows from another likely cause comes after it; what nothing speaks for has the card's order."""
    follows = all((one.check, one.subject) in masked for one in cause.speaks_for)
    return list(Verdict).index(cause.verdict), follows, -cause.score if cause.speaks_for else 0.0


def _masked(cause: PossibleCause, speaks_for: Sequence[Heard], seen: _Seen) -> Iterator[Finding]:
    parts = {one.subject for one in speaks_for}
    mine = {(one.check, one.subject) for one in speaks_for}
    for finding in (finding for check in cause.masks for finding in seen.of(check)):
        bad = finding.status in (Status.WARN, Status.CRIT) and (finding.check, finding.subject) not in mine
        if bad and (HOST in parts or finding.subject in parts):
            yield finding


def _weighed(cause: PossibleCause, seen: _Seen) -> Ranked:
    heard = [one for fact in cause.facts for one in _heard(fact, seen)]
    checks = dict.fromkeys(fact.check for fact in cause.facts)
    hangs = [fact.check for fact in cause.facts if fact.found == HUNG]
    missing = tuple(one for check in checks for one in _missing(check, seen, check in hangs))
    speaks_for = tuple(sorted((one for one in heard if one.weight > 0), key=lambda one: -one.weight))
    against = tuple(sorted((one for one in heard if one.weight < 0), key=lambda one: one.weight))
    score = PRIOR + sum(_once(heard).values())
    unread = {one.check for one in missing if one.kind == "unread"}
    worst = score + sum(min(0.0, *(fact.weight for fact in cause.facts if fact.check == check)) for check in unread)
    blocked = any(one.kind != "absent" and one.check not in seen.optional for one in missing)
    verdict = _verdict(score, worst, bool(speaks_for), blocked)
    if verdict is Verdict.OPEN and not missing:
        verdict = Verdict.UNLIKELY  # all was read, and told of something else
    explains = tuple(_explains(cause, speaks_for, seen)) if speaks_for else ()
    return Ranked(
        cause.id, cause.title, verdict, score, speaks_for, against, missing, explains, cause.tests, cause.fixes
    )


def _verdict(score: float, worst: float, supported: bool, blocked: bool) -> Verdict:
    if supported and score >= LIKELY and worst >= 0:
        return Verdict.LIKELY
    if blocked or score > RULED_OUT:
        return Verdict.POSSIBLE if supported else Verdict.OPEN
    return Verdict.UNLIKELY if supported else Verdict.RULED_OUT


def _once(heard: Sequence[Heard]) -> Dict[Tuple[str, bool], float]:
    """The strongest weight of each check, for and against: the same fault on eight GPUs is no stronger evidence."""
    strongest: Dict[Tuple[str, bool], float] = {}
    for one in heard:
        key = (one.check, one.weight > 0)
        strongest[key] = max(strongest.get(key, 0.0), one.weight, key=abs)
    return strongest


def _heard(fact: Fact, seen: _Seen) -> Iterator[Heard]:
    findings = seen.of(fact.check)
    states = [seen.state(finding) for finding in findings]
    if fact.found == PASS and set(states) - {PASS, NOTED, "absent"}:
        return  # it passes on some parts, and not on others
    for finding, state in zip(findings, states):
        if state == fact.found and _says(finding, fact.says):
            yield Heard(finding.check, finding.subject, finding.status, finding.summary, fact.weight, fact.why)


def _says(finding: Finding, words: Sequence[str]) -> bool:
    text = "\n".join([finding.summary, *(item.what for item in finding.evidence)])
    return not words or any(re.search(r"\b{}\b".format(re.escape(word)), text) for word in words)


def _missing(check: str, seen: _Seen, may_hang: bool) -> Iterator[Missing]:
    """What there is no evidence of; that a call hangs is evidence where the cause asks for it."""
    findings = seen.of(check)
    if not findings:
        yield Missing(check, "was not looked at", "unread")
        return
    states = [seen.state(finding) for finding in findings]
    unread = [
        finding for finding, state in zip(findings, states) if state == "unread" or (state == HUNG and not may_hang)
    ]
    if unread:
        yield Missing(check, unread[0].summary, "unread", unread[0].reason)
    elif set(states) == {"absent"}:
        yield Missing(check, findings[0].summary, "absent")
    elif PASS in states and seen.in_part() and check.startswith("gpu-") and check not in (*ANSWERING, "gpu-xid"):
        yield Missing(check, "not of the GPUs that do not answer", "part")


def _explains(cause: PossibleCause, speaks_for: Sequence[Heard], seen: _Seen) -> Iterator[str]:
    roots = {Cause(one.check, one.subject) for one in speaks_for}
    findings = (finding for ones in seen.by_check.values() for finding in ones)
    follows = [one for one in findings if one.cause in roots and one.reason is None]
    follows += _masked(cause, speaks_for, seen)
    yield from dict.fromkeys("{}: {}".format(one.check, one.summary) for one in follows)


def _lacking(causes: Sequence[Ranked]) -> List[Missing]:
    """What could not be read, each once."""
    return list(dict.fromkeys(one for cause in causes for one in cause.missing if one.kind != "absent"))


def _concluded(card: Card, causes: Sequence[Ranked]) -> Tuple[Conclusion, Status, str]:
    likely = [cause for cause in causes if cause.verdict is Verdict.LIKELY]
    needed = _unmet(card, causes)
    if likely and not needed:
        return Conclusion.FOUND, _worst(likely), _line(likely[0])
    if not needed and all(cause.verdict in (Verdict.UNLIKELY, Verdict.RULED_OUT) for cause in causes):
        return Conclusion.NONE, Status.PASS, "nothing on this host explains it: {}".format(_clean(causes))
    status = Status.UNKNOWN if any(one.reason for one in _lacking(causes)) else Status.INFO
    return Conclusion.ABSTAINED, status, _why_not(needed, causes)


def _why_not(needed: Sequence[str], causes: Sequence[Ranked]) -> str:
    """Why no cause is named."""
    if needed:
        return "no cause can be named without {}".format(", ".join(needed))
    if causes[0].verdict is Verdict.POSSIBLE:
        return "possible, not certain: {}".format(_line(causes[0]))
    unsettled = [cause for cause in causes if cause.verdict is Verdict.OPEN]
    unread = _lacking(unsettled) or [one for cause in unsettled for one in cause.missing]
    names = ", ".join(dict.fromkeys(one.check for one in unread))
    return "no cause can be named; open for want of {}: {}".format(names, ", ".join(one.id for one in unsettled))


def _worst(causes: Sequence[Ranked]) -> Status:
    return max((one.status for cause in causes for one in cause.speaks_for), key=list(Status).index)


def _clean(causes: Sequence[Ranked]) -> str:
    """What speaks most against the first causes."""
    said = dict.fromkeys(one.summary for cause in causes for one in cause.against[:1])
    return "; ".join(list(said)[:3])


def _unmet(card: Card, causes: Sequence[Ranked]) -> List[str]:
    missing = {one.check for cause in causes for one in cause.missing if one.kind in ("absent", "unread")}
    needed = [check for check in card.needs.every if check in missing]
    return needed or (list(card.needs.any) if set(card.needs.any) <= missing and card.needs.any else [])
