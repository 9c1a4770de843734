"""Frames: what is seen of a tick, at any size."""

import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from brctl.node.report import Mock, NodeError, Report, State
from brctl.render.live import fleet
from brctl.render.live.frame import frame
from brctl.render.live.ink import Cell, Ink, Row
from brctl.render.live.marks import mark
from brctl.render.live.text import text
from brctl.render.live.view import KEYS, View, press
from brctl.render.live.watch import Watch

Make = Callable[..., Report]
SILENT = NodeError("timeout", "no answer within 2 s")


def _watch(*ticks: "list[Report]", here: "str | None" = None, **more: object) -> Watch:
    watch = Watch(1.0, here, **more)  # type: ignore[arg-type]
    for at, reports in enumerate(ticks):
        watch.take(reports, float(at))
    return watch


def _lines(
    watch: Watch, pen: Ink, view: "View | None" = None, width: int = 130, height: int = 40, clock: float = 1.0
) -> "list[str]":
    view = view or View()
    return [line.rstrip(" ─") for line in frame(watch.scene(view, pen, clock), view, width, height, pen).lines]


def _cells(report: Report, pen: Ink, section: str, row: int) -> "list[Cell]":
    """Of a table those that are words."""
    scene = _watch([report]).scene(View(), pen, 1.0)
    (found,) = [each for each in scene.sections if each.id == section]
    return [cell for cell in found.items[row].cells() if isinstance(cell, Cell)]


def _text(row: Row) -> "list[str]":
    """What its cells say in words, without bars and histories."""
    said = ["".join(part.text for part in (cell(5) if callable(cell) else [cell])).strip() for cell in row]
    return [text for text in said if re.search(r"[\w?-]", text)]


def _row(lines: "list[str]", start: str) -> str:
    (found,) = [line for line in lines if line.split()[:1] == [start]]
    return re.sub(" +", " ", found).strip()


def test_a_row_of_a_gpu_says_all_of_it(busy: Make, pen: Ink) -> None:
    more: dict[str, float] = {"gpu_clocks_event_ratio/2/GPU-2/sw_power_cap": 0.25,
            "network_receive_bytes_per_second/ens2np0": 3e6, "rdma_receive_bytes_per_second/mlx5_2/1": 12.4e9,
            "network_transmit_bytes_per_second/ens2np0": 5e6}  # fmt: skip
    lines = _lines(_watch([busy()], [busy(8, "gpu001", **more)]), pen, width=180)
    assert _row(lines, "GPU") == "GPU USE HISTORY MEMORY TEMP POWER CLOCK NIC RX TX NVLINK SLOWED BY"
    assert _row(lines, "2") == (
        "2 ━━━╸─────── 30% ▃▃ ━━━━━━━╸── 61/80 GiB 52C 402/700 W 1980 MHz ens2np0 12.4 GB/s 5.0 MB/s 3.0 GB/s "
        "sw_power_cap 25%"
    )
    assert _row(lines, "GPUS") == "GPUS 8"
    assert lines[1] == "8 GPUs   use 45%   power 3228 W"


def test_a_lost_gpu_keeps_its_row(busy: Make, pen: Ink) -> None:
    report = busy(8, "gpu001", **{"gpu_up/3/GPU-3": 0.0, "gpu_utilization_ratio/3/GPU-3": State.STALE})
    assert _row(_lines(_watch([report]), pen), "3") == "3 DOWN it does not answer"
    told = _watch([report._replace(notes=("GPU 3: x",))])
    told.take(told._reports, 1.0)
    assert _row(_lines(told, pen), "EVENTS") == "EVENTS 1"
    lost = report._replace(notes=("GPU 3: nvmlDeviceGetHandleByIndex_v2: GPU is lost", "a login that prints"))
    watch = _watch([lost], [report])
    lines = _lines(watch, pen)
    assert _row(lines, "3") == "3 LOST nvmlDeviceGetHandleByIndex_v2: GPU is lost"
    assert _row(lines, "EVENTS") == "EVENTS 2"
    place = lines.index("WHEN      WHAT") + 1
    assert [line[10:] for line in lines[place : place + 2]] == [
        "GPU 3: nvmlDeviceGetHandleByIndex_v2: GPU is lost",
        "a login that prints",
    ]
    assert lines[1].startswith("8 GPUs, 1 down   use 46%")


def test_what_was_not_measured_is_told_apart_from_what_there_is_not(made: Make, gpu: Make, pen: Ink) -> None:
    values = gpu(0, utilization_ratio=State.TIMEOUT) | gpu(1, utilization_ratio=State.UNSUPPORTED)  # type: ignore[operator]
    lines = _lines(_watch([made(values)]), pen, width=60)
    assert _row(lines, "0").split()[2] == "?"
    assert _row(lines, "1").split()[2] == "-"


