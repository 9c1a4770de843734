"""The troubleshooting manual as a page: manual.md of generate.py."""

from brctl.node.diagnose.manual import SYMPTOMS, Card, PossibleCause, card
from brctl.render.symptoms import evidence


def page() -> str:
    """docs/manual.md: every card."""
    return "\n".join([_HEAD, *(_card(card(symptom)) for symptom in SYMPTOMS)])


_HEAD = """\
# From a symptom to a cause

Made from brctl/node/diagnose/manual by `python docs/generate.py`.

`brctl diagnose symptom SYMPTOM` runs every check, and weighs what they found for each cause of the symptom. A weight is
a log-odds: each cause begins at -2 (about one in eight), and what was observed is added, each check once. From +1 on a
cause is likely, if nothing that could not be read could overturn that; at -3 or less, with all of its evidence read, it
is ruled out. What lies between stays open, and no cause is named. `bad` is a warning or a critical finding, `noted` an
info, `hung` a call that did not return. What only follows from another finding counts for that alone. The weights are
judgements of what vendors and operators write; no rates were measured.
"""


def _card(it: Card) -> str:
    lines = [f"## {it.symptom}", "", f"{it.title}.", ""]
    needs = (("Needs", it.needs.every), ("Needs one of", it.needs.any), ("Does without", it.needs.optional))
    lines += [f"{label}: {', '.join(f'`{check}`' for check in checks)}.\n" for label, checks in needs if checks]
    lines += [line for cause in it.causes for line in _cause(cause)]
    lines += ["If nothing on the host explains it:", ""]
    lines += [f"- {step.do} ({step.cost}; disturbs {step.disturbs})" for step in it.beyond]
    return "\n".join([*lines, "", *(f"{note}\n" for note in it.notes)])


def _cause(it: PossibleCause) -> list[str]:
    lines = [f"### {it.id}: {it.title}", "", "| weight | evidence | why |", "|---|---|---|"]
    lines += [f"| {fact.weight:+g} | {evidence(fact)} | {fact.why} |" for fact in it.facts]
    lines += ["", *(f"- next: {step.do} ({step.cost}; disturbs {step.disturbs})" for step in it.tests)]
    lines += [f"- fix: {fix.step} (risk: {fix.risk}; it helped if {fix.verified})" for fix in it.fixes]
    lines += [f"- explains: {', '.join(f'`{check}`' for check in it.masks)}"] if it.masks else []
    return [*lines, ""]
