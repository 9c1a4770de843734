"""Processes on an NVIDIA GPU. pynvml knows one structure; drivers have had three."""

import ctypes
from functools import partial
from typing import Any, List, Optional, Tuple

from ..facts import GpuProcess
from .nvml_calls import INSUFFICIENT_SIZE, Calls, known

_PID_MAX = 4194304
"""PID_MAX_LIMIT of 64-bit kernels (include/linux/threads.h)."""
_LONG_RELEASES = range(43, 86)
_NEWER_LIST = "nvmlDeviceGetRunningProcessDetailList"


class _First(ctypes.Structure):
    """Of the functions without a version, before R450."""

    _fields_ = (("pid", ctypes.c_uint), ("usedGpuMemory", ctypes.c_ulonglong))


class _Long(ctypes.Structure):
    """Of the functions _v3 in releases 535.43 to 535.85; the last member was taken out again when a function that gives
    it came. By pynvml's structure all processes but the first are garbage (gpustat#161, nvitop#75)."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("usedGpuMemory", ctypes.c_ulonglong),
        ("gpuInstanceId", ctypes.c_uint),
        ("computeInstanceId", ctypes.c_uint),
        ("usedGpuCcProtectedMemory", ctypes.c_ulonglong),
    )


def read(calls: Calls, release: Tuple[int, int]) -> Optional[Tuple[GpuProcess, ...]]:
    """Sorted by PID; None where the GPU does not tell. `release` is the driver's: (535, 54).

    A process that both computes and draws stands in both lists of the driver, with the same memory, and here once.
    """
    compute, graphics = _of_kind(calls, "Compute", release), _of_kind(calls, "Graphics", release)
    if compute is None and graphics is None:
        return None
    computing = {process.pid for process in compute or ()}
    drawing = [process for process in graphics or () if process.pid not in computing]
    return tuple(sorted((*(compute or ()), *drawing), key=lambda process: process.pid))


def _of_kind(calls: Calls, kind: str, release: Tuple[int, int]) -> Optional[List[GpuProcess]]:
    # The name without a version is pynvml's own for the newest, and fails where the driver is older.
    first = "nvmlDeviceGet{}RunningProcesses".format(kind)
    for name, structure in ((first + "_v3", _Long if _is_long(calls, release) else None), (first + "_v2", None),
                            (first, _First)):  # fmt: skip
        by = structure and partial(_list, calls.pynvml, name, structure)
        answers = calls.read(name, by=by)
        if answers is not None:
            return _plausible(calls, name, [_process(kind, answer) for answer in answers])
        if (name,) in calls.failed:
            break
    return None


def _is_long(calls: Calls, release: Tuple[int, int]) -> bool:
    branch, number = release
    return branch == 535 and number in _LONG_RELEASES and not calls.exports(_NEWER_LIST)


def _list(pynvml: Any, name: str, structure: Any, handle: Any) -> List[Any]:
    """The items of a list that NVML gives in two calls: its size, then what there is by now."""
    function, count = pynvml._nvmlGetFunctionPointer(name), ctypes.c_uint(0)
    code = function(handle, ctypes.byref(count), None)
    if code == INSUFFICIENT_SIZE:
        count.value = 2 * count.value + 5  # more may have started
        items = (structure * count.value)()
        code = function(handle, ctypes.byref(count), items)
        if not code:
            return list(items[: count.value])
    if code:
        raise pynvml.NVMLError(code)
    return []


def _process(kind: str, answer: Any) -> GpuProcess:
    instances = [known(getattr(answer, name, None)) for name in ("gpuInstanceId", "computeInstanceId")]
    if None in instances:  # one without the other is a leftover
        instances = [None, None]
    return GpuProcess(known(answer.pid), kind.lower(), known(answer.usedGpuMemory), *instances)


def _plausible(calls: Calls, name: str, found: List[GpuProcess]) -> List[GpuProcess]:
    wrong = [process.pid for process in found if process.pid is None or process.pid > _PID_MAX]
    if wrong:
        calls.doubt(name, "PID {}".format(wrong[0]), "this driver's process list is not reliable")
    return [process for process in found if process.pid and process.pid not in wrong]  # 0 is nobody