def _unread(report: Report, state: State) -> Report:
    """The same, and nothing but that there are GPUs, links and their names can be read."""
    kept = ("brctl_gpu_up", "brctl_gpu_info", "brctl_gpu_nic_info", "brctl_network_receive_bytes_total")
    samples = [one if one.series in kept else one._replace(value=None, state=state) for one in report.samples]
    return report._replace(samples=tuple(samples))


@pytest.mark.parametrize(
    ("state", "letter"), [(State.STALE, "?"), (State.TIMEOUT, "?"), (State.UNSUPPORTED, "-")], ids=str
)
def test_no_cell_takes_what_cannot_be_read_for_what_there_is_not(
    busy: Make, made: Make, pen: Ink, state: State, letter: str
) -> None:
    report = busy(1, **{
        "gpu_clocks_event_ratio/0/GPU-0/sw_power_cap": 0.25, "rdma_receive_bytes_per_second/mlx5_0/1": 1e9,
        "network_transmit_bytes_per_second/ens0np0": 5e6, "gpu_process_memory_bytes/0/GPU-0/77/python/ann////C/": 1e9,
        "gpu_instance_memory_used_bytes/0/GPU-0/1/0/1g.10gb": 1e9, "network_receive_bytes_total/ens0np0": 1,
        "gpu_instance_memory_total_bytes/0/GPU-0/1/0/1g.10gb": 1e10, "network_up/ens0np0": 1,
        "network_speed_bytes_per_second/ens0np0": 5e10, "network_receive_drops_total/ens0np0": 3,
        "network_pause_sent_ratio/ens0np0/3": 0.01, "rdma_loss_ratio/mlx5_0/1": 0.01,
        "disk_read_bytes_total/nvme0n1": 1, "disk_busy_ratio/nvme0n1": 0.5, "disk_read_bytes_per_second/nvme0n1": 3e9,
        "disk_write_bytes_per_second/nvme0n1": 3e9, "disk_read_latency_seconds/nvme0n1": 0.1,
        "disk_write_latency_seconds/nvme0n1": 0.1, "filesystem_size_bytes/raid/ext4": 2.0**40,
        "filesystem_available_bytes/raid/ext4": 2.0**40,
    })  # fmt: skip
    scene = _watch([_unread(report, state)]).scene(View(), pen, 1.0)
    rows = {section.id: _text(section.items[0].cells()) for section in scene.sections if section.items}
    assert rows.pop("gpus") == ["0", *[letter] * 5, "ens0np0", *[letter] * 4]
    assert rows.pop("network") == ["ens0np0", *[letter] * 7, "mlx5_0"]
    assert rows.pop("disks") == ["nvme0n1", *[letter] * 5]
    assert rows.pop("processes")[3] == letter
    assert rows.pop("instances")[3:] == [letter] * 2
    if state is not State.UNSUPPORTED:  # a file system without a size is none
        assert rows.pop("space") == ["raid", *[letter] * 3, "ext4"]
    assert rows == {}
    two = _watch([_unread(report, state), made({}, "gpu002")]).scene(View(), pen, 1.0)
    (nodes,) = [section for section in two.sections if section.id == "nodes"]
    assert _text(nodes.items[0].cells()) == ["gpu001", "1/1", *[letter] * 5, "ok"]
    assert _text(nodes.items[1].cells()) == ["gpu002", "0/0", *["-"] * 5, "no GPU"]


def test_the_memory_of_a_node_is_not_told_in_part(busy: Make, made: Make, pen: Ink) -> None:
    report = busy(2, **{"gpu_memory_used_bytes/1/GPU-1": State.STALE})
    scene = _watch([report, made({}, "gpu002")]).scene(View(), pen, 1.0)
    assert _text(scene.sections[0].items[0].cells())[4] == "?"


def test_a_zero_that_was_measured_is_a_zero(made: Make, gpu: Make, pen: Ink) -> None:
    assert "  0%" in _row(_lines(_watch([made(gpu(0, 0.0))]), pen, width=60), "0").replace(" 0%", "  0%")


@pytest.mark.parametrize(
    ("celsius", "margin", "style"),
    [(61.0, 26.0, ""), (83.0, 4.0, "warn"), (87.0, 0.0, "crit"), (86.0, State.UNSUPPORTED, "warn"),
     (85.0, State.UNSUPPORTED, "warn"), (84.0, State.UNSUPPORTED, "")],
)  # fmt: skip
def test_heat_is_told_by_what_is_left(celsius: float, margin: "float | State", style: str) -> None:
    from brctl.render.live.gpus import temperature

    assert temperature(celsius, "-", margin if isinstance(margin, float) else None).style == style
    assert temperature(None, "?", None).text == "?"


