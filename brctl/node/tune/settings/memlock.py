"""How much memory a process may lock: RLIMIT_MEMLOCK. RDMA pins what it sends from, and with the default of 8 MiB, or
64 KiB on older systems, `ibv_reg_mr` and with it NCCL and MPI fail (NVIDIA/nccl-tests#206). azhpc-images sets
`unlimited` in both of the places where it comes from.

Logins: pam_limits reads /etc/security/limits.conf, then limits.d by name, and the last line for a domain wins. `*` is
not root, so /etc/security/limits.d/99-zz-brctl.conf names both.

Services, slurmd and with it its jobs among them: DefaultLimitMEMLOCK of systemd, which
/etc/systemd/system.conf.d/99-zz-brctl.conf sets. systemd reads it at boot, or by `systemctl daemon-reexec`.

Both are files and therefore last, with --persist or without. Sessions that are open and services that run keep the
limit that they started with. A unit's own LimitMEMLOCK= wins for that unit, a container's runtime for its containers.

When not to: where users who don't trust each other share a node, one of them can pin all of its memory.
"""

import re
from typing import Callable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ...host import Host
from ...report import HOST, Change, Outcome
from .. import Place, Scene, Setting, Step, Write, file_value, ini, refused, tmpfiles
from ..drop_ins import paths

LIMITS = "/etc/security/limits.d/99-zz-brctl.conf"
MANAGER = "/etc/systemd/system.conf.d/99-zz-brctl.conf"

_UNLIMITED = "unlimited"
_SOURCE = "azhpc-images; NVIDIA/nccl-tests#206"
_HEAD = "# Written by `brctl tune apply`; `brctl tune rollback` takes it back.\n"
_MANAGERS = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd")
_SUFFIX = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_KIB = 1024


class _File(NamedTuple):
    path: str
    text: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class _Line(NamedTuple):
    """A limit that a file sets."""

    domain: str
    """Of limits.conf(5): `*`, a user, `@group`."""
    kind: str
    """`soft` or `hard`"""
    value: str
    """Bytes, or `unlimited`."""
    source: str


class _Origin(NamedTuple):
    """One of the two places where limits come from."""

    main: Tuple[_File, ...]
    drop_ins: Tuple[_File, ...]
    """By name, each read after those before it."""
    parse: Callable[[_File], List[_Line]]
    want: str
    """As its lines tell it: limits.conf counts in KiB."""
    ours: _File
    """As it must be."""
    effect: str


def plan(scene: Scene) -> Iterator[Step]:
    want, host = scene.want.memlock, scene.host
    if want is None:
        return
    change = Change("memlock", HOST, "memlock of logins", Outcome.OK, want, source=_SOURCE)
    if host.listdir("/etc/security") is None:
        yield Step(change._replace(outcome=Outcome.NA, reason="no PAM here: logins get what their daemon has"))
    else:
        yield _step(_logins(host, want), change)
    change = change._replace(key="memlock of services")
    if not tmpfiles.is_booted(host):
        yield Step(change._replace(outcome=Outcome.NA, reason="systemd does not run here"))
    else:
        yield _step(_services(host, want), change)


def _step(origin: _Origin, change: Change) -> Step:
    want = origin.want
    lines = _lines(origin, origin.drop_ins)
    live, source = _deciding(lines)
    others = [line for line in lines if line.domain not in ("*", "root") and line.value != want]
    effects = ["{0.source} sets {0.value} for {0.domain}".format(line) for line in others]
    change = change._replace(live=live, boot=live, boot_source=source)
    if live == want:
        return Step(change._replace(effects=tuple(effects)))
    drop_ins = [file for file in origin.drop_ins if file.name != origin.ours.name]
    then, winner = _deciding(_lines(origin, sorted((*drop_ins, origin.ours), key=lambda file: file.name)))
    if then != want:
        reason = "{} is read after {} and sets {}: change it there".format(winner, origin.ours.path, then)
        return refused(change, reason)
    write = Write(Place("file", origin.ours.path), file_value(origin.ours.text))
    return Step(change._replace(effects=(origin.effect, *effects)), (write,))


