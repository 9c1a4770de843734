from typing import Iterator, List

from hypothesis import given, settings
from hypothesis import strategies as st

from brctl.node.probe import log_scan
from brctl.node.probe.log_scan import LONGEST, PEEK, candidates

XID = b"[1.0] NVRM: Xid (PCI:0000:3b:00): 79, gone"


def found(*blocks: bytes) -> List[bytes]:
    return [line.text for line in candidates(blocks)]


def test_lines_with_a_needle_in_their_order() -> None:
    log = b"a\n" + XID + b"\nb\nAER: x\r\nPCIe Bus Error: AER: y NVRM: z\nlast NVRM: "
    assert found(log) == [XID, b"AER: x", b"PCIe Bus Error: AER: y NVRM: z", b"last NVRM: "]


def test_nothing() -> None:
    assert found() == found(b"") == found(b"\n\n") == []


def test_what_follows_is_shown_with_a_line() -> None:
    (line,) = candidates([XID + b"\nsecond\nthird"])
    assert line.after == b"second\nthird"
    (line,) = candidates([XID + b"\n" + b"x" * (2 * PEEK)])
    assert line.after == b"x" * PEEK


@settings(max_examples=25)
@given(st.lists(st.sampled_from([b"quiet\n", XID + b"\n", b"\n", b"NVRM: half"]), max_size=20), st.integers(1, 200))
def test_where_blocks_are_cut_makes_no_difference(pieces: List[bytes], size: int) -> None:
    log = b"".join(pieces)
    blocks = [log[place : place + size] for place in range(0, len(log), size)]
    assert list(candidates(blocks)) == list(candidates([log]))


def test_a_line_without_end_costs_no_memory() -> None:
    sizes: List[int] = []

    def blocks() -> Iterator[bytes]:
        for _ in range(8):
            yield b"NVRM: " + b"x" * LONGEST
        yield b"\n" + XID + b"\n"

    for buffer, _ in log_scan._whole_lines(blocks()):
        sizes.append(len(buffer))
    assert max(sizes) <= 2 * LONGEST + PEEK
    assert found(*blocks())[-1] == XID
