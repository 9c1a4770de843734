"""A process that outlives whoever starts it, and notices when he ends: it holds the other end of a pipe.

It is started outside the session and, where systemd runs, outside the control group of its starter, so that nothing
that ends the one ends the other. The pipe has a name, as systemd hands on no descriptors of ours.
"""

import contextlib
import errno
import os
import select
import subprocess
import sys
import tempfile
import time
from typing import Optional, Sequence

from ..deadline import HungError
from . import Host

_START = "import sys; sys.path[:0] = sys.argv[1].split(':'); from {} import main; main()"
_READY_S = 20.0
"""For a Python to start and load all that it needs, on a machine that is busy."""
_GLANCE_S = 0.02
_SYSTEMD = ("systemd-run", "--quiet", "--collect", "--property=OOMScoreAdjust=-500", "--")
_SLURM = "it runs in a step of Slurm, which ends all that is in it"
_POD = "it runs in a pod, which ends all that is in it"
_STEPS = (("/slurm", _SLURM), ("SLURM_STEP_ID=", _SLURM), ("/kubepods", _POD), ("KUBERNETES_SERVICE_HOST=", _POD))
"""Of /proc/self/cgroup, and of the environment where a namespace hides that: who ends us, and what that means."""


class NotStartedError(Exception):
    """There is no such process; the message says why."""


class Pipe:
    """The end of the one who started it. While it is open, he is there."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def say(self, word: str) -> None:
        """Raises OSError: the other one is gone."""
        os.write(self._descriptor, (word + "\n").encode("ascii"))

    def close(self) -> None:
        os.close(self._descriptor)


def dies_with_us(host: Host) -> Optional[str]:
    """Why a process that is started here would not outlive us; None: it would. Raises OSError."""
    if host.mock or _has_systemd(host):
        return None
    told = "".join(host.read("/proc/self/" + name) or "" for name in ("cgroup", "environ"))
    return next((reason for part, reason in _STEPS if part in told), None)


def start(host: Host, module: str, arguments: Sequence[str]) -> Pipe:
    """Run `main` of the module, and return when it is ready: when it has opened the pipe that its first argument names.

    Raises NotStartedError.
    """
    folder = tempfile.mkdtemp(prefix="brctl-")
    path = os.path.join(folder, "pipe")
    try:
        os.mkfifo(path, 0o600)
        command = [sys.executable, "-I", "-S", "-c", _START.format(module), _paths(), path, *arguments]
        if not host.mock and _has_systemd(host):
            _by_systemd(host, command)
        else:
            _by_itself(command)
        return Pipe(_opened(path))
    except OSError as error:
        raise NotStartedError("{}: {}".format(error.filename or command[0], error.strerror)) from None
    except HungError as error:  # one that is started after all finds no pipe, and ends
        raise NotStartedError(str(error)) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
        os.rmdir(folder)


def heard(descriptor: int, limit_s: float) -> Optional[str]:
    """What was said within the limit; None: nothing was. Empty: the one who started us has ended."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(max(0.0, limit_s) * 1000):
        return None
    return os.read(descriptor, select.PIPE_BUF).decode("ascii")


def opened(path: str) -> int:
    """The descriptor of our end, which tells the one who started us that we are ready. Until he has opened his, poll(2)
    says nothing of its end. Raises OSError."""
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def _has_systemd(host: Host) -> bool:
    return host.listdir("/run/systemd/system") is not None and host.read("/proc/1/comm") == "systemd\n"


def _by_systemd(host: Host, command: Sequence[str]) -> None:
    answer = host.run([*_SYSTEMD, *command])
    if answer is None or answer.returncode:
        why = answer.stderr.strip() if answer else "it is not installed"
        raise NotStartedError("systemd-run: {}".format(why))


def _by_itself(command: Sequence[str]) -> None:
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(
        command, stdin=nothing, stdout=nothing, stderr=nothing, cwd="/", start_new_session=True, close_fds=True
    )
    process.returncode = 0  # tells Popen that nobody will wait


def _paths() -> str:
    """Where modules lie, as another process names it: a bundle that is in no file is an open descriptor of ours."""
    own = "/proc/{}/".format(os.getpid())
    return ":".join(path.replace("/proc/self/", own) for path in sys.path if path)


def _opened(path: str) -> int:
    """Our end, once the other one is open. Raises NotStartedError."""
    end = time.monotonic() + _READY_S
    while time.monotonic() < end:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            os.set_blocking(descriptor, True)
            return descriptor
        except OSError as error:
            if error.errno != errno.ENXIO:  # nobody reads it yet
                raise
        time.sleep(_GLANCE_S)
    raise NotStartedError("it was not ready within {:g} s".format(_READY_S))
