"""One end of a test between two hosts, of either side: an echo over TCP and UDP, bound to the address of one rail.

Both ends are told a port and a nonce. The server takes one connection that says the nonce and sends back what comes on
it, and UDP datagrams that begin with the nonce; whoever else knocks is closed. Both ends give up at a deadline.
"""

import contextlib
import errno
import socket
import threading
import time
from typing import List

from .. import deadline
from ..report import PairSeen

NONCE_BYTES = 16
PINGS = 200
"""Of the TCP ping-pong: the median of 200 strays by less than a tenth on a busy host."""
PING_BYTES = 64
DATAGRAMS = 3000
"""Of 1 %, 30 are lost on average, and more than 12 (what counts: 0.4 %) in all but one of 6000 tests. Of 1000, one test
in 35 would find no fault, and with two partners one node in 20 would be taken for a bad path."""
DATAGRAM_BYTES = 200
BURST = 60
_HEADERS = 28
"""IPv4 and UDP; IPv6 has 20 more."""
_IPV6_MORE = 20
_REPLY_S = 0.3
_TRIES = 3
_PROBE = 3
"""IP_PMTUDISC_PROBE of linux/in.h: never fragmented, whatever is known of the path."""
_MTU_DISCOVER, _V6_MTU_DISCOVER = 10, 23


def serve(address: str, port: int, nonce: bytes, limit_s: float) -> bool:
    """Echo until the peer ends it; False: none came within `limit_s`. Raises OSError: the port is taken, ..."""
    deadline.calling("echo on {} port {}".format(address, port), limit_s + deadline.CALL_LIMIT_S)
    end = time.monotonic() + limit_s
    with _socket(address, socket.SOCK_STREAM) as listener, _socket(address, socket.SOCK_DGRAM) as datagrams:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for door in (listener, datagrams):
            door.bind((address, port))
        listener.listen(8)
        over = threading.Event()
        echo = threading.Thread(target=_echo_datagrams, args=(datagrams, nonce, over), daemon=True)
        echo.start()
        try:
            return _serve_one(listener, nonce, end)
        finally:
            over.set()
            echo.join(2 * _REPLY_S)


def _serve_one(listener: socket.socket, nonce: bytes, end: float) -> bool:
    while True:
        listener.settimeout(max(0.01, end - time.monotonic()))
        try:
            connection, _ = listener.accept()
        except socket.timeout:
            return False
        with connection:
            connection.settimeout(min(_REPLY_S * _TRIES, max(0.01, end - time.monotonic())))
            with contextlib.suppress(OSError):
                if _receive(connection, NONCE_BYTES) == nonce:
                    _echo(connection, end)
                    return True


def _echo(connection: socket.socket, end: float) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(b"\n")  # the nonce was right
    while True:
        connection.settimeout(max(0.01, end - time.monotonic()))
        data = connection.recv(65536)
        if not data:
            return
        connection.sendall(data)


def _echo_datagrams(datagrams: socket.socket, nonce: bytes, over: threading.Event) -> None:
    datagrams.settimeout(_REPLY_S)
    _never_fragment(datagrams)  # so that a large one tells of both directions
    while not over.is_set():
        with contextlib.suppress(OSError):
            data, peer = datagrams.recvfrom(65536)
            if data.startswith(nonce):
                datagrams.sendto(data, peer)


