"""Field values asked for again and again: one call of the driver into a buffer that is made once.

By pynvml's own function 44 fields take 48 us, most of it to fill in their numbers again; so they take 3.
"""

import ctypes
from math import isfinite
from struct import Struct
from typing import Any, Iterable, List, Optional, Sequence, Tuple

from . import AcceleratorError
from .nvml_calls import INVALID_ARGUMENT, NOT_SUPPORTED, Calls, RefusalError, known, label

_NAME = "nvmlDeviceGetFieldValues"
_VALUES = ("d", "I4x", "Q", "Q", "q", "i4x", "H6x")
"""How the union is read, by nvmlValueType_t; unsigned long has 64 bits wherever there is a driver."""

Field = Tuple[int, int]
"""Its id, and its scope: 0, or which link."""


class Batch:
    """Of one GPU, for one thread. A field that is not supported is not asked for again."""

    def __init__(self, calls: Calls, fields: Sequence[Field]) -> None:
        self._calls = calls
        self._all = tuple(fields)
        self._asked: Tuple[Field, ...] = ()
        self._places: Tuple[int, ...] = ()
        """Of what is asked for, among all."""
        self._types: Tuple[int, ...] = ()
        """The value types of the last answers, by which all of the next ones are unpacked at once."""
        self._format = _format(())
        self._refused = -1
        self._buffer: Any = None

    def refused(self, field: Field) -> bool:
        """Whether it is known that this field is not supported."""
        return _key(field) in self._calls.refused

    def read(self) -> List[Optional[int]]:
        """One value for each field. Raises AcceleratorError where the GPU as a whole does not answer."""
        calls = self._calls
        values: List[Optional[int]] = [None] * len(self._all)
        if self._refused != len(calls.refused):
            self._make()
        if not self._asked:
            return values
        try:
            calls.call(_NAME, by=self._call)
        except AcceleratorError as error:
            for field in self._asked:
                calls.settle(_key(field), error)
            return values
        if calls.failed:
            for field in self._asked:
                calls.failed.pop(_key(field), None)
        for place, value_type, code, value in self._answers():
            if code or value_type >= len(_VALUES) or not isfinite(value):
                self._note(self._all[place], value_type, code)
            else:
                values[place] = known(int(value))
        return values

    def _answers(self) -> Iterable[Tuple[int, int, int, float]]:
        """Place, value type, return code and value of each field."""
        flat = self._format.unpack(self._buffer)
        if flat[::3] != self._types:  # the first answers, as a rule
            self._types = flat[::3]
            self._format = _format(self._types)
            flat = self._format.unpack(self._buffer)
        return zip(self._places, self._types, flat[1::3], flat[2::3])

    def _call(self, handle: Any) -> None:
        pynvml = self._calls.pynvml
        code = pynvml._nvmlGetFunctionPointer(_NAME)(handle, len(self._asked), ctypes.byref(self._buffer))
        if code:
            raise pynvml.NVMLError(code)

    def _note(self, field: Field, value_type: int, code: int) -> None:
        """Why there is no value of it."""
        key, calls = _key(field), self._calls
        if code:
            # A driver that does not know the id calls it an invalid argument: nothing else of ours could be.
            code = NOT_SUPPORTED[0] if code == INVALID_ARGUMENT else code
            calls.settle(key, RefusalError(code, label(key), str(calls.pynvml.NVMLError(code))))
        else:
            unread = "no number of a known type ({})".format(value_type)
            calls.settle(key, AcceleratorError("error", label(key), unread))

    def _make(self) -> None:
        """The buffer, without what turned out not to be supported."""
        refused = self._calls.refused
        self._refused = len(refused)
        self._places = tuple(place for place, field in enumerate(self._all) if _key(field) not in refused)
        self._asked = tuple(self._all[place] for place in self._places)
        self._types = (0,) * len(self._asked)
        self._format = _format(self._types)
        self._buffer = (self._calls.pynvml.c_nvmlFieldValue_t * len(self._asked))()
        for answer, (number, scope) in zip(self._buffer, self._asked):
            answer.fieldId, answer.scopeId = number, scope


def _format(types: Sequence[int]) -> Struct:
    """Of an array of nvmlFieldValue_t: of each its value type, return code and value."""
    values = (_VALUES[value_type] if value_type < len(_VALUES) else "Q" for value_type in types)
    return Struct("=" + "".join("24xII" + value for value in values))


def _key(field: Field) -> Tuple[Any, ...]:
    number, scope = field
    return (_NAME, number, scope) if scope else (_NAME, number)