@pytest.mark.parametrize(
    ("rule", "value", "style"),
    [("network-loss", 1e-5, "warn"), ("network-loss", 9e-6, ""), ("network-paused", 0.1, ""),
     ("network-paused", 0.11, "warn"), ("gpu-power-brake", 0.02, "crit"), ("gpu-slowed-by-heat", 0.02, ""),
     ("gpu-slowed-by-heat", 0.2, "warn"), ("gpu-hot", None, "")],
)  # fmt: skip
def test_a_value_is_marked_where_its_alert_begins(rule: str, value: "float | None", style: str) -> None:
    assert mark(rule, value) == style


def test_what_is_marked_in_the_tables(made: Make, busy: Make, pen: Ink) -> None:
    report = made({
        "network_receive_bytes_total/ens2": 1, "gpu_nic_info/0000:1b:00.0/ens2/mlx5_0/PIX": 1,
        "rdma_loss_ratio/mlx5_0/1": 5e-5, "network_pause_received_ratio/ens2/3": 0.07,
    })  # fmt: skip
    assert {cell.text: cell.style for cell in _cells(report, pen, "network", 0)}.items() >= {
        ("0.005%", "warn"), ("7%", ""),
    }  # fmt: skip
    slowed = busy(1, **{"gpu_clocks_event_ratio/0/GPU-0/hw_power_brake_slowdown": 0.02})
    assert _cells(slowed, pen, "gpus", 0)[-1].style == "crit"
    capped = busy(1, **{"gpu_clocks_event_ratio/0/GPU-0/sw_power_cap": 0.9})
    assert _cells(capped, pen, "gpus", 0)[-1].style == ""


def test_when_no_tick_comes_no_old_value_is_shown(busy: Make, pen: Ink) -> None:
    watch = _watch([busy()])
    assert "61/80 GiB" in "".join(_lines(watch, pen, clock=3.0))
    lines = _lines(watch, pen, clock=13.0)
    assert "NO ANSWER for 13 s" in lines[0]
    assert not re.search(r"\d+%|GiB|\d+C|\d W", "".join(lines[1:]))
    paused = _lines(watch, pen, View(paused=True), clock=13.0)
    assert "PAUSED, 13 s old" in paused[0]
    assert "PAUSED, 13 s old" in _lines(watch, pen, View(paused=True), width=40, clock=13.0)[0]
    assert "61/80 GiB" in "".join(paused)


def test_before_the_first_tick(pen: Ink) -> None:
    lines = _lines(Watch(1.0), pen)
    assert lines[0].startswith(" brctl monitor")
    assert lines[1] == "waiting for the first tick"


def test_the_other_tables(made: Make, pen: Ink) -> None:
    report = made({
        "gpus_visible": 0,
        "cpu_utilization_ratio": 0.12, "memory_total_bytes": 2.0**41, "memory_available_bytes": 2.0**40,
        "pressure_ratio/io/some": 0.3, "pressure_ratio/io/full": 0.2, "pressure_ratio/cpu/some": 0.01,
        "network_receive_bytes_total/ens2": 1, "network_receive_bytes_total/ens10": 1,
        "network_up/ens2": 1, "network_up/ens10": 0, "network_speed_bytes_per_second/ens2": 50e9,
        "network_receive_bytes_per_second/ens2": 25e9, "network_transmit_bytes_per_second/ens2": 1e9,
        "network_receive_drops_total/ens2": 3, "network_transmit_drops_total/ens2": 4,
        "network_pause_received_ratio/ens2/3": 0.12, "network_pause_sent_ratio/ens2/3": 0.01,
        "gpu_nic_info/0000:1b:00.0/ens2/mlx5_0/PIX": 1, "rdma_loss_ratio/mlx5_0/1": 0.0123,
        "disk_read_bytes_total/nvme0n1": 1, "disk_busy_ratio/nvme0n1": 0.5,
        "disk_read_bytes_per_second/nvme0n1": 3e9, "disk_write_bytes_per_second/nvme0n1": State.STALE,
        "disk_read_latency_seconds/nvme0n1": 0.00025,
        "filesystem_size_bytes//raid/ext4": 4.0 * 2**40, "filesystem_available_bytes//raid/ext4": 2.0**40,
        "filesystem_size_bytes//proc/proc": State.UNSUPPORTED,
    })  # fmt: skip
    lines = _lines(_watch([report]), pen)
    assert lines[1] == "no GPU   CPU 12%   memory 1.0/2 TiB   waiting for io 30%"
    assert _row(lines, "ens2") == "ens2 400 Gb/s ━━━━━╸───── 50% 25.0 GB/s 1.0 GB/s 1.2% 12% 7 mlx5_0"
    assert _row(lines, "ens10") == "ens10 down ··········· - - - - - - -"
    first = [line.split()[0] for line in lines if line]
    assert first.index("ens2") < first.index("ens10")
    assert _row(lines, "nvme0n1") == "nvme0n1 ━━━━━╸───── 50% 3.0 GB/s ? 0.2 ms -"
    assert _row(lines, "/raid") == "/raid ━━━━━━━━─── 75% 1.0 TiB 4.0 TiB ext4"
    assert "/proc" not in "".join(lines)


