"""Lints a communication environment."""

from typing import Tuple

from ..report import HOST, Finding, Status
from . import fabric_rules, text_rules
from .case import Case
from .variables import concerns


def lint(case: Case) -> Tuple[Finding, ...]:
    """All that is wrong, worst first; a pass where nothing is. What does not concern communication is not looked at."""
    case = case._replace(settings=tuple(each for each in case.settings if concerns(each.name)))
    found = [finding for rule in (*text_rules.RULES, *fabric_rules.RULES) for finding in rule(case)]
    if found:
        order = tuple(reversed(Status))
        return tuple(sorted(dict.fromkeys(found), key=lambda finding: order.index(finding.status)))
    number = len(case.settings)
    text = (
        "nothing in it is about communication"
        if not number
        else "{} variable{}, nothing wrong".format(number, "" if number == 1 else "s")
    )
    return (Finding("comm-env", Status.PASS, HOST, "{}: {}".format(case.where, text)),)
