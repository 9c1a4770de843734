"""How a C function of the mocked NVML answers: with values that the GPU has, or with a code of nvmlReturn_t."""

from functools import lru_cache
from typing import Any, Callable, Mapping, Optional

# nvmlReturn_t (nvml.h)
SUCCESS = 0
UNINITIALIZED = 1
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
TIMEOUT = 10
CORRUPTED_INFOROM = 14
IN_USE = 19
ARGUMENT_VERSION_MISMATCH = 25

Values = Mapping[str, Any]
Function = Callable[..., None]


class RefusedError(Exception):
    """The function returns this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def need(gpu: Values, key: str) -> Any:
    """The value in NVML's unit: thousandths of watts and joules. Raises RefusedError where there is none."""
    value = gpu.get(key)
    if value is None:
        raise RefusedError(NOT_SUPPORTED)
    return round(value * 1000) if key.endswith(("_watts", "_joules")) else value


def plain(argument: Any) -> int:
    """The number in a ctypes object, or the number itself: pynvml passes both."""
    return int(getattr(argument, "value", argument))


def demand_version(structure: Any, version: int) -> None:
    if structure.version != version:
        raise RefusedError(ARGUMENT_VERSION_MISMATCH)


def ask_for_room(size: int, count: Any, array: Optional[Any]) -> None:
    """The protocol of two calls: the first, without room, is told how much to make."""
    room, count.value = count.value, size
    if size > room:
        raise RefusedError(INSUFFICIENT_SIZE)
    if size and array is None:
        raise RefusedError(INVALID_ARGUMENT)


def driver(gpu: Values) -> "tuple[int, int]":
    """Branch and release: (535, 54) of 535.54.03."""
    return _release(gpu["driver_version"])


@lru_cache(maxsize=None)
def _release(version: str) -> "tuple[int, int]":
    branch, release, *_ = [int(part) for part in version.split(".")] + [0]
    return branch, release
