"""The ssh_config of a run: what brctl insists on, what the config says, then the user's own file and the system's.

ssh takes the first value that it finds, so what stands above wins. Given with -F, which also reaches the ssh that
ProxyJump starts; ssh then reads neither the user's file nor the system's by itself, so both are included.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

from ..node.host import files
from .transport import Transport, TransportError

MOST_FOLDER = 45
"""Bytes of the sockets' folder: sun_path holds 108, `/%C` takes 41, and ssh adds 17 while it makes a socket."""

_ALWAYS = (
    ("BatchMode", "yes"),
    ("ForwardAgent", "no"),
    ("ForwardX11", "no"),
    ("ClearAllForwardings", "yes"),
    ("RequestTTY", "no"),
    ("StrictHostKeyChecking", "yes"),
)
_UNLESS_SAID = (
    ("ControlMaster", "auto"),
    ("ControlPersist", "60"),  # 256 nodes then cost 2.4 s of CPU instead of 22
    ("ServerAliveInterval", "15"),  # a kept connection to a node that has gone is noticed
    ("ServerAliveCountMax", "2"),
    ("UpdateHostKeys", "no"),  # many at once would write to known_hosts
    ("LogLevel", "INFO"),  # a failure is told by what ssh says of it
)
_HOP = re.compile(r"(?:[^@,]*@)?\[?([^],:@]*)\]?(?::\d+)?")


def render(transport: Transport, connect_s: float, folder: Path) -> str:
    """The text of the file. User and port are not in it: they are the nodes' alone, and the hops read it too."""
    limit = ("ConnectTimeout", str(max(1, round(connect_s))))
    options = (*_ALWAYS, *transport.options, *_UNLESS_SAID, ("ControlPath", f"{folder}/%C"), limit)
    lines = ["Host *", *(f"  {name} {value}" for name, value in options)]
    if transport.proxy_jump:
        but = "".join(f" !{hop}" for hop in hops(transport.proxy_jump))  # a hop must not jump through itself
        lines += [f"Host *{but}", f"  ProxyJump {transport.proxy_jump}"]
    own = transport.ssh_config or "~/.ssh/config"
    return "\n".join([*lines, "Host *", f"  Include {own}", "  Include /etc/ssh/ssh_config", ""])


def hops(proxy_jump: str) -> list[str]:
    """The hosts of a ProxyJump: `admin@login:2222,gate` -> login, gate."""
    matches = (_HOP.fullmatch(hop) for hop in proxy_jump.split(","))
    return [match.group(1) for match in matches if match and match.group(1)]


def write(transport: Transport, connect_s: float) -> Path:
    """Write it to where the sockets of the kept connections lie. Raises TransportError."""
    folder = socket_folder()
    text = render(transport, connect_s, folder)
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.conf"  # the runs of one config share the file
    if not path.exists():
        try:
            files.replace(str(path), text.encode(), 0o600)
        except OSError as error:
            raise _cannot(path, error) from None
    return path


def socket_folder() -> Path:
    """A folder of this user alone, which goes with the next boot. Raises TransportError."""
    folder = _folder(os.geteuid())
    try:
        folder.mkdir(0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise _cannot(folder, error) from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise TransportError(f"{folder} is not a folder of this user alone", "remove it, or set XDG_RUNTIME_DIR")
    if len(os.fsencode(folder)) > MOST_FOLDER:
        raise TransportError(f"{folder} is too long a name for sockets", "set XDG_RUNTIME_DIR to a shorter one")
    return folder


def _cannot(path: Path, error: OSError) -> TransportError:
    return TransportError(f"{path}: {error.strerror}", "the kept connections of ssh lie there")


def _folder(user: int) -> Path:
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    if runtime.is_absolute() and runtime.is_dir() and runtime.stat().st_uid == user:  # under sudo it is another user's
        return runtime / "brctl"
    # Not /run/brctl, where every user may look whether the GPUs are let go, and by whom tuning is locked.
    return Path("/run/brctl-ssh") if user == 0 else Path(f"/tmp/brctl-{user}")  # noqa: S108  # its owner is checked
