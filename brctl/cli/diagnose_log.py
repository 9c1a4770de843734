"""brctl diagnose log, explain and list: what somebody saved, and what is known of checks and Xids."""

from __future__ import annotations

import difflib
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .common import FORMS, MORE_FORMS, Common, common, completion
from .errors import CommandError
from .files import unreadable
from .node_manager import FAIL_ON, STRICT, FailOn

if TYPE_CHECKING:
    from ..config.resolve import Config
    from ..node.diagnose import Earlier
    from ..node.report import Report
    from ..saved import Saved

STDIN = "-"
_FELL = "warning: {} {} less than in {}, and not judged: the driver was loaded anew, or FILE is the earlier one"


def log(
    ctx: typer.Context,
    file: str = typer.Argument(
        metavar="FILE|-", help="- is stdin; also packed with gzip or xz.", autocompletion=completion("files")
    ),
    baseline: str | None = typer.Option(
        None,
        "--baseline",
        metavar="FILE",
        help="The same output, saved earlier: what has grown since is judged. With --apart.",
        autocompletion=completion("files"),
    ),
    apart: str | None = typer.Option(
        None, "--apart", metavar="TIME", help="Between --baseline and FILE: files do not tell when they were printed."
    ),
    fail_on: FailOn | None = FAIL_ON,
    strict: bool = STRICT,
) -> None:
    """Judge what was saved: a kernel log or journal, `nvidia-smi -q [-x]`, `nvlink -s`, `ethtool -S`, `ibstat`.

    What it is shows by its content. The same checks judge it as `diagnose run` has; of what it does not tell, nothing
    is said. A kernel log that does not begin with the boot is never clean.
    """
    from .. import render
    from .session import opened
    from .verdict import exit_code, plugin_code, silent

    given = common(ctx)
    form = given.form(*FORMS, *MORE_FORMS)
    if given.nodes is not None:
        raise CommandError("--nodes: `diagnose log` judges a file", "`brctl diagnose run --nodes` asks nodes")
    config = opened(given)
    name = "stdin" if file == STDIN else Path(file).name
    saved, earlier = _since(given, _read(file), file, baseline, apart)
    report = _judged(saved, earlier, name, config, given.as_node)
    declared = config.node(given.as_node).diagnose.fail_on if config else "warn"
    code = exit_code([report], fail_on.value if fail_on else declared, strict)
    if not silent(given, form, code):
        render.diagnosis([report], form, given.quiet, given.verbose, command="diagnose log")
    raise typer.Exit(plugin_code([report]) if form == "nagios" else code)


def explain(
    ctx: typer.Context,
    what: list[str] = typer.Argument(
        metavar="CHECK|SYMPTOM|xid N",
        help="A check's id, a symptom (`symptom gpu-memory`, which is a check too), or the number of an Xid.",
        autocompletion=completion("explained"),
    ),
) -> None:
    """Explain a check: what it looks at, its thresholds and why. Or a symptom: its causes and what speaks for and
    against each. Or an Xid: its meaning, who says what, what to do."""
    from .. import render

    form = common(ctx).form(*FORMS)
    number = _xid(what)
    if number is None:
        from ..node.diagnose.engine import registry
        from ..node.diagnose.manual import SYMPTOMS, card

        checks = {check.id: check for check in registry()}
        name = " ".join(what).removeprefix("symptom ")
        if name in SYMPTOMS and (name not in checks or what[0] == "symptom"):
            return render.card_explained(card(name), form)
        if name not in checks:
            near = difflib.get_close_matches(name, [*checks, *SYMPTOMS], n=1, cutoff=0)[0]
            raise CommandError(f"no such check: {name}", f"did you mean {near}? `brctl diagnose list` has them all")
        return render.check_explained(checks[name], form)
    return render.xid_explained(number, form)


def list_(ctx: typer.Context) -> None:
    """List all checks by group, with what is true when they pass; then the symptoms."""
    from .. import render
    from ..node.diagnose.engine import registry
    from ..node.diagnose.manual import SYMPTOMS, card

    render.checks(registry(), [card(symptom) for symptom in SYMPTOMS], common(ctx).form(*FORMS))


def _xid(words: list[str]) -> int | None:
    """The number of `xid 79`, `Xid79` or `79`; None: no Xid is meant. Raises CommandError."""
    text = " ".join(words).lower()
    number = re.fullmatch(r"(?:xid)? ?([0-9]{1,5})", text)
    if number:
        return int(number.group(1))
    if not text.startswith("xid") and not text[:1].isdecimal():
        return None
    what = "one Xid at a time" if len(text.split()) > len(("xid", "N")) else "the number of an Xid is missing"
    raise CommandError(f"explain {' '.join(words)}: {what}", "brctl diagnose explain xid 79")


def _read(file: str) -> Saved:
    """What the file holds. Raises CommandError."""
    from ..saved import read
    from ..saved.stream import Source, UnreadableError

    label = "stdin" if file == STDIN else file
    try:
        if file == STDIN:
            return read(Source(sys.stdin.buffer), label)  # type: ignore[arg-type]  # it is a BufferedReader
        with Path(file).open("rb") as stream:
            return read(Source(stream), label)
    except UnreadableError as error:
        raise CommandError(f"{label} {error}", error.hint) from None
    except OSError as error:
        raise unreadable(label, error) from None


def _since(
    given: Common, saved: Saved, file: str, baseline: str | None, apart: str | None
) -> tuple[Saved, Sequence[Earlier]]:
    """With what was saved before, if it is given. Raises CommandError."""
    from ..saved.growth import compared, fallen
    from ..saved.stream import UnreadableError
    from .session import seconds

    if baseline is None and apart is None:
        return saved, ()
    if baseline is None or apart is None:
        raise CommandError("--baseline and --apart belong together", "for example: --baseline before.txt --apart 10m")
    if file == baseline == STDIN:
        raise CommandError("--baseline -: stdin is FILE already")
    name = "stdin" if baseline == STDIN else Path(baseline).name
    try:
        later, earlier = compared(saved, _read(baseline), seconds("--apart", apart), name)
    except UnreadableError as error:
        raise CommandError(f"--baseline {baseline} {error}", error.hint) from None
    count = fallen(later.seen, earlier.seen)
    if count:
        given.warn(_FELL.format(count, "counter is" if count == 1 else "counters are", name))
    return later, (earlier,)


def _judged(saved: Saved, earlier: Sequence[Earlier], name: str, config: Config | None, as_node: str | None) -> Report:
    from ..node.diagnose import engine
    from ..node.report import Report
    from .fleet import target

    began, clock = time.time(), time.monotonic()
    if config and as_node and as_node not in config.nodes:
        raise CommandError(f"--as {as_node}: {config.path} has no such node", "see cluster.nodes there")
    wanted = target(as_node or name, config)
    chosen = [check for check in engine.registry() if saved.tells(check)]
    expected = wanted.expected._replace(nics=wanted.expected.nics or saved.expected.nics)
    findings = engine.run(saved.seen, expected, wanted.overrides, chosen, earlier)
    return Report(as_node or name, began, time.monotonic() - clock, inventory=saved.told, findings=findings)
