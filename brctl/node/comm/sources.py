"""What a machine says about the communication environment, beside its Inventory."""

from typing import Optional

from ..facts import Inventory
from ..host import Host
from ..probe.route import default_route
from ..report import Environment
from ..request import Communication, Expected
from .rendering import render
from .variables import concerns

CONF = "/etc/nccl.conf"


def environment(host: Host, seen: Inventory, want: Expected, comm: Communication) -> Environment:
    """Rendered for the machine, with what it has now. Raises OSError: a file or the process cannot be read."""
    found = render(seen, want, comm, default_route(host))
    process = None if comm.pid is None else of_process(host, comm.pid)
    return found._replace(configured=host.read(CONF), process=process)


def of_process(host: Host, pid: int) -> Optional[str]:
    """What of a process's environment concerns communication, and nothing else of it: it holds secrets. None: there is
    no such process. Raises OSError."""
    text = host.read("/proc/{}/environ".format(pid))
    if text is None:
        return None
    return "\n".join(pair for pair in text.split("\0") if concerns(pair.partition("=")[0]))
