"""What the live view and the exporter cost beside the jsonl stream of benchmarks/monitor.py: `python
benchmarks/outlets.py [SECONDS]`.

Eight mocked GPUs at work on this host, a tick a second. The view is drawn on a terminal of 120 x 40; the exporter is
scraped every 15 s, as Prometheus usually does, and every second, as is nvitop-exporter (`pip install nvitop-exporter`)
over the same. CPU of brctl and of its agent as shares of one core, the median of five windows; memory as PSS.
"""

import fcntl
import importlib.util
import os
import pty
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import urllib.request
from collections.abc import Callable

from monitor import BUSY, WINDOWS, mocked, pss_mib, shares

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 15.0
START_S = 6.0
BRCTL = ("brctl", "monitor", "--interval", "1s")


def main() -> None:
    print(f"Python {sys.version}, {sys.executable}")
    for every_s in (15, 1):
        _exporter(every_s)
    _rival()
    master, slave = pty.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    live = subprocess.Popen(
        mocked(*BRCTL, **BUSY), stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=environ
    )
    written = [0]

    def read() -> None:
        while True:
            written[0] += len(os.read(master, 65536))

    threading.Thread(target=read, daemon=True).start()
    _tell("live view", live, lambda: None)
    print(f"  writes {written[0] / (START_S + SECONDS):.0f} bytes a second to the terminal")


def _exporter(every_s: int) -> None:
    process = subprocess.Popen(mocked(*BRCTL, "--listen", "127.0.0.1:0", **BUSY), stdout=subprocess.PIPE, text=True)
    assert process.stdout
    url = process.stdout.readline().strip()
    size = 0

    def scrape() -> None:
        nonlocal size
        with urllib.request.urlopen(url) as answer:
            size = len(answer.read())

    _tell(f"exporter, scraped every {every_s} s", process, scrape, every_s)
    print(f"  /metrics has {size} bytes")


def _rival() -> None:
    """nvitop-exporter, where it is installed."""
    if importlib.util.find_spec("nvitop_exporter") is None:
        return print("nvitop-exporter is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = ("nvitop_exporter", "--bind-address", "127.0.0.1", "--port", str(port), "--interval", "1")
    process = subprocess.Popen(mocked(*argv, **BUSY), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    size = 0

    def scrape() -> None:
        nonlocal size
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            size = len(answer.read())

    _tell("nvitop-exporter, scraped every second", process, scrape)
    return print(f"  /metrics has {size} bytes")


def _tell(
    what: str, process: "subprocess.Popen[str] | subprocess.Popen[bytes]", each: Callable[[], None], every_s: int = 1
) -> None:
    time.sleep(START_S)
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        pids = [process.pid, *map(int, file.read().split())]

    def window() -> None:
        for _ in range(max(1, round(SECONDS / WINDOWS / every_s))):
            each()
            time.sleep(every_s)

    print(f"{what}: {shares(pids, window)}; PSS {sum(map(pss_mib, pids)):.1f} MiB", flush=True)
    process.kill()
    process.wait()


if __name__ == "__main__":
    main()
