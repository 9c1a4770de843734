"""brctl monitor as text and for programs, on mocked machines."""

import csv
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from brctl.cli import monitor
from brctl.cli import ticks as asking
from brctl.node.report import NodeError, Report, Sample, State

CONFIG = """\
version: 1
cluster:
  name: c
  nodes: gpu[001-012]
monitor:
  interval: 200ms
  output: jsonl
  peers: gpu[001-012]
  collectors: {processes: {every: 3s}}
overrides:
  - {nodes: gpu002, monitor: {collectors: {gpu-errors: {every: 1m}}}}
"""


def samples(text: str) -> dict[tuple[str, ...], Any]:
    """Of one JSON line, by name and labels."""
    return {(one["series"], *one["labels"].values()): one for one in json.loads(text)["samples"]}


def test_one_sample_of_all_there_is(brctl: Callable[..., Any]) -> None:
    result = brctl("--mock", "dgx-h100", "monitor", "--once", "-o", "json")
    assert (result.code, result.err) == (0, "")
    plain = json.loads(result.out)
    assert plain["command"] == "monitor"
    (report,) = plain["reports"]
    assert report["mock"] == {"machine": "dgx-h100", "recorded": False}
    names = {one["series"] for one in report["samples"]}
    assert {"brctl_gpu_up", "brctl_gpu_power_watts", "brctl_rdma_up", "brctl_disk_reads_total"} <= names
    assert not [name for name in names if name.endswith(("per_second", "by_energy_watts", "latency_seconds"))
                and "speed" not in name], "what needs two looks is absent"  # fmt: skip
    assert plain["balance"]["counted"] == 8
    assert plain["balance"]["evenness"] is None
    assert plain["stragglers"] == []
    report["samples"], report["series"] = report["samples"][:20], report["series"][:20]
    schema = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text())
    jsonschema.validate(plain, schema)


def test_lines_of_ticks_with_rates(brctl: Callable[..., Any]) -> None:
    result = brctl("--mock", "dgx-h100+busy", "monitor", "--interval", "100ms", "--for", "250ms", "-o", "jsonl")
    assert (result.code, result.err) == (0, "")
    first, *_, last = result.out.splitlines()
    assert not [key for key in samples(first) if key[0] == "brctl_gpu_power_by_energy_watts"]
    watts = [one["value"] for key, one in samples(last).items() if key[0] == "brctl_gpu_power_by_energy_watts"]
    assert len(watts) == 8
    assert all(300 < value < 500 for value in watts)
    assert json.loads(last)["node"] == "gpu001"
    assert json.loads(last)["schema_version"] == 1


def test_rows_for_spreadsheets(brctl: Callable[..., Any]) -> None:
    result = brctl("--mock", "dgx-h100", "monitor", "--once", "-o", "csv")
    rows = list(csv.DictReader(result.out.splitlines()))
    (power,) = [row for row in rows if row["series"] == "brctl_gpu_power_watts" and row["labels"].startswith("gpu=0;")]
    assert power["value"] == "68.92"
    assert power["labels"] == "gpu=0;uuid=GPU-05c86bbe-bd6e-537b-ae22-9d538f0ac398"
    assert (power["node"], power["state"], power["unit"]) == ("gpu001", "measured", "watts")
    (speed,) = [
        row for row in rows if row["series"].startswith("brctl_network_speed") and row["labels"].endswith("=eno2")
    ]
    assert (speed["value"], speed["state"]) == ("", "unsupported")


def test_a_table_without_a_terminal(brctl: Callable[..., Any]) -> None:
    result = brctl("--mock", "dgx-h100", "monitor", "--once")
    assert result.code == 0
    assert "8 GPUs" in result.out
    assert "\x1b" not in result.out


def test_some_of_the_gpus(brctl: Callable[..., Any]) -> None:
    result = brctl("--mock", "dgx-h100", "monitor", "--once", "-o", "jsonl", "--gpus", "0,5-7")
    found = samples(result.out)
    assert {key[1] for key in found if key[0] == "brctl_gpu_up"} == {"0", "5", "6", "7"}
    assert ("brctl_load_average",) in found


