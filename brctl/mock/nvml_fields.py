"""nvmlDeviceGetFieldValues of one mocked GPU. Which ids there are, and what they mean, depends on the driver."""

from ctypes import c_char, sizeof
from functools import lru_cache
from struct import Struct
from typing import Any, Dict, Tuple

from .nvml_answer import INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS, RefusedError, Values, driver, need, plain
from .nvml_words import RECOVERY_ACTIONS

_POISON = b"\xa5" * 8
"""What stands in a field's union where no value was written; a real driver leaves such leftovers, zeros hide bugs."""
_LEFT_OVER = {4: int.from_bytes(_POISON[4:], "little") << 32, 8: 0}
"""In the bytes behind a value, by its size."""
_Kind = Tuple[int, int]
"""The bytes of a value, and its nvmlValueType_t."""
_UINT, _ULONGLONG, _INT = (4, 1), (8, 3), (4, 5)
# nvmlFieldValue_t: id and scope, time and latency, type and return code, union. By ctypes each takes ten times as long.
_SIZE = 40
_ASKED, _ANSWERED, _REFUSED = Struct("II"), Struct("IIQ"), Struct("I8s")
_ANSWERED_AT, _REFUSED_AT = 24, 28

_Field = Tuple[str, _Kind]
_FIELDS: Dict[int, _Field] = {
    31: ("retired_pages_pending", _UINT),
    74: ("sw_power_cap_ns", _ULONGLONG),
    76: ("sync_boost_ns", _ULONGLONG),
    82: ("memory_temperature_celsius", _UINT),
    83: ("energy_joules", _ULONGLONG),
    91: ("nvlinks", _UINT),
    94: ("pcie_replay_counter", _UINT),
    142: ("remapped_rows_correctable", _UINT),
    143: ("remapped_rows_uncorrectable", _UINT),
    144: ("remap_pending", _UINT),
    145: ("remap_failure", _UINT),
    185: ("power_average_watts", _UINT),
    186: ("power_instant_watts", _UINT),
    187: ("min_power_limit_watts", _UINT),
    188: ("max_power_limit_watts", _UINT),
    189: ("default_power_limit_watts", _UINT),
    190: ("enforced_power_limit_watts", _UINT),
    192: ("power_limit_watts", _UINT),
    193: ("shutdown_tlimit_celsius", _INT),
    194: ("slowdown_tlimit_celsius", _INT),
    195: ("memory_max_tlimit_celsius", _INT),
    196: ("gpu_max_tlimit_celsius", _INT),
    197: ("pcie_tx_bytes", _ULONGLONG),
    198: ("pcie_rx_bytes", _ULONGLONG),
}
"""NVML_FI_DEV_*: the key, and where in the union the value goes."""
_LINK_FIELDS: Dict[int, _Field] = {
    138: ("nvlink_tx_kib", _ULONGLONG),
    139: ("nvlink_rx_kib", _ULONGLONG),
    161: ("nvlink_replay_errors", _ULONGLONG),
    162: ("nvlink_recovery_errors", _ULONGLONG),
    163: ("nvlink_crc_errors", _ULONGLONG),
    215: ("nvlink_recovery_errors", _ULONGLONG),
    221: ("nvlink_crc_errors", _ULONGLONG),
}
"""Those of one link, which scopeId names."""
_SUMMED, _ALL_LINKS = (138, 139), 0xFFFFFFFF
"""Of these that scope gives the sum over all links."""
_BEFORE_NVLINK_5, _OF_NVLINK_5 = (161, 162, 163), (215, 221)
"""It counts symbol errors where those before it count CRC errors; data is counted alike."""
_REASONS = ("sw_thermal_slowdown_ns", "hw_thermal_slowdown_ns", "hw_power_brake_slowdown_ns")
_MOVED = {575: 251, 580: 269}
"""The id of the first of these by driver branch; what was there before means something else afterwards."""
_RECOVERY_ACTION, _SINCE_RECOVERY_ACTION = 230, 550
_POWER_SMOOTHING = range(251, 256)
"""What the ids mean from 580 on that were counters in 575."""


def link_is_up(gpu: Values, link: int) -> bool:
    """Raises RefusedError past the last link, and where there are none."""
    if not 0 <= link < need(gpu, "nvlinks"):
        raise RefusedError(INVALID_ARGUMENT)
    return link not in (gpu.get("nvlinks_down") or ())


def field_values(gpu: Values, count: Any, array: Any) -> None:
    """Succeeds as a whole; each field has its own return code."""
    fields = (c_char * sizeof(array._obj)).from_buffer(array._obj)
    for place in range(0, min(plain(count) * _SIZE, len(fields)), _SIZE):
        try:
            value, (size, kind) = _value(gpu, *_ASKED.unpack_from(fields, place))
        except RefusedError as refused:
            _REFUSED.pack_into(fields, place + _REFUSED_AT, refused.code, _POISON)
            continue
        union = int(value) % (1 << 8 * size) | _LEFT_OVER[size]  # wraps, as C does
        _ANSWERED.pack_into(fields, place + _ANSWERED_AT, kind, SUCCESS, union)


def _value(gpu: Values, number: int, scope: int) -> Tuple[int, _Kind]:
    if number in _FIELDS:
        key, kind = _FIELDS[number]
        return need(gpu, key), kind
    if number in _LINK_FIELDS:
        key, kind = _LINK_FIELDS[number]
        if scope == _ALL_LINKS and number in _SUMMED:
            return need(gpu, key) * (need(gpu, "nvlinks") - len(gpu.get("nvlinks_down") or ())), kind
        newer = (gpu.get("nvlink_version") or "") >= "5."
        if not link_is_up(gpu, scope) or number in (_BEFORE_NVLINK_5 if newer else _OF_NVLINK_5):
            raise RefusedError(NOT_SUPPORTED)
        return need(gpu, key), kind
    branch, _ = driver(gpu)
    if number in _slowdowns(branch):
        return need(gpu, _slowdowns(branch)[number]), _ULONGLONG
    if number == _RECOVERY_ACTION and branch >= _SINCE_RECOVERY_ACTION:
        return RECOVERY_ACTIONS.index(need(gpu, "recovery_action")), _INT
    if branch >= max(_MOVED) and number in _POWER_SMOOTHING:
        return 1, _UINT
    raise RefusedError(INVALID_ARGUMENT)


@lru_cache(maxsize=None)
def _slowdowns(branch: int) -> Dict[int, str]:
    """The keys by the ids that this branch has for them."""
    first = max([first for since, first in _MOVED.items() if branch >= since], default=None)
    return {} if first is None else dict(enumerate(_REASONS, first))