def _lines(origin: _Origin, drop_ins: Sequence[_File]) -> List[_Line]:
    return [line for file in (*origin.main, *drop_ins) for line in origin.parse(file)]


def _deciding(lines: Sequence[_Line]) -> Tuple[Optional[str], Optional[str]]:
    """What holds for all, and the line that decides it; of two different limits both."""
    last = {line.kind: line for line in lines if line.domain == "*"}
    soft, hard = last.get("soft"), last.get("hard")
    if not soft or not hard:
        one = soft or hard
        return (one and "{} {} alone".format(one.value, one.kind), one and one.source)
    if soft.value == hard.value:
        return soft.value, hard.source
    return "{} soft, {} hard".format(soft.value, hard.value), hard.source


# ---------------------------------------------------------------------------------------------------------------------
# Logins: limits.conf(5)


def _logins(host: Host, want: str) -> _Origin:
    kib = None if want == _UNLIMITED else -(-int(want) // _KIB)
    text = "* - memlock {0}\nroot - memlock {0}\n".format(kib or want)
    return _Origin(
        main=(_file(host, "/etc/security/limits.conf"),),
        drop_ins=tuple(_file(host, path) for path in paths(host, ["/etc/security/limits.d"], ".conf")),
        parse=_limits,
        want=str(kib * _KIB) if kib else want,
        ours=_File(LIMITS, _HEAD + text),
        effect="sessions that are open keep theirs: log in again",
    )


def _limits(file: _File) -> List[_Line]:
    found = []
    for number, text in enumerate(file.text.split("\n"), 1):
        fields = text.partition("#")[0].split()
        if len(fields) == len(("domain", "type", "item", "value")) and fields[2] == "memlock":
            source, value = "{}:{}".format(file.path, number), fields[3]
            bytes_ = str(int(value) * _KIB) if value.isdecimal() else _UNLIMITED
            kinds = ("soft", "hard") if fields[1] == "-" else (fields[1],)
            found += [_Line(fields[0], kind, bytes_, source) for kind in kinds]
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Services: systemd-system.conf(5)


def _services(host: Host, want: str) -> _Origin:
    value = "infinity" if want == _UNLIMITED else want
    drop_ins = paths(host, [folder + "/system.conf.d" for folder in _MANAGERS], ".conf")
    main = next((file for file in (_file(host, folder + "/system.conf") for folder in _MANAGERS) if file.text), None)
    return _Origin(
        main=(main,) if main else (),
        drop_ins=tuple(_file(host, path) for path in drop_ins),
        parse=_manager,
        want=want,
        ours=_File(MANAGER, "{}[Manager]\nDefaultLimitMEMLOCK={}\n".format(_HEAD, value)),
        effect="services that run keep theirs: `systemctl daemon-reexec`, then restart slurmd and sshd",
    )


def _manager(file: _File) -> List[_Line]:
    found = []
    for entry in ini.parse(file.text):
        if (entry.section, entry.option) == ("Manager", "DefaultLimitMEMLOCK"):
            soft, _, hard = entry.value.partition(":")
            source = "{}:{}".format(file.path, entry.line)
            found += [_Line("*", kind, _bytes(text), source) for kind, text in (("soft", soft), ("hard", hard or soft))]
    return found


def _bytes(text: str) -> str:
    """`64M` is 67108864, `infinity` is `unlimited`."""
    number = re.match(r"(\d+)([KMGT]?)\Z", text)
    return str(int(number[1]) * _SUFFIX[number[2]]) if number else _UNLIMITED


def _file(host: Host, path: str) -> _File:
    return _File(path, host.read(path) or "")


SETTING = Setting(
    id="memlock",
    title="Memory that a process may lock",
    order=40,
    keys=("memlock",),
    plan=plan,
)
