"""The bytes of a file or of stdin: unpacked where they are packed, a block at a time, and refused where they are no
text."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from typing import Protocol

BLOCK_BYTES = 1 << 20
"""Read at a time, and what a file is told from."""
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"


class UnreadableError(Exception):
    """A file that is no such thing; the message goes behind its name."""

    def __init__(self, what: str, hint: str | None = None) -> None:
        self.hint = hint
        super().__init__(what)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Source:
    """Bytes of text. `head` is what it begins with, `blocks` are all of it, once."""

    def __init__(self, file: io.BufferedReader) -> None:
        """Raises UnreadableError, OSError."""
        self._blocks = _blocks(_unpacked(file))
        self.head = b""
        while len(self.head) < BLOCK_BYTES and (block := next(self._blocks, b"")):  # a pipe gives little at a time
            self.head += block
        if not self.head.strip():
            raise UnreadableError("is empty, and says nothing about the machine")

    def blocks(self) -> Iterator[bytes]:
        """Raises UnreadableError, OSError."""
        yield self.head
        yield from self._blocks


def _unpacked(file: io.BufferedReader) -> _Readable:
    magic = file.peek(len(_XZ))
    if magic.startswith(_GZIP):
        return gzip.GzipFile(fileobj=file)
    if magic.startswith(_XZ):
        return lzma.LZMAFile(file)
    if magic.startswith(_ZSTD):
        raise UnreadableError("is packed with zstd", "zstd -dc FILE | brctl diagnose log -")
    return file


def _blocks(file: _Readable) -> Iterator[bytes]:
    try:
        while block := file.read(BLOCK_BYTES):
            if b"\0" in block:
                raise UnreadableError("is no text: it has NUL bytes")
            yield block
    except EOFError:
        raise UnreadableError("ends within its packed data: it is not whole") from None
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error):
        raise UnreadableError("cannot be unpacked: its packed data is broken") from None