def test_processes_and_who_they_belong_to(made: Make, pen: Ink) -> None:
    process = "gpu_process_memory_bytes/{}/GPU-0/{}/{}/{}//{}/compute/"
    report = made({
        process.format(0, 4242, "python", "ann", "117").replace("//", "/c0ffee/"): 60.0 * 2**30,
        process.format(0, 77, "?", "?", "").replace("//", "/ /").replace("/ /", "/-/"): State.UNSUPPORTED,
    })  # fmt: skip
    lines = _lines(_watch([report]), pen)
    assert _row(lines, "4242") == "4242 0 ann 60.0 GiB python 117 c0ffee"
    assert _row(lines, "77").startswith("77 0 ? - ? (ended, or in another PID namespace)")


def test_processes_as_a_tree(made: Make, pen: Ink) -> None:
    from brctl.render.live.parts import Parent

    process = "gpu_process_memory_bytes/{}/GPU-{}/{}/{}/ann/c/117/compute/0"
    report = made({
        process.format(0, 0, 12, "python"): 2.0**30, process.format(1, 1, 12, "python"): 2.0**31,
        process.format(0, 0, 13, "python"): 2.0**30, process.format(0, 0, 99, "?"): 2.0**30,
    })  # fmt: skip
    above = {12: [Parent(11, "torchrun"), Parent(10, "bash")], 13: [Parent(11, "torchrun"), Parent(10, "bash")]}
    watch = _watch([report], here="gpu001", parents=lambda pid: above.get(pid, []))
    lines = _lines(watch, pen, View(tree=True, focus="processes"))
    rows = [line for line in lines if line[:5].strip() in ("10", "11", "12", "13", "99")]
    assert [line.split()[0] for line in rows] == ["10", "11", "12", "12", "13", "99"]
    starts = [min(line.find(name) for name in ("bash", "torchrun", "python", "?") if name in line) for line in rows]
    assert [start - starts[0] for start in starts] == [0, 2, 4, 4, 4, 0]
    assert watch.refusal(View()) == ""
    assert _watch([report]).refusal(View()) == "only processes of this host can be signalled"
    assert _watch([report._replace(mock=Mock("dgx-h100", False))], here="gpu001").refusal(View()) == (
        "a mock has no processes to signal"
    )


def test_mig_devices(made: Make, pen: Ink) -> None:
    """dcgm-exporter#105: what a divided GPU does not tell as a whole is absent, and its parts have rows."""
    name = "gpu_instance_memory_{}_bytes/0/GPU-0/{}/0/{}"
    lines = _lines(_watch([made({
        "gpu_up/0/GPU-0": 1.0, "gpu_utilization_ratio/0/GPU-0": State.UNSUPPORTED,
        name.format("total", 2, "3g.40gb"): 40.0 * 2**30, name.format("used", 2, "3g.40gb"): 10.0 * 2**30,
        name.format("total", 9, "1g.10gb"): 10.0 * 2**30,
    })]), pen)  # fmt: skip
    assert "MIG 2" in lines
    rows = [re.sub(" +", " ", line).strip() for line in lines if "g." in line]
    assert rows == ["0 2/0 3g.40gb ━━━──────── 25% 10/40 GiB", "0 9/0 1g.10gb ··········· - -"]


def test_gpus_that_are_let_go(made: Make, pen: Ink) -> None:
    lines = _lines(_watch([made({"monitor_released": 1.0})]), pen)
    assert lines[1] == "the GPUs are let go: brctl monitor release"


def test_a_node_that_gave_no_report_says_why(made: Make, pen: Ink) -> None:
    assert _lines(_watch([made({}, error=SILENT)]), pen)[1] == "timeout: no answer within 2 s"


# ---------------------------------------------------------------------------------------------------------------------
# Many nodes


def _fleet(busy: Make, count: int) -> "list[Report]":
    return [busy(2, f"gpu{number:03}") for number in range(1, count + 1)]


