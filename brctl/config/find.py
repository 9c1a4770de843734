"""Which config file it is, whether to trust it, which of several values wins, and which node this host is."""

import os
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from .mistake import ConfigError, Mistake

NAME = "cluster-config.yaml"
VARIABLE = "BRCTL_CONFIG"
SYSTEM = Path("/etc/brctl") / NAME
MOST_LINKS = 40  # as the kernel follows (MAXSYMLINKS)

T = TypeVar("T")


class Found(NamedTuple):
    path: Path
    warnings: tuple[Mistake, ...] = ()


def find(explicit: Path | None = None) -> Found | None:
    """The file that `--config` or $BRCTL_CONFIG names, else ./cluster-config.yaml, else /etc/brctl/cluster-config.yaml.

    A named one is the caller's choice, and need not exist. One found by itself that another user could have written
    raises ConfigError for root and carries a warning for anybody else.
    """
    variable = os.environ.get(VARIABLE)
    if explicit or variable:
        return Found(explicit or Path(variable or ""))
    path = next((path for path in (Path(NAME), SYSTEM) if os.path.lexists(path)), None)
    if path is None:
        return None
    doubt = distrust(path)
    if doubt is None:
        return Found(path)
    message = f"{path} was found by itself, and another user could have written it: {doubt}"
    mistake = Mistake(message, hint=f"if it is the one you mean, name it: --config {path}")
    if os.geteuid() == 0:
        raise ConfigError([mistake])
    return Found(path, (mistake,))


def distrust(path: Path) -> str | None:
    """Who else could have written the file, or put another in its place; None where nobody could.

    Every folder and symbolic link on the way counts. In a sticky folder only a file's owner can move it.
    """
    for step in _steps(Path.cwd() / path):
        status = step.lstat()
        if status.st_uid not in (0, os.geteuid()):
            return f"{step} belongs to user {status.st_uid}"
        if stat.S_ISLNK(status.st_mode) or (stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX):
            continue
        if status.st_mode & stat.S_IWOTH:
            return f"everybody can write to {step}"
        if status.st_mode & stat.S_IWGRP and not _private(status.st_gid, status.st_uid):
            return f"group {status.st_gid} can write to {step}"
    return None


def _steps(path: Path, links: int = 0) -> Iterator[Path]:
    """Every name that is looked up on the way to an absolute path, symbolic links followed."""
    for step in (*reversed(path.parents), path):
        if not os.path.lexists(step):
            return  # a dangling link, or a file just gone: reading it will say so
        yield step
        if step.is_symlink() and links < MOST_LINKS:
            yield from _steps(step.parent / step.readlink(), links + 1)


def _private(gid: int, uid: int) -> bool:
    """Whether the group is the owner's own, as most distributions give each user: of the same name, without others."""
    import grp
    import pwd

    try:
        group, owner = grp.getgrgid(gid), pwd.getpwuid(uid).pw_name
    except KeyError:
        return False
    return group.gr_name == owner and set(group.gr_mem) <= {owner}


def choose(flag: T | None, variable: str, declared: T | None, default: T, parse: Callable[[str], T]) -> T:
    """The one order of precedence: flag, environment variable, config file, default.

    Raises ConfigError when `parse` refuses the variable's text with ValueError.
    """
    if flag is not None:
        return flag
    text = os.environ.get(variable)
    if text:
        try:
            return parse(text)
        except ValueError as error:
            raise ConfigError([Mistake(f"${variable}: {error}")]) from None
    return default if declared is None else declared


def which_node(nodes: Collection[str], as_node: str | None, hostname: str, fqdn: str) -> str | None:
    """The node of the config that this host is: `--as`, else the short, else the full host name; None: none of them."""
    candidates = (as_node,) if as_node else (hostname.split(".")[0], fqdn)
    return next((name for name in candidates if name in nodes), None)
