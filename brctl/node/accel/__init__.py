"""Accelerator: one GPU behind a vendor-neutral protocol. Library: what a vendor's driver answers as a whole.

Every method raises AcceleratorError where the library refuses, and gives None for what the part does not support.
One call that fails on a part that otherwise answers costs its own values alone, and stands in `failures`.
A call may hang: it runs in a thread of its own (see deadline), and each implementation notes every call it enters.
"""

from typing import Optional, Protocol, Tuple

from ..facts import (
    AcceleratorDriver,
    GpuErrors,
    GpuIdentity,
    GpuLimits,
    GpuLink,
    GpuPcie,
    GpuProcess,
    GpuTelemetry,
)


class AcceleratorError(Exception):
    """A library call failed for a reason other than 'not supported'."""

    def __init__(self, kind: str, call: str, message: str) -> None:
        super().__init__("{}: {}".format(call, message))
        self.kind = kind
        """`no-library`, `no-driver`, `version-mismatch`, or a kind of GpuFault."""
        self.call = call
        self.message = message


class Accelerator(Protocol):
    index: int

    @property
    def unsupported(self) -> Tuple[str, ...]:
        """Sorted names of the calls that this part has answered with 'not supported'."""

    @property
    def failures(self) -> Tuple[AcceleratorError, ...]:
        """Calls that last failed by themselves: their values are None though the part may well have them."""

    def uuid(self) -> str: ...

    def pci(self) -> str:
        """`0000:1b:00.0`, in lower case, as the kernel writes it."""

    def identity(self) -> GpuIdentity: ...

    def telemetry(self) -> GpuTelemetry: ...

    def pcie(self) -> GpuPcie: ...

    def links(self) -> Optional[Tuple[GpuLink, ...]]:
        """None where the part has no such links."""

    def errors(self) -> GpuErrors: ...

    def limits(self) -> GpuLimits: ...

    def processes(self) -> Optional[Tuple[GpuProcess, ...]]: ...


class Library(Protocol):
    vendor: str

    def driver(self) -> AcceleratorDriver:
        """Load and initialise; once in a process."""

    def count(self) -> int:
        """How many indices the library knows, also those that will not answer."""

    def open(self, index: int) -> Accelerator:
        """May initialise the GPU, which takes over a second where persistence mode is off."""
