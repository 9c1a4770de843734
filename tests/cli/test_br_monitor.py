"""br-monitor as a service: as it is written in run books, with a driver that hangs, told to end."""

import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from brctl.cli import exporter
from brctl.cli.outlet import Serving

BR_MONITOR = [sys.executable, "-c", "from brctl.__main__ import br_monitor; br_monitor()"]
Service = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def service() -> "Iterator[Service]":
    made: list[subprocess.Popen[str]] = []

    def start(machine: str, *argv: str) -> "subprocess.Popen[str]":
        made.append(
            subprocess.Popen(
                [*BR_MONITOR, "--mock", machine, *argv],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                stdin=subprocess.DEVNULL,
            )
        )
        return made[-1]

    yield start
    for each in made:
        if each.poll() is None:
            each.kill()
        each.communicate()


def _scrape(url: str) -> "tuple[str, float]":
    began = time.monotonic()
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read().decode(), time.monotonic() - began


def _until(true: "Callable[[], bool]") -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.process
@pytest.mark.real
def test_a_gpu_that_hangs_is_absent_and_the_scrape_answers(service: "Service") -> None:
    it = service("dgx-h100+gpu3-hang", "--interval", "200ms", "--output", "prometheus", "--listen", "127.0.0.1:0")
    assert it.stdout
    url = it.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", url)
    text = ""

    def ready() -> bool:
        nonlocal text
        text, took = _scrape(url)
        assert took < 1
        return "brctl_gpu_temperature_celsius" in text

    _until(ready)
    up = dict(re.findall(r'^brctl_gpu_up\{node="gpu001",gpu="(\d)".*\} (\d)$', text, re.MULTILINE))
    assert up == {str(gpu): "0" if gpu == 3 else "1" for gpu in range(8)}
    told = set(re.findall(r'^brctl_gpu_temperature_celsius\{node="gpu001",gpu="(\d)"', text, re.MULTILINE))
    assert told == set("0124567")
    assert 'brctl_mock_info{node="gpu001",machine="dgx-h100+gpu3-hang"} 1' in text
    it.send_signal(signal.SIGTERM)
    out, err = it.communicate(timeout=5)
    assert (it.returncode, out) == (0, "")
    assert "Traceback" not in err


@pytest.mark.process
def test_the_file_is_there_while_it_runs_and_then_no_more(service: "Service", tmp_path: Path) -> None:
    file = tmp_path / "brctl.prom"
    it = service("dgx-h100", "--interval", "200ms", "--textfile", str(file))
    _until(lambda: file.exists() and "brctl_gpu_power_watts{" in file.read_text())
    assert file.stat().st_mode & 0o777 == 0o644
    it.send_signal(signal.SIGTERM)
    assert it.wait(10) == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.process
@pytest.mark.real
def test_two_cannot_have_one_port(service: "Service") -> None:
    it = service("dgx-h100", "--listen", "127.0.0.1:0")
    assert it.stdout
    port = it.stdout.readline().strip().removesuffix("/metrics").rpartition(":")[2]
    other = service("dgx-h100", "--listen", f"127.0.0.1:{port}")
    out, err = other.communicate(timeout=60)
    assert (other.returncode, out) == (3, "")
    assert err == (
        f"error: cannot listen on 127.0.0.1:{port}: the port is in use\n"
        f"hint: name another with --listen; `ss -ltnp 'sport = {port}'` shows who has it\n"
    )


def test_the_call_of_the_run_books(brctl: "Callable[..., object]", monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Serving] = []

    def serve(ticks: object, asked: Serving) -> int:
        seen.append(asked)
        return 0

    monkeypatch.setattr(exporter, "serve", serve)
    for argv in (["--output", "prometheus"], ["--compat", "dcgm"], ["--textfile", "a.prom", "--listen", ":1"]):
        result = brctl("--mock", "dgx-h100", "monitor", "--interval", "5s", *argv)
        assert result.code == 0, result.err  # type: ignore[attr-defined]
    assert seen == [
        Serving(5.0, "127.0.0.1:9836"),
        Serving(5.0, "127.0.0.1:9836", None, "hostname"),
        Serving(5.0, ":1", Path("a.prom")),
    ]


def test_options_of_the_exporter_are_of_no_other_form(brctl: "Callable[..., object]") -> None:
    for argv in (["-o", "jsonl"], ["-o", "live"], ["--once"]):
        result = brctl("--mock", "dgx-h100", "monitor", "--listen", ":1", *argv)
        assert result.code == 2  # type: ignore[attr-defined]
        assert "are of --output prometheus alone" in result.err  # type: ignore[attr-defined]


def test_rules_and_dashboard_are_printed(brctl: "Callable[..., object]") -> None:
    rules = brctl("monitor", "rules", "--runbooks", "https://example.org/alerts.md")
    assert "runbook_url: https://example.org/alerts.md#gpu-down" in rules.out  # type: ignore[attr-defined]
    assert '"uid": "brctl"' in brctl("monitor", "dashboard").out  # type: ignore[attr-defined]
    assert brctl("monitor", "rules", "-o", "json").code == 2  # type: ignore[attr-defined]
