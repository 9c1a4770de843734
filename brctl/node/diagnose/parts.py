"""Equal parts of a machine (GPUs, ports) are judged in one way: by what is declared, else against each other."""

from collections import Counter
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ..patterns import fits
from ..report import HOST, Evidence, Finding, Status, Subject
from ..siblings import Comparison, Group, Part, compare
from . import Check


class Declared(NamedTuple):
    """What the config says."""

    key: str
    text: str
    verdict: Callable[[Any], Optional[Status]]
    """How bad a value is; None where it fits."""


def pattern(key: str, patterns: str, status: Status) -> Declared:
    return Declared(key, patterns, lambda value: None if fits(value, patterns) else status)


def amount(key: str, want: float, text: str, tolerance_percent: float = 0) -> Declared:
    """A number to have: less is critical, more is a warning."""
    return Declared(key, text, lambda value: shortage(value, want, tolerance_percent))


def shortage(seen: float, want: float, tolerance_percent: float = 0) -> Optional[Status]:
    """CRIT for less than wanted, WARN for more, None for what is within the tolerance."""
    if abs(seen - want) * 100 <= want * tolerance_percent:
        return None
    return Status.CRIT if seen < want else Status.WARN


def counted(check: Check, noun: str, seen: int, want: Optional[int], source: str, key: str, remedy: str) -> Finding:
    """How many there are, against a declared number; `source` and `key` say where each comes from."""
    if want is None:
        return check.finding(Status.NA, "{}: {}, no number declared".format(noun, seen))
    status = shortage(seen, want)
    if status is None:
        return check.finding(Status.PASS, "{} of {} {}".format(seen, want, noun))
    summary = "{0} of {2} {1} expected" if status is Status.CRIT else "{0} {1}, {2} expected"
    evidence = (Evidence(noun, str(seen), source), Evidence("declared", str(want), key))
    return check.finding(status, summary.format(seen, noun, want), evidence=evidence, remedy=remedy)


def judge(
    check: Check,
    noun: str,
    parts: Sequence[Part],
    declared: Optional[Declared],
    remedy: str,
    odd: Status = Status.WARN,
    mixed: Status = Status.WARN,
) -> Tuple[Finding, ...]:
    """One Finding for each wrong part, or one for the host: where all are wrong alike, where siblings differ without
    a majority (`mixed`), or where all is well."""
    judged = [part for part in parts if part.value is not None]
    if not judged:
        return (nothing(check, noun, parts),)
    if declared:
        return tuple(_against(check, noun, parts, declared, remedy)) or (_passed(check, noun, parts),)
    kins: Dict[Any, List[Part]] = {}
    for part in judged:
        kins.setdefault(part.kin, []).append(part)
    compared = [compare([(part.subject, part.value) for part in kin]) for kin in kins.values()]
    if not any(compared):
        return (_alone(check, noun, parts),)
    by_subject = {part.subject: part for part in judged}
    bad = (_differ(check, by_subject, comparison, remedy, odd, mixed) for comparison in compared if comparison)
    return tuple(finding for findings in bad for finding in findings) or (_passed(check, noun, parts),)


def judge_each(
    check: Check, noun: str, found: Sequence[Part], declared: Optional[Declared], remedy: str
) -> Tuple[Finding, ...]:
    """As `judge`; each part that could not be read is a finding of its own."""
    unread = [part for part in found if part.reason]
    judged = judge(check, noun, [part for part in found if not part.reason], declared, remedy)
    if not unread:
        return judged
    told = [check.finding(Status.UNKNOWN, part.text, part.subject, reason=part.reason) for part in unread]
    return (*told, *(finding for finding in judged if finding.status not in (Status.PASS, Status.NA)))


def nothing(check: Check, noun: str, parts: Sequence[Part]) -> Finding:
    """That none of the parts has a value: unknown where one could not be read."""
    reasons = [part.reason for part in parts if part.reason]
    if reasons:
        reason = "hung" if "hung" in reasons else reasons[0]
        return check.finding(Status.UNKNOWN, "none of {} {} could be read".format(len(parts), noun), reason=reason)
    return check.finding(Status.NA, "no {} to judge{}".format(noun, _notes(parts)))


def _against(check: Check, noun: str, parts: Sequence[Part], declared: Declared, remedy: str) -> Iterator[Finding]:
    judged = [part for part in parts if part.value is not None]
    verdicts = [(part, declared.verdict(part.value)) for part in judged]
    wrong = [(part, status) for part, status in verdicts if status]
    said = Evidence("declared", declared.text, declared.key)
    if len(wrong) == len(judged) > 1 and len({part.value for part in judged}) == 1:
        part, status = wrong[0]
        summary = "{}, expected {}".format(_all(noun, parts), declared.text)
        yield check.finding(status, summary, HOST, (*map(_read, judged), said), remedy)
        return
    for part, status in wrong:
        summary = "{}: {}, expected {}".format(part.subject.name, part.text, declared.text)
        yield check.finding(status, summary, part.subject, (_read(part), said), remedy)


def _differ(
    check: Check, parts: Dict[Subject, Part], found: Comparison, remedy: str, odd: Status, mixed: Status
) -> Iterator[Finding]:
    if found.common is None:
        summary = "siblings differ: {}".format("; ".join(_group(parts, group) for group in found.others))
        evidence = tuple(_read(parts[subject]) for group in found.others for subject in group.subjects)
        yield check.finding(mixed, summary, HOST, evidence, remedy)
        return
    usual, many = parts[found.common.subjects[0]], len(found.common.subjects)
    siblings = Evidence("{} siblings".format(many), usual.text, usual.source)
    for part in (parts[subject] for group in found.others for subject in group.subjects):
        summary = "{}: {}, {} siblings: {}".format(part.subject.name, part.text, many, usual.text)
        yield check.finding(odd, summary, part.subject, (_read(part), siblings), remedy)


def _passed(check: Check, noun: str, parts: Sequence[Part]) -> Finding:
    return check.finding(Status.PASS, _all(noun, parts))


def _alone(check: Check, noun: str, parts: Sequence[Part]) -> Finding:
    return check.finding(Status.NA, "{}; nothing declared, no siblings to compare".format(_all(noun, parts)))


def _all(noun: str, parts: Sequence[Part]) -> str:
    """`7 of 8 GPUs: VBIOS 96.00.99.00.01; not read: GPU 3`; of several values the most frequent first."""
    counts = Counter(part.text for part in parts if part.value is not None).most_common()
    pieces = ["{} of {} {}: {}".format(count, len(parts), noun, text) for text, count in counts]
    return ", ".join(pieces) + _notes(parts)


def _notes(parts: Sequence[Part]) -> str:
    whys: Dict[str, List[str]] = {}
    for part in parts:
        if part.value is None:
            whys.setdefault(part.text, []).append(part.subject.name)
    return "".join("; {}: {}".format(why, ", ".join(names)) for why, names in whys.items())


def _group(parts: Dict[Subject, Part], group: Group) -> str:
    names = ", ".join(subject.name for subject in group.subjects)
    return "{} on {}".format(parts[group.subjects[0]].text, names)


def _read(part: Part) -> Evidence:
    return Evidence(part.subject.name, part.text, part.source)
