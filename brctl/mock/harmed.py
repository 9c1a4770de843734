"""A mocked machine while it is read: what faults make of its files, and counters that grow."""

import os
import re
import time
from typing import Any, Callable, ContextManager, Dict, Mapping, Optional, Sequence

from ..node.host import COMMAND_LIMIT_S, Completed
from ..node.host.machine import Machine
from ..node.host.machine import Overlay as Writes
from .harm import FileChange, Harm


class HarmedMachine(Machine):
    """One whose commands print counters that grow."""

    def __init__(
        self, plain: Any, mock: str, load_accelerators: Callable[[], None], overlay: Writes, harm: Harm
    ) -> None:
        super().__init__(plain, mock, load_accelerators, overlay)
        self.idle = harm.idle
        """A line for each fault that finds nothing to act on, and so changes nothing."""
        self._growths = harm.growths
        self._runs: Dict[str, int] = {}
        self._began = time.monotonic()

    def run(self, argv: Sequence[str], limit_s: float = COMMAND_LIMIT_S) -> Optional[Completed]:
        answer, command = super().run(argv, limit_s), " ".join(argv)
        number = self._runs[command] = self._runs.get(command, 0) + 1
        seconds = time.monotonic() - self._began
        for growth in self._growths:
            if answer and growth.argv == command and growth.after < number:
                for name, rate in growth.per_second.items():
                    answer = answer._replace(stdout=_grown(answer.stdout, name, int(rate * seconds)))
        return answer


class HarmedFiles:
    """An overlay under which files are as faults make them. What was written goes before that: it mends them."""

    def __init__(
        self, overlay: Writes, files: Dict[str, Any], changes: Sequence[FileChange], busy: bool = False
    ) -> None:
        self._overlay = overlay
        self._files = files
        self._changes = changes
        self._grown = _busy() if busy else None
        self._reads: Dict[str, int] = {}
        self._began = time.monotonic()

    def read(self, path: str) -> Optional[str]:
        """Raises MockError, and OSError where a fault makes that of a file."""
        written = self._overlay.read(path)
        if written is not None:
            return written
        if not (self._changes or self._grown):
            return None
        number = self._reads[path] = self._reads.get(path, 0) + 1
        text = None
        for change in self._changes:
            if change.path == path and change.after < number:
                if isinstance(change.new, int):
                    raise OSError(change.new, os.strerror(change.new), path)
                if change.per_second:
                    number_there = int(self._files[path] if text is None else text)
                    text = "{}\n".format(number_there + int(change.per_second * (time.monotonic() - self._began)))
                    continue
                before = (self._files[path] if text is None else text) if change.appended else ""
                text = before + change.new
        return self._grown(path, self._written, time.monotonic()) if self._grown and text is None else text

    def _written(self, path: str) -> Optional[str]:
        text = self._files.get(path)
        return text if isinstance(text, str) else None

    def write(self, path: str, text: Optional[str]) -> None:
        self._overlay.write(path, text)

    def changed(self) -> Mapping[str, Optional[str]]:
        return self._overlay.changed()

    def lock(self, path: str, holder: str) -> ContextManager[None]:
        return self._overlay.lock(path, holder)


def _busy() -> "Callable[[str, Callable[[str], Optional[str]], float], Optional[str]]":
    from .busy import grown  # its patterns take long to compile

    return grown


def _grown(text: str, name: str, number: int) -> str:
    return re.sub(r"(?m)^( *{}: )(\d+)$".format(name), lambda found: found[1] + str(int(found[2]) + number), text)
