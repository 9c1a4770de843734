"""One tick of full telemetry of 8 mocked GPUs, against the same calls by bare pynvml. Run: python benchmarks/nvml.py

Both in one thread, GPU by GPU in turn; the medians of its CPU time, which other work on the machine does not touch, and
their ratio are printed. Bound: 1.5. The mock answers a call in some microseconds where a driver takes tens to
thousands, so on hardware the ratio is nearer to 1.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import pynvml

from brctl.mock.nvml import install
from brctl.node.accel.nvml import Nvml
from brctl.node.deadline import run_all

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 400
BOUND = 1.5
MACHINE = Path(__file__).resolve().parents[1] / "brctl" / "mock" / "machines" / "dgx-h100.json"
FIELDS = [82, 74, 269, 270, 271]


def bare(handle: object) -> list[object]:
    """What NvmlGpu.telemetry asks, in the same order."""
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle, pynvml.nvmlMemory_v2)
    utilization = pynvml.nvmlDeviceGetUtilizationRates(handle)
    fields = [value.value.ullVal for value in pynvml.nvmlDeviceGetFieldValues(handle, FIELDS)]
    return [
        memory.used,
        memory.reserved,
        memory.free,
        utilization.gpu,
        utilization.memory,
        fields,
        pynvml.nvmlDeviceGetPerformanceState(handle),
        pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle),
        pynvml.nvmlDeviceGetTemperatureV(handle, 0),
        pynvml.nvmlDeviceGetPowerUsage(handle),
        pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
        pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM),
        pynvml.nvmlDeviceGetMarginTemperature(handle),
    ]


def measure() -> tuple[float, float]:
    """Median seconds of a tick: ours, bare."""
    library = Nvml()
    gpus = [library.open(index) for index in range(library.count())]
    handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(len(gpus))]
    ours, theirs = [0.0] * ROUNDS, [0.0] * ROUNDS
    for number in range(ROUNDS):
        for gpu, handle in zip(gpus, handles, strict=True):
            began = time.thread_time()
            gpu.telemetry()
            middle = time.thread_time()
            bare(handle)
            ours[number] += middle - began
            theirs[number] += time.thread_time() - middle
    return statistics.median(ours), statistics.median(theirs)


def main() -> None:
    """Print the figures; exit 1 where the bound is missed."""
    install(json.loads(MACHINE.read_text())["nvml"])
    (figures,) = run_all([measure])  # in a worker with a deadline, as in the agent
    assert isinstance(figures, tuple), figures
    ours, theirs = figures
    ratio = ours / theirs
    times = f"brctl {ours * 1e3:.2f} ms, bare pynvml {theirs * 1e3:.2f} ms"
    print(f"8 GPUs, one tick: {times}, ratio {ratio:.2f} (bound {BOUND})")
    sys.exit(ratio > BOUND)


if __name__ == "__main__":
    main()
