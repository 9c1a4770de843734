import hashlib

import pytest

from brctl.node import frame
from brctl.node.frame import Frame, FrameError, Unpacker, pack

A = Frame("a", b"one")
B = Frame("b", b"two\nlines\x1ebrctl1 ")


def test_frames_survive_any_cut() -> None:
    stream = b"Welcome to gpu001\n\x1e" + pack(A) + pack(B)
    for cut in range(len(stream) + 1):
        unpacker = Unpacker()
        assert unpacker.feed(stream[:cut]) + unpacker.feed(stream[cut:]) == [A, B]


def test_byte_by_byte() -> None:
    unpacker = Unpacker()
    assert [f for i in pack(B) for f in unpacker.feed(bytes([i]))] == [B]


def test_a_false_digest_is_refused() -> None:
    false = pack(A).replace(b"one", b"two")
    with pytest.raises(FrameError, match="digest"):
        Unpacker().feed(false)


@pytest.mark.parametrize("header", [b"a 1", b"a x 00", b"a -1 00", b"a 99999999999 00", b"\xff 1 00", b"a 1 00 00"])
def test_a_false_header_is_refused(header: bytes) -> None:
    with pytest.raises(FrameError):
        Unpacker().feed(frame.MARK + header + b"\n")


def test_a_header_without_end_is_refused() -> None:
    with pytest.raises(FrameError, match="header"):
        Unpacker().feed(frame.MARK + b"x" * 300)


def test_endless_noise_is_refused_and_not_kept() -> None:
    unpacker = Unpacker()
    for _ in range(64):
        unpacker.feed(b"y\n" * 512)
    with pytest.raises(FrameError, match="no frame"):
        unpacker.feed(b"y\n" * 512)
    assert len(unpacker._buffer) < 2 * len(frame.MARK)


def test_the_form_on_the_wire() -> None:
    digest = hashlib.sha256(b"one").hexdigest().encode()
    assert pack(A) == b"\x1ebrctl1 a 3 " + digest + b"\none"
