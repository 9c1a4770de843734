"""What goes over PCIe and NVLink, by the driver's counters.

Never by nvmlDeviceGetPcieThroughput, which measures for 20 ms in each call. A counter that goes back (the driver was
loaded anew, or it has wrapped) gives no rate in that tick. NVLink's figures are of all active links together.
"""

from .. import GPU_LABELS, Collector, Kind, Reading, Readings, WatchedGpu
from ..previous import Previous

_made = Kind("gpu-traffic", GPU_LABELS)
_RATE = "Since the last look."
_WAYS = (
    ("pcie_transmit_bytes", "Sent over PCIe.", "field 197"),
    ("pcie_receive_bytes", "Received over PCIe.", "field 198"),
    ("nvlink_transmit_bytes", "Data sent over NVLink.", "field 138"),
    ("nvlink_receive_bytes", "Data received over NVLink.", "field 139"),
)
_BYTES = {name: _made.counter("gpu_{}_total".format(name), "bytes", text, field) for name, text, field in _WAYS}
_RATES = {
    name: _made.gauge("gpu_{}_per_second".format(name), "bytes per second", text + " " + _RATE, field)
    for name, text, field in _WAYS
}
_REPLAYS = _made.counter("gpu_pcie_replays_total", "", "Packets sent again over PCIe.", "field 94")


def run(gpu: WatchedGpu, previous: Previous) -> Readings:
    seen = gpu.meter.traffic()._asdict()
    for name, series in _BYTES.items():
        yield Reading(series, seen[name])
        rate = previous.rate(name, seen[name])
        if rate is not None:
            yield Reading(_RATES[name], rate)
    yield Reading(_REPLAYS, seen["pcie_replays"])


COLLECTOR = Collector(
    id="gpu-traffic", title="PCIe and NVLink of GPUs", every_s=1.0, series=tuple(_made.all), of_gpu=run
)
