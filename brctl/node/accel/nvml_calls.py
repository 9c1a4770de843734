"""The door to NVML: each call of it goes through here, which notes it for the deadline and sorts what it refuses.

- Not supported, or no such function in this driver or binding: None, remembered, and not asked again.
- The GPU as a whole does not answer (lost, reset-required), or the driver: AcceleratorError.
- Any other error of a single getter: None for what it would have given, and the error stands in `failed` until the
  call works again, so that one bad sensor does not cost the rest. No permission counts as one of these: who is not root
  is refused the memory and processes of a GPU in MIG mode, and nothing else of it.
"""

import os
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from .. import deadline
from . import AcceleratorError

# nvmlReturn_t (nvml.h). 22 and 25 are the words of vGPU and of versioned structures for 'not supported'.
INVALID_ARGUMENT = 2
NOT_SUPPORTED = (3, 13, 22, 25, 26)
_KINDS = {4: "permission", 9: "no-driver", 12: "no-library", 15: "lost", 16: "reset-required", 18: "version-mismatch"}

_PYTHON: Dict[str, Tuple[Any, ...]] = {
    "nvmlDeviceGetCount_v2": ("nvmlDeviceGetCount",),
    "nvmlDeviceGetHandleByIndex_v2": ("nvmlDeviceGetHandleByIndex",),
    "nvmlDeviceGetMemoryInfo_v2": ("nvmlDeviceGetMemoryInfo", 0x02000028),
}
"""C functions that pynvml has by another name, and what it wants to hear after the handle."""

_FIELDS = "nvmlDeviceGetFieldValues"
_UNION = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
"""Which member a field's valueType means. The others hold leftovers in their upper bits."""

_FILLERS = (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
"""NVML_VALUE_NOT_AVAILABLE, in both widths."""

Key = Tuple[Any, ...]


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

    def call(self, name: str, *arguments: Any, limit_s: Optional[float] = None) -> Any:
        """What the C function `name` answers. Raises AcceleratorError for whatever it refuses."""
        if os.getpid() != self._pid:
            raise RuntimeError("{}: NVML does not outlive a fork, and was loaded before one".format(name))
        python_name, *more = _PYTHON.get(name, (name,))
        function = getattr(self.pynvml, python_name, None)
        if function is None:
            raise RefusalError(13, name, "not in this version of pynvml")
        deadline.calling(name, limit_s)
        try:
            return function(*self._handle, *arguments, *more)
        except self.pynvml.NVMLError as error:
            raise RefusalError(error.value, name, str(error)) from None
        except UnicodeDecodeError as error:
            raise AcceleratorError("error", name, "no text: {!r}".format(error.object)) from None

    def read(self, name: str, *arguments: Any) -> Any:
        """Likewise, but None for what is not supported, is not known, or failed by itself."""
        key = (name, *arguments)
        if key in self.refused:
            return None
        try:
            value = self.call(name, *arguments)
        except AcceleratorError as error:
            return self.settle(key, error)
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
        answers: Sequence[Any] = ()
        try:
            answers = self.call(_FIELDS, wanted) if wanted else ()
        except AcceleratorError as error:
            for field in wanted:
                self.settle((_FIELDS, field), error)
        values = {answer.fieldId: self._field(answer) for answer in answers}
        return [values.get(field) for field in ids]

    def settle(self, key: Key, error: AcceleratorError) -> None:
        """Remember what is not supported, note a failure of one call. Raises what concerns the whole GPU."""
        if isinstance(error, RefusalError) and error.code in NOT_SUPPORTED:
            self.refused.add(key)
        elif error.kind in ("error", "permission"):
            self.failed[key] = error
        else:
            raise error

    def _field(self, answer: Any) -> Any:
        key = (_FIELDS, answer.fieldId)
        code = answer.nvmlReturn
        if code:
            # A driver that does not know the id calls it an invalid argument: nothing else of ours could be.
            code = NOT_SUPPORTED[0] if code == INVALID_ARGUMENT else code
            return self.settle(key, RefusalError(code, label(key), str(self.pynvml.NVMLError(code))))
        value = getattr(answer.value, _UNION.get(answer.valueType, ""), None)
        if value is None:
            unread = "unknown value type {}".format(answer.valueType)
            return self.settle(key, AcceleratorError("error", label(key), unread))
        self.failed.pop(key, None)
        return known(value)


def known(value: Any) -> Any:
    """None for a filler; text as str, which old bindings give as bytes."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return None if value.strip() in ("", "N/A", "[N/A]") else value.strip()
    return None if isinstance(value, int) and value in _FILLERS else value


def label(key: Key) -> str:
    name, *arguments = key
    return "{}({})".format(name, ", ".join(map(str, arguments))) if arguments else str(name)
