import zlib

import pytest

from brctl.node import frame
from brctl.node.frame import FloodError, Frame, FrameError, Unpacker, pack

A = Frame("a", b"one")
B = Frame("b", b"two\nlines\x1ebrctl1 ")
EMPTY = Frame("empty", b"")


def _wire(body: bytes, length: str = "") -> bytes:
    """A frame with a body of our own making."""
    header = "x {} {}\n".format(length or len(body), zlib.crc32(body))
    return frame.MARK + header.encode() + body


def test_frames_survive_any_cut() -> None:
    stream = b"Welcome to gpu001\n\x1e" + pack(A) + pack(EMPTY) + b"noise" + pack(B)
    for cut in range(len(stream) + 1):
        unpacker = Unpacker()
        assert unpacker.feed(stream[:cut]) + unpacker.feed(stream[cut:]) == [A, EMPTY, B]


def test_byte_by_byte() -> None:
    unpacker = Unpacker()
    assert [f for i in pack(B) for f in unpacker.feed(bytes([i]))] == [B]


def test_a_false_checksum_is_refused() -> None:
    false = pack(A)[:-1] + b"?"
    with pytest.raises(FrameError, match="checksum"):
        Unpacker().feed(false)


@pytest.mark.parametrize("header", [b"a 1", b"a x 00", b"a -1 00", b"\xff 1 00", b"a 1 00 00", b"a 1 x"])
def test_a_false_header_is_refused(header: bytes) -> None:
    with pytest.raises(FrameError):
        Unpacker().feed(frame.MARK + header + b"\n")


@pytest.mark.parametrize("length", [248, 300])
def test_a_header_without_end_is_refused(length: int) -> None:
    with pytest.raises(FrameError, match="header"):
        Unpacker().feed(frame.MARK + b"x" * length)


def test_endless_noise_is_refused_and_not_kept() -> None:
    unpacker = Unpacker()
    for _ in range(64):
        unpacker.feed(b"y\n" * 512)
    with pytest.raises(FloodError, match="no frame"):
        unpacker.feed(b"y\n" * 512)
    assert len(unpacker._buffer) < 2 * len(frame.MARK)


def test_the_beginning_of_the_noise_is_kept() -> None:
    unpacker = Unpacker()
    assert unpacker.feed(b"Welcome\n" + pack(A) + b"!" * 600 + pack(B)) == [A, B]
    assert unpacker.noise == b"Welcome\n" + b"!" * 492


def test_at_the_end_all_that_is_no_frame_is_noise() -> None:
    unpacker = Unpacker()
    unpacker.feed(b"This account is not available.\n")
    unpacker.end()
    assert unpacker.noise == b"This account is not available.\n"


def test_a_frame_that_claims_too_much_is_refused_before_it_comes() -> None:
    with pytest.raises(FloodError, match="a frame of 1001 bytes; at most 1000 are read"):
        Unpacker(1000).feed(_wire(b"", "1001"))


def test_a_small_frame_that_inflates_to_much_is_refused() -> None:
    assert Unpacker(1000).feed(_wire(zlib.compress(b"0" * 999))) == [Frame("x", b"0" * 999)]
    with pytest.raises(FloodError, match="a payload of more than 1000 bytes"):
        Unpacker(1000).feed(_wire(zlib.compress(b"0" * 100_000)))


@pytest.mark.parametrize(
    ("body", "message"),
    [(b"plain text", "cannot be inflated"), (zlib.compress(b"one")[:-2], "a payload that is cut")],
)
def test_a_payload_that_does_not_inflate_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(FrameError, match=message):
        Unpacker().feed(_wire(body))


@pytest.mark.parametrize("size", [1, 4095, 4096, 4097, 300_000])
def test_payloads_of_any_size(size: int) -> None:
    frame = Frame("a", (b"%d," * size % tuple(range(size)))[:size])
    assert Unpacker().feed(pack(frame)) == [frame]


def test_the_form_on_the_wire() -> None:
    body = zlib.compress(b"one", 1)
    assert pack(A) == b"\x1ebrctl1 a %d %d\n" % (len(body), zlib.crc32(body)) + body
    assert pack(EMPTY) == b"\x1ebrctl1 empty 0 0\n"
