"""The power limit is a cap: a GPU that works hard is slowed down until it draws no more than that. It is no clock
setting, and costs speed where a job is bound by power: 300 W are a cut of 57 % on a part of 700 W.

The config gives watts, percent of the default, or a map from model to either, as the range differs by model. What is
wanted is compared with the range that NVML tells (nvmlDeviceGetPowerManagementLimitConstraints), and one GPU that
cannot take it refuses the whole node before the first GPU is touched. NVML would answer INVALID_ARGUMENT, and no more.

The limit is lost when the driver is unloaded and at a reboot (nvml.h): persistence mode goes first, and with --persist
brctl-boot.service sets it again. Where a BMC or a site's power management holds the GPU lower, the limit that is in
force stays below what was asked for: `capped out of band`.

When not to: leave the default, unless the site has too little power or cooling.
"""

from fnmatch import fnmatchcase
from typing import Iterator, Optional, Sequence

from ...facts import Gpu, GpuLimits
from ...report import Change, Outcome
from ...request import PowerLimit
from .. import Place, Scene, Setting, Step, Write, boot, refused
from ..gpus import circumstances, nothing_wanted, split, subject

_ID, _KEY = "gpu-power-limit", "power limit"
_DEFAULT = "the driver's default"


def plan(scene: Scene) -> Iterator[Step]:
    wanted = scene.want.power_limits
    if not wanted:
        return
    gpus, refused = split(scene, _ID, _KEY, _wish(wanted))
    yield from refused
    meant = [gpu for gpu in gpus if _chosen(gpu, wanted)]
    if gpus and not meant:
        yield nothing_wanted(_ID, _KEY, "no GPU of this machine is of a model that tune.gpu.power_limit names")
    lasts = boot.lasting(scene, _ID, lambda held: held._replace(power_limits=wanted)) if meant else ()
    for gpu in meant:
        step = _step(scene, gpu, wanted)
        yield step._replace(boot=lasts, after=(boot.RELOAD,)) if step.change.outcome is not Outcome.REFUSED else step


def _step(scene: Scene, gpu: Gpu, wanted: Sequence[PowerLimit]) -> Step:
    limits, watts = gpu.limits, _watts(gpu, wanted)
    change = Change(_ID, subject(gpu), _KEY, Outcome.OK, _wish(wanted))
    if limits is None or limits.power_limit_watts is None or watts is None:
        return refused(change, "this GPU has no power limit that can be set")
    at_boot, source = _at_boot(scene, gpu)
    needs, effects = circumstances(scene, gpu)
    change = change._replace(
        wanted=_text(watts),
        live=_live(limits),
        boot=at_boot,
        boot_source=source,
        effects=(*_range(limits, watts), *effects),
    )
    least, most = limits.min_power_limit_watts, limits.max_power_limit_watts
    if (least is not None and watts < least) or (most is not None and watts > most):
        why = "{} is outside of what this GPU takes: {} to {}".format(*map(_text, (watts, least, most)))
        return refused(change, why)
    if limits.power_limit_watts != watts:
        write = Write(Place("gpu", gpu.uuid or "", "power_limit"), "{:g}".format(watts))
        return Step(change, (write,), needs=needs)
    change = change._replace(effects=tuple(_range(limits, watts)))
    enforced = limits.enforced_power_limit_watts
    if enforced is not None and enforced < watts:
        why = "{} are in force: a BMC, the chassis or the site's power management holds it lower".format(
            _text(enforced)
        )
        return Step(change._replace(outcome=Outcome.CAPPED, reason=why))
    return Step(change)


def _wish(wanted: Sequence[PowerLimit]) -> str:
    first = wanted[0]
    if len(wanted) > 1:
        return "by model"
    return _text(first.watts) if first.watts is not None else "{:g} % of the default".format(first.percent or 0)


def _chosen(gpu: Gpu, wanted: Sequence[PowerLimit]) -> Optional[PowerLimit]:
    """What is wanted of this GPU: by its name, else by a pattern, else what holds for all."""
    name = gpu.identity.name if gpu.identity else ""
    named = [limit for limit in wanted if limit.model == name]
    like = [limit for limit in wanted if limit.model not in (None, "*") and fnmatchcase(name, limit.model or "")]
    return next(iter(named + like + [limit for limit in wanted if limit.model in (None, "*")]), None)


def _watts(gpu: Gpu, wanted: Sequence[PowerLimit]) -> Optional[float]:
    """Whole watts, of percent; None where it has no default that they could be of."""
    limit = _chosen(gpu, wanted)
    default = gpu.limits.default_power_limit_watts if gpu.limits else None
    if limit is None or limit.watts is not None:
        return limit and limit.watts
    return None if limit.percent is None or default is None else float(round(default * limit.percent / 100))


def _at_boot(scene: Scene, gpu: Gpu) -> "tuple[str, str]":
    held = boot.read(scene.host)
    watts = _watts(gpu, held.request.tune.wanted.power_limits) if held else None
    if watts is not None:
        return _text(watts), boot.JSON
    return _text(gpu.limits.default_power_limit_watts if gpu.limits else None), _DEFAULT


def _live(limits: GpuLimits) -> str:
    asked, enforced = limits.power_limit_watts, limits.enforced_power_limit_watts
    return _text(asked) if enforced in (None, asked) else "{}, {} in force".format(_text(asked), _text(enforced))


def _range(limits: GpuLimits, watts: float) -> Iterator[str]:
    default = limits.default_power_limit_watts
    least, most = limits.min_power_limit_watts, limits.max_power_limit_watts
    yield "default {}, {} to {} possible".format(*map(_text, (default, least, most)))
    if default and watts < default:
        yield "a cut of {:.0f} % for jobs that are bound by power".format(100 - 100 * watts / default)


def _text(watts: Optional[float]) -> str:
    return "?" if watts is None else "{:g} W".format(watts)


SETTING = Setting(_ID, "GPU power limit", 20, ("gpu.power_limit",), plan)
