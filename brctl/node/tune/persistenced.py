"""nvidia-persistenced: the daemon that keeps the driver loaded, and what its unit makes of persistence mode at boot."""

from typing import NamedTuple, Optional

from ..host import Host
from .drop_ins import paths

NAME = "nvidia-persistenced.service"
DROP_IN = "/etc/systemd/system/{}.d/99-zz-brctl.conf".format(NAME)
_FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
            "/lib/systemd/system")  # fmt: skip
"""Where systemd looks for units, the first first (systemd.unit(5))."""
_ON, _OFF = "--persistence-mode", "--no-persistence-mode"


class Unit(NamedTuple):
    command: str
    """Its ExecStart."""
    source: str
    """File that has it: the unit, or the drop-in that overrides it."""

    @property
    def on(self) -> bool:
        """Persistence mode is the daemon's default (nvidia-persistenced(1))."""
        return _OFF not in self.command.split()


def read(host: Host) -> Optional[Unit]:
    """None where the daemon is not installed. Raises OSError."""
    found: Optional[Unit] = None
    for folder in _FOLDERS:
        path = "{}/{}".format(folder, NAME)
        command = _last_command(host.read(path) or "")
        if command:
            found = Unit(command, path)
            break
    if found is None:
        return None
    for path in paths(host, ["{}/{}.d".format(folder, NAME) for folder in _FOLDERS], ".conf"):
        command = _last_command(host.read(path) or "")
        found = Unit(command, path) if command else found
    return found


def with_mode(unit: Unit, on: bool) -> str:
    """The drop-in that makes persistence mode be on or off. An empty ExecStart takes the unit's own away first."""
    words = [word for word in unit.command.split() if word not in (_ON, _OFF)]
    words.insert(1, _ON if on else _OFF)
    written = "# Written by brctl: `brctl tune rollback` takes it away.\n[Service]\nExecStart=\nExecStart={}\n"
    return written.format(" ".join(words))


def _last_command(text: str) -> Optional[str]:
    """Of a unit or drop-in, with lines that go on joined."""
    command = None
    for line in text.replace("\\\n", " ").split("\n"):
        key, equals, value = line.partition("=")
        if equals and key.strip() == "ExecStart" and value.strip():
            command = value.strip()
    return command