def test_the_worst_nodes_come_first_and_the_rest_is_folded(busy: Make, made: Make, pen: Ink) -> None:
    reports = _fleet(busy, 30)
    reports[11] = busy(2, "gpu012", **{"gpu_up/1/GPU-1": 0.0})
    reports[19] = made({}, "gpu020", error=SILENT)
    reports[4] = busy(2, "gpu005", **{"gpu_temperature_margin_celsius/1/GPU-1": 3.0})
    lines = _lines(_watch(reports, reports), pen, width=120, height=12)
    assert lines[0].startswith(" 30 nodes")
    assert lines[1] == "1 silent   58 GPUs, 1 down   use 15%   least 10%   balance 0.986   power 23.2 kW"
    assert lines[2] == "NODES 6 of 30"
    assert [line.split()[0] for line in lines[4:10]] == ["gpu020", "gpu012", "gpu005", "gpu001", "gpu002", "gpu003"]
    assert _row(lines, "gpu020") == "gpu020 ? ··········· ? timeout"
    assert _row(lines, "gpu012").startswith("gpu012 1/2 ")
    assert _row(lines, "gpu012").endswith(" 1 GPU down")
    assert _row(lines, "gpu001").endswith(" 15% 10% ▂▂ 76% 51C 801 W ok")
    assert lines[10] == "… 24 more: gpu[004,006-011,013-019,021-030], use 15% to 15%, hottest 51C, all answer"


@pytest.mark.parametrize(
    ("values", "state", "first", "gpus"),
    [
        ({}, "no GPU", "a", "0/0"),  # as it should be, for all that is known
        ({"gpus_expected": 8.0}, "8 GPUs down", "b", "0/8"),  # the driver is gone, and the config declares them
        ({"gpus_expected": 8.0, "gpus_visible": 0.0}, "8 GPUs down", "b", "0/8"),
        ({"gpu_nic_info/0000:19:00.0/ens1/mlx5_0/PIX": 1.0}, "1 GPU down", "b", "0/1"),  # it is on the bus
        ({"gpus_visible": 0.0, "gpu_nic_info/0000:19:00.0/ens1/mlx5_0/PIX": 1.0}, "no GPU", "a", "0/0"),  # not ours
        ({"gpus_expected": 8.0, "gpus_visible": 8.0}, "no GPU", "a", "0/0"),  # --gpus names none of them
        ({"gpus_expected": 8.0, "monitor_released": 1.0}, "let go", "a", "0/0"),
    ],
)
def test_a_node_whose_driver_is_gone_comes_first(
    values: "dict[str, float | State]", state: str, first: str, gpus: str, busy: Make, made: Make, pen: Ink
) -> None:
    lines = _lines(_watch([busy(2, "a"), made(values, "b")]), pen)
    assert lines[4].split()[0] == first
    assert _row(lines, "b").startswith(f"b {gpus} ")
    assert _row(lines, "b").endswith(f" {state}")


def test_a_gpu_that_the_driver_does_not_list_is_down(busy: Make, pen: Ink) -> None:
    lines = _lines(_watch([busy(8, "a"), busy(7, "b", gpus_expected=8.0, gpus_visible=7.0)]), pen)
    assert [line.split()[:2] for line in lines[4:6]] == [["b", "7/8"], ["a", "8/8"]]
    assert lines[1].startswith("16 GPUs, 1 down ")


def test_of_one_node_what_is_missing_is_told_too(busy: Make, made: Make, pen: Ink) -> None:
    assert _lines(_watch([made({"gpus_expected": 8.0})]), pen)[1] == "8 GPUs, 8 down"
    assert _lines(_watch([made({"monitor_released": 0.0})]), pen)[1] == "no GPU"
    lost = busy(8, gpus_expected=8.0, gpus_visible=7.0, **{"gpu_up/7/GPU-7": 0.0})
    assert _lines(_watch([lost]), pen)[1].startswith("8 GPUs, 1 down ")


def test_nodes_that_start_are_not_silent(busy: Make, made: Make, pen: Ink) -> None:
    starts = made({}, "b", error=NodeError("not-asked", "it has not answered yet"))
    lines = _lines(_watch([starts, busy(1, "c")], [starts, busy(1, "c")]), pen)
    assert lines[1].startswith("1 not asked yet   1 GPU")
    assert [line.split()[0] for line in lines[4:6]] == ["c", "b"]
    assert not any(line.startswith("EVENTS") for line in lines)


def test_that_a_node_falls_silent_and_comes_back_is_an_event(busy: Make, made: Make, pen: Ink) -> None:
    well, ill = [busy(1, "a"), busy(1, "b")], [busy(1, "a"), made({}, "b", error=SILENT)]
    lines = _lines(_watch(well, ill, ill, well), pen)
    assert [line.split(None, 1)[1] for line in lines[lines.index("WHEN      NODE  WHAT") + 1 :][:2]] == [
        "b     it answers again",
        "b     timeout: no answer within 2 s",
    ]


