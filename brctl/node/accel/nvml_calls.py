"""The door to NVML: each call of it goes through here, which notes it for the deadline and sorts what it refuses.

- Not supported, or no such function in this driver or binding: None, remembered, and not asked again.
- The GPU as a whole does not answer (lost, reset-required), or the driver: AcceleratorError.
- Any other error of a single getter: None for what it would have given, and the error stands in `failed` until the
  call works again, so that one bad sensor does not cost the rest. No permission counts as one of these: who is not root
  is refused the memory and processes of a GPU in MIG mode, and nothing else of it.
"""

import os
from math import isfinite
from struct import Struct
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from .. import deadline
from . import AcceleratorError

# nvmlReturn_t (nvml.h). 22 and 25 are the words of vGPU and of versioned structures for 'not supported'.
INVALID_ARGUMENT = 2
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
FUNCTION_NOT_FOUND = 13
CORRUPTED_INFOROM = 14
NOT_SUPPORTED = (3, 13, 22, 25, 26)
_KINDS = {4: "permission", 9: "no-driver", 12: "no-library", 15: "lost", 16: "reset-required", 18: "version-mismatch"}

_PYTHON: Dict[str, Tuple[str, Tuple[Any, ...]]] = {
    "nvmlDeviceGetCount_v2": ("nvmlDeviceGetCount", ()),
    "nvmlDeviceGetHandleByIndex_v2": ("nvmlDeviceGetHandleByIndex", ()),
    "nvmlDeviceGetMemoryInfo_v2": ("nvmlDeviceGetMemoryInfo", (0x02000028,)),
}
"""C functions that pynvml has by another name, and what it wants to hear after the handle."""

_FIELDS = "nvmlDeviceGetFieldValues"
UNION = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
"""Which member a field's valueType means. The others hold leftovers in their upper bits."""
_FORMATS = {value_type: Struct(code) for value_type, code in zip(UNION, "dILQqiH")}
_ANSWER = Struct("I20xII8s")
"""nvmlFieldValue_t: id, value type, return code and union. To read each by ctypes would take ten times as long."""

_FILLERS = (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
"""NVML_VALUE_NOT_AVAILABLE, in both widths."""

Key = Tuple[Any, ...]
Function = Callable[..., Any]


class RefusalError(AcceleratorError):
    """NVML's own answer to a call."""

    def __init__(self, code: int, call: str, message: str) -> None:
        super().__init__(_KINDS.get(code, "error"), call, message)
        self.code = code


class Calls:
    """The door to NVML, for the library or for one GPU. One thread at a time."""

    def __init__(self, pynvml: Any, *handle: Any) -> None:
        self.pynvml = pynvml
        self.refused: Set[Key] = set()
        self.failed: Dict[Key, AcceleratorError] = {}
        self._handle = handle
        self._pid = os.getpid()

    def part(self, handle: Any) -> "Calls":
        """The door to one GPU, or MIG device, that this one gave the handle of."""
        return Calls(self.pynvml, handle)

    def call(self, name: str, *arguments: Any, limit_s: Optional[float] = None, by: Optional[Function] = None) -> Any:
        """What the C function `name` answers. Raises AcceleratorError for whatever it refuses.

        `by` calls it where pynvml has no Python function for it, or one that wants to be handed a structure; it takes
        the handle and the arguments.
        """
        if os.getpid() != self._pid:
            raise RuntimeError("{}: NVML does not outlive a fork, and was loaded before one".format(name))
        if by is None:
            python_name, more = _PYTHON.get(name, (name, ()))
            by, arguments = getattr(self.pynvml, python_name, None), arguments + more
            if by is None:
                raise RefusalError(FUNCTION_NOT_FOUND, name, "not in this version of pynvml")
        deadline.calling(name, limit_s)
        try:
            return by(*(self._handle + arguments))
        except self.pynvml.NVMLError as error:
            raise RefusalError(error.value, name, str(error)) from None
        except UnicodeDecodeError as error:
            raise AcceleratorError("error", name, "no text: {!r}".format(error.object)) from None
        except Exception as error:  # pynvml's, at an answer that it is not made for
            raise AcceleratorError("error", name, "{}: {}".format(type(error).__name__, error)) from None

    def read(self, name: str, *arguments: Any, by: Optional[Function] = None) -> Any:
        """Likewise, but None for what is not supported, is not known, or failed by itself."""
        key = (name, *arguments)
        if key in self.refused:
            return None
        try:
            value = self.call(name, *arguments, by=by) if by else self.call(name, *arguments)
        except AcceleratorError as error:
            return self.settle(key, error)
        if self.failed:
            self.failed.pop(key, None)
        return known(value)

    def read_first(self, names: Sequence[str], *arguments: Any) -> Any:
        """By the first of several names of one function that is there: NVML renames."""
        for name in names:
            value = self.read(name, *arguments)
            if value is not None or (name, *arguments) in self.failed:
                return value
        return None

    def read_fields(self, *ids: int) -> List[Any]:
        """Field values of this GPU, in one call."""
        wanted = [field for field in ids if (_FIELDS, field) not in self.refused]
        values: Dict[int, Any] = {}
        try:
            answers = self.call(_FIELDS, wanted) if wanted else b""
        except AcceleratorError as error:
            for field in wanted:
                self.settle((_FIELDS, field), error)
        else:
            values = {field: self._field(field, *answer) for field, *answer in _ANSWER.iter_unpack(answers)}
        return [values.get(field) for field in ids]

    def exports(self, name: str) -> bool:
        """Whether this driver's library has the C function `name`."""
        try:
            self.pynvml._nvmlGetFunctionPointer(name)
        except self.pynvml.NVMLError:
            return False
        return True

    def doubt(self, name: str, value: Any, why: str) -> None:
        """Note that `name` answered what cannot be."""
        self.failed[(name,)] = AcceleratorError("error", name, "{} cannot be: {}".format(value, why))

    def settle(self, key: Key, error: AcceleratorError) -> None:
        """Remember what is not supported, note a failure of one call. Raises what concerns the whole GPU."""
        if isinstance(error, RefusalError) and error.code in NOT_SUPPORTED:
            self.refused.add(key)
        elif isinstance(error, RefusalError) and error.code == CORRUPTED_INFOROM:
            pass  # no failure to look, but what was found: GpuErrors.inforom_valid tells it
        elif error.kind in ("error", "permission"):
            self.failed[key] = error
        else:
            raise error

    def _field(self, field: int, value_type: int, code: int, union: bytes) -> Any:
        key = (_FIELDS, field)
        if not code and value_type in _FORMATS:
            (value,) = _FORMATS[value_type].unpack_from(union)
            if isfinite(value):
                if self.failed:
                    self.failed.pop(key, None)
                return known(int(value))
        if code:
            # A driver that does not know the id calls it an invalid argument: nothing else of ours could be.
            code = NOT_SUPPORTED[0] if code == INVALID_ARGUMENT else code
            return self.settle(key, RefusalError(code, label(key), str(self.pynvml.NVMLError(code))))
        unread = "no number of a known type ({})".format(value_type)
        return self.settle(key, AcceleratorError("error", label(key), unread))


def known(value: Any) -> Any:
    """None for a filler; text as str, which old bindings give as bytes."""
    if type(value) is int:
        return None if value in _FILLERS else value
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return None if value.strip() in ("", "N/A", "[N/A]") else value.strip()
    return value


def member(structure: Any, name: str) -> Any:
    """Of a structure that may be None."""
    return known(getattr(structure, name, None))


def label(key: Key) -> str:
    name, *arguments = key
    return "{}({})".format(name, ", ".join(map(str, arguments))) if arguments else str(name)
