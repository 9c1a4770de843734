"""What NVML sets of one GPU."""

from .nvml_calls import Calls


class NvmlSetters:
    """One thread at a time, as the GPU itself."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def set_persistence_mode(self, on: bool) -> None:
        self._calls.call("nvmlDeviceSetPersistenceMode", int(on))

    def set_power_limit(self, watts: float) -> None:
        self._calls.call("nvmlDeviceSetPowerManagementLimit", round(watts * 1000))

    def lock_clocks(self, least_mhz: int, most_mhz: int) -> None:
        self._calls.call("nvmlDeviceSetGpuLockedClocks", least_mhz, most_mhz)

    def unlock_clocks(self) -> None:
        self._calls.call("nvmlDeviceResetGpuLockedClocks")
