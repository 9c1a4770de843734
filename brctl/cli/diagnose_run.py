"""What `diagnose run` is asked for: which checks, how far apart the looks, and against what."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..node.codec import InvalidReportError, decode
from ..node.diagnose import GROUPS
from ..node.diagnose.engine import registry
from ..node.facts import Inventory
from ..node.report import Report
from ..node.request import Request
from .common import Common
from .errors import CommandError
from .files import read

if TYPE_CHECKING:
    from ..node.diagnose.manual import Card

QUICK_S = 0.1
"""Between the two looks of the level `quick`."""
FULL = "5s"
MOST_S = 86400.0
_SOON_S = 1.0
_LARGEST_BYTES = 1 << 30
"""Of a baseline: a node with eight GPUs has 0.2 MB, and 4096 of them are asked at a time."""
_HINT = "--baseline takes what `brctl diagnose run -o json` wrote"


def chosen(only: Sequence[str], skip: Sequence[str]) -> tuple[str, ...]:
    """Ids of the checks to run. Raises CommandError: an unknown id or group, or nothing is left."""
    wanted, unwanted = _ids("--only", only), _ids("--skip", skip)
    ids = tuple(check.id for check in registry() if check.id not in unwanted and (not only or check.id in wanted))
    if not ids:
        raise CommandError("--only and --skip leave no check to run")
    return ids


def _ids(option: str, words: Sequence[str]) -> set[str]:
    """What `gpu,nic-mtu` names."""
    groups = {group: {check.id for check in registry() if check.group == group} for group in GROUPS}
    known = {**{check.id: {check.id} for check in registry()}, **groups}
    found: set[str] = set()
    for word in (part.strip() for text in words for part in text.split(",")):
        if word not in known:
            near = difflib.get_close_matches(word, known, n=1, cutoff=0)[0]
            raise CommandError(f"{option} {word}: no such check or group", f"did you mean {near}?")
        found |= known[word]
    return found


def baseline(file: Path) -> Mapping[str, Inventory]:
    """What an earlier run saw, by node. Raises CommandError."""
    data = read(file, _LARGEST_BYTES, b"{")
    try:
        plain = json.loads(data or b"")
        reports = [decode(Report, report) for report in plain["reports"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CommandError(f"{file} is no output of brctl in JSON", _HINT) from None
    except InvalidReportError as error:
        raise CommandError(f"{file} is of another version of brctl: {error}", _HINT) from None
    return {report.node: report.inventory for report in reports if report.inventory}


def card_of(symptom: str) -> Card:
    """Of the troubleshooting manual. Raises CommandError: no such symptom."""
    from ..node.diagnose.manual import SYMPTOMS, card

    if symptom not in SYMPTOMS:
        near = difflib.get_close_matches(symptom, SYMPTOMS, n=1, cutoff=0)[0]
        raise CommandError(f"no such symptom: {symptom}", f"did you mean {near}? `brctl diagnose list` has them all")
    return card(symptom)


def interval_s(level: str, interval: str | None) -> float:
    """Between the two looks. Raises CommandError."""
    from .session import seconds

    if level == "quick":
        if interval is not None:
            raise CommandError("--interval belongs to --level full", "the level quick looks twice 100 ms apart")
        return QUICK_S
    apart_s = seconds("--interval", interval or FULL)
    if apart_s > MOST_S:
        raise CommandError(f"--interval {interval}: at most {MOST_S / 3600:g}h")
    return apart_s


def announce(given: Common, apart_s: float, nodes: Sequence[str], earlier: Mapping[str, Inventory] | None) -> None:
    """Say what one waits for, and which nodes the baseline lacks."""
    if apart_s > _SOON_S and sys.stderr.isatty():
        given.warn(f"the second look is {apart_s:g} s after the first")
    lacking = [node for node in nodes if earlier is not None and node not in earlier]
    if lacking:
        from ..fleet.fold import node_set

        given.warn(f"warning: the baseline has no {node_set(lacking)}")


def within(reports: Sequence[Report], checks: Sequence[str]) -> tuple[Report, ...]:
    """Without findings of node against fleet whose kind was not asked for."""
    if not checks or len(reports) < 2:
        return tuple(reports)
    from ..fleet.traits import TRAITS

    left_out = {trait.check for trait in TRAITS if trait.judged_by not in checks}
    return tuple(
        report._replace(findings=tuple(one for one in report.findings if one.check not in left_out))
        for report in reports
    )


def adapt(request: Request, checks: tuple[str, ...], apart_s: float, earlier: Mapping[str, Inventory]) -> Request:
    """A node's request, with what this run wants of it."""
    return request._replace(checks=checks, interval_s=apart_s, baseline=earlier.get(request.node))
