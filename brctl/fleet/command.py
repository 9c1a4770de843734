"""Commands of the admin host: the schedulers' own tools. argv lists, LC_ALL=C, a time limit; nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import IO, NamedTuple


class CommandFailedError(Exception):
    """A command could not do what it was started for."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class Output(NamedTuple):
    code: int | None
    """None: it had not ended in time, and was killed."""
    out: str
    err: str


def run(argv: Sequence[str], limit_s: float) -> str:
    """What a command prints. Raises CommandFailedError when it fails, takes too long or is not installed."""
    (output,) = run_all([argv], limit_s)
    if output.code == 0:
        return output.out
    name = " ".join(argv[:3])
    if output.code is None:
        raise CommandFailedError(f"`{name}` did not answer within {limit_s:g} s")
    raise CommandFailedError(f"`{name}`: {last_line(output.err) or f'exit code {output.code}'}")


def run_all(argvs: Sequence[Sequence[str]], limit_s: float) -> list[Output]:
    """Run commands at once, and give what came of each, in order. Raises CommandFailedError where one cannot start."""
    end = time.monotonic() + limit_s
    children: list[_Child] = []
    try:
        for argv in argvs:
            children.append(_Child(argv))  # noqa: PERF401  # those that have started must be known to the `finally`
        return [child.output(end) for child in children]
    finally:
        for child in children:
            child.end()


def last_line(text: str) -> str:
    """The last line that says something: there the tools name the error."""
    return text.strip().rpartition("\n")[2].strip()


class _Child:
    """In a session of its own: Ctrl-C at the terminal reaches us alone, and we end the child with all its children."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115  # closed by `end`
        try:
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=self.out,
                stderr=self.err,
                env={**os.environ, "LC_ALL": "C"},
                start_new_session=True,
            )
        except BaseException as error:
            self._close()
            if isinstance(error, OSError):
                raise _cannot_start(argv[0], error) from None
            raise

    def output(self, end: float) -> Output:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0, end - time.monotonic()))
        return Output(self.process.returncode, _read(self.out), _read(self.err))

    def end(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._close()

    def _close(self) -> None:
        self.out.close()
        self.err.close()


def _cannot_start(program: str, error: OSError) -> CommandFailedError:
    if isinstance(error, FileNotFoundError):
        return CommandFailedError(
            f"{program} is not installed here", f"run brctl where {program} is, or put it into PATH"
        )
    return CommandFailedError(f"cannot start {program}: {error.strerror}")


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
