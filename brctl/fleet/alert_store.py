"""What is kept of alerts on the admin host: how they stand, what is silenced, what was done.

Under $BRCTL_STATE_DIR/alerts, a folder for each config (and one for its mocks): alerts.json, silences.json,
history.jsonl. One that cannot be read, or is damaged, is an error, and never nothing: what is silenced or begun would
be forgotten. It is not written over either: a silence that is added keeps the damaged file aside.
"""

import contextlib
import errno
import fcntl
import fnmatch
import hashlib
import os
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from ..mock.overlay import state_folder
from ..mock.regular import read_regular
from ..node.alert_facts import ActionRecord, Alert, Label
from ..node.codec import InvalidReportError, dumps, loads

_MOST_BYTES = 4 << 20
"""Of the history; what is older stands in history.jsonl.1, and what is older than that nowhere."""
_NOT_THERE = (FileNotFoundError, NotADirectoryError)
LONGEST_SILENCE_S = 30 * 86400.0
K = TypeVar("K")


class Silence(NamedTuple):
    """Alerts that are evaluated and shown, and nothing more."""

    id: str
    until: float
    """Seconds since the epoch."""
    rule: str
    """A shell pattern: `gpu-*`."""
    nodes: tuple[str, ...]
    """None: all."""
    labels: tuple[Label, ...]
    """All of these; the values are shell patterns."""
    comment: str
    who: str

    def holds(self, alert: Alert, now: float) -> bool:
        return (
            now < self.until
            and fnmatch.fnmatchcase(alert.rule, self.rule)
            and (not self.nodes or alert.node in self.nodes)
            and all(fnmatch.fnmatchcase(alert.label(name) or "", value) for name, value in self.labels)
        )


class _Silences(NamedTuple):
    silences: tuple[Silence, ...] = ()


class Kept(NamedTuple):
    """What goes on after a restart."""

    alerts: tuple[Alert, ...] = ()
    open: tuple[ActionRecord, ...] = ()
    """What was begun and is not undone."""


class History(NamedTuple):
    records: tuple[ActionRecord, ...]
    """Oldest first; of each action its last record."""
    unreadable: int
    """Lines that are none: a disk was full, or the file is damaged."""


class DamagedError(OSError):
    """A file of ours that holds something else."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            errno.EILSEQ, "damaged, or of another version; it is begun anew where it is moved away", str(path)
        )


class BusyError(Exception):
    """Another one acts on these alerts."""


class Store:
    def __init__(self, config: Path | None, mocked: bool) -> None:
        about = f"{config.resolve() if config else ''}\n{mocked}"
        self._folder = Path(state_folder(), "alerts", hashlib.sha256(about.encode()).hexdigest()[:12])
        self._history = self._folder / "history.jsonl"

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Be the only one that acts meanwhile. Raises BusyError, OSError."""
        self._folder.mkdir(0o700, parents=True, exist_ok=True)
        with (self._folder / "acting").open("a+") as holder:
            try:
                fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder.seek(0)
                who = holder.read(100).strip()
                text = f"another brctl monitor acts on these alerts{f' (process {who})' if who else ''}"
                raise BusyError(text) from None
            with _naming(self._folder / "acting"):
                holder.truncate(0)
                holder.write(f"{os.getpid()}\n")
                holder.flush()
            yield

    def kept(self) -> Kept:
        """Raises OSError."""
        return self._read("alerts.json", Kept) or Kept()

    def keep(self, kept: Kept) -> None:
        """Raises OSError."""
        self._write("alerts.json", dumps(kept))

    def silences(self, now: float) -> tuple[Silence, ...]:
        """Those that are not over. Raises OSError."""
        found = self._read("silences.json", _Silences) or _Silences()
        return tuple(silence for silence in found.silences if silence.until > now)

    def silence(self, added: Silence, now: float) -> Path | None:
        """Where the silences until now are kept aside, as their file is damaged. Raises OSError."""
        with self._lock():
            before: tuple[Silence, ...] = ()
            aside = None
            try:
                before = self.silences(now)
            except DamagedError as error:
                aside = self._folder / f"silences.json.damaged-{new_id()}"
                Path(error.filename).replace(aside)
            self._write("silences.json", dumps(_Silences((*before, added))))
            return aside

    def unsilence(self, name: str, now: float) -> bool:
        """Whether there was such a one. Raises OSError."""
        with self._lock():
            before = self.silences(now)
            after = tuple(silence for silence in before if silence.id != name)
            self._write("silences.json", dumps(_Silences(after)))
            return len(after) < len(before)

    def note(self, record: ActionRecord) -> None:
        """At the end of the history, on disk when it returns. Raises OSError."""
        with self._lock():
            with contextlib.suppress(FileNotFoundError):
                if self._history.stat().st_size > _MOST_BYTES:
                    self._history.replace(f"{self._history}.1")
            with _naming(self._history), self._history.open("ab") as file:
                file.write(b"\n" + dumps(record).encode("ascii"))  # first: what a full disk cut short stays alone
                file.flush()
                os.fsync(file.fileno())

    def history(self) -> History:
        """Raises OSError."""
        found: dict[str, ActionRecord] = {}
        unreadable = 0
        for path in (Path(f"{self._history}.1"), self._history):
            for record in _lines(path):
                if record:
                    found[record.id] = record
                unreadable += record is None
        return History(tuple(sorted(found.values(), key=lambda record: record.at)), unreadable)

    def _read(self, name: str, kind: type[K]) -> K | None:
        try:
            return loads(kind, read_regular(str(self._folder / name)))
        except _NOT_THERE:
            return None
        except InvalidReportError:
            raise DamagedError(self._folder / name) from None

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        self._folder.mkdir(0o700, parents=True, exist_ok=True)
        with (self._folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, name: str, text: str) -> None:
        self._folder.mkdir(0o700, parents=True, exist_ok=True)
        descriptor, fresh = tempfile.mkstemp(dir=self._folder)  # 0600
        try:
            with _naming(self._folder / name), os.fdopen(descriptor, "w") as file:
                file.write(text)
                file.flush()
                os.fsync(descriptor)
            Path(fresh).replace(self._folder / name)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(fresh).unlink()
            raise


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """An error of writing says which file: the system names those alone that could not be opened."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def _lines(path: Path) -> Iterator[ActionRecord | None]:
    """None: a line that is no record, as the last one of a full disk is cut short."""
    try:
        lines = read_regular(str(path)).splitlines()
    except _NOT_THERE:
        return
    yield from map(_record, filter(bytes.strip, lines))


def _record(line: bytes) -> ActionRecord | None:
    try:
        return loads(ActionRecord, line)
    except InvalidReportError:
        return None


def new_id() -> str:
    """Of a silence or an action: `7f3a09c2`."""
    return secrets.token_hex(4)


def undone(begun: ActionRecord, at: float, how: str = "cleared") -> ActionRecord:
    """`at`: seconds since the epoch."""
    return begun._replace(undone_at=at, undone=how)


def silenced(silences: Sequence[Silence], alert: Alert, now: float) -> bool:
    return any(silence.holds(alert, now) for silence in silences)