def test_balance_leaves_out_what_is_not_known_and_says_so(busy: Make, made: Make, pen: Ink) -> None:
    lost = busy(2, "b", **{"gpu_up/1/GPU-1": 0.0, "gpu_utilization_ratio/1/GPU-1": State.STALE})
    assert "balance 0.946 (1 unknown)" in _lines(_watch([busy(2, "a"), lost]), pen)[1]
    assert "balance" not in _lines(_watch([made({}, "a"), made({}, "b")]), pen)[1]


def test_the_fold_says_how_many_are_ill(busy: Make, made: Make) -> None:
    plans = [
        fleet.summary(report, fleet.Plan()) for report in (busy(2, "a"), made({}, "b", error=SILENT), made({}, "c"))
    ]
    assert fleet.folded(plans) == "3 more: a,b,c, use 15% to 15%, hottest 51C, 1 of them ill"
    assert fleet.folded(plans[2:]) == "1 more: c, all answer"
    names = [fleet.summary(busy(1, f"{letter}{number}"), fleet.Plan()) for letter in "abcdefghij" for number in (1, 3)]
    assert "...," in fleet.folded(names)


def test_a_node_is_looked_into_and_left(busy: Make, pen: Ink) -> None:
    watch = _watch(_fleet(busy, 20))
    view = View()
    scene = watch.scene(view, pen, 1.0)
    view = press(view, "enter", scene.sections, 10)
    assert view.node == "gpu001"
    lines = _lines(watch, pen, view)
    assert lines[0].startswith(" gpu001")
    assert _row(lines, "GPUS") == "GPUS 2"
    assert "▂" not in _row(lines, "0"), "its history begins now"
    watch.take(_fleet(busy, 20), 2.0)
    assert "▂" in _row(_lines(watch, pen, view), "0")
    assert "Esc back" in lines[-1]
    assert _lines(watch, pen, press(view, "escape", watch.scene(view, pen, 1.0).sections, 10))[0].startswith(
        " 20 nodes"
    )
    assert _lines(watch, pen, View(node="gone"))[0].startswith(" 20 nodes")


def test_of_nodes_that_do_not_answer_any_more_nothing_old_is_shown(busy: Make, pen: Ink) -> None:
    lines = _lines(_watch(_fleet(busy, 3)), pen, clock=60.0)
    assert "NO ANSWER" in lines[0]
    assert lines[1].startswith("3 silent")
    assert not re.search(r"\d+%|\d+C|\d W", "".join(lines[1:]))


def test_where_samples_stand_is_looked_for_again_when_they_move(busy: Make) -> None:
    plan = fleet.Plan()
    first = fleet.summary(busy(2), plan)
    assert (first.use, first.power, first.gpus) == (pytest.approx(0.15), 801, 2)
    assert fleet.summary(busy(2), plan) == first
    report = busy(2)
    assert fleet.summary(report._replace(samples=report.samples[::-1]), plan) == first._replace(uses=(0.2, 0.1))
    assert fleet.summary(busy(3), plan).gpus == 3


# ---------------------------------------------------------------------------------------------------------------------
# Any size


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(1, 200),
    st.integers(1, 60),
    st.integers(0, 20),
    st.integers(0, 70),
    st.sampled_from(["", "gpus", "network"]),
)
def test_a_frame_has_the_size_of_the_terminal(
    busy: Make, pen: Ink, width: int, height: int, gpus: int, cursor: int, focus: str
) -> None:
    more = {f"network_receive_bytes_total/ens{number}": 1.0 for number in range(8)}
    watch = _watch([busy(gpus % 10, "gpu001", **more)] if gpus < 10 else _fleet(busy, gpus))
    view = View(cursor=cursor, focus=focus)
    drawn = frame(watch.scene(view, pen, 1.0), view, width, height, pen)
    assert len(drawn.lines) == height
    assert all(cell_len(line) <= width for line in drawn.lines)
    assert drawn.page >= 1


@pytest.mark.parametrize(
    ("width", "height", "gpus"), [(184, 39, 8), (80, 24, 16), (40, 10, 64), (80, 24, 1), (20, 5, 8)]
)
def test_there_is_always_a_count_of_rows(busy: Make, pen: Ink, width: int, height: int, gpus: int) -> None:
    """nvtop#147: a division by zero at 184x39 with eight GPUs."""
    lines = _lines(_watch([busy(min(gpus, 9))]), pen, width=width, height=height)
    assert re.search(r"GPUS \d+", "\n".join(lines))


