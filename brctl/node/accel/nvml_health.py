"""What only `diagnose` judges of an NVIDIA GPU: modes that wait for a reset, GSP firmware, errors of each NVLink."""

import time
from ctypes import c_uint
from struct import Struct
from typing import List, Optional, Sequence, Tuple

from ..facts import GpuHealth, GpuLinkErrors
from . import AcceleratorError
from .nvml_calls import Calls, known

_FIELDS = "nvmlDeviceGetFieldValues"
_LINK_FIELDS = ((161, 162, 163), (None, 215, 221))
"""NVML_FI_DEV_NVLINK_*: replays, recoveries and CRC errors up to NVLink 4; NVLink 5 counts recoveries and symbol
errors, and has no replays of this kind."""
_ULONGLONG = 3
_ANSWER = Struct("24xIIQ")
"""nvmlFieldValue_t: value type, return code and union. To read each by ctypes would take ten times as long."""
_STATE = "nvmlDeviceGetNvLinkState"
_MOST_LINKS = 36  # of any part (nvml.h of driver 590)


def read(calls: Calls) -> GpuHealth:
    """Raises AcceleratorError where the GPU as a whole does not answer."""
    enabled, by_default = _gsp(calls)
    version = calls.read("nvmlDeviceGetGspFirmwareVersion") if enabled is not False else None
    return GpuHealth(
        ecc_pending=_pair(calls, "nvmlDeviceGetEccMode")[1],
        mig_pending=_pair(calls, "nvmlDeviceGetMigMode")[1],
        gsp_firmware_version=version,
        gsp_enabled=enabled,
        gsp_enabled_by_default=by_default,
        link_errors=_link_errors(calls),
        read_at_s=time.monotonic(),  # last of all: the GPU's other counters are read next
    )


def _gsp(calls: Calls) -> Tuple[Optional[bool], Optional[bool]]:
    """pynvml's own two outputs are shared by all threads."""
    name, outputs = "nvmlDeviceGetGspFirmwareMode", (c_uint(), c_uint())
    by = getattr(calls.pynvml, name, None)
    if by is None:
        return None, None
    values = calls.read(name, by=lambda handle: by(handle, *outputs))
    return (None, None) if values is None else (bool(values[0]), bool(values[1]))


def _pair(calls: Calls, name: str) -> Tuple[Optional[bool], Optional[bool]]:
    values = calls.read(name)
    first, second = (None, None) if values is None else [known(value) for value in values]
    return _flag(first), _flag(second)


def _flag(value: Optional[int]) -> Optional[bool]:
    return None if value is None else bool(value)


def _link_errors(calls: Calls) -> Optional[Tuple[GpuLinkErrors, ...]]:
    """By the fields of the first NVLink generation that this GPU knows; a link that is down has no counters."""
    if (_STATE,) in calls.refused:
        return None
    for fields in _LINK_FIELDS:
        wanted = [field for field in fields if field is not None]
        links = _counters(calls, wanted)
        if links:
            return tuple(_errors(link, fields, wanted, values) for link, values in links)
    return None


def _errors(
    link: int, fields: Sequence[Optional[int]], wanted: Sequence[int], values: Sequence[Optional[int]]
) -> GpuLinkErrors:
    of = dict(zip(wanted, values))
    replays, recoveries, crc = (None if field is None else of[field] for field in fields)
    return GpuLinkErrors(link, replays, recoveries, crc)


def _counters(calls: Calls, fields: Sequence[int]) -> List[Tuple[int, Sequence[Optional[int]]]]:
    """The links that tell at least one of these fields, in one call for all."""
    asked = [(field, link) for link in range(_MOST_LINKS) for field in fields]
    try:
        answers = calls.call(_FIELDS, asked)
    except AcceleratorError as error:
        calls.settle((_FIELDS, *fields), error)
        return []
    values = [
        None if code or kind != _ULONGLONG else known(value) for kind, code, value in _ANSWER.iter_unpack(answers)
    ]
    rows = [values[place : place + len(fields)] for place in range(0, len(values), len(fields))]
    return [(link, row) for link, row in enumerate(rows) if any(value is not None for value in row)]
