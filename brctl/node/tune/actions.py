"""What the agent does for the commands of `tune`."""

import errno
import os
import time
from itertools import islice
from typing import Callable, Dict, List, Optional

from ..host import BusyError, Host
from ..probe import inventory
from ..report import NodeError, Report
from ..request import Request
from . import apply, engine, journal, undo
from .places import in_words

_BLANK = Report("", 0.0, 0.0)
_MOST = 100
"""Transactions that `history` tells of; an older one is asked for by its id."""


def answer(host: Host, request: Request) -> Report:
    """Do what is asked; what hinders it stands in the Report's `errors`."""
    began, clock = time.time(), time.monotonic()
    try:
        report = _ACTIONS[request.action](host, request)
    except (apply.NotStartedError, journal.JournalError) as error:
        report = _failed("tune-error", str(error), getattr(error, "hint", None))
    except BusyError as error:
        report = _failed("busy", "another brctl is at work: {}".format(error), "try again when it is done")
    except OSError as error:
        why = in_words(error) if error.errno != errno.ENOENT else os.strerror(errno.ENOENT)  # which is of no setting
        what = "{}: {}".format(error.filename, why) if error.filename else why
        report = _failed("tune-error", what)
    return report._replace(node=request.node, time=began, elapsed_s=time.monotonic() - clock, mock=host.mock)


def _plan(host: Host, request: Request) -> Report:
    found = engine.plan(host, inventory(host), request)
    unfinished = engine.unfinished(host)
    return _BLANK._replace(changes=found.changes, notes=(unfinished,) if unfinished else ())


def _apply(host: Host, request: Request) -> Report:
    with host.lock(journal.LOCK, _holder(request)):
        undo.end_of_earlier_boot(host, request.tune.who)
        unfinished = engine.unfinished(host)
        if unfinished:
            raise apply.NotStartedError(unfinished)
        done = apply.apply(host, lambda: inventory(host), request)
    return _BLANK._replace(changes=done.changes, transactions=(done.transaction,) if done.transaction else ())


def _confirm(host: Host, request: Request) -> Report:
    with host.lock(journal.LOCK, _holder(request)):
        done = apply.confirm(host, lambda: inventory(host), request)
    return _BLANK._replace(changes=done.changes, transactions=(done.transaction,) if done.transaction else ())


def _rollback(host: Host, request: Request) -> Report:
    with host.lock(journal.LOCK, _holder(request)), apply.at_work():
        done = undo.rollback(host, request.tune.transaction, request.tune.who)
    return _BLANK._replace(changes=done.changes, transactions=(done.transaction,))


def _history(host: Host, request: Request) -> Report:
    name = request.tune.transaction
    broken: List[journal.JournalError] = []
    logs = journal.logs(host, broken.append)
    found = tuple((journal.load(host, name),) if name else islice(logs, _MOST))
    told = tuple(log.told() for log in found)
    return _BLANK._replace(
        transactions=told, errors=tuple(NodeError("tune-error", str(each), each.hint) for each in broken)
    )


def _holder(request: Request) -> str:
    return "{}: brctl {}".format(request.tune.who or "somebody", request.action.replace("-", " "))


def _failed(kind: str, message: str, hint: Optional[str] = None) -> Report:
    return _BLANK._replace(errors=(NodeError(kind, message, hint),))


_ACTIONS: Dict[str, Callable[[Host, Request], Report]] = {
    "tune-plan": _plan,
    "tune-apply": _apply,
    "tune-rollback": _rollback,
    "tune-confirm": _confirm,
    "tune-history": _history,
}
