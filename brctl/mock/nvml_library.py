"""The mocked libnvidia-ml.so.1 as pynvml sees it: an object whose attributes are C functions."""

import ctypes
import itertools
import time
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

from .faults import Fault
from .nvml_functions import (
    DRIVER_NOT_LOADED,
    FUNCTIONS,
    GPU_IS_LOST,
    INVALID_ARGUMENT,
    NOT_FOUND,
    NOT_SUPPORTED,
    SUCCESS,
    UNINITIALIZED,
    RefusedError,
    Values,
)

HANG_S = 3600.0
"""As long as `hang` keeps a call: for ever, to anyone who waits."""

_FIRST_HANDLE, _HANDLE_STEP = 0x10000, 0x100
"""Handles are addresses that nobody follows."""

ERROR_STRINGS = {
    0: "Success",
    1: "Uninitialized",
    2: "Invalid Argument",
    3: "Not Supported",
    4: "Insufficient Permissions",
    5: "Already Initialized",
    6: "Not Found",
    7: "Insufficient Size",
    8: "Insufficient External Power",
    9: "Driver Not Loaded",
    10: "Timeout",
    11: "Interrupt Request Issue",
    12: "NVML Shared Library Not Found",
    13: "Function Not Found",
    14: "Corrupted infoROM",
    15: "GPU is lost",
    16: "GPU requires reset",
    17: "Operating System Error",
    18: "Driver/library version mismatch",
    19: "In use by another client",
    20: "Insufficient Memory",
    21: "No data",
    22: "vGPU ECC Not Supported",
    23: "Insufficient Resources",
    25: "Argument version mismatch",
    26: "Requested functionality has been deprecated",
    27: "Not Ready",
    28: "GPU not found",
    29: "Invalid State",
    999: "Unknown Error",
}
"""What nvmlErrorString says. Those that nvidia-smi prints in public logs are its own words, the rest nvml.h's."""


