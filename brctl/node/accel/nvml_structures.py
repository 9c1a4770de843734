"""Answers of NVML that come as structures of several versions."""

import ctypes
from typing import Any, Optional

from ..facts import GpuFabric
from .nvml_calls import FUNCTION_NOT_FOUND, Calls
from .nvml_words import fabric_health, fabric_state


def memory(calls: Calls) -> Any:
    """Version 2 tells what the driver reserves; version 1 counts that as used. None on unified memory."""
    found = calls.read_first(("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo"))
    return found if found is not None and found.total else None


def sram(calls: Calls) -> Any:
    """c_nvmlEccSramErrorStatus_v1_t, or None."""
    pynvml, name = calls.pynvml, "nvmlDeviceGetSramEccErrorStatus"

    def ask(handle: Any) -> Any:
        status = _structure(pynvml, "c_nvmlEccSramErrorStatus_v1_t")
        pynvml.nvmlDeviceGetSramEccErrorStatus(handle, ctypes.byref(status))
        return status

    return calls.read(name, by=ask)


def fabric(calls: Calls) -> Optional[GpuFabric]:
    """None where the GPU is on no fabric, or does not tell."""
    pynvml, name = calls.pynvml, "nvmlDeviceGetGpuFabricInfoV"

    def ask(handle: Any) -> Any:
        info = _structure(pynvml, "c_nvmlGpuFabricInfoV_t")
        pynvml.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(info))
        return info

    info = calls.read(name, by=ask)
    state = fabric_state(info.state) if info else None
    if info is None or state is None:
        return None
    done = state == "completed"
    return GpuFabric(
        state=state,
        status=str(pynvml.NVMLError(info.status) if info.status else "Success") if done else None,
        clique_id=info.cliqueId if done else None,
        cluster_uuid=_uuid(_octets(info, "clusterUuid").hex()) if done else None,
        unhealthy=fabric_health(info.healthMask),
    )


def _structure(pynvml: Any, name: str) -> Any:
    """One that pynvml wants to be handed. Raises NVMLError where an old one has none."""
    if not hasattr(pynvml, name):
        raise pynvml.NVMLError(FUNCTION_NOT_FOUND)
    return getattr(pynvml, name)()


def _octets(structure: Any, name: str) -> bytes:
    """All of an array of characters: bindings have told it as a list of numbers, and as a text up to the first zero."""
    field = getattr(type(structure), name)
    return ctypes.string_at(ctypes.addressof(structure) + field.offset, field.size)


def _uuid(digits: str) -> Optional[str]:
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(parts) if digits.strip("0") else None