def test_an_index_that_no_gpu_has_is_told_once(brctl: Callable[..., Any]) -> None:
    told = "warning: gpu001: --gpus: no GPU has index 9, 99\n"
    result = brctl("--mock", "dgx-h100", "monitor", "--once", "-o", "jsonl", "--gpus", "0,99,9")
    assert (result.code, result.err) == (0, told)
    ticks = ("monitor", "--interval", "100ms", "--for", "250ms", "-o", "jsonl", "--gpus", "0,99,9")
    assert brctl("--mock", "dgx-h100", *ticks).err == told
    assert brctl("-q", "--mock", "dgx-h100", *ticks).err == ""


@pytest.mark.parametrize("silent", ["not-asked", "released"])
def test_an_index_that_nobody_can_know_yet_is_not_told(silent: str) -> None:
    released = Sample("brctl_monitor_released", (), float(silent == "released"), State.MEASURED, 1.0)
    up = Sample("brctl_gpu_up", ("0", "GPU-0"), 1.0, State.MEASURED, 1.0)
    errors = (NodeError("not-asked", "it has not answered yet"),) if silent == "not-asked" else ()
    reports = [Report("n1", 1.0, 0.0, samples=(up, released)), Report("n2", 1.0, 0.0, errors=errors)]
    asked = asking.Asked("jsonl", 1.0, None, frozenset({"3"}), False)
    assert asking.noted(reports, asked) is reports
    reports = [Report("n1", 1.0, 0.0, errors=(NodeError("timeout", "silent"),)), Report("n2", 1.0, 0.0, samples=(up,))]
    assert [report.notes for report in asking.noted(reports, asked)] == [(), ("--gpus: no GPU has index 3",)]


def test_a_lost_gpu_is_a_row_and_no_failure(brctl: Callable[..., Any]) -> None:
    result = brctl("--mock", "dgx-h100+gpu3-lost", "monitor", "--once", "-o", "jsonl")
    assert result.code == 0
    assert result.err == "warning: gpu001: GPU 3: nvmlDeviceGetHandleByIndex_v2: GPU is lost\n"
    found = samples(result.out)
    up = {key[1]: one["value"] for key, one in found.items() if key[0] == "brctl_gpu_up"}
    assert up == {"0": 1, "1": 1, "2": 1, "3": 0, "4": 1, "5": 1, "6": 1, "7": 1}
    assert [key for key in found if key[0] == "brctl_gpu_power_watts" and key[1] == "3"] == []
    quiet = brctl("-q", "--mock", "dgx-h100+gpu3-lost", "monitor", "--once", "-o", "jsonl")
    assert (quiet.code, quiet.err) == (0, "")


@pytest.mark.parametrize("machine", ["dgx-h100+no-library", "dgx-h100+no-driver", "cpu-only"])
def test_without_a_gpu_the_host_is_shown(brctl: Callable[..., Any], machine: str) -> None:
    result = brctl("--mock", machine, "monitor", "--once", "-o", "jsonl")
    assert result.code == 0
    assert samples(result.out)["brctl_load_average",]["value"] == 2.14
    needed = brctl("--mock", machine, "monitor", "--once", "-o", "jsonl", "--require-gpu")
    assert needed.code == 3
    assert needed.err.endswith("error: no GPU answers\n")
    stream = brctl("--mock", machine, "monitor", "--interval", "100ms", "-o", "jsonl", "--require-gpu")
    assert (stream.code, stream.out) == (3, "")


def test_a_gpu_that_is_there_satisfies(brctl: Callable[..., Any]) -> None:
    assert brctl("--mock", "dgx-h100", "monitor", "--once", "-o", "jsonl", "--require-gpu").code == 0