class Library:
    """A name that begins with `nvml` is a function, unless the machine lists it as missing: pynvml then says
    FUNCTION_NOT_FOUND. One that the mock does not know answers NOT_SUPPORTED."""

    def __init__(self, nvml: Mapping[str, Any], faults: Sequence[Fault]) -> None:
        self._nvml = nvml
        self._missing = frozenset(nvml.get("missing_functions") or ())
        self._no_driver = any(fault.name == "no-driver" for fault in faults)
        self._users = 0
        self._gpus: Dict[int, _Gpu] = {}
        for index, own in enumerate(nvml["gpus"]):
            values = dict(nvml.get("defaults") or {}, **own, index=index)
            self._gpus[index] = _Gpu(values, [fault for fault in faults if fault.gpu_index == index])

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("nvml") or name in self._missing:
            raise AttributeError(name)

        def function(*arguments: Any) -> Any:  # a function proper, as pynvml sets its `restype`
            return self._call(name, arguments)

        return function

    def _call(self, name: str, arguments: Sequence[Any]) -> Any:
        if name == "nvmlErrorString":
            return ERROR_STRINGS.get(arguments[0], "Unknown Error").encode()
        try:
            if name not in _WITHOUT_INIT and not self._users:
                raise RefusedError(UNINITIALIZED)
            if name in _OF_THE_LIBRARY:
                _OF_THE_LIBRARY[name](self, *arguments)
            else:
                self._ask_gpu(name, *arguments)
        except RefusedError as refused:
            return refused.code
        return SUCCESS

    def _ask_gpu(self, name: str, handle: Any = None, *arguments: Any) -> None:
        address = ctypes.cast(handle, ctypes.c_void_p).value or 0
        gpu = self._gpus.get((address - _FIRST_HANDLE) // _HANDLE_STEP) if address % _HANDLE_STEP == 0 else None
        if gpu:
            gpu.suffer()
        if name not in FUNCTIONS:
            raise RefusedError(NOT_SUPPORTED)
        if gpu is None:
            raise RefusedError(INVALID_ARGUMENT)
        FUNCTIONS[name](gpu.values, *arguments)

    def _init(self, *_: Any) -> None:
        if self._no_driver:
            raise RefusedError(DRIVER_NOT_LOADED)
        self._users += 1

    def _shutdown(self) -> None:
        self._users -= 1

    def _driver_version(self, buffer: Any, _: Any) -> None:
        buffer.value = self._nvml["driver_version"].encode()

    def _nvml_version(self, buffer: Any, _: Any) -> None:
        buffer.value = self._given("nvml_version").encode()

    def _cuda_version(self, output: Any) -> None:
        output._obj.value = self._given("cuda_version")

    def _given(self, key: str) -> Any:
        if self._nvml.get(key) is None:
            raise RefusedError(NOT_SUPPORTED)
        return self._nvml[key]

    def _count(self, output: Any) -> None:
        output._obj.value = len(self._gpus)

    def _by_index(self, index: Any, output: Any) -> None:
        self._open(self._gpus.get(index.value), output, INVALID_ARGUMENT)

    def _by_uuid(self, uuid: Any, output: Any) -> None:
        self._open(self._find("uuid", uuid.value.decode()), output, NOT_FOUND)

    def _by_serial(self, serial: Any, output: Any) -> None:
        self._open(self._find("serial", serial.value.decode()), output, NOT_FOUND)

    def _by_pci(self, address: Any, output: Any) -> None:
        self._open(self._find("pci_bus_id", _kernel_form(address.value.decode())), output, NOT_FOUND)

    def _find(self, key: str, value: str) -> "Optional[_Gpu]":
        return next((gpu for gpu in self._gpus.values() if gpu.values.get(key) == value), None)

    def _open(self, gpu: "Optional[_Gpu]", output: Any, otherwise: int) -> None:
        if gpu is None:
            raise RefusedError(otherwise)
        gpu.opened()
        handle = _FIRST_HANDLE + _HANDLE_STEP * gpu.values["index"]
        ctypes.cast(output, ctypes.POINTER(ctypes.c_void_p))[0] = handle


class _Gpu:
    def __init__(self, values: Values, faults: Sequence[Fault]) -> None:
        self.values = values
        self._faults = faults
        self._calls = itertools.count()

    def opened(self) -> None:
        """A GPU that was lost before gives no handle; one that hangs does."""
        if any(fault.name == "lost" and fault.after == 0 for fault in self._faults):
            raise RefusedError(GPU_IS_LOST)

    def suffer(self) -> None:
        """One call that takes this GPU's handle."""
        number = next(self._calls)
        for fault in self._faults:
            if number >= fault.after:
                _SUFFER[fault.name]()


def _kernel_form(address: str) -> str:
    """`0000:1b:00.0` of `00000000:1B:00.0`."""
    domain, _, rest = address.lower().partition(":")
    return "{:0>4}:{}".format(domain.lstrip("0"), rest)


def _hang() -> None:
    time.sleep(HANG_S)


def _lose() -> None:
    raise RefusedError(GPU_IS_LOST)


_SUFFER: Dict[str, Callable[[], None]] = {"hang": _hang, "lost": _lose}

_WITHOUT_INIT = ("nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags")
_OF_THE_LIBRARY: Dict[str, Callable[..., None]] = {
    **dict.fromkeys(_WITHOUT_INIT, Library._init),
    "nvmlShutdown": Library._shutdown,
    "nvmlSystemGetDriverVersion": Library._driver_version,
    "nvmlSystemGetNVMLVersion": Library._nvml_version,
    "nvmlSystemGetCudaDriverVersion": Library._cuda_version,
    "nvmlSystemGetCudaDriverVersion_v2": Library._cuda_version,
    "nvmlDeviceGetCount_v2": Library._count,
    "nvmlDeviceGetHandleByIndex_v2": Library._by_index,
    "nvmlDeviceGetHandleByUUID": Library._by_uuid,
    "nvmlDeviceGetHandleBySerial": Library._by_serial,
    "nvmlDeviceGetHandleByPciBusId_v2": Library._by_pci,
}
