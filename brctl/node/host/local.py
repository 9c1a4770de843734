"""Local: this machine."""

import contextlib
import errno
import os
import selectors
import signal
import subprocess
import threading
import time
from typing import ContextManager, Dict, Mapping, Optional, Sequence, Set, Tuple

from .. import deadline
from ..accel import Library, libraries
from ..report import Mock, PairSeen
from . import COMMAND_LIMIT_S, Completed, Space, files, measure

OUTPUT_LIMIT_BYTES = 16 << 20
"""Of one command. A kernel log is 1 to 2 MB; what writes more than this is broken, and half of it would mislead."""

KMSG = "/dev/kmsg"
_RECORD_BYTES = 8192
"""The longest that the kernel gives in one read (CONSOLE_EXT_LOG_MAX)."""
_CHUNK = 1 << 16
_KILL_LIMIT_S = 0.5
_running: Set[int] = set()
_starting: Set[int] = set()
"""Threads that start a command. One hangs there whose program lies on a server that is gone: it holds up no other."""
_started = threading.Condition()


class Local:
    mock: Optional[Mock] = None
    again: Tuple[str, ...] = ("brctl.node.host.local:Local",)

    def __init__(self) -> None:
        self._libraries: Tuple[Library, ...] = ()
        self._loading = threading.Lock()
        self._kept = measure.KeptFiles()
        self._ethtool = measure.Ethtool()

    def reread(self, path: str) -> Optional[str]:
        deadline.calling("read " + path)
        return self._kept.read(path)

    def space(self, path: str) -> Optional[Space]:
        deadline.calling("statvfs " + path)
        return measure.space(path)

    def ethtool_statistics(self, interface: str) -> Optional[Mapping[str, int]]:
        deadline.calling("ethtool -S " + interface)
        return self._ethtool.statistics(interface)

    def round_trip(self, address: str, port: int, limit_s: float) -> Optional[float]:
        deadline.calling("connect to {} port {}".format(address, port), limit_s)
        return measure.round_trip(address, port, limit_s)

    def echo(self, address: str, port: int, nonce: bytes, limit_s: float) -> bool:
        from . import pair  # of no use to the others

        return pair.serve(address, port, nonce, limit_s)

    def echo_from(self, own: str, peer: str, port: int, nonce: bytes, mtu: int, limit_s: float) -> PairSeen:
        from . import pair  # of no use to the others

        return pair.probe(own, peer, port, nonce, mtu, limit_s)

    def read(self, path: str) -> Optional[str]:
        deadline.calling("read " + path)
        if path == KMSG:
            return _read_records(path)
        try:
            with open(path, "rb", buffering=0, opener=files.opener) as file:
                return file.read().decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError, ProcessLookupError):  # the last: a /proc/PID that just ended
            return None

    def listdir(self, path: str) -> Optional[Tuple[str, ...]]:
        deadline.calling("list " + path)
        try:
            return tuple(sorted(os.listdir(path)))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def readlink(self, path: str) -> Optional[str]:
        deadline.calling("readlink " + path)
        try:
            return os.readlink(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.EINVAL:  # there, but no link
                return None
            raise

    def write(self, path: str, text: str) -> None:
        deadline.calling("write " + path)
        data = text.encode()
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.EIO, "only a part was written", path)
        finally:
            os.close(descriptor)

    def denies(self, path: str) -> Optional[int]:
        deadline.calling("stat " + path)
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            return errno.EROFS
        for_nobody = not os.stat(path).st_mode & 0o222
        # In a user namespace, root is not the owner of what is the host's.
        return errno.EACCES if for_nobody or (os.geteuid() == 0 and not os.access(path, os.W_OK)) else None

    def read_bytes(self, path: str) -> Optional[bytes]:
        deadline.calling("read " + path)
        return files.read(path)

    def replace(self, path: str, data: bytes, mode: int = 0o644) -> None:
        deadline.calling("write " + path)
        files.replace(path, data, mode)

    def remove(self, path: str) -> None:
        deadline.calling("remove " + path)
        files.remove(path)

    def append(self, path: str, data: bytes) -> None:
        deadline.calling("write " + path)
        files.append(path, data)

    def lock(self, path: str, holder: str) -> ContextManager[None]:
        return files.lock(path, holder)

    def run(self, argv: Sequence[str], limit_s: float = COMMAND_LIMIT_S) -> Optional[Completed]:
        # Whoever waits for this thread has patience enough for the command to be killed first.
        deadline.calling(" ".join(argv), limit_s + 2 * _KILL_LIMIT_S)
        try:
            process = _start(argv)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            return _collect(process, " ".join(argv), limit_s)
        except BaseException:
            _kill(process)
            raise
        finally:
            _running.discard(process.pid)

    def accelerators(self) -> Tuple[Library, ...]:
        with self._loading:  # each request has a thread of its own
            self._libraries = self._libraries or libraries(self.run)
        return self._libraries


def _read_records(path: str) -> Optional[str]:
    """The kernel log as it is now: one record a read, the oldest first, and not those that are yet to come.

    None where there is none. Raises OSError.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    found = bytearray()
    try:
        while True:
            if len(found) > OUTPUT_LIMIT_BYTES:  # the newest come last, and must not be what is missing
                raise OSError(errno.EFBIG, "holds more than {} MiB".format(OUTPUT_LIMIT_BYTES >> 20), path)
            try:
                record = os.read(descriptor, _RECORD_BYTES)
            except BrokenPipeError:  # overwritten while we read; the next read goes on after the gap
                continue
            if not record:
                break
            found += record
    except BlockingIOError:  # that was the last one
        pass
    finally:
        os.close(descriptor)
    return found.decode("utf-8", "replace")


def kill_commands() -> None:
    """Kill every command that still runs, with all that it started, and let no other start: the process ends now."""
    _started.acquire()  # never released
    _started.wait_for(lambda: not _starting, _KILL_LIMIT_S)
    for pid in tuple(_running):
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)


def _start(argv: Sequence[str]) -> "subprocess.Popen[bytes]":
    me = threading.get_ident()
    with _started:
        _starting.add(me)
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,
        )
        _running.add(process.pid)
    finally:
        with _started:
            _starting.discard(me)
            _started.notify_all()
    return process


def _environment() -> Dict[str, str]:
    # cron's PATH has neither of the sbin folders, where ethtool and its kind live.
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    return dict(os.environ, LC_ALL="C", PATH=path)


def _collect(process: "subprocess.Popen[bytes]", name: str, limit_s: float) -> Completed:
    """Read both outputs to their end, then the exit status. Raises HungError, OSError: too much output."""
    end = time.monotonic() + limit_s
    assert process.stdout and process.stderr  # noqa: PT018, S101  # for the type checker
    outputs = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    with process.stdout, process.stderr, selectors.DefaultSelector() as selector:
        for pipe in outputs:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, end - time.monotonic()))
            if not ready:
                raise deadline.HungError(name, limit_s)
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK)
                outputs[key.fd] += chunk
                if not chunk:
                    selector.unregister(key.fd)
                if len(outputs[key.fd]) > OUTPUT_LIMIT_BYTES:
                    raise OSError(errno.EFBIG, "wrote more than {} MiB".format(OUTPUT_LIMIT_BYTES >> 20), name)
    try:
        returncode = process.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise deadline.HungError(name, limit_s) from None
    stdout, stderr = (output.decode("utf-8", "replace") for output in outputs.values())
    return Completed(returncode, stdout, stderr)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End the command and all that it started; not waited for beyond a moment, as one stuck in a driver stays."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_KILL_LIMIT_S)
