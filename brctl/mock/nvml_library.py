"""The mocked libnvidia-ml.so.1 as pynvml sees it: an object whose attributes are C functions."""

import ctypes
import json
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..node.host.machine import Overlay
from .faults import Change
from .nvml_answer import (
    INVALID_ARGUMENT,
    NO_PERMISSION,
    NOT_FOUND,
    NOT_SUPPORTED,
    SUCCESS,
    UNINITIALIZED,
    Function,
    RefusedError,
    Values,
    plain,
)
from .nvml_errors import Errors
from .nvml_events import Event, EventSets
from .nvml_functions import FUNCTIONS
from .nvml_gpm import Samples, of_instance
from .nvml_lists import has_long_processes
from .nvml_load import fever, load, working
from .nvml_setters import SETTABLE, SETTERS, Settings, hold_clocks, with_settings
from .nvml_words import STRINGS

_MEASURED_S = 0.02
"""How often a GPU that works measures itself anew, as boards do; to work that out takes longer than all else here."""
_FIRST_HANDLE, _HANDLE_STEP = 0x10000, 0x100
"""Handles are addresses that nobody follows. A GPU's is followed by those of its MIG devices."""


class Library:
    """A name that begins with `nvml` is a function, unless the machine lists it as missing: pynvml then says
    FUNCTION_NOT_FOUND. One that the mock does not know answers NOT_SUPPORTED."""

    def __init__(
        self, nvml: Mapping[str, Any], changes: Sequence[Change] = (), overlay: Optional[Overlay] = None
    ) -> None:
        self._nvml = nvml
        self._missing = set(nvml.get("missing_functions") or ())
        if has_long_processes(nvml):
            self._missing.add("nvmlDeviceGetRunningProcessDetailList")  # what replaced them came later
        self._users = 0
        self._errors = Errors(nvml.get("errors") or {}, nvml.get("seed") or 0)
        self._gpus = [_Gpu(nvml, index, changes, overlay) for index in range(len(nvml["gpus"]))]
        self._samples = Samples()
        now = time.monotonic()
        self._events = EventSets(
            [
                Event(now + xid["after_s"], gpu.handle, xid["xid"])
                for gpu in self._gpus
                for xid in gpu.values.get("xids") or ()
            ]
        )

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("nvml") or name in self._missing:
            raise AttributeError(name)

        if name in FUNCTIONS:
            return self._getter(name, FUNCTIONS[name])

        def function(*arguments: Any) -> Any:  # a function proper, as pynvml sets its `restype`
            return self._call(name, arguments)

        return function

    def _getter(self, name: str, answer: Function) -> Callable[..., int]:
        """What asks one GPU, and sets nothing: called a hundred times in a tick of eight GPUs, so all in one place."""

        def function(handle: Any = None, *arguments: Any) -> int:
            try:
                gpu, part = self._asked(name, handle)
                answer(gpu.now() if part is None else gpu.mig_device(part), *arguments)
            except RefusedError as refused:
                return refused.code
            return SUCCESS

        return function

    def _asked(self, name: str, handle: Any, otherwise: int = INVALID_ARGUMENT) -> "tuple[_Gpu, Optional[int]]":
        """Which GPU, or MIG device of it, is asked. Raises RefusedError: it does not answer, or with code `otherwise`
        there is none."""
        if not self._users:
            raise RefusedError(UNINITIALIZED)
        try:
            gpu, part = self._at(handle)
        except RefusedError:
            raise RefusedError(otherwise) from None
        gpu.called()
        gpu.errors.suffer(name)
        return gpu, part

    def _call(self, name: str, arguments: Sequence[Any]) -> Any:
        if name == "nvmlErrorString":
            return STRINGS.get(arguments[0], "Unknown Error").encode()
        try:
            if name not in OF_THE_LIBRARY:
                self._ask_gpu(name, *arguments)
            elif not self._users and name not in _WITHOUT_INIT:
                raise RefusedError(UNINITIALIZED)
            else:
                self._errors.suffer(name)
                OF_THE_LIBRARY[name](self, *arguments)
        except RefusedError as refused:
            return refused.code
        return SUCCESS

    def _ask_gpu(self, name: str, handle: Any = None, *arguments: Any) -> None:
        """What sets something, and what nobody knows."""
        gpu, _ = self._asked(name, handle, INVALID_ARGUMENT if name in SETTERS else NOT_SUPPORTED)
        if name not in SETTERS:
            raise RefusedError(NOT_SUPPORTED)
        if self._nvml.get("unprivileged"):
            raise RefusedError(NO_PERMISSION)
        gpu.set(SETTERS[name](gpu.values, *arguments))

    def _at(self, handle: Any) -> "tuple[_Gpu, Optional[int]]":
        """The GPU of a handle, and which of its MIG devices it is. Raises RefusedError: it is none."""
        address = handle if isinstance(handle, int) else _address(handle)
        index, part = divmod(address - _FIRST_HANDLE, _HANDLE_STEP)
        if not 0 <= index < len(self._gpus) or (part and part > len(self._gpus[index].mig_devices)):
            raise RefusedError(INVALID_ARGUMENT)
        return self._gpus[index], part - 1 if part else None

    def _init(self, *_: Any) -> None:
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
        gpu = self._gpus[index.value] if index.value < len(self._gpus) else None
        self._open("nvmlDeviceGetHandleByIndex_v2", gpu, output, INVALID_ARGUMENT)

    def _by_uuid(self, uuid: Any, output: Any) -> None:
        wanted = uuid.value.decode()
        for gpu in self._gpus:
            for part, device in enumerate(gpu.mig_devices):
                if device["uuid"] == wanted:
                    return _give_handle(gpu.handle + 1 + part, output)
        return self._open("nvmlDeviceGetHandleByUUID", self._find("uuid", wanted), output, NOT_FOUND)

    def _by_serial(self, serial: Any, output: Any) -> None:
        self._open("nvmlDeviceGetHandleBySerial", self._find("serial", serial.value.decode()), output, NOT_FOUND)

    def _by_pci(self, address: Any, output: Any) -> None:
        gpu = self._find("pci_bus_id", _kernel_form(address.value.decode()))
        self._open("nvmlDeviceGetHandleByPciBusId_v2", gpu, output, NOT_FOUND)

    def _find(self, key: str, value: str) -> "Optional[_Gpu]":
        return next((gpu for gpu in self._gpus if gpu.values.get(key) == value), None)

    def _open(self, name: str, gpu: "Optional[_Gpu]", output: Any, otherwise: int) -> None:
        if gpu is None:
            raise RefusedError(otherwise)
        gpu.errors.suffer(name)
        gpu.recall()
        _give_handle(gpu.handle, output)

    def _mig_device(self, handle: Any, index: Any, output: Any) -> None:
        gpu, _ = self._at(handle)
        gpu.errors.suffer("nvmlDeviceGetMigDeviceHandleByIndex")
        if gpu.values.get("mig_enabled") is None:
            raise RefusedError(NOT_SUPPORTED)
        if index.value >= len(gpu.mig_devices):
            raise RefusedError(NOT_FOUND)
        _give_handle(gpu.handle + 1 + index.value, output)

    def _mig_parent(self, handle: Any, output: Any) -> None:
        _give_handle(self._at(handle)[0].handle, output)

    def _create_events(self, output: Any) -> None:
        _give_handle(self._events.create(), output)

    def _register_events(self, handle: Any, types: Any, events: Any) -> None:
        gpu, _ = self._at(handle)
        gpu.errors.suffer("nvmlDeviceRegisterEvents")
        self._events.register(_address(events), gpu.handle, types)

    def _wait_events(self, events: Any, data: Any, timeout_ms: Any) -> None:
        handle = self._events.wait(_address(events), data._obj, timeout_ms)
        data._obj.device = ctypes.cast(ctypes.c_void_p(handle), type(data._obj.device))

    def _free_events(self, events: Any) -> None:
        self._events.free(_address(events))

    def _alloc_sample(self, output: Any) -> None:
        _give_handle(self._samples.alloc(), output)

    def _take_sample(self, handle: Any, sample: Any) -> None:
        self._samples.take(_address(sample), self._suffering("nvmlGpmSampleGet", handle).now())

    def _take_mig_sample(self, handle: Any, instance: Any, sample: Any) -> None:
        gpu = self._suffering("nvmlGpmMigSampleGet", handle)
        device = next((one for one in gpu.mig_devices if one["gpu_instance_id"] == plain(instance)), None)
        if device is None:
            raise RefusedError(INVALID_ARGUMENT)
        self._samples.take(_address(sample), of_instance(gpu.values, device))

    def _suffering(self, name: str, handle: Any) -> "_Gpu":
        gpu, _ = self._at(handle)
        gpu.called()
        gpu.errors.suffer(name)
        return gpu

    def _compare_samples(self, asked: Any) -> None:
        self._samples.compare(asked._obj, _address(asked._obj.sample1), _address(asked._obj.sample2))

    def _free_sample(self, sample: Any) -> None:
        self._samples.free(_address(sample))