def test_a_gpu_in_mig_mode_tells_no_utilisation_of_the_whole(brctl: Callable[..., Any]) -> None:
    plain = json.loads(brctl("--mock", "h100-mig", "monitor", "--once", "-o", "json").out)
    (report,) = plain["reports"]
    by_name: dict[str, list[Any]] = {}
    for one in report["samples"]:
        by_name.setdefault(one["series"], []).append((one["value"], one["state"]))
    assert by_name["brctl_gpu_utilization_ratio"] == [(None, "unsupported")]
    assert len(by_name["brctl_gpu_instance_memory_total_bytes"]) == 4
    assert plain["balance"] == {"series": "brctl_gpu_utilization_ratio", "evenness": None, "mean": None,
                                "minimum": None, "counted": 0, "unknown": 1}  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--interval", "10ms"], "--interval 10ms: 100ms at least"),
        (["--interval", "61m"], "--interval 61m: 1h at most"),
        (["--interval", "300d"], "--interval 300d: 1h at most"),
        (["--interval", "5"], "--interval 5:"),
        (["--gpus", "a"], "--gpus a: write indices and ranges"),
        (["--gpus", "1-"], "--gpus 1-: write indices and ranges"),
        (["--gpus", "0,3-1", "--once"], "--gpus 0,3-1: 3-1 is no range\nhint: write 1-3"),
        (["--gpus", "0-1024", "--once"], "--gpus 0-1024: 1023 at most"),
        (["--for", "soon"], "--for soon:"),
        (["-o", "yaml"], "--output yaml: this command has live, table, json, jsonl, csv, prometheus"),
        (["--once", "-o", "prometheus"], "--once has no --output prometheus"),
        (["--once", "release", "--for", "1s"], "--once is no option of `brctl monitor release`"),
        (["release", "--for", "2h"], "--for 2h: an hour at most"),
    ],
)
def test_what_means_nothing_is_refused(brctl: Callable[..., Any], argv: list[str], words: str) -> None:
    result = brctl("--mock", "dgx-h100", "monitor", *argv)
    assert (result.code, result.out) == (2, "")
    assert words in result.err


@pytest.mark.parametrize(("interval", "words"), [("10ms", "0.01s: 100ms at least"), ("2h", "7200s: 1h at most")])
def test_an_interval_of_the_config_has_the_same_bounds(
    brctl: Callable[..., Any], tmp_path: Path, interval: str, words: str
) -> None:
    path = tmp_path / "cluster-config.yaml"
    path.write_text(CONFIG.replace("interval: 200ms", f"interval: {interval}"))
    result = brctl("-c", str(path), "--as", "gpu001", "--mock", "dgx-h100", "monitor", "-o", "jsonl")
    assert (result.code, result.out) == (2, "")
    assert f"monitor.interval of the config, {words}" in result.err


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "cluster-config.yaml"
    path.write_text(CONFIG)
    return str(path)


def test_the_config_says_what_is_sampled_and_how_often(
    brctl: Callable[..., Any], config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    original = asking._requests
    monkeypatch.setattr(asking, "_requests", lambda *given: asked.append(original(*given)) or asked[-1])
    result = brctl("-c", config, "--mock", "dgx-h100", "--as", "gpu002", "monitor", "--for", "150ms")
    assert result.code == 0, result.err
    assert samples(result.out.splitlines()[0])["brctl_peer_reachable", "gpu003"]["value"] == 1
    ((request,),) = asked
    assert request.sampling.interval_s == 0.2
    assert dict(request.sampling.cadences) == {"processes": 3.0, "gpu-errors": 60.0}
    assert request.sampling.peers == tuple(f"gpu{number:03}" for number in range(3, 11)), "the eight that follow it"


def test_a_collector_that_there_is_not(brctl: Callable[..., Any], config: str) -> None:
    Path(config).write_text(CONFIG.replace("processes:", "proceses:"))
    result = brctl("-c", config, "--mock", "dgx-h100", "--as", "gpu002", "monitor", "--once")
    assert result.code == 2
    assert "no collector is called 'proceses'" in result.err
    assert "processes" in result.err.partition("hint")[2]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            PermissionError(13, "Permission denied"),
            "permission denied\nhint: run it as root: sudo brctl monitor release\n",
        ),
        (OSError(28, "No space left on device"), "no space left on device\n"),
    ],
)
def test_a_release_that_cannot_be_written(
    brctl: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, error: OSError, told: str
) -> None:
    def refuse(*_: object) -> float:
        raise error

    monkeypatch.setattr("brctl.node.monitor.release.release", refuse)
    result = brctl("--mock", "dgx-h100", "monitor", "release", "--for", "5s")
    assert (result.code, result.err) == (3, f"error: gpu001: cannot write /run/brctl/release: {told}")


