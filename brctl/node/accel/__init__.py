"""Accelerator: one GPU behind a vendor-neutral protocol. Library: what a vendor's driver answers as a whole.

Every method raises AcceleratorError where the library refuses, and gives None for what the part does not support.
One call that fails on a part that otherwise answers costs its own values alone, and stands in `failures`.
A call may hang: it runs in a thread of its own (see deadline), and each implementation notes every call it enters.
"""

from typing import TYPE_CHECKING, Callable, NamedTuple, Optional, Protocol, Sequence, Tuple

from ..facts import (
    AcceleratorDriver,
    GpuErrors,
    GpuFabric,
    GpuHealth,
    GpuIdentity,
    GpuInstance,
    GpuLimits,
    GpuLink,
    GpuPcie,
    GpuProcess,
    GpuTelemetry,
    PciDevice,
)

if TYPE_CHECKING:  # of no use to those who look once
    from ..meter_facts import GpuActivity, GpuLinkErrorSums, GpuMemory, GpuProfile, GpuTemperatures, GpuTraffic


class AcceleratorError(Exception):
    """A library call failed for a reason other than 'not supported'."""

    def __init__(self, kind: str, call: str, message: str) -> None:
        super().__init__("{}: {}".format(call, message))
        self.kind = kind
        """`no-library`, `no-driver`, `version-mismatch`, or a kind of GpuFault."""
        self.call = call
        self.message = message


class Setters(Protocol):
    """What may be set of one GPU. All of it needs root, and is lost when the driver is loaded anew (nvml.h).

    Every method raises AcceleratorError, also where the part does not support it.
    """

    def set_persistence_mode(self, on: bool) -> None:
        """Keep the driver loaded while nobody uses the GPU."""

    def set_power_limit(self, watts: float) -> None: ...

    def lock_clocks(self, least_mhz: int, most_mhz: int) -> None:
        """Hold the SM clock in a range. There is no call that reads it back."""

    def unlock_clocks(self) -> None:
        """Let the SM clock be what it is by default."""


class Meter(Protocol):
    """An accelerator that is looked at again and again, for one thread. It keeps what it needs from one look to the
    next; methods raise as those of Accelerator do."""

    def activity(self) -> "GpuActivity": ...

    def memory(self) -> "GpuMemory": ...

    def temperatures(self) -> "GpuTemperatures": ...

    def traffic(self) -> "GpuTraffic": ...

    def link_errors(self) -> "GpuLinkErrorSums": ...

    def profile(self, gpu_instance: Optional[int] = None) -> "Optional[GpuProfile]":
        """Of the whole GPU, or of one MIG instance; None where it has no such counters, and at the first look."""

    def xids(self) -> Optional[Tuple[int, ...]]:
        """The errors that the driver reported since the last look, each with its number, in their order; None where
        nobody tells."""


class Accelerator(Protocol):
    index: int

    @property
    def unsupported(self) -> Tuple[str, ...]:
        """Sorted names of the calls that this part has answered with 'not supported'."""

    @property
    def failures(self) -> Tuple[AcceleratorError, ...]:
        """Calls that last failed by themselves: their values are None though the part may well have them."""

    def uuid(self) -> Optional[str]: ...

    def pci(self) -> Optional[str]:
        """`0000:1b:00.0`, in lower case, as the kernel writes it."""

    def identity(self) -> GpuIdentity: ...

    def telemetry(self) -> GpuTelemetry: ...

    def pcie(self) -> GpuPcie: ...

    def links(self) -> Optional[Tuple[GpuLink, ...]]:
        """None where the part has no such links."""

    def errors(self) -> GpuErrors: ...

    def limits(self) -> GpuLimits: ...

    def processes(self) -> Optional[Tuple[GpuProcess, ...]]: ...

    def fabric(self) -> Optional[GpuFabric]:
        """None where the part is on no fabric."""

    def instances(self) -> Optional[Tuple[GpuInstance, ...]]:
        """The devices that the part is divided into; None where it is whole."""

    def setters(self) -> Optional[Setters]:
        """None where brctl sets nothing of this vendor's parts."""

    def health(self, links: Optional[Sequence[GpuLink]]) -> Optional[GpuHealth]:
        """What only `diagnose` judges, of these links too. None: no such thing is known of this vendor's."""

    def meter(self) -> Meter:
        """A new one."""


class Pci(NamedTuple):
    """How a vendor's accelerators are known on the PCI bus."""

    vendor_id: str
    classes: Tuple[str, ...]
    driver: str
    """The kernel driver that the vendor's library goes through. A device that another one has (vfio-pci: a virtual
    machine's; nouveau: a display's) is no business of the library."""

    def is_gpu(self, device: PciDevice) -> bool:
        """Whether it is one of the vendor's, whoever holds it. A virtual function is none: it is a part of one, for a
        virtual machine, and the library of the host does not list it."""
        of_vendor = device.vendor_id == self.vendor_id and device.pci_class in self.classes
        return of_vendor and device.physical_function is None


NVIDIA = Pci("10de", ("0300", "0302"), "nvidia")
"""VGA and 3D controllers: 0680 is a switch."""


class Library(Protocol):
    vendor: str
    source: str
    """`libnvidia-ml.so.1`, or the vendor's command."""
    tested_on_hardware: bool
    """False: the code was tested on recorded or mocked answers alone."""
    count_call: str
    """What tells how many there are."""
    told_at_once: bool
    """All that there is to know was told by `driver`: for newer values it is called again, and each part opened."""
    pci: Optional[Pci]
    """None: cannot be told on the bus."""

    def driver(self) -> Optional[AcceleratorDriver]:
        """Load and initialise; once in a process. None where it works but has no version to tell."""

    def count(self) -> int:
        """How many indices the library knows, also those that will not answer."""

    def open(self, index: int) -> Accelerator:
        """May initialise the GPU, which takes over a second where persistence mode is off."""

    def close(self) -> None:
        """Let go of all parts and of the driver; `driver` may then be called anew. No call may be in flight."""


class Answer(Protocol):
    """What a command printed."""

    @property
    def returncode(self) -> int: ...

    @property
    def stdout(self) -> str: ...

    @property
    def stderr(self) -> str: ...


Run = Callable[[Sequence[str]], Optional[Answer]]
"""Host.run: None where the command is not installed."""


def libraries(run: Run) -> Tuple[Library, ...]:
    """One for each vendor that brctl knows, nothing loaded yet. `run` is Host.run."""
    from .amd import Amd
    from .biren import Biren
    from .nvml import Nvml

    return (Nvml(), Amd(run), Biren(run))
