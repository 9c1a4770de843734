import errno
from pathlib import Path
from typing import Any, Dict, List

import pytest

from brctl.node.deadline import HungError
from brctl.node.facts import KernelLog, LogEvent
from brctl.node.host.local import Local
from brctl.node.probe import kernel_log
from brctl.node.probe.kernel_log import JOURNAL, MOST_EVENTS, parse, read

XID = "NVRM: Xid (PCI:0000:3b:00): {}, pid='<unknown>', name=<unknown>, x"
BOOT = "[    0.000000] Linux version 6.8.0 (a@b)"
DRIVER = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.105.08  Release Build"
FULL = " ".join((*JOURNAL[:2], "--boot", *JOURNAL[2:]))
BEFORE = FULL.replace("--boot", "--boot=-1")


def of(*lines: str) -> KernelLog:
    return parse(["\n".join(lines).encode()], "file")


def xids(log: KernelLog) -> List[Any]:
    return [(event.number, event.occurrences, event.past, event.boot) for event in log.events]


def test_an_event() -> None:
    log = of(BOOT, "[12.5] " + XID.format(48))
    text = XID.format(48)
    event = LogEvent("xid", text, 1, "12.5", "12.5", 12.5, 12.5, "0000:3b:00.0", 48)
    assert log == KernelLog("file", True, "0.000000", (event,))


def test_repeats_are_folded() -> None:
    log = of(*("[{}.0] ".format(second) + XID.format(45) for second in range(11760)), "[99999.0] " + XID.format(13))
    (first, second) = log.events
    assert (first.number, first.occurrences, first.first_s, first.last_s) == (45, 11760, 0.0, 11759.0)
    assert first.last == "11759.0"
    assert (second.number, second.occurrences) == (13, 1)


def test_what_the_kernel_says_twice_is_one() -> None:
    echo = "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus."
    assert xids(of("[1.0] " + XID.format(79), "[1.1] " + echo)) == [(79, 1, False, 0)]
    log = of("[1.0] " + echo, "[1.1] " + XID.format(79))
    assert xids(log) == [(79, 1, False, 0)]
    assert log.events[0].text == XID.format(79)
    assert xids(of("[1.0] " + XID.format(79), "[100.0] " + echo)) == [(79, 2, False, 0)]
    assert xids(of(echo, XID.format(79))) == [(79, 1, False, 0)]


def test_what_was_before_the_driver_came_again_is_past() -> None:
    log = of("[1.0] " + DRIVER, "[2.0] " + XID.format(48), "[3.0] " + DRIVER, "[4.0] " + XID.format(48))
    assert xids(log) == [(48, 1, True, 0), (48, 1, False, 0)]
    assert xids(of("[1.0] " + DRIVER, "[2.0] " + XID.format(48))) == [(48, 1, False, 0)]


def test_the_drivers_own_word_that_a_gpu_is_well_again() -> None:
    healed = "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset) to 0x0 (None)"
    other = XID.format(48).replace("3b", "4c")
    log = of("[1.0] " + XID.format(48), "[1.1] " + other, "[2.0] " + healed)
    assert xids(log) == [(48, 1, True, 0), (48, 1, False, 0), (154, 1, True, 0)]


@pytest.mark.parametrize("mark", [BOOT, "-- Reboot --", "-- Boot 0123 --"])
def test_boots(mark: str) -> None:
    log = of(BOOT, "[5.0] " + XID.format(48), mark, BOOT, "[9.0] " + XID.format(48), "[9.1] " + XID.format(63))
    assert xids(log) == [(48, 1, True, 1), (48, 1, False, 0), (63, 1, False, 0)]
    assert xids(of("[5.0] " + XID.format(48), mark)) == [(48, 1, True, 1)]


def test_boots_in_the_journals_json() -> None:
    form = '{{"MESSAGE": "{}", "_TRANSPORT": "kernel", "__MONOTONIC_TIMESTAMP": "5", "_BOOT_ID": "{}"}}'
    log = of(form.format(XID.format(48), "a"), form.format(XID.format(48), "b"))
    assert xids(log) == [(48, 1, True, 1), (48, 1, False, 0)]
    assert not log.complete


@pytest.mark.parametrize(
    ("first", "complete", "begins"),
    [
        ("6,0,0,-;Linux version 6.8.0", True, "0.000000"),
        ("6,0,123,-;microcode: updated early", True, "0.000123"),
        ("6,1000,4000000,-;Linux version 6.8.0", True, "4.000000"),
        ("6,9769,7834738913,-;br0: port 1", False, "7834.738913"),
        ("[    0.000000] microcode: updated early", True, "0.000000"),
        ("[   17.300000] eth0: up", False, "17.300000"),
        ("Feb 23 16:24:18 gpu001 kernel: Linux version 6.8.0", True, "Feb 23 16:24:18"),
        ("-- Boot 0123 --", True, ""),
        ("NVRM: nothing", False, ""),
        ("", False, ""),
    ],
)
def test_whether_it_begins_with_the_boot(first: str, complete: bool, begins: str) -> None:
    log = of(first, "x")
    assert (log.complete, log.begins) == (complete, begins)