def test_at_40_columns_the_most_worthy_columns_are_left(busy: Make, pen: Ink) -> None:
    lines = _lines(_watch([busy()]), pen, width=40, height=10)
    assert lines[2].startswith("GPUS 4 of 8  no room for history")
    assert lines[3].split() == ["GPU", "USE", "MEMORY", "TEMP"]
    assert lines[-2] == "… 4 more"


def test_the_page_with_the_cursor_is_shown(busy: Make, pen: Ink) -> None:
    lines = _lines(_watch([busy()]), pen, View(cursor=7), width=40, height=10)
    assert [line.split()[0] for line in lines[4:-2]] == ["4", "5", "6", "7"]


def test_help_and_questions(busy: Make, pen: Ink) -> None:
    watch = _watch([busy()])
    assert "keys of brctl monitor" in _lines(watch, pen, View(help=1))[0]
    assert _lines(watch, pen, View(typed="ab"))[-1] == "/ab"
    assert _lines(watch, pen, View(asking="7 python"))[-1].startswith("7 python: t SIGTERM")
    assert _lines(watch, pen, View(said="done"))[-1] == "done"
    assert _lines(watch, pen, View(filter="ab"))[-1].startswith("filter ab (Esc drops it)")
    assert "GPUS 0 (of 8, by the filter)" in _lines(watch, pen, View(filter="zz"))
    assert "GPUS 8  by temp  reversed" in _lines(watch, pen, View(sorts={"gpus": "temp"}, reverse=True))


def test_a_mock_says_so(busy: Make, pen: Ink) -> None:
    report = busy()._replace(mock=Mock("dgx-h100", False))
    assert _lines(_watch([report]), pen)[0].startswith(" gpu001  mock machine dgx-h100, composed")


def test_ascii_alone(busy: Make, ascii_pen: Ink) -> None:
    assert "".join(_lines(_watch([busy()]), ascii_pen)).isascii()


def test_a_table_that_stands_still(busy: Make, pen: Ink) -> None:
    watch = _watch([busy(2)], [busy(2)])
    lines = list(text(watch.scene(View(), pen, 1.0), 60, pen))
    assert re.match(r"gpu001  every 1 s  \d\d:\d\d:\d\d$", lines[0])
    assert lines[1:] == [
        "2 GPUs  use 15%  power 801 W",
        "",
        "GPU  USE            MEMORY  TEMP      POWER  NIC      RX  TX",
        "  0  ╸───  10%   61/80 GiB   50C  400/700 W  ens0np0   -   -",
        "  1  ━───  20%   61/80 GiB   51C  401/700 W  ens1np0   -   -",
        "not shown at 60 columns: CLOCK, NVLINK, SLOWED BY",
    ]


def test_a_table_that_stands_still_cuts_none_of_its_own_words(busy: Make, pen: Ink) -> None:
    watch = _watch([busy(2)], [busy(2)])
    lines = list(text(watch.scene(View(), pen, 1.0), 26, pen))
    assert lines[2:4] == ["2 GPUs  use 15%  power 801", "W"]
    assert " ".join(lines).endswith(" NVLINK, SLOWED BY")
    assert max(map(len, lines)) <= 26


def test_what_is_wrong_is_readable_at_40_columns(busy: Make, pen: Ink) -> None:
    report = busy(8, "gpu001", **{"gpu_up/3/GPU-3": 0.0, "gpu_utilization_ratio/3/GPU-3": State.STALE})
    lost = report._replace(notes=("GPU 3: nvmlDeviceGetHandleByIndex_v2: GPU is lost",))
    lines = _lines(_watch([lost]), pen, width=40)
    place = next(place for place, line in enumerate(lines) if line.startswith("  3"))
    assert lines[place : place + 3] == ["  3  LOST", "     nvmlDeviceGetHandleByIndex_v2: GPU", "     is lost"]
    place = lines.index("WHEN      WHAT") + 1
    assert [line[10:] for line in lines[place : place + 3]] == [
        "GPU 3:",
        "nvmlDeviceGetHandleByIndex_v2:",
        "GPU is lost",
    ]
    assert lines[-1] == "q quit  Tab next  / filter  ? help"


def test_what_slows_a_gpu_down_is_readable_at_40_columns(busy: Make, pen: Ink) -> None:
    slowed: dict[str, float] = {"gpu_clocks_event_ratio/2/GPU-2/hw_thermal_slowdown": 1.0}
    lines = _lines(_watch([busy(8, "gpu001", **slowed)]), pen, width=40)
    assert lines[3].split() == ["GPU", "TEMP", "SLOWED", "BY"]
    assert _row(lines, "2") == "2 52C hw_thermal_slowdown 100%"


