"""Foreseen: a host with the files as they will be, so that one Setting plans on what another is about to write."""

from typing import Any, Dict, Optional, Sequence, Tuple

from ..accel import Library
from ..host import COMMAND_LIMIT_S, Completed, Host


class Foreseen:
    """Reads as the host, but for the files in `values`, which are latin-1 as in a Write. It cannot be written to."""

    def __init__(self, host: Host) -> None:
        self.mock, self.again = host.mock, host.again
        self.values: Dict[str, Optional[str]] = {}
        self._host = host

    def read(self, path: str) -> Optional[str]:
        if path not in self.values:
            return self._host.read(path)
        data = self.read_bytes(path)
        return None if data is None else data.decode("utf-8", "replace")

    def read_bytes(self, path: str) -> Optional[bytes]:
        if path not in self.values:
            return self._host.read_bytes(path)
        value = self.values[path]
        return None if value is None else value.encode("latin-1")

    def listdir(self, path: str) -> Optional[Tuple[str, ...]]:
        there = self._host.listdir(path)
        found = set(there or ())
        for file, value in self.values.items():
            folder, _, name = file.rpartition("/")
            if folder == path.rstrip("/"):
                found = found - {name} if value is None else found | {name}
        return tuple(sorted(found)) if found else there

    def readlink(self, path: str) -> Optional[str]:
        return self._host.readlink(path)

    def denies(self, path: str) -> Optional[int]:
        return self._host.denies(path)

    def run(self, argv: Sequence[str], limit_s: float = COMMAND_LIMIT_S) -> Optional[Completed]:
        return self._host.run(argv, limit_s)

    def accelerators(self) -> Tuple[Library, ...]:
        return self._host.accelerators()

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("a Setting plans, and never writes")

    write = replace = remove = append = lock = _refuse
    reread = space = ethtool_statistics = round_trip = echo = echo_from = _refuse  # nor does it sample
