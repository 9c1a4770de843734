"""How long commands take to start, as ratios to `python -c pass` in the same run. Run: python benchmarks/startup.py

Rounds are interleaved, so that a slow moment of the machine hits all alike; the median of each is printed, and the
ratio of the medians. Bounds: --version 2, --help 8, `node-manager show` on 8 mock GPUs 20 without a config and 40 with
the example.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
ROOT = Path(__file__).resolve().parents[1]
BRCTL = str(Path(sys.executable).parent / "brctl")
SHOW = [BRCTL, "--mock", "dgx-h100", "node-manager", "show"]
COMMANDS = {
    "python -c pass": ([sys.executable, "-c", "pass"], None),
    "bare typer --help": ([sys.executable, "-c", "import typer\napp = typer.Typer(rich_markup_mode=None)\n@app.command()\ndef f(): pass\napp()", "--help"], None),
    "--version": ([BRCTL, "--version"], 2),
    "--help": ([BRCTL, "--help"], 8),
    "show, no config": (SHOW, 20),
    "show, config": ([*SHOW, "--config", str(ROOT / "cluster-config.example.yaml"), "--as", "gpu001"], 40),
}


def main() -> None:
    """Print one line a command; exit 1 where a bound is missed."""
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "BRCTL_STATE_DIR": empty}
        times: dict[str, list[float]] = {name: [] for name in COMMANDS}
        for _ in range(ROUNDS):
            for name, (argv, _bound) in COMMANDS.items():
                began = time.perf_counter()
                subprocess.run(argv, cwd=empty, env=environment, check=True, stdout=subprocess.DEVNULL)
                times[name].append(time.perf_counter() - began)
    base = statistics.median(times["python -c pass"])
    missed = False
    for name, (_argv, bound) in COMMANDS.items():
        median = statistics.median(times[name])
        missed |= bound is not None and median / base > bound
        print(f"{name:20} {median * 1000:7.1f} ms  {median / base:5.1f} x" + (f"  (bound {bound})" if bound else ""))
    sys.exit(missed)


if __name__ == "__main__":
    main()
