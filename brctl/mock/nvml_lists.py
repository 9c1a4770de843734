"""The functions of the mocked NVML that give a list: its size at the first call, its items at the second."""

import ctypes
from typing import Any, Dict, List, Mapping, Optional

from .nvml_answer import INVALID_ARGUMENT, Function, RefusedError, Values, ask_for_room, driver, need, plain

_NO_FIGURE = 0xFFFFFFFFFFFFFFFF
_NO_INSTANCE = 0xFFFFFFFF
_MODES = ("compute", "graphics", "mps")
_LONG = range(43, 86)
"""Releases of driver branch 535 whose process structures have a member more than nvml.h says, so that whoever goes by
the header finds all but the first one shifted (wookayin/gpustat#161, XuehaiPan/nvitop#75)."""


class _LongProcess(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("usedGpuMemory", ctypes.c_ulonglong),
        ("gpuInstanceId", ctypes.c_uint),
        ("computeInstanceId", ctypes.c_uint),
        ("usedGpuCcProtectedMemory", ctypes.c_ulonglong),
    )


def _processes(kind: str, may_be_long: bool) -> Function:
    def answer(gpu: Values, count: Any, array: Optional[Any]) -> None:
        found = _of_kind(gpu, kind)
        ask_for_room(len(found), count._obj, array)
        if found and may_be_long and has_long_processes(gpu):
            longer = (_LongProcess * len(found))()
            _fill(longer, found)
            ctypes.memmove(array, longer, min(ctypes.sizeof(longer), ctypes.sizeof(array)))  # type: ignore[arg-type]
        elif found:
            _fill(array, found)

    return answer


def has_long_processes(gpu: Values) -> bool:
    branch, release = driver(gpu)
    return branch == 535 and release in _LONG


def _of_kind(gpu: Values, kind: str) -> "List[Mapping[str, Any]]":
    return [process for process in need(gpu, "processes") if process["kind"] == kind]


def _fill(array: Any, found: "List[Mapping[str, Any]]") -> None:
    for process, slot in zip(found, array):
        memory = process["memory_bytes"]
        slot.pid, slot.usedGpuMemory = process["pid"], _NO_FIGURE if memory is None else memory
        slot.gpuInstanceId = process.get("gpu_instance_id", _NO_INSTANCE)
        slot.computeInstanceId = process.get("compute_instance_id", _NO_INSTANCE)


def _details(gpu: Values, output: Any) -> None:
    listed = output._obj
    if listed.mode >= len(_MODES):
        raise RefusedError(INVALID_ARGUMENT)
    found, room = _of_kind(gpu, _MODES[listed.mode]), ctypes.c_uint(listed.numProcArrayEntries)
    try:
        ask_for_room(len(found), room, listed.procArray)
    finally:
        listed.numProcArrayEntries = room.value
    _fill(listed.procArray, found)


def retired_pages(gpu: Values, cause: Any, count: Any, array: Optional[Any], times: Optional[Any] = None) -> None:
    """Made-up addresses of as many pages as there are."""
    keys = ("retired_pages_sbe", "retired_pages_dbe")
    if plain(cause) >= len(keys):
        raise RefusedError(INVALID_ARGUMENT)
    pages = need(gpu, keys[plain(cause)])
    ask_for_room(pages, count._obj, array)
    for page in range(pages):
        array[page] = page << 12  # type: ignore[index]
        if times is not None:
            times[page] = 0


PROCESS_FUNCTIONS: Dict[str, Function] = {
    "nvmlDeviceGet{}RunningProcesses{}".format(name, version): _processes(kind, version == "_v3")
    for name, kind in (("Compute", "compute"), ("Graphics", "graphics"), ("MPSCompute", "mps"))
    for version in ("", "_v2", "_v3")
}
PROCESS_FUNCTIONS["nvmlDeviceGetRunningProcessDetailList"] = _details
