"""What may be set on a mocked GPU, with the checks that the driver makes. Each gives the settings that change."""

from typing import Any, Callable, Dict, Mapping

from .nvml_answer import IN_USE, INVALID_ARGUMENT, SUCCESS, RefusedError, Values, need, plain

Settings = Dict[str, Any]

SETTABLE = (
    "compute_mode",
    "ecc_pending",
    "locked_clocks_mhz",
    "mig_enabled",
    "mig_pending",
    "persistence_mode",
    "power_limit_watts",
)


def with_settings(values: Values, settings: Mapping[str, Any]) -> Dict[str, Any]:
    """The GPU's values as they are with what was set. The enforced power limit follows the requested one, but where
    a lower one is in force for another reason; clocks stay in the range that they are locked to."""
    whole = dict(values, **settings)
    limit = whole.get("power_limit_watts")
    if "power_limit_watts" in settings and limit is not None:
        enforced, before = values.get("enforced_power_limit_watts"), values.get("power_limit_watts")
        whole["enforced_power_limit_watts"] = limit if enforced is None or enforced == before else min(limit, enforced)
    return whole


def hold_clocks(values: Dict[str, Any]) -> None:
    locked = values.get("locked_clocks_mhz")
    for key in ("graphics_clock_mhz", "sm_clock_mhz"):
        if locked and values.get(key) is not None:
            values[key] = min(max(values[key], locked[0]), locked[1])


def _set_power_limit(gpu: Values, milliwatts: Any) -> Settings:
    if not need(gpu, "min_power_limit_watts") <= plain(milliwatts) <= need(gpu, "max_power_limit_watts"):
        raise RefusedError(INVALID_ARGUMENT)
    return {"power_limit_watts": plain(milliwatts) / 1000.0}


def _flag(key: str) -> Callable[..., Settings]:
    def set_flag(gpu: Values, mode: Any) -> Settings:
        need(gpu, key)
        if plain(mode) not in (0, 1):
            raise RefusedError(INVALID_ARGUMENT)
        return {key: bool(plain(mode))}

    return set_flag


def _set_compute_mode(gpu: Values, mode: Any) -> Settings:
    need(gpu, "compute_mode")
    if not 0 <= plain(mode) <= 3:
        raise RefusedError(INVALID_ARGUMENT)
    return {"compute_mode": plain(mode)}


def _lock_clocks(gpu: Values, least: Any, most: Any) -> Settings:
    if not 0 < plain(least) <= plain(most) <= need(gpu, "max_graphics_clock_mhz"):
        raise RefusedError(INVALID_ARGUMENT)
    return {"locked_clocks_mhz": [plain(least), plain(most)]}


def _unlock_clocks(gpu: Values) -> Settings:
    need(gpu, "max_graphics_clock_mhz")
    return {"locked_clocks_mhz": None}


def _set_mig(gpu: Values, mode: Any, activation: Any) -> Settings:
    """It is in force at once where nobody uses the GPU, else after a reset."""
    pending = _flag("mig_pending")(gpu, mode)
    activation._obj.value = IN_USE if gpu.get("processes") else SUCCESS
    return pending if gpu.get("processes") else dict(pending, mig_enabled=pending["mig_pending"])


SETTERS: Dict[str, Callable[..., Settings]] = {
    "nvmlDeviceResetGpuLockedClocks": _unlock_clocks,
    "nvmlDeviceSetComputeMode": _set_compute_mode,
    "nvmlDeviceSetEccMode": _flag("ecc_pending"),
    "nvmlDeviceSetGpuLockedClocks": _lock_clocks,
    "nvmlDeviceSetMigMode": _set_mig,
    "nvmlDeviceSetPersistenceMode": _flag("persistence_mode"),
    "nvmlDeviceSetPowerManagementLimit": _set_power_limit,
}
