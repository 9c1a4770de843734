"""GPUs of vendors whose own command is asked: what it told when a GPU was opened is what there is of it."""

from typing import NamedTuple, Optional, Sequence, Tuple

from ..facts import (
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
)
from . import AcceleratorError, Meter, Run, Setters


def ask(run: Run, *argv: str) -> str:
    """What a command prints. Raises AcceleratorError: `no-library` where it cannot be run, `no-driver` where it
    refuses, which such commands do where there is no GPU for them."""
    call = " ".join(argv)
    try:
        answer = run(argv)
    except OSError as error:
        raise AcceleratorError("no-library", call, error.strerror or str(error)) from None
    if answer is None:
        raise AcceleratorError("no-library", call, "{} is not installed".format(argv[0]))
    if answer.returncode:
        said = answer.stderr.strip() or answer.stdout.strip() or "exit status {}".format(answer.returncode)
        raise AcceleratorError("no-driver", call, said.splitlines()[-1].strip())
    return answer.stdout


class Told(NamedTuple):
    """One GPU; a part of which the command says nothing is None."""

    gpu_index: int
    uuid: Optional[str]
    pci: Optional[str]
    identity: GpuIdentity
    telemetry: GpuTelemetry
    pcie: GpuPcie
    errors: GpuErrors
    limits: GpuLimits
    processes: Optional[Tuple[GpuProcess, ...]]
    unsupported: Tuple[str, ...]
    """Sorted names of what it was asked for and has no value of."""


class ToldGpu:
    """An Accelerator by what was told of it."""

    failures: Tuple[AcceleratorError, ...] = ()

    def __init__(self, told: Told) -> None:
        self.index = told.gpu_index
        self.unsupported = told.unsupported
        self._told = told

    def uuid(self) -> Optional[str]:
        return self._told.uuid

    def pci(self) -> Optional[str]:
        return self._told.pci

    def identity(self) -> GpuIdentity:
        return self._told.identity

    def telemetry(self) -> GpuTelemetry:
        return self._told.telemetry

    def pcie(self) -> GpuPcie:
        return self._told.pcie

    def links(self) -> Optional[Tuple[GpuLink, ...]]:
        return None

    def errors(self) -> GpuErrors:
        return self._told.errors

    def limits(self) -> GpuLimits:
        return self._told.limits

    def processes(self) -> Optional[Tuple[GpuProcess, ...]]:
        return self._told.processes

    def fabric(self) -> Optional[GpuFabric]:
        return None

    def instances(self) -> Optional[Tuple[GpuInstance, ...]]:
        return None

    def setters(self) -> Optional[Setters]:
        return None

    def health(self, links: Optional[Sequence[GpuLink]]) -> Optional[GpuHealth]:  # noqa: ARG002
        return None

    def meter(self) -> Meter:
        from .told_meter import ToldMeter  # of no use to those who look once

        return ToldMeter(self._told)
