"""What an agent can be asked to do, by the action of a Request. Each imports what it needs when it is asked for."""

import time
from typing import Callable, Dict, Tuple

from .facts import Inventory
from .host import Host
from .report import NodeError, Report
from .request import TUNING, Request

_BLANK = Report("", 0.0, 0.0)


def answer(host: Host, request: Request) -> Report:
    """Do what is asked, here and now. Node, mock and times are put into the Report here, whatever the action."""
    began, clock = time.time(), time.monotonic()
    report = ACTIONS.get(request.action, _unknown)(host, request)
    return report._replace(node=request.node, time=began, elapsed_s=time.monotonic() - clock, mock=host.mock)


def inventory(host: Host, health: bool = False) -> Inventory:
    """As probe.inventory."""
    from . import probe

    return probe.inventory(host, health)


def gpus_declared(request: Request) -> int:
    """How many GPUs the config says that the node has; 0 where it says nothing."""
    declared = request.expected.accelerator
    return (declared.gpu_count or 0) if declared else 0


def _show(host: Host, request: Request) -> Report:  # noqa: ARG001  # an action has both
    return _BLANK._replace(inventory=inventory(host))


def _check(host: Host, request: Request) -> Report:
    from .diagnose import engine

    seen = inventory(host)
    findings = engine.run(seen, request.expected, request.overrides, engine.tagged("inventory"))
    return _BLANK._replace(inventory=seen, findings=findings)


def _diagnose(host: Host, request: Request) -> Report:
    """Look twice, and judge counters by what they grew meanwhile and since the baseline."""
    from .diagnose import Earlier, engine
    from .host.members import of_ids
    from .probe import again

    before = inventory(host, health=True)
    time.sleep(request.interval_s)
    seen = again(host, before)
    earlier = [Earlier(before, "the first sample")]
    notes: Tuple[str, ...] = ()
    if request.baseline and engine.since_boot(seen, request.baseline):
        earlier.append(Earlier(request.baseline, "the baseline"))
    elif request.baseline:
        notes = ("the baseline is not used: the machine was started anew since, or does not tell",)
    chosen = of_ids(engine.registry(), request.checks)
    findings = engine.run(seen, request.expected, request.overrides, chosen, earlier)
    return _BLANK._replace(inventory=seen, findings=findings, notes=notes)


def _bundle(host: Host, request: Request) -> Report:  # noqa: ARG001
    """What the machine is, and a recording of all that was read to tell."""
    from .host.recording import Recording

    recording = Recording(host)
    return _BLANK._replace(inventory=inventory(recording, health=True), bundle=recording.bundle())


def _clean(host: Host, request: Request) -> Report:
    """Where there is a cache, this comes to the door in front of it (fleet/door.py)."""
    if host.read(TUNING) is not None and not request.force:
        busy = NodeError("busy", "a tuning transaction is open: " + TUNING, "end it first, or --force")
        return _BLANK._replace(errors=(busy,))
    return _BLANK._replace(notes=("nothing was left",))


def _comm(host: Host, request: Request) -> Report:
    from .comm.sources import environment

    seen = inventory(host)
    jobs = environment(host, seen, request.expected, request.comm)
    return _BLANK._replace(inventory=seen, environment=jobs)


def _sample(host: Host, request: Request) -> Report:
    from .monitor import sampler

    samples = sampler.Sampler(host, request.sampling, gpus_declared(request))
    tick = samples.tick(first=True)
    found = tuple(sample for block in tick.blocks for sample in block.samples)
    return _BLANK._replace(notes=tick.notes, series=samples.series, samples=found)


def _release(host: Host, request: Request) -> Report:
    from .monitor import release

    try:
        end = release.release(host, request.sampling.release_s)
    except OSError as error:
        message = "cannot write {}: {}".format(release.PATH, (error.strerror or str(error)).lower())
        hint = "run it as root: sudo brctl monitor release" if isinstance(error, PermissionError) else None
        return _BLANK._replace(errors=(NodeError("release-error", message, hint),))
    until = time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(end))
    let_go = request.sampling.release_s > 0
    return _BLANK._replace(notes=("GPUs are let go until " + until if let_go else "GPUs are watched again",))


def _pair(host: Host, request: Request) -> Report:
    from .diagnose import pair

    return pair.answer(host, request)


def _tune(host: Host, request: Request) -> Report:
    from .tune import actions

    return actions.answer(host, request)


def _unknown(host: Host, request: Request) -> Report:  # noqa: ARG001
    return _BLANK._replace(errors=(NodeError("invalid-request", "no such action: {!r}".format(request.action)),))


ACTIONS: Dict[str, Callable[[Host, Request], Report]] = {
    "show": _show,
    "check": _check,
    "diagnose": _diagnose,
    "bundle": _bundle,
    "clean": _clean,
    "comm": _comm,
    "sample": _sample,
    "release": _release,
    "endpoints": _pair,
    "pair": _pair,
    "collective": _pair,
    "tune-plan": _tune,
    "tune-apply": _tune,
    "tune-rollback": _tune,
    "tune-confirm": _tune,
    "tune-history": _tune,
}
"""`monitor`, which gives more than one answer, is the agent's own."""
