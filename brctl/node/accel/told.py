"""GPUs of vendors whose own command is asked: what it told when a GPU was opened is what there is of it."""

from typing import Any, NamedTuple, Optional, Sequence, Tuple, Type, TypeVar

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
from ..gpu_facts import GpuActivity, GpuLinkErrorSums, GpuMemory, GpuProfile, GpuTemperatures, GpuTraffic
from . import AcceleratorError, Run, Setters


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


N = TypeVar("N")


def blank(kind: Type[N]) -> N:
    """A NamedTuple of facts that has nothing in it."""
    fields: Any = getattr(kind, "_fields", ())
    return kind(*[None] * len(fields))


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

    def meter(self) -> "ToldMeter":
        return ToldMeter(self._told)


class ToldMeter:
    """A Meter by what was told of it."""

    def __init__(self, told: Told) -> None:
        self._told = told

    def activity(self) -> GpuActivity:
        seen = self._told.telemetry
        return blank(GpuActivity)._replace(
            gpu_utilization_percent=seen.gpu_utilization_percent,
            memory_utilization_percent=seen.memory_utilization_percent,
            sm_clock_mhz=seen.sm_clock_mhz,
            memory_clock_mhz=seen.memory_clock_mhz,
            power_instant_watts=seen.power_watts,
        )

    def memory(self) -> GpuMemory:
        seen, total = self._told.telemetry, self._told.identity.memory_bytes
        return GpuMemory(total, seen.memory_used_bytes, seen.memory_free_bytes, None)

    def temperatures(self) -> GpuTemperatures:
        seen = self._told.telemetry
        return GpuTemperatures(seen.temperature_celsius, seen.memory_temperature_celsius, None, None)

    def traffic(self) -> GpuTraffic:
        return blank(GpuTraffic)._replace(pcie_replays=self._told.pcie.replay_counter)

    def link_errors(self) -> GpuLinkErrorSums:
        return blank(GpuLinkErrorSums)

    def profile(self) -> Optional[GpuProfile]:
        return None

    def xids(self) -> Optional[Tuple[int, ...]]:
        return None
