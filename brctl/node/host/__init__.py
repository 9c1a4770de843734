"""Host: the one door to a machine. Nothing else in node/ touches files, processes or the network of the machine.

Local is this machine; Machine is one from a JSON file (composed or recorded).
"""

from typing import NamedTuple, Optional, Protocol, Sequence, Tuple

from ..accel import Library

COMMAND_LIMIT_S = 10.0


class Completed(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class Host(Protocol):
    mock: Optional[str]
    """The name of the mocked machine, None on a real one."""

    def read(self, path: str) -> Optional[str]:
        """The text of a file, None where there is none. Raises OSError: there, but could not be read.

        Undecodable bytes become U+FFFD.
        """

    def listdir(self, path: str) -> Optional[Tuple[str, ...]]:
        """Sorted names in a folder, None where there is none. Raises OSError."""

    def readlink(self, path: str) -> Optional[str]:
        """Where a symbolic link leads, as written in it; None where there is no such link. Raises OSError."""

    def run(self, argv: Sequence[str], limit_s: float = COMMAND_LIMIT_S) -> Optional[Completed]:
        """Run a command with LC_ALL=C and no stdin; None where it is not installed. Raises HungError, OSError."""

    def accelerators(self) -> Tuple[Library, ...]:
        """The vendor libraries to ask for accelerators, loaded or not."""
