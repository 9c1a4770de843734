from typing import Any

from brctl.node.monitor.collectors.storage import COLLECTOR


def stats(reads: int, sectors: int, read_ms: int, busy_ms: int) -> Any:
    numbers = f"{reads} 0 {sectors} {read_ms} 5 0 80 10 0 {busy_ms} 0"
    rows = (f"259 0 nvme0n1 {numbers}", f"259 1 nvme0n1p1 {numbers}", f"7 0 loop0 {numbers}", "8 0 sda 1 2")
    return {"/proc/diskstats": "".join(row + "\n" for row in rows)}


def test_whole_disks_and_their_rates(look: Any, machine: Any) -> None:
    watching, at = look(COLLECTOR), ("nvme0n1",)
    seen = watching.at(1.0, machine(stats(100, 2000, 50, 1000)))
    assert seen == {
        ("disk_read_bytes_total", at): 2000 * 512,
        ("disk_reads_total", at): 100,
        ("disk_write_bytes_total", at): 80 * 512,
        ("disk_writes_total", at): 5,
    }
    seen = watching.at(3.0, machine(stats(300, 6000, 450, 1500)))
    assert seen["disk_read_bytes_per_second", at] == 2000 * 512
    assert seen["disk_write_bytes_per_second", at] == 0
    assert round(seen["disk_read_latency_seconds", at], 9) == 0.002
    assert ("disk_write_latency_seconds", at) not in seen, "no write has ended"
    assert round(seen["disk_busy_ratio", at], 9) == 0.25


def test_a_disk_that_worked_all_the_time_is_no_more_than_busy(look: Any, machine: Any) -> None:
    watching = look(COLLECTOR)
    watching.at(1.0, machine(stats(0, 0, 0, 0)))
    assert watching.at(2.0, machine(stats(1, 1, 1, 1004)))["disk_busy_ratio", ("nvme0n1",)] == 1
