"""An alert all the way: our exporter, a real Prometheus with our rules, a real Alertmanager, and who it notifies."""

import contextlib
import json
import queue
import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from brctl.cli.exporter import serve
from brctl.cli.outlet import Serving
from brctl.mock.machines import load
from brctl.node.monitor.sampler import Sampler
from brctl.node.report import Report
from brctl.render import rules

pytestmark = pytest.mark.real
PROMETHEUS = """
global: {{scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}}
rule_files: [rules.yml]
alerting: {{alertmanagers: [{{static_configs: [{{targets: ["{alertmanager}"]}}]}}]}}
scrape_configs: [{{job_name: brctl, static_configs: [{{targets: ["{exporter}"]}}]}}]
"""
ALERTMANAGER = """
route: {{receiver: hook, group_by: [alertname], group_wait: 100ms, group_interval: 200ms}}
receivers: [{{name: hook, webhook_configs: [{{url: "http://{hook}/"}}]}}]
"""
LIMIT_S = 60


def _needs(*programs: str) -> None:
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"no {program} here (Debian package {program})")


def _free_port() -> int:
    import socket

    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return int(it.getsockname()[1])


@contextlib.contextmanager
def _program(folder: Path, *argv: str) -> "Iterator[None]":
    """One that runs meanwhile, in a folder of its own."""
    with (folder / f"{argv[0]}.log").open("wb") as log:
        process = subprocess.Popen(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def _hook() -> "Iterator[tuple[str, queue.Queue[Any]]]":
    """Where Alertmanager posts to."""
    told: queue.Queue[Any] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the library's name
            told.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Not on our stderr."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.server_port}", told
        server.shutdown()
        thread.join()


def _ready(address: str) -> None:
    end = time.monotonic() + LIMIT_S
    while True:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{address}/-/ready", timeout=5):
            return
        assert time.monotonic() < end
        time.sleep(0.05)


def _ticks(spec: str) -> "Iterator[Sequence[Report]]":
    host = load(spec)
    sampler, first = Sampler(host), True
    while True:
        tick = sampler.tick(first)
        first = False
        samples = tuple(sample for block in tick.blocks for sample in block.samples)
        yield [Report("gpu001", time.time(), 0.0, host.mock, series=sampler.series, samples=samples)]


def test_a_lost_gpu_reaches_who_is_notified_and_so_does_that_it_is_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _needs("prometheus", "prometheus-alertmanager")
    address, found = f"127.0.0.1:{_free_port()}", list[Any]()
    (tmp_path / "rules.yml").write_text(rules.text("https://example.org/alerts.md"))

    def ticks() -> "Iterator[Sequence[Report]]":
        lost, well = _ticks("dgx-h100+gpu3-lost"), _ticks("dgx-h100")
        yield next(lost)
        exporter = capsys.readouterr().out.strip().removeprefix("http://").removesuffix("/metrics")
        prometheus = f"127.0.0.1:{_free_port()}"
        with _hook() as (hook, told), contextlib.ExitStack() as stack:
            (tmp_path / "am.yml").write_text(ALERTMANAGER.format(hook=hook))
            (tmp_path / "prometheus.yml").write_text(PROMETHEUS.format(alertmanager=address, exporter=exporter))
            stack.enter_context(_program(
                tmp_path, "prometheus-alertmanager", "--config.file=am.yml", "--storage.path=am",
                f"--web.listen-address={address}", "--cluster.listen-address=",
            ))  # fmt: skip
            _ready(address)
            stack.enter_context(_program(
                tmp_path, "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
                f"--web.listen-address={prometheus}", "--rules.alert.resend-delay=200ms",
            ))  # fmt: skip
            for source, status in ((lost, "firing"), (well, "resolved")):
                end = time.monotonic() + LIMIT_S
                while time.monotonic() < end and not any(one["status"] == status for one in found):
                    with contextlib.suppress(queue.Empty):
                        message = told.get(timeout=0.2)
                        found.extend(one for one in message["alerts"] if one["labels"]["alertname"] == "BrctlGpuDown")
                    yield next(source)

    assert serve(ticks(), Serving(600, "127.0.0.1:0", None, None)) == 0
    assert [one["status"] for one in found] == ["firing", "resolved"]
    labels = found[0]["labels"]
    assert (labels["node"], labels["gpu"], labels["severity"]) == ("gpu001", "3", "critical")
    assert found[0]["annotations"]["summary"] == "GPU 3 of gpu001 does not answer"
    assert found[0]["annotations"]["runbook_url"] == "https://example.org/alerts.md#gpu-down"
    assert found[0]["annotations"]["runbook"] == "brctl diagnose explain gpu-responding"
