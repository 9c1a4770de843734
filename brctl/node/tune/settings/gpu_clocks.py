"""Locked clocks hold the SM clock in a range, so that all GPUs of a job run alike and a benchmark repeats. The GPU
still goes below it where power or heat demands that.

NVML has no call that tells the range that is locked. So what brctl has set since the boot is known from its journal,
and a range that anybody else has set cannot be seen: rollback then resets the clocks to their default.

The lock is lost when the driver is unloaded and at a reboot (nvml.h): persistence mode goes first, and with --persist
brctl-boot.service sets it again. Application clocks are not used: NVIDIA has announced their end.

When not to: to save power, a limit in watts is better; a lock at the greatest clock costs idle power and gains little.
"""

from typing import Iterator, Optional

from ...facts import Gpu
from ...report import Change, Outcome
from ...request import Clocks
from .. import Place, Scene, Setting, Step, Write, boot, refused
from ..gpus import circumstances, split, subject
from ..places import Places, WriteError

_ID, _KEY = "gpu-clocks", "locked clocks"
_UNSEEN = "a range that brctl did not set cannot be read back; rollback resets it to the default"


def plan(scene: Scene) -> Iterator[Step]:
    wanted = scene.want.locked_clocks
    if wanted is None:
        return
    gpus, refused = split(scene, _ID, _KEY, _text(wanted) or "")
    yield from refused
    lasts = boot.lasting(scene, _ID, lambda held: held._replace(locked_clocks=wanted)) if gpus else ()
    held = boot.read(scene.host)
    at_boot = held.request.tune.wanted.locked_clocks if held else None
    places = Places(scene.host)
    for gpu in gpus:
        step = _step(scene, places, gpu, wanted)
        change = step.change._replace(
            boot=_text(at_boot) or "not locked", boot_source=boot.JSON if at_boot else "the driver's default"
        )
        lasting = lasts if change.outcome is not Outcome.REFUSED else ()
        yield step._replace(change=change, boot=lasting, after=(boot.RELOAD,))


def _step(scene: Scene, places: Places, gpu: Gpu, wanted: Clocks) -> Step:
    change = Change(_ID, subject(gpu), _KEY, Outcome.OK, _text(wanted))
    most = gpu.limits.max_sm_clock_mhz if gpu.limits else None
    if most is None:
        return refused(change, "this GPU tells no clocks that could be locked")
    if wanted.max_mhz > most:
        why = "{} MHz are more than this GPU's greatest SM clock, {} MHz".format(wanted.max_mhz, most)
        return refused(change, why)
    place = Place("gpu", gpu.uuid or "", "locked_clocks")
    value, known = "{} {}".format(wanted.min_mhz, wanted.max_mhz), _known(places, place)
    change = change._replace(live=_range(known))
    if known == value:
        return Step(change)
    needs, effects = circumstances(scene, gpu)
    return Step(change._replace(effects=effects if known else (_UNSEEN, *effects)), (Write(place, value),), needs=needs)


def _known(places: Places, place: Place) -> Optional[str]:
    """What the journal says, which root alone may read."""
    try:
        return places.read(place)
    except WriteError:
        return None


def _range(known: Optional[str]) -> Optional[str]:
    return None if known is None else "{} to {} MHz".format(*known.split())


def _text(clocks: Optional[Clocks]) -> Optional[str]:
    return None if clocks is None else "{} to {} MHz".format(clocks.min_mhz, clocks.max_mhz)


SETTING = Setting(_ID, "GPU clocks", 30, ("gpu.locked_clocks",), plan)