class _Gpu:
    def __init__(
        self, nvml: Mapping[str, Any], index: int, changes: Sequence[Change], overlay: Optional[Overlay]
    ) -> None:
        common = {"driver_version": nvml["driver_version"], "index": index}
        self._given: Values = dict(nvml.get("defaults") or {}, **nvml["gpus"][index], **common)
        self._seed = nvml.get("seed")
        self._overlay, self._path = overlay, "nvml:gpu{}:".format(index)
        self._settings: Settings = {}
        self._ahead = [change for change in changes if change.gpu_index == index]
        self._begun: List[Tuple[Change, float]] = []
        self._calls, self._loaded_s = 0, time.monotonic()
        self._latency_s = (self._given.get("latency_ms") or 0) / 1000
        self.handle = _FIRST_HANDLE + _HANDLE_STEP * index
        self.errors = Errors(self._given.get("errors") or {}, index + 1000 * (self._seed or 0))
        self.values: Values = self._given
        self._measured: Tuple[float, Values, Values] = (-1.0, {}, {})
        """At which step of time, of what; and the values."""
        self.recall()

    @property
    def mig_devices(self) -> Sequence[Values]:
        return self.values.get("mig_devices") or () if self.values.get("mig_enabled") else ()

    def called(self) -> None:
        """Count a call that takes its handle: changes wait for a number of them."""
        if self._latency_s:
            time.sleep(self._latency_s)
        if self._ahead:
            due = [change for change in self._ahead if change.after <= self._calls]
            self._begun += [(change, time.monotonic()) for change in due]
            self._ahead = [change for change in self._ahead if change not in due]
            self._calls += 1

    def now(self) -> Values:
        """Its values at this moment."""
        still = self._seed is None and not self._begun and not self.values.get("fever_s")
        if still and self.values.get("locked_clocks_mhz") is None:
            return self.values
        if self._begun:  # whose counters may have grown since the last look, however short ago that was
            return self._measure(time.monotonic())
        step = time.monotonic() // _MEASURED_S
        measured, of, values = self._measured
        if measured != step or of is not self.values:
            values = self._measure(step * _MEASURED_S)
            self._measured = (step, self.values, values)
        return values

    def _measure(self, time_s: float) -> Values:
        values = dict(self.values)
        if self.values.get("fever_s"):
            values.update(fever(values, self._seed or 0, max(0.0, time_s - self._loaded_s)))
        elif self._seed is not None:
            values.update(working(values, load(self._seed, self.values["index"], time_s), time_s))
        for change, since_s in self._begun:
            values.update(change.values)
            for key, rate in change.per_second.items():
                values[key] = (values.get(key) or 0) + int(rate * (time_s - since_s))
        hold_clocks(values)
        return values

    def mig_device(self, part: int) -> Values:
        """The values of a MIG device: it has nothing but these."""
        device, parent = self.mig_devices[part], self.values
        instance = ("gpu_instance_id", "compute_instance_id")
        own = [
            process
            for process in parent.get("processes") or ()
            if all(process.get(key) == device[key] for key in instance)
        ]
        return {
            **{key: parent[key] for key in ("driver_version", "compute_capability") if key in parent},
            "memory_reserved_bytes": 0,
            **device,
            "name": "{} MIG {}".format(parent["name"], device["profile"]),
            "index": part,
            "is_mig": 1,
            "processes": own,
        }

    def set(self, settings: Settings) -> None:
        if self._overlay:
            for key, value in settings.items():
                self._overlay.write(self._path + key, json.dumps(value))
        self._settings.update(settings)
        self.values = with_settings(self._given, self._settings)

    def recall(self) -> None:
        """Take what was set by other processes."""
        if self._overlay:
            texts = {key: self._overlay.read(self._path + key) for key in SETTABLE}
            self._settings = {key: json.loads(text) for key, text in texts.items() if text is not None}
            self.values = with_settings(self._given, self._settings)


