"""Field values asked for again and again: one call of the driver into a buffer that is made once.

By pynvml's own function 44 fields take 48 us, most of it to fill in their numbers again; so they take 3.
"""

import ctypes
from math import isfinite
from struct import Struct
from typing import Any, List, Optional, Sequence, Tuple

from . import AcceleratorError
from .nvml_calls import INVALID_ARGUMENT, NOT_SUPPORTED, Calls, RefusalError, known, label

_NAME = "nvmlDeviceGetFieldValues"
_FORMATS = {value_type: Struct(code) for value_type, code in enumerate("dILQqiH")}
_ANSWER = Struct("24xII8s")
"""Of nvmlFieldValue_t: value type, return code and union."""

Field = Tuple[int, int]
"""Its id, and its scope: 0, or which link."""


class Batch:
    """Of one GPU, for one thread. A field that is not supported is not asked for again."""

    def __init__(self, calls: Calls, fields: Sequence[Field]) -> None:
        self._calls = calls
        self._all = tuple(fields)
        self._asked: Tuple[Field, ...] = ()
        self._buffer: Any = None
        self._make([field for field in fields if self._key(field) not in calls.refused])

    def read(self) -> List[Optional[int]]:
        """One value for each field. Raises AcceleratorError where the GPU as a whole does not answer."""
        if not self._asked:
            return [None] * len(self._all)
        try:
            self._calls.call(_NAME, by=self._call)
        except AcceleratorError as error:
            for field in self._asked:
                self._calls.settle(self._key(field), error)
            self._forget()
            return [None] * len(self._all)
        values = {}
        for field, (value_type, code, union) in zip(self._asked, _ANSWER.iter_unpack(self._buffer)):
            values[field] = self._value(field, value_type, code, union)
        self._forget()
        return [values.get(field) for field in self._all]

    def _call(self, handle: Any) -> None:
        pynvml = self._calls.pynvml
        code = pynvml._nvmlGetFunctionPointer(_NAME)(handle, len(self._asked), ctypes.byref(self._buffer))
        if code:
            raise pynvml.NVMLError(code)

    def _value(self, field: Field, value_type: int, code: int, union: bytes) -> Optional[int]:
        if not code and value_type in _FORMATS:
            (value,) = _FORMATS[value_type].unpack_from(union)
            if isfinite(value):
                if self._calls.failed:
                    self._calls.failed.pop(self._key(field), None)
                number: Optional[int] = known(int(value))
                return number
        key = self._key(field)
        if code:
            code = NOT_SUPPORTED[0] if code == INVALID_ARGUMENT else code
            self._calls.settle(key, RefusalError(code, label(key), str(self._calls.pynvml.NVMLError(code))))
        else:
            unread = "no number of a known type ({})".format(value_type)
            self._calls.settle(key, AcceleratorError("error", label(key), unread))
        return None

    def _make(self, fields: Sequence[Field]) -> None:
        self._asked = tuple(fields)
        self._buffer = (self._calls.pynvml.c_nvmlFieldValue_t * len(fields))()
        for place, (number, scope) in zip(self._buffer, fields):
            place.fieldId, place.scopeId = number, scope

    def _forget(self) -> None:
        """Make the buffer anew without what the driver turned out not to have."""
        if self._calls.refused and any(self._key(field) in self._calls.refused for field in self._asked):
            self._make([field for field in self._asked if self._key(field) not in self._calls.refused])

    @staticmethod
    def _key(field: Field) -> Tuple[Any, ...]:
        number, scope = field
        return (_NAME, number, scope) if scope else (_NAME, number)
