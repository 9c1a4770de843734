"""Frames: how a request reaches an agent and a Report comes back, over pipes that others also write to.

A frame is one header line and the payload: `\\x1ebrctl1 ID LENGTH SHA256\\n` + LENGTH bytes. What stands before a frame
(a login banner, a warning of some library) is noise and skipped; a frame that lies about itself is an error.
"""

import hashlib
from typing import List, NamedTuple, Tuple

MARK = b"\x1ebrctl1 "
MAX_PAYLOAD = 16 * 1024 * 1024
"""Bytes. A Report of 8 GPUs and 224 CPUs has 50 kB; more than this is no Report."""
MAX_NOISE = 64 * 1024
_MAX_HEADER = 256


class FrameError(Exception):
    """The stream holds no frame, or a false one."""


class Frame(NamedTuple):
    id: str
    payload: bytes


def pack(frame: Frame) -> bytes:
    """The frame as it goes over the pipe."""
    digest = hashlib.sha256(frame.payload).hexdigest()
    return MARK + "{} {} {}\n".format(frame.id, len(frame.payload), digest).encode("ascii") + frame.payload


class Unpacker:
    """Turns chunks of a stream into frames."""

    def __init__(self) -> None:
        self._buffer = b""
        self._noise = 0

    def feed(self, chunk: bytes) -> List[Frame]:
        """All frames that are whole now. Raises FrameError; nothing after that can be believed."""
        self._buffer += chunk
        frames = []
        while self._skip_noise() and b"\n" in self._buffer:
            header, _, rest = self._buffer.partition(b"\n")
            frame_id, length, digest = _parse(header)
            if len(rest) < length:
                break
            payload, self._buffer = rest[:length], rest[length:]
            if hashlib.sha256(payload).hexdigest() != digest:
                raise FrameError("frame {} does not have the digest that it claims".format(frame_id))
            frames.append(Frame(frame_id, payload))
        return frames

    def _skip_noise(self) -> bool:
        """Drop what stands before the next frame; say whether one begins here."""
        start = self._buffer.find(MARK)
        # A mark may be cut by the end of the chunk: keep as many bytes as could belong to it.
        noise = start if start >= 0 else max(0, len(self._buffer) - len(MARK) + 1)
        self._buffer = self._buffer[noise:]
        self._noise += noise
        if self._noise > MAX_NOISE:
            raise FrameError("{} bytes that are no frame".format(self._noise))
        if start >= 0 and len(self._buffer) > _MAX_HEADER and b"\n" not in self._buffer[:_MAX_HEADER]:
            raise FrameError("a header without an end")
        return start >= 0


def _parse(header: bytes) -> Tuple[str, int, str]:
    try:
        frame_id, length, digest = header[len(MARK) :].decode("ascii").split(" ")
        size = int(length)
    except ValueError:
        raise FrameError("not a header: {!r}".format(header[:_MAX_HEADER])) from None
    if not 0 <= size <= MAX_PAYLOAD:
        raise FrameError("a frame of {} bytes; at most {} are read".format(size, MAX_PAYLOAD))
    return frame_id, size, digest
