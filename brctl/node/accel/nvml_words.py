"""What NVML's numbers stand for (nvml.h), in the words of the facts."""

from functools import lru_cache
from typing import Optional, Tuple

EVENT_REASONS = (
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "sync_boost",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "display_clock_setting",
    "board_limit",
    "reliability",
)
"""nvmlClocksEventReason*, by their bit."""
THERMAL_REASONS = ("sw_thermal_slowdown", "hw_thermal_slowdown")
_RECOVERY_ACTIONS = (
    "none",
    "gpu-reset",
    "node-reboot",
    "drain-p2p",
    "drain-and-reset",
    "recover-imex-domain",
    "bus-reset",
    "system-reboot",
)
_NVLINK_VERSIONS = {1: "1.0", 2: "2.0", 3: "2.2", 4: "3.0", 5: "3.1", 6: "4.0", 7: "5.0", 8: "6.0"}
_LINK_ERRORS, _LINK_ERRORS_OF_5, _NVLINK_5 = (161, 162, 163), (None, 215, 221), "5."
_VIRTUALIZATION_MODES = ("none", "pass-through", "vgpu", "host-vgpu", "host-vsga")
_FABRIC_STATES = ("not-supported", "not-started", "in-progress", "completed")
_FABRIC_FLAGS = ("degraded-bandwidth", "route-recovery", "route-unhealthy", "access-timeout-recovery")
"""Two bits each of the health mask, lowest first: 0 not told, 1 true, 2 false."""
_CONFIGURATION_BITS, _CONFIGURATION_RIGHT = 0xF, 1
"""What follows them: 0 not told, 1 right, or what is wrong."""


def link_error_fields(version: Optional[str]) -> Tuple[Optional[int], ...]:
    """NVML_FI_DEV_NVLINK_* of replays, recoveries and CRC errors, by the links' version.

    NVLink 5 counts recoveries and symbol errors, and has no replays of this kind.
    """
    return _LINK_ERRORS_OF_5 if (version or "") >= _NVLINK_5 else _LINK_ERRORS


@lru_cache(maxsize=64)  # it is asked for at every tick, and seldom changes
def event_reasons(mask: Optional[int]) -> Optional[Tuple[str, ...]]:
    """A bit by its number where a newer driver has more reasons than we know."""
    if mask is None:
        return None
    bits = [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
    return tuple(EVENT_REASONS[bit] if bit < len(EVENT_REASONS) else hex(1 << bit) for bit in bits)


def recovery_action(number: Optional[int]) -> Optional[str]:
    return _word(_RECOVERY_ACTIONS, number)


def virtualization_mode(number: Optional[int]) -> Optional[str]:
    return _word(_VIRTUALIZATION_MODES, number)


def fabric_state(number: int) -> Optional[str]:
    """None where there is no fabric."""
    return _word(_FABRIC_STATES, number) if number else None


def nvlink_version(number: Optional[int]) -> Optional[str]:
    return None if number is None else _NVLINK_VERSIONS.get(number, str(number))


def fabric_health(mask: int) -> Optional[Tuple[str, ...]]:
    """What is wrong; None where nothing at all is told."""
    if not mask:
        return None
    wrong = [flag for place, flag in enumerate(_FABRIC_FLAGS) if mask >> 2 * place & 3 == 1]
    configuration = mask >> 2 * len(_FABRIC_FLAGS) & _CONFIGURATION_BITS
    return tuple(wrong) + (("incorrect-configuration",) if configuration > _CONFIGURATION_RIGHT else ())


def _word(words: Tuple[str, ...], number: Optional[int]) -> Optional[str]:
    """The number itself where a newer driver has more than we know."""
    if number is None:
        return None
    return words[number] if 0 <= number < len(words) else str(number)
