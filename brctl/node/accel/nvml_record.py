"""NVML's answers kept for a recording: what was asked, what came back, and how long it took."""

import ctypes
import math
import time
from typing import Any, Dict, List, Optional, Tuple

from . import AcceleratorError
from .nvml_calls import UNION, Calls, Function, RefusalError, label

LIBRARY = "library"
HANG = "hang"
"""In the place of an error: the call has not come back."""

_LAST_KNOWN = 29
"""Of nvmlReturn_t (nvml.h); what is newer is kept as an unknown error."""
_UNKNOWN = "NVML_ERROR_UNKNOWN"


class Asked:
    """One call. `value` is plain JSON, `error` a name of nvmlReturn_t."""

    def __init__(self, name: str, arguments: Tuple[Any, ...]) -> None:
        self.name = name
        self.arguments: Tuple[Any, ...] = tuple(tuple(item) if isinstance(item, list) else item for item in arguments)
        self.value: Any = None
        self.error: Optional[str] = HANG
        self.ms: Optional[float] = None

    def end(self, began: float) -> None:
        """It came back, and was made at `began` of the monotonic clock."""
        self.ms = round((time.monotonic() - began) * 1000, 3)
        self.error = None


class Record:
    """All calls, in order, by what they were about: `library`, `gpu0`, `gpu0/mig1`."""

    def __init__(self) -> None:
        self.calls: Dict[str, List[Asked]] = {LIBRARY: []}
        self.places: Dict[int, str] = {}
        """By the handle's address."""
        self.names: Dict[int, str] = {}
        """Of errors, by their code."""

    def plain(self) -> Dict[str, Dict[str, Any]]:
        """For people and programs: by place and call, its answer or error, and its time in milliseconds.

        Of a call that was made more than once, the last.
        """
        return {place: dict(map(_plain_call, calls)) for place, calls in sorted(self.calls.items())}


class RecordedCalls(Calls):
    """The door to NVML, with someone who writes down what passes."""

    def __init__(self, record: Record, place: str, pynvml: Any, *handle: Any) -> None:
        super().__init__(pynvml, *handle)
        self._record = record
        self._place = place
        self._asked = record.calls.setdefault(place, [])

    def part(self, handle: Any) -> "RecordedCalls":
        return RecordedCalls(self._record, self._record.places[_address(handle)], self.pynvml, handle)

    def exports(self, name: str) -> bool:
        exported = super().exports(name)
        if not exported:
            self._note(name, ()).error = "NVML_ERROR_FUNCTION_NOT_FOUND"
        return exported

    def call(self, name: str, *arguments: Any, limit_s: Optional[float] = None, by: Optional[Function] = None) -> Any:
        asked, began = self._note(name, arguments), time.monotonic()
        try:
            value = super().call(name, *arguments, limit_s=limit_s, by=by)
        except AcceleratorError as error:
            asked.end(began)
            asked.error = self._name(error)
            raise
        asked.end(began)
        asked.value = plain(value)
        if name == "nvmlDeviceGetHandleByIndex_v2":
            self._record.places[_address(value)] = "gpu{}".format(*arguments)
        elif name == "nvmlDeviceGetMigDeviceHandleByIndex":
            self._record.places[_address(value)] = "{}/mig{}".format(self._place, *arguments)
        return value

    def _note(self, name: str, arguments: Tuple[Any, ...]) -> Asked:
        asked = Asked(name, arguments)
        self._asked.append(asked)
        return asked

    def _name(self, error: AcceleratorError) -> str:
        names = self._record.names
        if not names:
            errors = [name for name in dir(self.pynvml) if name.startswith("NVML_ERROR_")]
            names.update((getattr(self.pynvml, name), name) for name in errors)
        code = error.code if isinstance(error, RefusalError) else None
        return names.get(code, _UNKNOWN) if code is not None and code <= _LAST_KNOWN else _UNKNOWN


def plain(value: Any) -> Any:
    """JSON of what pynvml gives: numbers and texts, structures and its own objects, lists; null for a handle."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no such numbers
        return None
    if value is None or isinstance(value, (int, float, str)):
        return value
    if isinstance(value, ctypes.Array) and value._type_ is ctypes.c_ubyte:
        return bytes(value).hex()
    if isinstance(value, (list, tuple, ctypes.Array)):
        return [plain(item) for item in value]
    if isinstance(value, ctypes.Structure):
        return {name: plain(_member(value, name)) for name, *_ in value._fields_}
    return {name: plain(item) for name, item in getattr(value, "__dict__", {}).items()} or None


def _member(structure: Any, name: str) -> Any:
    try:
        item = getattr(structure, name)
    except UnicodeDecodeError:  # pynvml decodes texts
        return None
    if not isinstance(item, ctypes.Union):
        return item
    return None if structure.nvmlReturn else getattr(item, UNION.get(structure.valueType, ""), None)


def _plain_call(asked: Asked) -> Tuple[str, Dict[str, Any]]:
    answer = {"error": asked.error} if asked.error else {"answer": asked.value}
    return label((asked.name, *asked.arguments)), dict(answer, ms=asked.ms)


def _address(handle: Any) -> int:
    return ctypes.cast(handle, ctypes.c_void_p).value or 0
