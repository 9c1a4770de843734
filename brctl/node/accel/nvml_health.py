"""What only `diagnose` judges of an NVIDIA GPU: modes that wait for a reset, GSP firmware, errors of each NVLink."""

import time
from ctypes import c_uint
from struct import Struct
from typing import Optional, Sequence, Tuple

from ..facts import GpuHealth, GpuLink, GpuLinkErrors
from . import AcceleratorError
from .nvml_calls import Calls, known
from .nvml_words import link_error_fields

_FIELDS = "nvmlDeviceGetFieldValues"
_ULONGLONG = 3
_ANSWER = Struct("24xIIQ")
"""nvmlFieldValue_t: value type, return code and union. To read each by ctypes would take ten times as long."""


def read(calls: Calls, links: Sequence[GpuLink]) -> GpuHealth:
    """Raises AcceleratorError where the GPU as a whole does not answer."""
    enabled, by_default = _gsp(calls)
    version = calls.read("nvmlDeviceGetGspFirmwareVersion") if enabled is not False else None
    return GpuHealth(
        ecc_pending=_pair(calls, "nvmlDeviceGetEccMode")[1],
        mig_pending=_pair(calls, "nvmlDeviceGetMigMode")[1],
        gsp_firmware_version=version,
        gsp_enabled=enabled,
        gsp_enabled_by_default=by_default,
        link_errors=_link_errors(calls, [link for link in links if link.active]),
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


def _link_errors(calls: Calls, links: Sequence[GpuLink]) -> Optional[Tuple[GpuLinkErrors, ...]]:
    """Of these links, which are of one kind, in one call."""
    fields = link_error_fields(links[0].version if links else None)
    wanted = [field for field in fields if field is not None]
    if not links or (_FIELDS, *wanted) in calls.refused:
        return None
    try:
        answers = calls.call(_FIELDS, [(field, link.link_index) for link in links for field in wanted])
    except AcceleratorError as error:
        calls.settle((_FIELDS, *wanted), error)
        return None
    told = _ANSWER.iter_unpack(answers)
    values = iter([None if code or kind != _ULONGLONG else known(value) for kind, code, value in told])
    rows = [[None if field is None else next(values) for field in fields] for _ in links]
    found = [GpuLinkErrors(link.link_index, *row) for link, row in zip(links, rows) if any(x is not None for x in row)]
    return tuple(found) or None
