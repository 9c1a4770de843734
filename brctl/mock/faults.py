"""Faults that a mocked machine is given by name: `gpu3-lost`, `gpu3-lost@5`, `no-driver`."""

import re
from typing import NamedTuple, Optional, Sequence, Tuple

OF_A_GPU = ("hang", "lost")
"""`gpuN-hang`: no call that takes this GPU's handle returns; opening it does. `gpuN-lost`: it answers GPU_IS_LOST, at
once also to the one who opens it. With `@N` the first N calls on the handle are answered. Without `gpuN-`: GPU 0."""
OF_NVML = ("no-driver", "no-library")
"""The kernel module is not loaded; libnvidia-ml.so.1 is not there."""

_SPEC = re.compile(r"(?:gpu([0-9]{1,4})-)?([a-z][a-z-]*)(?:@([0-9]{1,9}))?\Z")


class Fault(NamedTuple):
    name: str
    gpu_index: Optional[int]
    """None for a fault of the library as a whole."""
    after: int
    """How many calls are answered first."""
    text: str
    """As the user wrote it."""


class UnknownFaultError(ValueError):
    """No such fault; the message gives the text and the nearest that there is."""

    def __init__(self, text: str) -> None:
        import difflib  # costs more than all the rest, and is seldom needed

        gpu = re.match(r"gpu[0-9]+", text)
        prefix = gpu.group() if gpu else "gpu0"
        known = sorted(OF_NVML + tuple("{}-{}".format(prefix, name) for name in OF_A_GPU))
        self.nearest = difflib.get_close_matches(text.partition("@")[0], known, n=1, cutoff=0)[0]
        super().__init__("unknown fault {!r}; nearest: {!r}".format(text, self.nearest))


def parse(text: str) -> Tuple[Fault, ...]:
    """The faults of `gpu3-lost@5+no-driver`, in order; none of an empty text. Raises UnknownFaultError."""
    return tuple(_parse_one(spec) for spec in text.split("+")) if text else ()


def idle(faults: Sequence[Fault], gpu_count: int) -> Tuple[Fault, ...]:
    """Those that find nothing to act on, on a machine with so many GPUs: each is worth a warning."""
    return tuple(fault for fault in faults if gpu_count <= (fault.gpu_index or 0))


def _parse_one(text: str) -> Fault:
    match = _SPEC.match(text)
    gpu, name, after = match.groups() if match else (None, "", None)
    if name in OF_A_GPU:
        return Fault(name, int(gpu or 0), int(after or 0), text)
    if name in OF_NVML and gpu is None and after is None:
        return Fault(name, None, 0, text)
    raise UnknownFaultError(text)
