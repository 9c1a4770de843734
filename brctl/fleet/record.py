"""Which nodes failed when a command last asked them: one small file a command, under the state folder.

It only ever narrows a set of nodes that the caller named, so a file that somebody forged, or that is broken, can make
nodes be left out, and no other node be touched.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from ..mock.overlay import state_folder
from ..mock.regular import read_regular
from ..node.host import files


class Record:
    """Of one command and one cluster: what was asked under another config, or of mocked machines, is another's."""

    def __init__(self, command: str, config: Path | None, mocked: bool) -> None:
        about = f"{config.resolve() if config else ''}\n{mocked}"
        name = f"{command.replace(' ', '-')}-{hashlib.sha256(about.encode()).hexdigest()[:12]}.json"
        self._path = Path(state_folder(), "failed", name)

    def failed(self) -> frozenset[str]:
        """The nodes that gave no Report when they were last asked; none where nothing is known."""
        try:
            plain = json.loads(read_regular(str(self._path)))
        except (OSError, ValueError, RecursionError):  # what cannot be read is written anew by the next run
            return frozenset()
        nodes = plain.get("failed") if isinstance(plain, dict) else None
        return frozenset(name for name in nodes if isinstance(name, str)) if isinstance(nodes, list) else frozenset()

    def note(self, failed: Mapping[str, bool]) -> None:
        """Keep what came of a run, by node; those that were not asked stay as they were. Raises OSError."""
        before = self.failed()
        now = (before - failed.keys()) | {node for node, it_did in failed.items() if it_did}
        if now != before:
            self._write(sorted(now))

    def _write(self, nodes: list[str]) -> None:
        self._path.parent.mkdir(0o700, parents=True, exist_ok=True)
        files.replace(str(self._path), json.dumps({"failed": nodes}).encode(), 0o600)
