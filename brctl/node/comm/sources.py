"""What a machine says about the communication environment, beside its Inventory."""

from typing import Optional

from ..facts import Inventory
from ..host import Host
from ..report import Environment
from ..request import Communication, Expected
from .rendering import render
from .variables import concerns

CONF = "/etc/nccl.conf"
_FLAG_UP, _DEFAULT = 0x1, "00000000"


def environment(host: Host, seen: Inventory, want: Expected, comm: Communication) -> Environment:
    """Rendered for the machine, with what it has now. Raises OSError: a file or the process cannot be read."""
    found = render(seen, want, comm, default_route(host.read("/proc/net/route") or ""))
    process = None if comm.pid is None else of_process(host, comm.pid)
    return found._replace(configured=host.read(CONF), process=process)


def default_route(text: str) -> Optional[str]:
    """The interface of the IPv4 default route with the least metric, in /proc/net/route."""
    rows = [line.split() for line in text.splitlines()[1:]]
    found = [
        (int(row[6]), row[0])
        for row in rows
        if len(row) > 7 and row[1] == row[7] == _DEFAULT and row[6].isdigit() and int(row[3], 16) & _FLAG_UP
    ]
    return min(found)[1] if found else None


def of_process(host: Host, pid: int) -> Optional[str]:
    """What of a process's environment concerns communication, and nothing else of it: it holds secrets. None: there is
    no such process. Raises OSError."""
    text = host.read("/proc/{}/environ".format(pid))
    if text is None:
        return None
    return "\n".join(pair for pair in text.split("\0") if concerns(pair.partition("=")[0]))
