from typing import Any

from brctl.node.monitor.collectors.gpu_traffic import COLLECTOR


def test_counters_of_pcie_and_all_links_together(look: Any, watched: Any) -> None:
    gpu = watched(pcie_tx_bytes=5000, pcie_rx_bytes=7000, pcie_replay_counter=2, nvlink_tx_kib=3, nvlink_rx_kib=4)
    seen = look(COLLECTOR).of(1.0, gpu)
    assert seen["gpu_pcie_transmit_bytes_total", ()] == 5000
    assert seen["gpu_pcie_receive_bytes_total", ()] == 7000
    assert seen["gpu_pcie_replays_total", ()] == 2
    assert seen["gpu_nvlink_transmit_bytes_total", ()] == 18 * 3 * 1024
    assert seen["gpu_nvlink_receive_bytes_total", ()] == 18 * 4 * 1024
    assert not [name for name, _ in seen if "per_second" in name]


def test_rates_between_two_looks(look: Any, watched: Any, monkeypatch: Any) -> None:
    gpu, watching = watched(), look(COLLECTOR)
    seen = gpu.meter.traffic()
    for now_s, number in ((1.0, 1000), (3.0, 5000), (4.0, 10)):
        later = seen._replace(pcie_transmit_bytes=number)
        monkeypatch.setattr(gpu.meter, "traffic", lambda later=later: later)
        values = watching.of(now_s, gpu)
        if now_s == 3.0:
            assert values["gpu_pcie_transmit_bytes_per_second", ()] == 2000
    assert ("gpu_pcie_transmit_bytes_per_second", ()) not in values, "it went back: no rate, and no negative one"


def test_a_part_without_links(look: Any, watched: Any) -> None:
    seen = look(COLLECTOR).of(1.0, watched(nvlinks=None))
    assert seen["gpu_nvlink_transmit_bytes_total", ()] is None


def test_links_that_are_down_are_left_out(look: Any, watched: Any) -> None:
    seen = look(COLLECTOR).of(1.0, watched(nvlinks_down=[0, 1, 2], nvlink_tx_kib=1))
    assert seen["gpu_nvlink_transmit_bytes_total", ()] == 15 * 1024


def test_a_driver_that_knows_but_single_links(look: Any, watched: Any, monkeypatch: Any) -> None:
    from brctl.mock import nvml_fields

    monkeypatch.setattr(nvml_fields, "_SUMMED", ())
    gpu = watched(nvlink_tx_kib=3, nvlink_rx_kib=4)
    watching = look(COLLECTOR)
    for now_s in (1.0, 2.0):
        seen = watching.of(now_s, gpu)
        assert seen["gpu_nvlink_transmit_bytes_total", ()] == 18 * 3 * 1024
        assert seen["gpu_nvlink_receive_bytes_total", ()] == 18 * 4 * 1024


def test_the_call_that_takes_twenty_milliseconds_is_never_made(look: Any, watched: Any, monkeypatch: Any) -> None:
    import pynvml

    gpu = watched()
    monkeypatch.setattr(pynvml, "nvmlDeviceGetPcieThroughput", None)
    assert look(COLLECTOR).of(1.0, gpu)
