"""A small HTTP server for texts that are ready: nobody who asks, slowly or in numbers, holds up the one who measures.

Each client has a thread, a deadline for the whole of its request and answer, and no second request. Where too many are
connected, the one who has been for longest is hung up on.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import NamedTuple

from .errors import INCOMPLETE, CommandError
from .outlet import Tls

LIMIT_S = 10.0
"""For a client to ask and to take the answer; Prometheus itself gives up after 10 s (scrape_timeout)."""
MOST_CLIENTS = 32
MOST_HEAD = 8192
"""Bytes of a request; Prometheus sends 300."""
_BACKLOG = 64


class Answer(NamedTuple):
    status: str
    """`200 OK`"""
    type: str
    body: bytes


Pages = Callable[[str, Mapping[str, str]], Answer]
"""Path and headers (names in lower case) -> the answer. It is called in the client's thread and must not wait."""


class _HangUpError(Exception):
    """No answer is owed: what came is no HTTP, or did not come in time."""


def context(tls: Tls) -> ssl.SSLContext:
    """Raises CommandError: a file that cannot be read, or is not what it should be."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        made.load_cert_chain(tls.cert, tls.key, password=_no_password)
        if tls.client_ca:
            made.load_verify_locations(tls.client_ca)
            made.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ValueError) as error:
        files = ", ".join(str(file) for file in tls if file)
        raise CommandError(f"TLS with {files}: {getattr(error, 'strerror', None) or error}") from None
    return made


def _no_password() -> str:
    raise ValueError("the key has a password, and there is nobody to ask for it")


class Server:
    """Listens from the start; `start` begins to answer. Raises CommandError: the address cannot be had."""

    def __init__(self, address: str, port: int, tls: Tls | None = None) -> None:
        self._context = context(tls) if tls else None
        self._socket = _listening(address, port)
        self._lock = threading.Lock()
        self._clients: dict[socket.socket, None] = {}
        """In the order of their coming."""

    @property
    def url(self) -> str:
        address, port = self._socket.getsockname()[:2]
        return f"{'https' if self._context else 'http'}://{f'[{address}]' if ':' in address else address}:{port}"

    def start(self, pages: Pages) -> None:
        threading.Thread(target=self._accept, args=(pages,), name="listen", daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _accept(self, pages: Pages) -> None:
        while True:
            try:
                client = self._socket.accept()[0]
            except OSError as error:
                if error.errno in (errno.EBADF, errno.EINVAL):  # closed
                    return
                time.sleep(0.1)  # no file descriptors left, or the like: it passes
                continue
            self._admit(client)
            try:
                threading.Thread(target=self._serve, args=(client, pages), daemon=True).start()
            except RuntimeError:  # no threads left
                self._dismiss(client)

    def _admit(self, client: socket.socket) -> None:
        with self._lock:
            self._clients[client] = None
            oldest = next(iter(self._clients)) if len(self._clients) > MOST_CLIENTS else None
        if oldest:
            with contextlib.suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)  # its own thread closes it

    def _dismiss(self, client: socket.socket) -> None:
        with self._lock:
            self._clients.pop(client, None)
        client.close()

    def _serve(self, client: socket.socket, pages: Pages) -> None:
        end = time.monotonic() + LIMIT_S
        secure: socket.socket | None = None
        try:
            client.settimeout(LIMIT_S)
            if self._context:
                # The shake of hands has one time limit for all of it. `client` stays open, for it is in the list.
                secure = self._context.wrap_socket(client.dup(), server_side=True)
            _converse(secure or client, pages, end)
        except (OSError, _HangUpError):  # its own affair
            pass
        finally:
            if secure:
                secure.close()
            self._dismiss(client)


def _listening(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # of connections that have just ended
        listener.bind((address, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        busy = error.errno == errno.EADDRINUSE
        hint = f"name another with --listen; `ss -ltnp 'sport = {port}'` shows who has it" if busy else None
        raise CommandError(f"cannot listen on {address}:{port}: {_words(error)}", hint, INCOMPLETE) from None
    return listener


def _words(error: OSError) -> str:
    return "the port is in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)


def _converse(client: socket.socket, pages: Pages, end: float) -> None:
    method, path, headers = _request(client, end)
    if method in ("GET", "HEAD"):
        answer = pages(path.partition("?")[0], headers)
    else:
        answer = Answer("405 Method Not Allowed", "text/plain", b"GET and HEAD are answered here\n")
    head = (
        f"HTTP/1.1 {answer.status}\r\nDate: {formatdate(usegmt=True)}\r\nContent-Type: {answer.type}\r\n"
        f"Content-Length: {len(answer.body)}\r\nConnection: close\r\n\r\n"
    )
    rest = memoryview(head.encode("ascii") + (b"" if method == "HEAD" else answer.body))
    while rest:
        client.settimeout(_left(end))
        rest = rest[client.send(rest) :]
    client.settimeout(_left(end))
    client.shutdown(socket.SHUT_WR)


def _request(client: socket.socket, end: float) -> tuple[str, str, dict[str, str]]:
    """Method, path and headers. Raises _HangUpError, OSError."""
    head = b""
    while b"\r\n\r\n" not in head:
        client.settimeout(_left(end))
        chunk = client.recv(MOST_HEAD)
        head += chunk
        if not chunk or len(head) > MOST_HEAD:
            raise _HangUpError
    lines = head.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise _HangUpError
    pairs = (line.partition(":") for line in lines[1:])
    return words[0], words[1], {name.strip().lower(): value.strip() for name, _, value in pairs}


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise _HangUpError
    return left
