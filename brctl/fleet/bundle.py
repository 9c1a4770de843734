"""The bundle: all that a node needs and does not have, as one zip that is the same wherever it is made.

It holds brctl/node, pynvml and psutil. Its name is its SHA-256. It is stored without compression, so that naming it
costs little in every run (15 ms); it is deflated as a whole for the few nodes that lack it (1.3 MB -> 320 kB).
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the zip format has no earlier date
_PSUTIL = ("__init__.py", "_common.py", "_ntuples.py", "_pslinux.py", "_psposix.py", "_psutil_linux*.so")
"""What of psutil Linux needs. The compiled part is this machine's: on a node where it does not load, or where this
machine has none, psutil cannot be imported, and what it would have told is unsupported."""


class Bundle:
    """Made of what is installed here."""

    def __init__(self) -> None:
        self._archive = _archive(dict(_files()))
        self.digest = hashlib.sha256(self._archive).hexdigest()

    @cached_property
    def transfer(self) -> bytes:
        """As a node takes it from its stdin: ten digits that say how long it is, then the deflated zip."""
        deflated = zlib.compress(self._archive)
        return b"%010d" % len(deflated) + deflated


def _files() -> Iterator[tuple[str, bytes]]:
    """Name in the bundle, content."""
    root = Path(__file__).parents[1]
    for path in (root / "__init__.py", *(root / "node").rglob("*.py")):
        yield f"brctl/{path.relative_to(root)}", path.read_bytes()
    pynvml, psutil = find_spec("pynvml"), find_spec("psutil")
    if pynvml and pynvml.origin:
        yield "pynvml.py", Path(pynvml.origin).read_bytes()
    for folder in (psutil.submodule_search_locations if psutil else None) or ():
        for pattern in _PSUTIL:
            for path in Path(folder).glob(pattern):
                yield f"psutil/{path.name}", path.read_bytes()


def _archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = 0o600 << 16
            entry.create_system = 3  # Unix, wherever it is made
            archive.writestr(entry, files[name])
    return buffer.getvalue()