def test_the_dictionary_of_a_record_and_indented_lines() -> None:
    log = of(
        "3,5,6,-;NVRM: The NVIDIA GPU 0000:9b:00.0",
        " SUBSYSTEM=pci",
        " DEVICE=+pci:0000:9b:00.0",
        "3,6,6,-;NVRM: (PCI ID: 10de:2330) installed in this system has",
        "3,7,6,-;NVRM: fallen off the bus and is not responding to commands.",
    )
    assert [(event.number, event.pci, event.occurrences) for event in log.events] == [(79, "0000:9b:00.0", 1)]
    indented = of(
        "Feb 23 16:24:18 gpu001 kernel: NVRM: The NVIDIA GPU 0000:9b:00.0",
        "                               NVRM: (PCI ID: 10de:2330) installed in this system has",
        "                               NVRM: fallen off the bus and is not responding to commands.",
    )
    assert [(event.number, event.pci, event.occurrences) for event in indented.events] == [(79, "0000:9b:00.0", 1)]


def test_the_names_of_gpus() -> None:
    uuid = "GPU-00000004-0000-0000-0000-000000000004"
    assert of("[1.0] NVRM: GPU at PCI:0000:9b:00: " + uuid).uuids == (("0000:9b:00.0", uuid),)


def test_there_may_be_many_different_ones() -> None:
    log = of(*("[1.0] NVRM: Xid (PCI:0000:3b:00): {}, x".format(1000 + number) for number in range(MOST_EVENTS + 7)))
    assert (len(log.events), log.left_out) == (MOST_EVENTS, 7)


# ---------------------------------------------------------------------------------------------------------------------
# Where it is read


def test_the_ring(machine: Any) -> None:
    host = machine({"/dev/kmsg": "6,0,5,-;Linux version 6\n4,1,6,-;" + XID.format(79) + "\n"})
    log = read(host)
    assert log
    assert (log.source, log.complete, len(log.events)) == ("/dev/kmsg", True, 1)


def journal(machine: Any, files: Dict[str, Any], answer: Any) -> Any:
    return read(machine(files, commands={FULL: answer}))


def test_the_journal_where_the_ring_has_lost_the_beginning(machine: Any) -> None:
    ring = {"/dev/kmsg": "6,500,5000000,-;br0: up\n"}
    text = "[    0.000000] gpu001 kernel: Linux version 6\n[    2.000000] gpu001 kernel: " + XID.format(79) + "\n"
    log = journal(machine, ring, {"stdout": text})
    assert (log.source, log.complete, len(log.events)) == ("journalctl --dmesg --boot", True, 1)
    assert journal(machine, ring, {"stdout": "[    9.0] gpu001 kernel: later\n"}).source == "/dev/kmsg"
    assert journal(machine, ring, {"stdout": "", "returncode": 1}).source == "/dev/kmsg"
    for answer in (None, {"errno": "EACCES"}, {"hung": 10.0}):
        assert journal(machine, ring, answer).source == "/dev/kmsg"


def test_the_journal_where_the_ring_may_not_be_read(machine: Any) -> None:
    closed = {"/dev/kmsg": {"errno": "EPERM"}}
    log = journal(machine, closed, {"stdout": "[    9.0] gpu001 kernel: " + XID.format(79) + "\n"})
    assert (log.source, log.complete, len(log.events)) == ("journalctl --dmesg --boot", False, 1)
    for answer in (None, {"stdout": ""}, {"stdout": "no", "returncode": 1}):
        with pytest.raises(PermissionError) as raised:
            journal(machine, closed, answer)
        assert (raised.value.errno, raised.value.filename) == (errno.EPERM, "/dev/kmsg")


def test_what_the_boot_before_had_of_the_same(machine: Any) -> None:
    ring = {"/dev/kmsg": "6,0,5,-;Linux version 6\n4,1,6,-;" + XID.format(48) + "\n"}
    before = "[9.0] gpu001 kernel: " + XID.format(48) + "\n"
    before += "[9.5] gpu001 kernel: INFO: task cp:1 blocked for more than 120 seconds.\n"
    log = read(machine(ring, commands={BEFORE: {"stdout": before}}))
    assert log
    assert xids(log) == [(48, 1, True, 1), (48, 1, False, 0)]
    assert (log.source, log.complete, log.begins) == ("/dev/kmsg", True, "0.000005")
    clean = {"/dev/kmsg": "6,0,5,-;Linux version 6\n"}
    assert read(machine(clean, commands={BEFORE: {"stdout": before}})) == KernelLog("/dev/kmsg", True, "0.000005", ())


def test_no_log_at_all(machine: Any) -> None:
    assert read(machine({"/proc/uptime": "1 1\n"})) is None


def test_a_ring_that_hangs(machine: Any) -> None:
    with pytest.raises(HungError, match="read /dev/kmsg did not return within 3 s"):
        read(machine({"/dev/kmsg": {"hung": 3.0}}))


@pytest.mark.parametrize("name", ["xid-119", "peermem", "kmsg-1"])
def test_recorded(recordings: Path, name: str) -> None:
    log = parse([(recordings / "kernel-log" / (name + ".log")).read_bytes()], name)
    counts = {"xid-119": [("xid", 119, 5)], "peermem": [("peermem", None, 7)], "kmsg-1": []}
    assert [(event.kind, event.number, event.occurrences) for event in log.events] == counts[name]
    assert not log.complete


@pytest.mark.real
def test_this_machine_is_read_without_waiting() -> None:
    try:
        log = kernel_log.read(Local())
    except PermissionError:
        pytest.skip("this machine's kernel log may not be read")
    assert log is None or log.source