def _give_handle(address: int, output: Any) -> None:
    ctypes.cast(output, ctypes.POINTER(ctypes.c_void_p))[0] = address


def _address(handle: Any) -> int:
    """Where a pointer points to; 0 where it does not, or is none. A cast would take four times as long."""
    try:
        return ctypes.c_void_p.from_buffer(handle).value or 0
    except (TypeError, ValueError):
        return 0


def _kernel_form(address: str) -> str:
    """`0000:1b:00.0` of `00000000:1B:00.0`."""
    domain, _, rest = address.lower().partition(":")
    return "{:0>4}:{}".format(domain.lstrip("0"), rest)


_WITHOUT_INIT = ("nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags")
OF_THE_LIBRARY: Dict[str, Callable[..., None]] = {
    **dict.fromkeys(_WITHOUT_INIT, Library._init),
    "nvmlShutdown": Library._shutdown,
    "nvmlSystemGetDriverVersion": Library._driver_version,
    "nvmlSystemGetNVMLVersion": Library._nvml_version,
    "nvmlSystemGetCudaDriverVersion": Library._cuda_version,
    "nvmlSystemGetCudaDriverVersion_v2": Library._cuda_version,
    "nvmlDeviceGetCount_v2": Library._count,
    "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": Library._mig_parent,
    "nvmlDeviceGetHandleByIndex_v2": Library._by_index,
    "nvmlDeviceGetHandleByUUID": Library._by_uuid,
    "nvmlDeviceGetHandleBySerial": Library._by_serial,
    "nvmlDeviceGetHandleByPciBusId_v2": Library._by_pci,
    "nvmlDeviceGetMigDeviceHandleByIndex": Library._mig_device,
    "nvmlDeviceRegisterEvents": Library._register_events,
    "nvmlEventSetCreate": Library._create_events,
    "nvmlEventSetFree": Library._free_events,
    "nvmlEventSetWait_v2": Library._wait_events,
    "nvmlGpmMetricsGet": Library._compare_samples,
    "nvmlGpmSampleAlloc": Library._alloc_sample,
    "nvmlGpmSampleFree": Library._free_sample,
    "nvmlGpmSampleGet": Library._take_sample,
    "nvmlGpmMigSampleGet": Library._take_mig_sample,
}
"""What takes no handle of a GPU alone."""
