"""A mocked machine at work: what grows, by how much, and what stays."""

from typing import Any, Dict

import pytest

from brctl.mock.busy import grown
from brctl.mock.machines import idle_faults, load

_IDLE = "  eth1: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
FILES: Dict[str, str] = {
    "/proc/net/dev": " eth0: 100000 1000 3 0 0 0 0 0 200000 2000 0 4 0 0 0 0\n" + _IDLE,
    "/x/infiniband/mlx5_0/ports/1/counters/port_xmit_data": "1000000\n",
    "/x/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent": "5\n",
    "/x/infiniband/mlx5_0/ports/1/hw_counters/out_of_buffer": "5\n",
    "/x/infiniband/mlx5_1/ports/1/counters/port_xmit_data": "0\n",
    "/x/infiniband/mlx5_1/ports/1/hw_counters/np_cnp_sent": "0\n",
    "/proc/stat": "cpu  100 2 30 4000 5 0 0 0 0 0\nctxt 1\n",
    "/proc/pressure/io": "some avg10=0.00 total=7\nfull avg10=0.00 total=9\n",
}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/proc/net/dev", " eth0: 100220 1002 3 0 0 0 0 0 200440 2004 0 4 0 0 0 0\n" + _IDLE),
        ("/x/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1002200\n"),
        ("/x/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent", "3105\n"),
        ("/x/infiniband/mlx5_0/ports/1/hw_counters/out_of_buffer", None),
        ("/x/infiniband/mlx5_1/ports/1/counters/port_xmit_data", None),
        ("/x/infiniband/mlx5_1/ports/1/hw_counters/np_cnp_sent", None),
        ("/proc/stat", "cpu  64100 2 7030 157000 5 0 0 0 0 0\nctxt 1\n"),
        ("/proc/pressure/io", "some avg10=0.00 total=90007\nfull avg10=0.00 total=40009\n"),
        ("/proc/meminfo", None),
        ("/proc/net/snmp", None),
    ],
)  # fmt: skip
def test_after_ten_seconds(path: str, text: Any) -> None:
    assert grown(path, FILES.get, 10.0) == text


def test_a_busy_machine_and_its_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    machine = load("dgx-h100+busy")
    before = machine.read("/proc/diskstats")
    clock[0] += 1
    assert machine.read("/proc/diskstats") != before
    assert load("dgx-h100+busy").read("/proc/diskstats") == machine.read("/proc/diskstats"), "in every process"
    assert machine.read("/proc/uptime") == load("dgx-h100").read("/proc/uptime")
    assert idle_faults("dgx-h100+busy") == ()


def test_a_machine_without_counters_has_nothing_to_work_with(tmp_path: Any) -> None:
    file = tmp_path / "m.json"
    file.write_text('{"name": "m", "recorded": false, "sources": [], "files": {}}')
    assert idle_faults(f"{file}+busy") == ("busy has nothing to act on: m has no /proc/net/dev",)


def test_a_gpu_measures_itself_every_20_ms(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.01]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    machine = load("dgx-h100+busy+gpu0-fever")
    machine.accelerators()
    import pynvml

    pynvml.nvmlInit()
    first, other = (pynvml.nvmlDeviceGetHandleByIndex(index) for index in (0, 1))

    def energy(handle: Any) -> int:
        return int(pynvml.nvmlDeviceGetTotalEnergyConsumption(handle))

    sent = [field.value.ullVal for field in pynvml.nvmlDeviceGetFieldValues(first, [197, 198])]
    assert all(number < 1 << 63 for number in sent), "no counter stands below where it began"
    before = energy(other)
    clock[0] += 0.005
    assert energy(other) == before
    clock[0] += 0.02
    assert energy(other) > before
    pynvml.nvmlDeviceSetPowerManagementLimit(other, 500_000)
    assert pynvml.nvmlDeviceGetPowerManagementLimit(other) == 500_000
