"""A machine while it is read, with its faults."""

import errno
import time
from typing import Any

import pytest

from brctl.mock.machines import load

CARRIER = "/sys/class/net/ens3np0/carrier"
BALANCING = "/proc/sys/kernel/numa_balancing"
STATISTICS = ["ethtool", "-S", "ens1np0"]


def counters(machine: Any) -> Any:
    lines = machine.run(STATISTICS).stdout.splitlines()[1:]
    return {name.strip(): int(value) for name, _, value in (line.partition(":") for line in lines)}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_file_is_read_as_the_fault_makes_it() -> None:
    machine = load("dgx-h100+nic2-down")
    assert machine.read(CARRIER) == "0\n"
    assert machine.read("/sys/class/net/ens2np0/carrier") == "1\n"


def test_after_so_many_reads_of_it() -> None:
    machine = load("dgx-h100+nic2-down@2")
    assert [machine.read(CARRIER) for _ in range(4)] == ["1\n", "1\n", "0\n", "0\n"]


def test_a_write_mends_it() -> None:
    load("dgx-h100+numa-balancing").write(BALANCING, "0\n")
    assert load("dgx-h100+numa-balancing").read(BALANCING) == "0\n"
    assert load("dgx-h100+numa-balancing", "gpu009").read(BALANCING) == "1\n"


def test_a_file_that_may_not_be_read() -> None:
    machine = load("dgx-h100+xid-79+no-kmsg@1")
    assert "Xid" in (machine.read("/dev/kmsg") or "")
    with pytest.raises(OSError, match="not permitted") as raised:
        machine.read("/dev/kmsg")
    assert (raised.value.errno, raised.value.filename) == (errno.EPERM, "/dev/kmsg")


def test_records_of_several_faults_stand_behind_each_other() -> None:
    healthy = load("dgx-h100").read("/dev/kmsg") or ""
    machine = load("dgx-h100+gpu1-xid-79@1+gpu2-xid-79")
    first, second = ((machine.read("/dev/kmsg") or "")[len(healthy) :] for _ in range(2))
    assert [line.split(";")[1] for line in first.splitlines()] == [
        "NVRM: GPU at PCI:0000:4c:00: GPU-441fcbaf-8607-5c38-9114-860870eb7a62",
        "NVRM: Xid (PCI:0000:4c:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        "NVRM: GPU 0000:4c:00.0: GPU has fallen off the bus.",
    ]
    assert second.endswith(first)
    assert "Xid (PCI:0000:3b:00): 79" in second


def test_counters_grow_with_time(clock: Any) -> None:
    machine, healthy = load("dgx-h100+pfc-storm@1"), counters(load("dgx-h100"))
    assert counters(machine) == healthy
    clock[0] += 10
    grown = counters(machine)
    changed = {name: grown[name] - healthy[name] for name in healthy if grown[name] != healthy[name]}
    assert changed == {
        "tx_prio3_pause": 500000,
        "tx_prio3_pause_duration": 6000000,
        "tx_prio3_pause_transition": 120000,
        "tx_pause_storm_warning_events": 10,
    }
    assert machine.run(["ethtool", "-S", "ens2np0"]) == load("dgx-h100").run(["ethtool", "-S", "ens2np0"])
    assert machine.run(["no-such-command"]) is None
