"""The exporter in front of those who read it: a real Prometheus, promtool, and node_exporter's reader of text files."""

import contextlib
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from brctl.cli.exporter import Page, serve
from brctl.cli.outlet import Serving
from brctl.cli.textfile import TextFile
from brctl.mock.machines import load
from brctl.node.monitor.sampler import Sampler
from brctl.node.report import Report

pytestmark = pytest.mark.real
CONFIG = """
global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}
rule_files: [{rules}]
scrape_configs:
- job_name: brctl
  static_configs: [{{targets: ["{target}"]}}]
"""


def _needs(program: str, package: str) -> str:
    found = shutil.which(program)
    if not found:
        pytest.skip(f"no {program} here (Debian package {package})")
    return found


def _ticks(spec: str = "dgx-h100+gpu3-lost") -> "Iterator[Sequence[Report]]":
    host = load(spec)
    sampler = Sampler(host)
    first = True
    while True:
        tick = sampler.tick(first)
        first = False
        samples = tuple(sample for block in tick.blocks for sample in block.samples)
        yield [Report("gpu001", time.time(), 0.0, host.mock, series=sampler.series, samples=samples)]


def _text(dcgm: "str | None" = None) -> bytes:
    """Of two ticks, so that rates are in it too."""
    page, ticks = Page(dcgm), _ticks()
    for _ in range(2):
        page.show(next(ticks))
        time.sleep(0.01)
    return page.text()


def _free_port() -> int:
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return int(it.getsockname()[1])


def _until(true: "Callable[[], bool]", limit_s: float = 60) -> None:
    end = time.monotonic() + limit_s
    while True:
        with contextlib.suppress(OSError, urllib.error.URLError):
            if true():
                return
        assert time.monotonic() < end
        time.sleep(0.05)


class _Prometheus:
    """One that scrapes `target`, on loopback and in a folder of its own."""

    def __init__(self, folder: Path, target: str, rules: Path) -> None:
        program = _needs("prometheus", "prometheus")
        port = _free_port()
        config = folder / "prometheus.yml"
        config.write_text(CONFIG.format(target=target, rules=rules))
        self.url = f"http://127.0.0.1:{port}"
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [program, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
                 f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log,
            )  # fmt: skip

    def ask(self, path: str, **query: str) -> object:
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=20) as answer:
            return json.load(answer)["data"]

    def values(self, expr: str) -> "dict[str, float]":
        """By the label `gpu`."""
        found: dict[str, float] = {}
        for each in self.ask("query", query=expr)["result"]:  # type: ignore[index]
            found[each["metric"].get("gpu", "")] = float(each["value"][1])
        return found

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


def test_a_real_prometheus_scrapes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from brctl.render import rules

    _needs("prometheus", "prometheus")
    (tmp_path / "rules.yml").write_text(rules.text(None))
    seen: dict[str, object] = {}

    def ticks() -> "Iterator[Sequence[Report]]":
        source = _ticks()
        yield next(source)
        target = capsys.readouterr().out.strip().removeprefix("http://").removesuffix("/metrics")
        prometheus = _Prometheus(tmp_path, target, tmp_path / "rules.yml")
        try:
            _until(lambda: prometheus.values("brctl_gpu_up") != {})
            seen["up"] = prometheus.values("brctl_gpu_up")
            seen["temperature"] = prometheus.values("brctl_gpu_temperature_celsius")
            seen["energy"] = prometheus.values("brctl_gpu_energy_joules_total")
            seen["target"] = prometheus.ask("targets")["activeTargets"][0]["health"]  # type: ignore[index]
            seen["metadata"] = prometheus.ask("metadata", metric="brctl_gpu_energy_joules_total")
            groups = prometheus.ask("rules")["groups"]  # type: ignore[index]
            seen["rules"] = {rule["health"] for group in groups for rule in group["rules"]}
        finally:
            prometheus.end()

    assert serve(ticks(), Serving(600, "127.0.0.1:0", None, "hostname")) == 0
    others = {str(gpu) for gpu in range(8)} - {"3"}
    assert seen["up"] == {**dict.fromkeys(others, 1.0), "3": 0.0}
    assert set(seen["temperature"]) == others, "what is lost has no temperature"  # type: ignore[call-overload]
    assert set(seen["energy"]) == others  # type: ignore[call-overload]
    assert seen["target"] == "up"
    assert seen["metadata"]["brctl_gpu_energy_joules_total"][0]["type"] == "counter"  # type: ignore[index]
    assert seen["rules"] <= {"ok", "unknown"}  # type: ignore[operator]


@pytest.mark.parametrize("dcgm", [None, "both"])
def test_promtool_finds_no_fault(dcgm: "str | None") -> None:
    program = _needs("promtool", "prometheus")
    said = subprocess.run([program, "check", "metrics"], input=_text(dcgm), capture_output=True, check=False)
    complaints = [line for line in said.stderr.decode().splitlines() if not line.startswith("DCGM_")]  # not our names
    assert complaints == []
    assert said.returncode == 0 or dcgm


def test_node_exporter_reads_the_file(tmp_path: Path) -> None:
    """Another tool's file beside it, with a metric of its own, is not disturbed."""
    program = _needs("prometheus-node-exporter", "prometheus-node-exporter")
    TextFile(tmp_path / "brctl.prom").write(_text("hostname"))
    (tmp_path / "other.prom").write_text("# HELP other_up Up.\n# TYPE other_up gauge\nother_up 1\n")
    port = _free_port()
    command = [program, "--collector.disable-defaults", "--collector.textfile",
               f"--collector.textfile.directory={tmp_path}", f"--web.listen-address=127.0.0.1:{port}"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            text = ""

            def answers() -> bool:
                nonlocal text
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
                    text = answer.read().decode()
                return True

            _until(answers)
        finally:
            process.kill()
    lines = text.splitlines()
    assert "node_textfile_scrape_error 0" in lines
    assert "other_up 1" in lines
    assert sum(line.startswith("brctl_gpu_temperature_celsius{") for line in lines) == 7
    assert sum(line.startswith("DCGM_FI_DEV_GPU_TEMP{") for line in lines) == 7
    assert not [line for line in lines if line.startswith("node_") and "textfile" not in line and "scrape" not in line
                and "exporter_build_info" not in line]  # fmt: skip


def test_every_scrape_names_no_series_of_node_exporter() -> None:
    names = {line.split("{")[0].split(" ")[0] for line in _text("both").decode().splitlines() if line[0] != "#"}
    assert {name.partition("_")[0] for name in names} == {"brctl", "DCGM"}