def test_handles_are_let_go_and_taken_back(brctl: Callable[..., Any]) -> None:
    told = brctl("--mock", "dgx-h100", "monitor", "release", "--for", "60s")
    assert told.code == 0
    assert "\ngpu001: GPUs are let go until " in told.out
    found = samples(brctl("--mock", "dgx-h100", "monitor", "--once", "-o", "jsonl").out)
    assert found["brctl_monitor_released",]["value"] == 1
    assert not [key for key in found if key[0] == "brctl_gpu_up"]
    back = brctl("--mock", "dgx-h100", "monitor", "release", "--for", "0s")
    assert back.out == "gpu001:  mock machine dgx-h100, composed\ngpu001: GPUs are watched again\n"
    assert (
        samples(brctl("--mock", "dgx-h100", "monitor", "--once", "-o", "jsonl").out)["brctl_monitor_released",]["value"]
        == 0
    )


def test_what_ends_a_stream_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    from brctl.cli.common import Common
    from brctl.node.report import NodeError

    def ticks() -> Iterator[tuple[Report, ...]]:
        sample = Sample("brctl_x", (), 1.5, State.MEASURED, 2.0)
        yield (Report("n1", 1.0, 0.0, samples=(sample,), notes=("GPU 3: lost",)),)
        yield (Report("n1", 2.0, 0.0, samples=(sample,), notes=("GPU 3: lost",)),)
        yield (Report("n1", 3.0, 0.0, errors=(NodeError("agent-died", "it died", "why?"),)),)

    asked = monitor.Asked("jsonl", 1.0, None, None, False)
    assert monitor._print(monitor.Source(Common(), ticks(), None, None, ("n1",)), asked) == 3
    printed = capsys.readouterr()
    assert printed.out.count('"series":"brctl_x"') == 2
    assert printed.err == "warning: n1: GPU 3: lost\nerror: n1: it died\nhint: why?\n"


# ---------------------------------------------------------------------------------------------------------------------
# As a process

JSONL = [sys.executable, "-m", "brctl", "--mock", "dgx-h100+busy", "monitor", "--interval", "100ms", "-o", "jsonl"]


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_when_it_is_told_to(number: signal.Signals) -> None:
    with subprocess.Popen(JSONL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout
        assert child.stderr
        line = child.stdout.readline()
        assert json.loads(line)["node"] == "gpu001"
        late = threading.Timer(20, child.kill)
        late.start()
        child.send_signal(number)
        began = time.monotonic()
        rest, err = child.stdout.read(), child.stderr.read()
        assert child.wait(10) == 0
        late.cancel()
    assert time.monotonic() - began < 15
    assert err == ""
    assert all(json.loads(each) for each in rest.splitlines()), "every line is whole"


@pytest.mark.process
def test_nobody_reads_and_it_ends_all_the_same() -> None:
    with subprocess.Popen(JSONL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.read(1)
        time.sleep(0.5)  # the pipe is full, and it is in the middle of a line
        child.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == 0


@pytest.mark.process
def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    with subprocess.Popen(JSONL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout
        assert child.stderr
        child.stdout.readline()
        child.stdout.close()
        assert child.wait(10) == 141
        assert child.stderr.read() == ""


@pytest.mark.process
def test_a_full_disk() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(JSONL, stdout=full, stderr=subprocess.PIPE, text=True, timeout=30, check=False)
    assert done.returncode == 3
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.process
def test_many_nodes_in_one_stream() -> None:
    nodes = [*JSONL[:3], "--mock", "dgx-h100,n2=dgx-h100+gpu3-lost", "-w", "n[1-3]"]
    command = [*nodes, "monitor", "--interval", "500ms", "--for", "1s", "-o", "jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    last = {json.loads(line)["node"]: samples(line) for line in done.stdout.splitlines()}
    ups = {
        node: sum(one["value"] for key, one in found.items() if key[0] == "brctl_gpu_up")
        for node, found in last.items()
    }
    assert ups == {"n1": 8, "n2": 7, "n3": 8}


def test_an_xid_is_in_the_line_after_it_came_and_in_no_other(brctl: Callable[..., Any]) -> None:
    machine = "dgx-h100+gpu3-memory-error+gpu5-gsp-timeout"
    result = brctl("-q", "--mock", machine, "monitor", "--interval", "100ms", "--for", "250ms", "-o", "jsonl")
    found = [one for line in result.out.splitlines() for one in json.loads(line)["xids"]]
    assert sorted((one["gpu"], one["xid"], one["times"]) for one in found) == [
        ("3", 48, 1), ("3", 63, 1), ("3", 94, 1), ("3", 154, 1), ("5", 119, 2),
    ]  # fmt: skip
    assert all(set(one) == {"gpu", "uuid", "xid", "times", "last_seen"} for one in found)
