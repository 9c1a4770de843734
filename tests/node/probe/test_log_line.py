import json
from typing import Optional

import pytest

from brctl.node.probe.log_line import Record, parse

WORDS = "NVRM: Xid (PCI:0000:3b:00): 79, gone"
FEBRUARY = 1740327858.0  # date -u -d '2025-02-23 16:24:18' +%s
YEARLESS = 951323058.0  # the same of the year 2000


@pytest.mark.parametrize(
    ("head", "when", "seconds"),
    [
        ("[91231.402377] ", "91231.402377", 91231.402377),
        ("[    0.000000] ", "0.000000", 0.0),
        ("<4>[   12.500000] ", "12.500000", 12.5),
        ("[   12.500000] [   T1234] ", "12.500000", 12.5),
        ("[ 1200.100000] gpu001 kernel: ", "1200.100000", 1200.1),
        ("[Sun Feb 23 16:24:18 2025] ", "Sun Feb 23 16:24:18 2025", FEBRUARY),
        ("2025-02-23T16:24:18,123456+00:00 ", "2025-02-23T16:24:18,123456+00:00", FEBRUARY),
        ("2025-02-23T16:24:18+0000 gpu001 kernel: ", "2025-02-23T16:24:18+0000", FEBRUARY),
        ("2025-02-23T16:24:18.1Z gpu001 kernel: [   12.500000] ", "12.500000", 12.5),
        ("Feb 23 16:24:18 gpu001 kernel: ", "Feb 23 16:24:18", YEARLESS),
        ("Feb 23 16:24:18 gpu001.example kernel: [   12.500000] ", "12.500000", 12.5),
        ("", "", None),
    ],
)
def test_every_form(head: str, when: str, seconds: Optional[float]) -> None:
    assert parse((head + WORDS).encode()) == Record(WORDS, when, seconds)


def test_kmsg() -> None:
    record = parse(b"4,9769,7834738913,-,caller=T1;" + WORDS.encode())
    assert record == Record(WORDS, "7834.738913", 7834.738913, 9769)
    assert parse(b"4,1,2,-;one\\x0atwo") == Record("one\ntwo", "0.000002", 2e-06, 1)


def test_the_journals_json() -> None:
    entry = {
        "MESSAGE": WORDS,
        "_TRANSPORT": "kernel",
        "_SOURCE_MONOTONIC_TIMESTAMP": "12500000",
        "__MONOTONIC_TIMESTAMP": "13000000",
        "_BOOT_ID": "abc",
    }
    assert parse(json.dumps(entry).encode()) == Record(WORDS, "12.500000", 12.5, boot="abc")
    del entry["_SOURCE_MONOTONIC_TIMESTAMP"]
    assert parse(json.dumps(entry).encode()) == Record(WORDS, "13.000000", 13.0, boot="abc")


@pytest.mark.parametrize(
    "line",
    [
        "Feb 23 16:24:18 gpu001 sshd[12]: " + WORDS,
        "Feb 23 16:24:18 gpu001 kernelish: " + WORDS,
        "Foo 23 16:24:18 gpu001 kernel " + WORDS,
        "2025-02-23T16:24:18+00:00 gpu001 logger: " + WORDS,
        '{"MESSAGE": "NVRM: Xid", "_TRANSPORT": "syslog", "__MONOTONIC_TIMESTAMP": "1"}',
        '{"MESSAGE": [78, 86], "_TRANSPORT": "kernel", "__MONOTONIC_TIMESTAMP": "1"}',
        '{"MESSAGE": "NVRM: ", "_TRANSPORT": "kernel"}',
        '{"MESSAGE": ',
        "{" * 5000,
    ],
)
def test_what_another_program_wrote_or_is_broken(line: str) -> None:
    assert parse(line.encode()) is None


def test_bytes_that_are_no_text() -> None:
    record = parse(b"[1.5] NVRM: \xff\xfe")
    assert record == Record("NVRM: \ufffd\ufffd", "1.5", 1.5)
