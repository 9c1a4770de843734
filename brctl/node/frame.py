"""Frames: how a request reaches an agent and a Report comes back, over pipes that others also write to.

A frame is one header line and the payload: `\\x1ebrctl1 ID LENGTH CRC32\\n` + LENGTH bytes, which are deflated unless
there are none. What stands before a frame (a login banner, a warning of some library) is noise and skipped; a frame
that noise got into is an error. (A SHA-256 would tell no more of noise, and loads OpenSSL: 3 ms of a local start.)
"""

import zlib
from typing import List, NamedTuple, Optional

MARK = b"\x1ebrctl1 "
MAX_PAYLOAD = 16 * 1024 * 1024
"""Bytes, inflated. A Report of 8 GPUs and 224 CPUs has 50 kB; more than this is no Report."""
MAX_NOISE = 64 * 1024
HERE = b"here"
"""Said on and on to a node that acts by itself: the one who asked is there still."""
_MAX_HEADER = 256
_NOISE_KEPT = 500


class FrameError(Exception):
    """The stream holds no frame, or a false one."""


class FloodError(FrameError):
    """The stream holds more than anybody wants to read."""


class Frame(NamedTuple):
    id: str
    payload: bytes


class _Header(NamedTuple):
    id: str
    length: int
    checksum: int


def pack(frame: Frame) -> bytes:
    """The frame as it goes over the pipe."""
    # Level 1: 50 kB of JSON become 5.4 kB in 0.4 ms; level 6 needs three times as long for 4.5 kB.
    body = zlib.compress(frame.payload, 1) if frame.payload else b""
    return MARK + "{} {} {}\n".format(frame.id, len(body), zlib.crc32(body)).encode("ascii") + body


class Unpacker:
    """Turns chunks of a stream into frames of `most` bytes each at most."""

    def __init__(self, most: int = MAX_PAYLOAD) -> None:
        self.noise = b""
        """The beginning of what was skipped."""
        self._most = most
        self._buffer = bytearray()
        self._header: Optional[_Header] = None
        self._skipped = 0

    def feed(self, chunk: bytes) -> List[Frame]:
        """All frames that are whole now. Raises FrameError; nothing after that can be believed."""
        self._buffer += chunk
        frames: List[Frame] = []
        while True:
            self._header = self._header or self._next_header()
            if self._header is None or len(self._buffer) < self._header.length:
                return frames
            body = bytes(self._take(self._header.length))
            if zlib.crc32(body) != self._header.checksum:
                raise FrameError("frame {} does not have the checksum that it claims".format(self._header.id))
            frames.append(Frame(self._header.id, _inflate(body, self._most)))
            self._header = None

    def end(self) -> None:
        """The stream has ended: what is left is noise, or the beginning of a frame that nobody will see."""
        self._keep(self._take(len(self._buffer)))

    def _next_header(self) -> Optional[_Header]:
        if not self._skip_noise():
            return None
        end = self._buffer.find(b"\n", 0, _MAX_HEADER)
        if end < 0 and len(self._buffer) >= _MAX_HEADER:
            raise FrameError("a header without an end")
        return None if end < 0 else _parse(bytes(self._take(end + 1)), self._most)

    def _skip_noise(self) -> bool:
        """Drop what stands before the next frame; say whether one begins here."""
        start = self._buffer.find(MARK)
        # A mark may be cut by the end of the chunk: keep as many bytes as could belong to it.
        noise = self._take(start if start >= 0 else max(0, len(self._buffer) - len(MARK) + 1))
        self._keep(noise)
        self._skipped += len(noise)
        if self._skipped > MAX_NOISE:
            raise FloodError("{} bytes that are no frame".format(self._skipped))
        return start >= 0

    def _keep(self, noise: bytearray) -> None:
        self.noise += noise[: _NOISE_KEPT - len(self.noise)]

    def _take(self, number: int) -> bytearray:
        taken = self._buffer[:number]
        del self._buffer[:number]
        return taken


def _parse(line: bytes, most: int) -> _Header:
    try:
        frame_id, length, checksum = line[len(MARK) : -1].decode("ascii").split(" ")
        header = _Header(frame_id, int(length), int(checksum))
    except ValueError:
        raise FrameError("not a header: {!r}".format(line)) from None
    if header.length < 0:
        raise FrameError("a frame of {} bytes".format(length))
    if header.length > most:
        raise FloodError("a frame of {} bytes; at most {} are read".format(length, most))
    return header


def _inflate(body: bytes, most: int) -> bytes:
    """Never more than `most` bytes, however much a few bytes claim to hold."""
    if not body:
        return b""
    inflater = zlib.decompressobj()
    try:
        payload = inflater.decompress(body, most)
    except zlib.error as error:
        raise FrameError("a payload that cannot be inflated: {}".format(error)) from None
    if inflater.unconsumed_tail:
        raise FloodError("a payload of more than {} bytes".format(most))
    if not inflater.eof:
        raise FrameError("a payload that is cut")
    return payload
