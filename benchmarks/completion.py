"""What completing a node name costs, on a config of 1024 nodes. Run: python benchmarks/completion.py

Time of fresh processes, median of interleaved rounds, with the ratio to `python -c pass` in the same run. Bound: 11.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from config import big

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
BRCTL = str(Path(sys.executable).parent / "brctl")
LINES = {
    "a command": ("brctl node-manager ch", 1, None),
    "a node name": ("brctl node-manager check --nodes gpu100", 10, 11),
    "the last of a set": ("brctl node-manager check --nodes @rack1,gpu100", 10, 11),
    "all nodes and groups": ("brctl node-manager check --nodes ''", 1032, 11),
}


def main() -> None:
    """Print one line each; exit 1 where a bound is missed."""
    times: dict[str, list[float]] = {name: [] for name in ("python -c pass", *LINES)}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "cluster-config.yaml").write_text(big())
        for _ in range(ROUNDS):
            times["python -c pass"].append(seconds([sys.executable, "-c", "pass"], {}, folder, 0))
            for name, (line, expected, _bound) in LINES.items():
                environment = {"_BRCTL_COMPLETE": "complete_fish", "_BRCTL_LINE": line}
                times[name].append(seconds([BRCTL], environment, folder, expected))
    base = statistics.median(times["python -c pass"])
    missed = False
    for name, spent in times.items():
        median, bound = statistics.median(spent), LINES[name][2] if name in LINES else None
        missed |= bound is not None and median / base > bound
        print(f"{name:20} {median * 1000:7.1f} ms  {median / base:5.1f} x" + (f"  (bound {bound})" if bound else ""))
    sys.exit(missed)


def seconds(argv: list[str], environment: dict[str, str], folder: str, expected: int) -> float:
    """What it takes; it must print so many lines."""
    began = time.perf_counter()
    done = subprocess.run(argv, cwd=folder, env={**os.environ, **environment}, check=True, capture_output=True)
    spent = time.perf_counter() - began
    assert len(done.stdout.splitlines()) == expected, done
    return spent


if __name__ == "__main__":
    main()
