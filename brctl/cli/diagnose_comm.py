"""brctl diagnose comm: which node, NIC or path between nodes is bad."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .common import Common, common
from .errors import INCOMPLETE, CommandError
from .files import read
from .node_manager import FAIL_ON, STRICT, FailOn, finish

if TYPE_CHECKING:
    from ..fleet.paths import Result
    from ..node.report import Endpoint, Finding, Report
    from ..node.request import PairEnd
    from .fleet import FleetSession

ECHO_S = 10.0
"""For one echo: 15 ms on a good path, 3 s where packets are lost; the rest for a slow peer to start."""
LOAD_S = 2.0
"""Of iperf3 in each direction."""
START_S = 3.0
"""For the agents of a round to be there, as the plan reckons it."""
MOST_ROUNDS = 5
_LOADS = (
    f"           iperf3 --time {LOAD_S:g}, there and back; where both ends have RDMA and perftest, ib_write_lat and",
    f"           ib_write_bw -D {LOAD_S:g}",
    "each node with several GPUs: all_reduce_perf -b 8M -e 1G over them, where it is installed",
)
LARGEST_LOG_BYTES = 64 << 20
_OF_TESTS = ("rail", "level", "budget", "plan", "force_busy")


class Level(str, Enum):
    """What is measured."""

    quick = "quick"
    full = "full"


def comm(
    ctx: typer.Context,
    rail: int | None = typer.Option(None, "--rail", metavar="N", min=1, help="This rail alone, from 1; else all."),
    level: Level = typer.Option(
        Level.quick, "--level", help="quick: round trip, path MTU, loss; full: bandwidth, RDMA and all-reduce too."
    ),
    budget: str = typer.Option("5m", "--budget", metavar="TIME", help="No new rail is begun after that."),
    plan: bool = typer.Option(False, "--plan", help="Say what would be tested, how long and what it disturbs."),
    from_log: Path | None = typer.Option(
        None, "--from-log", metavar="FILE", help="Judge the log of nccl-tests, nvbandwidth or ib_write_bw instead."
    ),
    link_rate: str | None = typer.Option(
        None, "--link-rate", metavar="RATE", help="Of a port, which --from-log compares with: 400Gb/s."
    ),
    force_busy: bool = typer.Option(False, "--force-busy", help="Also between nodes whose GPUs are in use."),
    fail_on: FailOn | None = FAIL_ON,
    strict: bool = STRICT,
) -> None:
    """Test the network between nodes in pairs, and name the node, NIC or path that is bad: --nodes SET."""
    from .. import render
    from .session import seconds
    from .verdict import exit_code, silent

    given = common(ctx)
    form = given.form("table", "json", "yaml")
    _refuse_mixed(ctx, from_log)
    if from_log:
        raise typer.Exit(_judge_log(given, form, from_log, link_rate, (fail_on or FailOn.warn).value, strict))
    run = _fleet(ctx, given)
    over_s = time.monotonic() + seconds("--budget", budget)
    reports = _whole(run.ask("endpoints", lambda: render.prepare(form)))
    if sum(not report.errors for report in reports) < 2:
        render.check(reports, form, given.quiet, given.verbose, command="diagnose comm")
        raise typer.Exit(finish(given, reports, form, exit_code(reports, "crit", strict)))
    rails = _rails(reports, rail)
    if plan:
        return render.plain(_told(rails, level))
    if not force_busy:
        _refuse_busy(reports)
    results = _tested(given, run, rails, LOAD_S if level is Level.full else 0.0, over_s)
    collectives = _collectives(run, reports) if level is Level.full else ()
    judged = _judged(run, reports, results, collectives)
    code = exit_code([*judged, *collectives], (fail_on or FailOn(run.fail_on)).value, strict)
    if not silent(given, form, code):
        render.check(judged, form, given.quiet, given.verbose, command="diagnose comm")
    raise typer.Exit(finish(given, judged, form, code))


def _refuse_mixed(ctx: typer.Context, from_log: Path | None) -> None:
    """A log is judged, or nodes are tested: an option of the one means nothing to the other. Raises CommandError."""
    foreign = _OF_TESTS if from_log else ("link_rate",)
    for param in ctx.command.params:
        source = ctx.get_parameter_source(param.name) if param.name and param.name in foreign else None
        if source and source.name == "COMMANDLINE":
            what = "is of tests between nodes" if from_log else "is of a log"
            hint = "leave it out, or leave out --from-log" if from_log else "name the log: --from-log FILE"
            raise CommandError(f"{param.opts[0]} {what}", hint)


def _fleet(ctx: typer.Context, given: Common) -> FleetSession:
    """Two real nodes at the least. Raises CommandError."""
    from .session import fleet_session, mocked

    if given.nodes is None:
        raise CommandError("pairs of nodes are tested, and none are named", "name them: --nodes SET, or --nodes @all")
    if any(mocked(given)):
        raise CommandError("there is no network between mocked machines", "leave out --mock and $BRCTL_MOCK")
    run = fleet_session(ctx)
    if len(run.targets) < 2:
        raise CommandError("one node has no pair", "name two at the least; with six it can be told what is usual")
    return run


def _collectives(run: FleetSession, reports: Sequence[Report]) -> Sequence[Report]:
    """What all_reduce_perf prints on each node with several GPUs."""
    from ..node.diagnose.pair import COLLECTIVE_S
    from .waves import Plan

    several = {report.node for report in reports if len((report.inventory and report.inventory.gpus) or ()) > 1}
    targets = [target for target in run.targets if target.node in several]
    if not targets:
        return ()
    # A node that gives the test up has to be heard saying so.
    patient = run.limits._replace(answer_s=run.limits.answer_s + COLLECTIVE_S)
    return run._replace(targets=targets, limits=patient, plan=Plan()).ask("collective", lambda: None)


def _judge_log(given: Common, form: str, file: Path, link_rate: str | None, fail_on: str, strict: bool) -> int:
    """Raises CommandError: it cannot be read, or is no such log."""
    from .. import render
    from ..fleet.benchmarks import described, findings, parse
    from ..node.report import Report
    from .verdict import exit_code

    data = read(file, LARGEST_LOG_BYTES)
    log = parse(data.decode("utf-8", "replace")) if data else None
    if log is None:
        raise CommandError(f"{file} is no log of nccl-tests, nvbandwidth or perftest", "see docs/comm.md")
    found = findings(log, str(file), _gigabytes(link_rate) if link_rate else None)
    report = Report(str(file), time.time(), 0.0, findings=found)
    render.benchmark(report, described(log), form, given.quiet, given.verbose)
    return exit_code([report], fail_on, strict)


def _gigabytes(rate: str) -> float:
    """GB/s of `400Gb/s`. Raises CommandError."""
    from ..config.units import RATE, base

    try:
        return base(RATE, rate) / 8000
    except ValueError as error:
        raise CommandError(f"--link-rate {rate}: {error}", getattr(error, "hint", None)) from None


def _rails(reports: Sequence[Report], rail: int | None) -> Mapping[str, Mapping[str, Endpoint]]:
    """By the name of the rail, the end of each node that has one. Raises CommandError: fewer than two nodes have."""
    number = max((len(report.endpoints) for report in reports), default=0)
    chosen = [rail - 1] if rail else range(number)
    found = {f"rail {place + 1}": _ends(reports, place) for place in chosen}
    found = {name: ends for name, ends in found.items() if len(ends) > 1}
    if not found:
        which = f"rail {rail}" if rail else "an interface that carries jobs"
        hint = "name them in the config: hardware.GROUP.nics.interfaces"
        raise CommandError(f"fewer than two nodes have {which}, with an address and up", hint, INCOMPLETE)
    return found


def _ends(reports: Sequence[Report], place: int) -> dict[str, Endpoint]:
    ends = {report.node: report.endpoints[place] for report in reports if len(report.endpoints) > place}
    return {node: end for node, end in ends.items() if end.address and end.up}


def _refuse_busy(reports: Sequence[Report]) -> None:
    from ..fleet.fold import node_set

    busy = [report.node for report in reports if _is_busy(report)]
    if busy:
        what = f"GPUs are in use on {node_set(busy)}: tests would disturb the jobs, and these the tests"
        raise CommandError(what, "drain them first, leave them out, or --force-busy", INCOMPLETE)


def _is_busy(report: Report) -> bool:
    return any(gpu.processes for gpu in (report.inventory.gpus if report.inventory else None) or ())


def _tested(
    given: Common, run: FleetSession, rails: Mapping[str, Mapping[str, Endpoint]], loaded_s: float, over_s: float
) -> Mapping[str, Result]:
    """By rail; none is begun after `over_s`."""
    results: dict[str, Result] = {}
    for name, ends in rails.items():
        if results and time.monotonic() > over_s:
            given.warn(f"warning: the budget is spent: {name} and later rails are not tested")
            break
        results[name] = _test(run, ends, loaded_s)
    return results


def _whole(reports: Sequence[Report]) -> Sequence[Report]:
    """The same. Raises KeyboardInterrupt where Ctrl-C ended it: of a part of the pairs nobody can tell who is bad."""
    from .verdict import interrupted

    if interrupted(reports):
        raise KeyboardInterrupt
    return reports


def _test(run: FleetSession, ends: Mapping[str, Endpoint], loaded_s: float) -> Result:
    from ..fleet.paths import Search, plan
    from .waves import Plan

    def ask(pairs: Mapping[str, PairEnd]) -> Mapping[str, Report]:
        targets = [target for target in run.targets if target.node in pairs]
        # A server must be there when its peer begins: all of a round at once.
        room = run.limits._replace(fanout=max(run.limits.fanout, len(targets)))
        part = run._replace(targets=targets, limits=room, plan=Plan())
        reports = _whole(part.ask("pair", lambda: None, lambda request: request._replace(pair=pairs[request.node])))
        return {report.node: report for report in reports}

    return Search(plan(ends), ask, ECHO_S, loaded_s).run()


def _judged(
    run: FleetSession,
    reports: Sequence[Report],
    results: Mapping[str, Result],
    collectives: Sequence[Report],
) -> Sequence[Report]:
    """What every rail says of each node; what is the same on all of them is the node's."""
    from ..fleet import collectives as gpus
    from ..fleet.paths import findings

    names = [report.node for report in reports]
    groups = run.config.groups if run.config else {}
    found = {rail: findings(result, names, groups) for rail, result in results.items()}
    collective = gpus.findings(collectives)
    told = [_with(report, [each[report.node] for each in found.values()], list(found)) for report in reports]
    return [
        report._replace(findings=(*report.findings, *collective.get(report.node, ()))) if not report.errors else report
        for report in told
    ]


