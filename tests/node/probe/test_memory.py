import os
from typing import Any, Optional

import pytest

from brctl.node.facts import Memory
from brctl.node.host.local import Local
from brctl.node.probe.memory import parse_meminfo, read, size

MEMINFO = """\
MemTotal:       16303428 kB
MemFree:         1048576 kB
MemAvailable:    8388608 kB
SwapTotal:       2097152 kB
HugePages_Total:       7
"""


def test_parse_meminfo() -> None:
    assert parse_meminfo(MEMINFO) == Memory(16303428 * 1024, 8388608 * 1024, 2097152 * 1024)


def test_a_figure_is_missing() -> None:
    with pytest.raises(ValueError, match="/proc/meminfo has no MemAvailable"):
        parse_meminfo("MemTotal: 1 kB\nSwapTotal: 0 kB\n")


def test_dgx(dgx: Any) -> None:
    memory = read(dgx)
    assert memory is not None
    assert memory.total_bytes == 2113374208 * 1024
    assert memory.swap_total_bytes == 0


def test_no_proc(machine: Any) -> None:
    assert read(machine({})) is None


@pytest.mark.real
def test_against_the_c_library() -> None:
    memory = read(Local())
    assert memory is not None
    assert memory.total_bytes == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < memory.available_bytes <= memory.total_bytes


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("MemTotal: 5 kB\n", 5 << 10), ("MemFree: 1 kB\nMemTotal: 5 kB", 5 << 10), ("MemTotal:\t5\tkB\n", 5 << 10),
        ("", None), ("XMemTotal: 5 kB\n", None), ("MemTotal: 5\n", None), ("MemTotal: 5 MB\n", None),
        ("MemTotal:", None), ("MemTotal: -5 kB\n", None), ("MemTotal: x kB\n", None),
        ("MemTotal:\nMemFree: 5 kB", None),
    ],
)  # fmt: skip
def test_a_size_is_a_whole_line(text: str, bytes_: Optional[int]) -> None:
    assert size(text, "MemTotal") == bytes_
