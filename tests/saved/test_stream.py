import gzip
import io
import lzma

import pytest

from brctl.saved.stream import BLOCK_BYTES, Source, UnreadableError

TEXT = b"[1.0] line\n" * 10


def source(data: bytes) -> Source:
    return Source(io.BufferedReader(io.BytesIO(data)))  # type: ignore[arg-type]  # it is a raw file to it


@pytest.mark.parametrize(
    "data", [TEXT, gzip.compress(TEXT), gzip.compress(TEXT[:55]) + gzip.compress(TEXT[55:]), lzma.compress(TEXT)]
)
def test_plain_and_packed(data: bytes) -> None:
    one = source(data)
    assert one.head == TEXT
    assert b"".join(one.blocks()) == TEXT


def test_in_blocks() -> None:
    large = TEXT * 30000
    for data in (large, gzip.compress(large, 1)):
        one = source(data)
        blocks = list(one.blocks())
        assert b"".join(blocks) == large
        assert max(map(len, blocks)) <= 2 * BLOCK_BYTES
        assert len(one.head) >= BLOCK_BYTES


@pytest.mark.parametrize(
    ("data", "message", "hint"),
    [
        (b"", "is empty, and says nothing about the machine", None),
        (b" \n\n", "is empty, and says nothing about the machine", None),
        (b"a\0b", "is no text: it has NUL bytes", None),
        (gzip.compress(b"a\0b"), "is no text: it has NUL bytes", None),
        (gzip.compress(TEXT)[:-4], "ends within its packed data: it is not whole", None),
        (lzma.compress(TEXT)[:-4], "ends within its packed data: it is not whole", None),
        (gzip.compress(TEXT)[:-8] + bytes(8), "cannot be unpacked: its packed data is broken", None),
        (gzip.compress(TEXT) + b"garbage", "cannot be unpacked: its packed data is broken", None),
        (
            lzma.compress(TEXT)[:30] + b"\xff" + lzma.compress(TEXT)[31:],
            "cannot be unpacked: its packed data is broken",
            None,
        ),
        (b"\x28\xb5\x2f\xfd rest", "is packed with zstd", "zstd -dc FILE | brctl diagnose log -"),
    ],
)
def test_what_cannot_be_read(data: bytes, message: str, hint: object) -> None:
    with pytest.raises(UnreadableError) as raised:
        list(source(data).blocks())
    assert (str(raised.value), raised.value.hint) == (message, hint)


def test_what_never_ends_is_refused_at_once() -> None:
    class Zeros(io.RawIOBase):
        asked = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            self.asked += len(buffer)
            buffer[:] = bytes(len(buffer))
            return len(buffer)

    zeros = Zeros()
    with pytest.raises(UnreadableError, match="NUL"):
        Source(io.BufferedReader(zeros))
    assert zeros.asked <= 2 * BLOCK_BYTES
