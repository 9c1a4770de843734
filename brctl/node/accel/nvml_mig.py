"""The MIG devices of an NVIDIA GPU."""

from typing import Optional, Tuple

from ..facts import GpuInstance
from . import AcceleratorError
from .nvml_calls import NOT_FOUND, Calls, RefusalError, member
from .nvml_structures import memory

_MOST = 64
"""MIG devices of one GPU: parts have had seven. A greater number was not written by a driver."""


def read(calls: Calls) -> Tuple[GpuInstance, ...]:
    """By their index, which may have gaps. What fails of one is a failure of the GPU's."""
    most = min(calls.read("nvmlDeviceGetMaxMigDeviceCount") or 0, _MOST)
    return tuple(found for found in (_read(calls, place) for place in range(most)) if found)


def _read(calls: Calls, place: int) -> Optional[GpuInstance]:
    name = "nvmlDeviceGetMigDeviceHandleByIndex"
    try:
        own = calls.part(calls.call(name, place))
    except AcceleratorError as error:
        if not isinstance(error, RefusalError) or error.code != NOT_FOUND:
            calls.settle((name, place), error)
        return None
    size, product = memory(own), own.read("nvmlDeviceGetName") or ""
    found = GpuInstance(
        mig_index=place,
        uuid=own.read("nvmlDeviceGetUUID"),
        gpu_instance_id=own.read("nvmlDeviceGetGpuInstanceId"),
        compute_instance_id=own.read("nvmlDeviceGetComputeInstanceId"),
        profile=product.partition(" MIG ")[2] or None,
        memory_bytes=member(size, "total"),
        memory_used_bytes=member(size, "used"),
        multiprocessors=member(own.read("nvmlDeviceGetAttributes_v2"), "multiprocessorCount"),
    )
    calls.failed.update({("MIG", place, *key): error for key, error in own.failed.items()})
    return found
