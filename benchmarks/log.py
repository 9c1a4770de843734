"""How fast `diagnose log` reads a kernel log: python benchmarks/log.py [LINES [ROUNDS]]

A log of a busy node: a million lines, one Xid in each ten thousand. Printed are the scan alone, in this process, and
the whole command, both against `grep -c`. Goal: the scan at 100 MB/s or more.
"""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LINES, ROUNDS = (*map(int, sys.argv[1:]), *(1_000_000, 3)[len(sys.argv) - 1 :])
BRCTL = Path(sys.executable).with_name("brctl")
GOAL_MB_S = 100.0
COMMON = (
    "IPv6: ADDRCONF(NETDEV_CHANGE): cali{:08x}: link becomes ready",
    "br0: port {}(p108) entered blocking state",
    'audit: type=1400 audit(1700000000.{}:12): apparmor="DENIED" operation="open" profile="x" name="/proc/1/stat"',
    "docker0: port 1(veth{:x}) entered disabled state",
    "nvidia-nvswitch2: open (major={})",
    "systemd[1]: Started session {} of user root.",
    "perf: interrupt took too long ({} > 2500), lowering kernel.perf_event_max_sample_rate to 79000",
    "mlx5_core 0000:1a:00.0 ens1np0: Link up {}",
)
XID = "NVRM: Xid (PCI:0000:3b:00): 13, pid={}, name=python3, Graphics SM Warp Exception on (GPC 1, TPC 4, SM 0)"


def main() -> None:
    """Print the figures; exit 1 where the goal is missed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kern.log"
        _write(file)
        size = file.stat().st_size / 1e6
        scan = min(_scan(file) for _ in range(ROUNDS))
        grep = min(_timed(["grep", "-c", "Xid", str(file)]) for _ in range(ROUNDS))
        whole = min(_timed([str(BRCTL), "diagnose", "log", "-q", str(file)]) for _ in range(ROUNDS))
    print(f"{LINES} lines, {size:.0f} MB")
    for name, seconds in (("grep -c Xid", grep), ("scan", scan), ("brctl diagnose log", whole)):
        print(f"{name:20} {seconds:6.2f} s  {size / seconds:6.0f} MB/s  {seconds / grep:5.1f} x grep -c")
    sys.exit(size / scan < GOAL_MB_S)


def _write(file: Path) -> None:
    chance = random.Random(1)
    with file.open("w", encoding="ascii") as stream:
        stream.write("[    0.000000] Linux version 6.8.0\n")
        for number in range(1, LINES):
            words = XID if number % 10_000 == 0 else COMMON[number % len(COMMON)]
            stream.write(f"[{number * 0.01:12.6f}] {words.format(chance.randrange(100_000))}\n")


def _scan(file: Path) -> float:
    """CPU time, as other work on this machine is none of ours."""
    from brctl.node.probe import kernel_log
    from brctl.saved.stream import Source

    with file.open("rb") as stream:
        began = time.process_time()
        log = kernel_log.parse(Source(stream).blocks(), str(file))
        took = time.process_time() - began
    assert (len(log.events), log.events[0].occurrences) == (1, (LINES - 1) // 10_000)
    return took


def _timed(argv: list[str]) -> float:
    began = time.monotonic()
    subprocess.run(argv, stdout=subprocess.PIPE, check=False)  # grep ends early where nobody would read it
    return time.monotonic() - began


if __name__ == "__main__":
    main()