def probe(own: str, peer: str, port: int, nonce: bytes, mtu: int, limit_s: float) -> PairSeen:
    """Test the path from the address `own` to the server's. Never raises OSError: what hinders stands in the result."""
    deadline.calling("echo from {} to {} port {}".format(own, peer, port), limit_s + deadline.CALL_LIMIT_S)
    end = time.monotonic() + limit_s
    try:
        connection = _connect(own, peer, port, nonce, end)
    except OSError as error:
        return PairSeen(False, fault=_words(error))
    with connection, _socket(peer, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind((own, 0))
        datagrams.connect((peer, port))
        seen = PairSeen(True)
        try:
            small = _answered(datagrams, nonce, PING_BYTES)
            seen = seen._replace(small_answered=small, large_answered=_large(datagrams, nonce, mtu))
            seen = _ping(connection, end, seen)
            return _lost(datagrams, nonce, end, seen) if small else seen
        except OSError as error:
            return seen._replace(fault=_words(error))


def _connect(own: str, peer: str, port: int, nonce: bytes, end: float) -> socket.socket:
    """Until the server is there: it starts at the same time. Raises OSError."""
    while True:
        connection = _socket(peer, socket.SOCK_STREAM)
        try:
            connection.bind((own, 0))
            connection.settimeout(max(0.01, end - time.monotonic()))
            connection.connect((peer, port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(nonce)
            if _receive(connection, 1) != b"\n":
                raise OSError(errno.EPROTO, "something else answers there")
            return connection
        except OSError as error:
            connection.close()
            if error.errno != errno.ECONNREFUSED or time.monotonic() > end:
                raise
            time.sleep(0.05)


def _ping(connection: socket.socket, end: float, seen: PairSeen) -> PairSeen:
    times: List[float] = []
    for _ in range(PINGS):
        connection.settimeout(max(0.01, end - time.monotonic()))
        began = time.monotonic()
        connection.sendall(b"x" * PING_BYTES)
        if len(_receive(connection, PING_BYTES)) < PING_BYTES:
            return seen._replace(fault="the peer closed the connection")
        times.append(time.monotonic() - began)
    times.sort()
    return seen._replace(rtt_s=times[PINGS // 2], rtt_p99_s=times[PINGS * 99 // 100])


def _large(datagrams: socket.socket, nonce: bytes, mtu: int) -> bool:
    """Whether a datagram that fills the interface's MTU comes through whole."""
    _never_fragment(datagrams)
    headers = _HEADERS + (_IPV6_MORE if datagrams.family == socket.AF_INET6 else 0)
    try:
        return _answered(datagrams, nonce, min(mtu, 65535) - headers)
    except OSError as error:
        if error.errno == errno.EMSGSIZE:  # a router on the way said so
            return False
        raise


def _never_fragment(datagrams: socket.socket) -> None:
    v6 = datagrams.family == socket.AF_INET6
    level, option = (socket.IPPROTO_IPV6, _V6_MTU_DISCOVER) if v6 else (socket.IPPROTO_IP, _MTU_DISCOVER)
    datagrams.setsockopt(level, option, _PROBE)


def _answered(datagrams: socket.socket, nonce: bytes, size: int) -> bool:
    datagrams.settimeout(_REPLY_S)
    for number in range(_TRIES):
        tag = nonce + b"size" + bytes([number]) * 4
        datagrams.send(tag.ljust(size, b"\0"))
        with contextlib.suppress(socket.timeout):
            while not datagrams.recv(65536).startswith(tag):
                pass
            return True
    return False


def _lost(datagrams: socket.socket, nonce: bytes, end: float, seen: PairSeen) -> PairSeen:
    """Datagrams in bursts, each answered or waited for: what does not come back is lost."""
    returned = sent = 0
    for first in range(0, DATAGRAMS, BURST):
        if time.monotonic() > end:
            break
        burst = {nonce + number.to_bytes(8, "big") for number in range(first, first + BURST)}
        for tag in burst:
            datagrams.send(tag.ljust(DATAGRAM_BYTES, b"\0"))
        sent += BURST
        datagrams.settimeout(_REPLY_S)
        with contextlib.suppress(socket.timeout):
            while burst:
                burst.discard(datagrams.recv(65536)[: NONCE_BYTES + 8])
        returned += BURST - len(burst)
    return seen._replace(datagrams_sent=sent, datagrams_returned=returned)


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            break
        data += more
    return data


def _socket(address: str, kind: int) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)


def _words(error: OSError) -> str:
    return "no answer in time" if isinstance(error, socket.timeout) else error.strerror or str(error)