def _with(report: Report, of_rails: Sequence[Sequence[Finding]], rails: Sequence[str]) -> Report:
    from ..node.report import Subject

    if report.errors:
        return report._replace(inventory=None)
    everywhere = [finding for finding in of_rails[0] if all(_has(other, finding) for other in of_rails)]
    kept = list(everywhere)
    for rail, findings in zip(rails, of_rails, strict=True):
        place = int(rail.split()[1]) - 1
        nic = report.endpoints[place].interface if place < len(report.endpoints) else rail
        own = [finding for finding in findings if not _has(everywhere, finding)]
        kept += [finding._replace(subject=Subject("nic", nic, nic)) for finding in own]
    return report._replace(inventory=None, findings=tuple(kept))


def _has(findings: Sequence[Finding], finding: Finding) -> bool:
    return any(each.check == finding.check and each.fold == finding.fold for each in findings)


def _told(rails: Mapping[str, Mapping[str, Endpoint]], level: Level) -> str:
    """The pairs, commands, minutes and disturbance."""
    from ..fleet.paths import plan

    lines = []
    for rail, ends in rails.items():
        given = plan(ends)
        lines.append(f"{rail}: {len(ends)} nodes, packets of {given.mtu} bytes")
        for number, matching in enumerate(given.rounds, 1):
            lines.append(f"  round {number}: " + ", ".join(f"{pair.a}-{pair.b}" for pair in matching))
    loaded = level is Level.full
    each_s = START_S + (3 * LOAD_S if loaded else 0)
    least = sum(len(plan(ends).rounds) for ends in rails.values())
    lines += [
        "each pair: 200 round trips of 64 bytes by TCP, 1000 datagrams of 200 bytes and one of full size by UDP",
        *(_LOADS if loaded else []),
        "suspects: three more rounds for each respect in which there are any",
        f"about {least * each_s / 60:.1f} minutes, {MOST_ROUNDS * each_s / 60:.1f} more for each suspect respect",
        "disturbs: " + ("fills the links for seconds at a time" if loaded else "a few hundred kB a pair"),
    ]
    return "\n".join(lines) + "\n"
