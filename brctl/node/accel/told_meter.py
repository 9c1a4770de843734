"""What is measured of a GPU of which a vendor's command tells: no more than it told."""

from typing import Optional, Tuple

from ..facts import blank
from ..meter_facts import GpuActivity, GpuLinkErrorSums, GpuMemory, GpuProfile, GpuTemperatures, GpuTraffic
from .told import Told


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

    def profile(self, gpu_instance: Optional[int] = None) -> Optional[GpuProfile]:  # noqa: ARG002
        return None

    def xids(self) -> Optional[Tuple[int, ...]]:
        return None
