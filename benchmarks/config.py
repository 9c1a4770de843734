"""What a config costs: 1024 nodes with 64 overrides. Run: python benchmarks/config.py

CPU time of fresh processes, median of interleaved rounds, with the ratio to `python -c pass` in the same run. Bound:
load and resolve every node, without the imports, in 300 ms. (`node-manager show` with a config is in startup.py.)
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 9
ROOT = Path(__file__).resolve().parents[1]
BOUND_MS = 300
IMPORT = "import sys, time, brctl.config.load as module, pathlib\npath = pathlib.Path(sys.argv[1])\n"
RESOLVE = """began = time.process_time()
config = module.load(path)
assert len([config.node(name) for name in config.nodes]) >= 1024
print(1000 * (time.process_time() - began))
"""
PROGRAMS = {
    "python -c pass": "pass",
    "import pydantic, one model": "import pydantic\nclass One(pydantic.BaseModel): number: int\nOne(number=1)",
    "imports of a load": IMPORT,
    "imports, load, resolve": IMPORT + RESOLVE,
}


def big() -> str:
    """The example with 1024 nodes in 64 racks, each rack with an override of its own."""
    text = (ROOT / "cluster-config.example.yaml").read_text()
    text = (
        text[: text.index("overrides:")]
        .replace("gpu[001-004]", "gpu[0001-1024]")
        .replace("gpu[001-002]", "gpu[0001-0002]")
    )
    racks = [f"gpu[{first:04d}-{first + 15:04d}]" for first in range(1, 1024, 16)]
    one = '  - nodes: "{}"\n    tune: {{gpu: {{power_limit: {}W}}, network: {{mtu: 9000}}}}\n    comm: {{dscp: 24}}\n'
    return text + "overrides:\n" + "".join(one.format(rack, 500 + i) for i, rack in enumerate(racks))


def cpu_ms(program: str, argument: str) -> tuple[float, str]:
    """CPU time of a fresh interpreter, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", program, argument], cwd=ROOT, check=True, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), done.stdout


def main() -> None:
    """Print one line a program; exit 1 where the bound is missed."""
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    inside: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cluster-config.yaml")
        Path(path).write_text(big())
        for _ in range(ROUNDS):
            for name, program in PROGRAMS.items():
                spent, printed = cpu_ms(program, path)
                times[name].append(spent)
                inside += [float(printed)] if printed else []
    base = statistics.median(times["python -c pass"])
    for name, spent in times.items():
        print(f"{name:28} {statistics.median(spent):7.1f} ms  {statistics.median(spent) / base:5.1f} x")
    print(f"{'load and resolve alone':28} {statistics.median(inside):7.1f} ms  (bound {BOUND_MS})")
    sys.exit(statistics.median(inside) > BOUND_MS)


if __name__ == "__main__":
    main()
