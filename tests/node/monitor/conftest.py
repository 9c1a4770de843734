"""A collector run by hand, on a machine of a few files or on a mocked GPU."""

from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import pytest

from brctl.node.host.machine import Machine
from brctl.node.monitor import Collector, WatchedGpu
from brctl.node.monitor.previous import Previous

Values = Dict[Tuple[str, Tuple[str, ...]], Optional[float]]


class Look:
    """Runs one collector again and again; what it gives, by name (without `brctl_`) and labels."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self.previous = Previous()

    def values(self, readings: Any) -> Values:
        declared = {series.name for series in self.collector.series}
        found: Values = {}
        for reading in readings:
            assert reading.series.name in declared
            own = reading.series.labels[2:] if self.collector.of_gpu else reading.series.labels
            assert len(reading.labels) == len(own)
            assert (reading.series.name, reading.labels) not in found, "told twice"
            found[reading.series.name[len("brctl_") :], reading.labels] = reading.value
        return found

    def at(self, now_s: float, host: Any, peers: Sequence[str] = ()) -> Values:
        """Of the host."""
        self.previous.now_s = self.previous.now = now_s
        if self.collector.of_peers:
            return self.values(self.collector.of_peers(host, self.previous, peers))
        assert self.collector.of_host
        return self.values(self.collector.of_host(host, self.previous))

    def of(self, now_s: float, gpu: WatchedGpu) -> Values:
        """Of a GPU."""
        assert self.collector.of_gpu
        self.previous.now_s = self.previous.now = now_s
        return self.values(self.collector.of_gpu(gpu, self.previous))


@pytest.fixture
def look() -> Callable[[Collector], Look]:
    return Look


@pytest.fixture
def machine() -> Callable[..., Machine]:
    """Of these files; `more` are other parts of its JSON."""

    def made(files: Dict[str, Any], **more: Any) -> Machine:
        plain = {"name": "m", "recorded": False, "sources": [], "files": files, **more}
        return Machine(plain, "m", lambda: None)

    return made


@pytest.fixture
def watched(machine: Callable[..., Machine], dgx_h100_nvml: Dict[str, Any]) -> Callable[..., WatchedGpu]:
    """The first GPU of the machine dgx-h100, with values of its own, on a host of these files."""

    def opened(files: Optional[Dict[str, Any]] = None, **values: Any) -> WatchedGpu:
        from brctl.mock.nvml import install
        from brctl.node.accel.nvml import Nvml

        dgx_h100_nvml["gpus"][0].update(values)
        install(dgx_h100_nvml)
        library = Nvml()
        driver = library.driver().version
        part = library.open(0)
        return WatchedGpu(machine(files or {}), part, part.meter(), driver)

    return opened