def test_the_loss_of_an_interface_is_readable_at_40_columns(made: Make, pen: Ink) -> None:
    report = made({
        "network_receive_bytes_total/ens10np0": 1, "network_speed_bytes_per_second/ens10np0": 50e9,
        "network_receive_bytes_per_second/ens10np0": 25e9, "network_transmit_bytes_per_second/ens10np0": 12.4e9,
        "gpu_nic_info/0000:1b:00.0/ens10np0/mlx5_0/PIX": 1, "rdma_loss_ratio/mlx5_0/1": 0.0123,
    })  # fmt: skip
    assert _row(_lines(_watch([report]), pen, width=40), "ens10np0") == "ens10np0 400 Gb/s 12.4 GB/s 1.2%"


def test_a_node_with_a_long_name_says_its_state_at_40_columns(busy: Make, pen: Ink) -> None:
    name = "training-gpu-node-0003.cluster.example.com"
    reports = [busy(2, name, **{"gpu_up/1/GPU-1": 0.0}), busy(2, "gpu2")]
    (row,) = [line for line in _lines(_watch(reports), pen, width=40) if line.startswith("training")]
    assert row == "training-gpu-node-000…   1/2  1 GPU down"


def test_the_error_of_a_silent_node_is_whole_at_40_columns(made: Make, pen: Ink) -> None:
    error = NodeError("unreachable", "ssh: connect to host gpu001 port 22: No route to host")
    lines = _lines(_watch([made({}, error=error)]), pen, width=40)
    assert " ".join(lines[1:3]) == "unreachable: ssh: connect to host gpu001 port 22: No route to host"


def test_the_keys_are_readable_at_40_columns(busy: Make, pen: Ink) -> None:
    told = " ".join(" ".join(_lines(_watch([busy()]), pen, View(help=1), width=40)).split())
    assert "/ filter by words; Enter keeps it, Esc drops it p Space" in told


def test_the_help_is_whole_at_80_by_24(busy: Make, pen: Ink) -> None:
    lines = _lines(_watch([busy()]), pen, View(help=1), width=80, height=24)
    assert max(map(cell_len, lines)) < 80
    assert lines[7].endswith("filter by words; Enter keeps it, Esc drops it")
    assert lines[-1] == " any key goes back"


def test_each_key_of_the_help_is_reached_at_40_by_10(busy: Make, pen: Ink) -> None:
    scene, view, told = _watch([busy()]).scene(View(), pen, 1.0), View(help=1), []
    for number in (1, 2, 3):
        shown = frame(scene, view, 40, 10, pen)
        assert len(shown.lines) == 10
        assert shown.lines[-1].strip() == f"{number}/3: down turns, others go back"
        told += shown.lines[:-1]
        view = press(view, "down", scene.sections, shown.page)
    assert view.help == 1, "after the last comes the first"
    assert press(view, "up", scene.sections, 3).help == 3
    assert press(view, "x", scene.sections, 3).help == 0
    words = " ".join(" ".join(told).split())
    assert all(text in words for keys in KEYS for text in keys)
    assert "t SIGTERM, i SIGINT, K SIGKILL" in words


def test_a_pause_before_the_first_tick_has_no_age(pen: Ink) -> None:
    lines = _lines(_watch(), pen, View(paused=True), clock=25200.0)
    assert re.search(r"  PAUSED  every 1 s", lines[0])
    assert lines[1].strip() == "waiting for the first tick"


def test_a_row_that_is_taller_than_its_table_says_that_it_goes_on(busy: Make, pen: Ink) -> None:
    report = busy(1, "gpu001", **{"gpu_up/0/GPU-0": 0.0})
    watch = _watch([report._replace(notes=("GPU 0: nvmlDeviceGetHandleByIndex_v2: GPU is lost",))])
    assert _lines(watch, pen, width=40, height=6)[3:5] == ["  0  LOST", "     nvmlDeviceGetHandleByIndex_v2: GP …"]
    assert _lines(watch, pen, width=40, height=5)[3:4] == ["  0  LOST …"]


def test_each_row_of_several_lines_is_on_the_page_with_the_cursor(busy: Make, pen: Ink) -> None:
    downs: dict[str, float] = {f"gpu_up/{gpu}/GPU-{gpu}": 0.0 for gpu in range(8)}
    notes = tuple(f"GPU {gpu}: nvmlDeviceGetHandleByIndex_v2: GPU is lost" for gpu in range(8))
    watch = _watch([busy(8, "gpu001", **downs)._replace(notes=notes)])
    for cursor in range(8):
        lines = _lines(watch, pen, View(cursor=cursor), width=40, height=12)
        assert f"  {cursor}  LOST" in lines
        assert lines[-2].startswith("… ")
