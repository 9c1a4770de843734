"""What a caller tells the engine, and what it hears while the engine works."""

from __future__ import annotations

from typing import NamedTuple

from ..node.request import Request


class Order(NamedTuple):
    """One question to one node."""

    node: str
    request: Request
    mock: str | None = None
    """The machine that stands in for the node, as `--mock` names it; nothing is then sent anywhere."""


class Limits(NamedTuple):
    """Seconds, and nodes at a time. Each layer names itself when it is exceeded."""

    fanout: int = 64
    connect_s: float = 10.0
    """To reach sshd, at each hop; ssh itself holds it. Logging in may take as long again."""
    start_s: float = 60.0
    """From the node's shell to its agent, which includes the transfer of the bundle."""
    answer_s: float = 60.0
    """From the request to the Report."""
    run_s: float | None = None
    """The whole run; None: as long as the other limits allow."""

    @property
    def shell_s(self) -> float:
        """For what ssh does not limit: the log-in, a kept connection that is dead."""
        return 2 * self.connect_s + 5

    def whole_s(self, nodes: int) -> float:
        """The most that a run over so many nodes can take."""
        waves = -(-nodes // self.fanout) + 2
        return self.run_s or waves * (self.shell_s + self.start_s + self.answer_s)


class Progress(NamedTuple):
    """How far a run is, in nodes."""

    total: int
    done: int
    failed: int
    """Of those done: without a Report."""
    running: int
    slowest: str | None
    """The node that has run longest of those that still do."""
    slowest_s: float
    failure: str | None = None
    """The last node that failed, and the kind of its error."""

    def after(self, total: int, done: int, failed: int) -> Progress:
        """The same in a run of `total` nodes, of which others were `done` before."""
        return self._replace(total=total, done=self.done + done, failed=self.failed + failed)
