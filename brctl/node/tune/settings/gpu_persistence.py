"""Persistence mode keeps the driver loaded while nobody uses a GPU. Without it the driver is unloaded when the last
process ends, which takes power limits and locked clocks back to their defaults, and the next process waits for a second
or two for each GPU. So it is set before both.

It is set through NVML at once. After a boot it is nvidia-persistenced that sets it: a drop-in gives the daemon's own
command line the option. Where the daemon is not installed, brctl-boot.service sets it.

When not to: a GPU in persistence mode cannot be reset or put into MIG mode while the daemon runs
(NVIDIA/gpu-operator#118); stop the daemon first.
"""

from typing import Iterator, Optional, Tuple

from ...facts import Gpu
from ...report import Change, Outcome
from ...request import Wanted
from .. import Place, Scene, Setting, Step, Write, boot, file_value, persistenced
from ..gpus import PERSISTENCE, split, subject

_ID, _KEY = "gpu-persistence", PERSISTENCE
_SOURCE = "NVIDIA, driver persistence: recommended on servers"
_WORDS = {True: "on", False: "off"}


def plan(scene: Scene) -> Iterator[Step]:
    wanted = scene.want.persistence_mode
    if wanted is None:
        return
    gpus, refused = split(scene, _ID, _KEY, _WORDS[wanted])
    yield from refused
    unit = persistenced.read(scene.host)
    lasts = _lasting(scene, unit, wanted) if gpus else ()
    after = (boot.RELOAD,) if lasts else ()
    now_at_boot, source = _at_boot(scene, unit)
    for gpu in gpus:
        step = _step(gpu, wanted)
        change = step.change._replace(boot=now_at_boot, boot_source=source)
        yield step._replace(change=change, boot=lasts if step.change.outcome is Outcome.OK else (), after=after)


def _step(gpu: Gpu, wanted: bool) -> Step:
    live = gpu.identity.persistence_mode if gpu.identity else None
    change = Change(_ID, subject(gpu), _KEY, Outcome.OK, _WORDS[wanted], source=_SOURCE)
    if live is None:
        why = None if not wanted else "this GPU has no persistence mode"
        return Step(change._replace(outcome=Outcome.REFUSED if wanted else Outcome.NA, reason=why))
    change = change._replace(live=_WORDS[live], effects=_effects(live, wanted))
    place = Place("gpu", gpu.uuid or "", "persistence_mode")
    return Step(change, (Write(place, str(int(wanted))),) if live != wanted else ())


def _effects(live: bool, wanted: bool) -> Tuple[str, ...]:
    return ("power limit and clocks go back to default when the last process ends",) if live and not wanted else ()


def _lasting(scene: Scene, unit: Optional[persistenced.Unit], wanted: bool) -> Tuple[Write, ...]:
    if unit is None:
        return boot.lasting(scene, _ID, lambda held: held._replace(persistence_mode=wanted))
    if unit.on == wanted:
        return ()
    return (Write(Place("file", persistenced.DROP_IN), file_value(persistenced.with_mode(unit, wanted))),)


def _at_boot(scene: Scene, unit: Optional[persistenced.Unit]) -> Tuple[str, str]:
    if unit:
        return _WORDS[unit.on], unit.source
    held = boot.read(scene.host)
    wanted: Wanted = held.request.tune.wanted if held else Wanted()
    if wanted.persistence_mode is None:
        return _WORDS[False], "the driver's default"
    return _WORDS[wanted.persistence_mode], boot.JSON


SETTING = Setting(_ID, "GPU persistence mode", 10, ("gpu.persistence_mode",), plan)
