"""Kernel parameters: those of `tune.sysctl`, and `tune.numa_balancing`, which is kernel.numa_balancing.

Live through /proc/sys, compared word by word and read back; for the next boot in /etc/sysctl.d/99-zz-brctl.conf, one
line for each. The plan names the line of all sysctl files that wins at boot (systemd-sysctl), says where a later
`sysctl --system` would undo it (that one also reads /etc/sysctl.conf, last), and where tuned sets the same key. Where
a file that sorts after ours sets another value, --persist is refused: change it there.

`net.core.rmem_max` and `wmem_max` only limit what a socket may ask for; TCP's own tuning obeys the last number of
`tcp_rmem` and `tcp_wmem`, and RDMA uses none of them. 64 MiB suit one data centre (400 Gb/s for 1 ms is 50 MB), 1 byte
less than 2 GiB a path of 100 ms. Guides that say `2048` lost a unit: the kernel takes 2304 bytes at least, 2048 KiB is
less than the default of recent kernels, and 2048 MiB is more than it takes.

NUMA balancing moves pages to the CPU that uses them, and stops the threads that use them while it looks; jobs that pin
their threads, as those on GPUs do, lose by it. It is a mask: 1 is normal, 2 moves pages between tiers of memory.

When not to: buffers of 2 GiB serve nobody on a short path, and every idle connection may hold one; NUMA balancing stays
on where many processes that nobody pins share a node, and where memory tiers (CXL) rely on it.

In a container or a network namespace most parameters are the host's: they are shown, and refused in words.

By hand: `sysctl -w KEY=VALUE`, whose exit status is 0 also when the kernel refused.
"""

import errno
from typing import Iterator, NamedTuple, Optional, Sequence, Tuple

from ...host import Host
from ...report import HOST, Change, Outcome
from .. import Place, Scene, Setting, Step, Write, cmdline, file_value, refused, sysctl_files, sysctl_keys, tuned
from ..places import in_words

_BAD_LINES = 3
"""Of others' files, as many are shown; the first is enough to look there."""


class _Case(NamedTuple):
    scene: Scene
    wanted: Tuple[str, ...]
    """All keys."""
    now: sysctl_files.Loaded
    then: sysctl_files.Loaded
    """With our file as it will be; where nothing is to last, as it is."""
    text: str
    """Of our file."""
    profile: Tuple[tuned.Assignment, ...]


class _Fate(NamedTuple):
    """What a loader of files leaves a key at."""

    value: Optional[str]
    """None: as the kernel has it."""
    source: Optional[str] = None


def plan(scene: Scene) -> Iterator[Step]:
    wanted = [(sysctl_files.key_path(one.key), " ".join(one.value.split())) for one in scene.want.sysctls]
    if scene.want.numa_balancing is not None:
        wanted.append((sysctl_keys.NUMA_BALANCING, str(scene.want.numa_balancing)))
    if not wanted:
        return
    files = sysctl_files.read(scene.host)
    text = next((file.text for file in files if file.path == sysctl_files.OURS), "")
    now, profile, keys = sysctl_files.load(files), tuned.read(scene.host), tuple(key for key, _ in wanted)
    warnings = _bad_lines(now.bad)
    for key, value in wanted:
        draft = sysctl_files.render(text, key, value, drop=sysctl_keys.partner(key))
        then = sysctl_files.load(sysctl_files.with_ours(files, draft)) if scene.persist else now
        step = _step(_Case(scene, keys, now, then, draft, profile), key, value)
        text = draft if step.boot else text
        yield step._replace(change=step.change._replace(effects=warnings + step.change.effects))
        warnings = ()


def _step(case: _Case, key: str, value: str) -> Step:
    host, boot = case.scene.host, _boot(case, key)
    change = Change(
        "sysctl", HOST, sysctl_files.spelt(key), Outcome.OK, value, boot=boot.value, boot_source=boot.source
    )
    try:
        live = host.read(sysctl_keys.FOLDER + key)
        if live is None:
            return _absent(host, change, key)
        change = change._replace(live=" ".join(live.split()), source=sysctl_keys.source(key, value))
        denied = host.denies(sysctl_keys.FOLDER + key)
        wrong = not sysctl_keys.same(live, value)
        refusal = _refusal(case, key, value) if wrong else None
        writes = _writes(host, key, value) if wrong else ()
    except OSError as error:
        return refused(change, in_words(error))
    if denied and not wrong:
        return Step(change._replace(effects=("it is not settable here, and is as wanted: set it on the host",)))
    if denied:
        return refused(change, "not settable here ({}): set it on the host".format(errno.errorcode[denied]))
    if refusal:
        return refused(change, refusal)
    return _lasting(case, key, change, writes)


def _absent(host: Host, change: Change, key: str) -> Step:
    reason = sysctl_keys.absence(host, key)
    if key == sysctl_keys.NUMA_BALANCING and change.wanted == "0":
        return Step(change._replace(outcome=Outcome.NA, reason=reason))
    return refused(change, reason)


def _refusal(case: _Case, key: str, value: str) -> Optional[str]:
    other = sysctl_keys.partner(key)
    if other in case.wanted:
        return "it excludes {}, which is wanted too".format(sysctl_files.spelt(other or ""))
    return sysctl_keys.refusal(case.scene.host, key, value)


def _writes(host: Host, key: str, value: str) -> Tuple[Write, ...]:
    """The other one of a pair comes first, though the kernel makes it 0: thus the journal has it, and it comes back."""
    other = sysctl_keys.partner(key)
    holds = host.read(sysctl_keys.FOLDER + other) if other else None
    write = Write(Place("knob", sysctl_keys.FOLDER + key), value)
    if not other or not holds or sysctl_keys.same(holds, "0"):
        return (write,)
    return Write(Place("knob", sysctl_keys.FOLDER + other), "0", along=True), write


def _lasting(case: _Case, key: str, change: Change, live: Tuple[Write, ...]) -> Step:
    """The Step, with what the next boot makes of it."""
    wanted, then = change.wanted or "", _fate(case.then.systemd, key)
    change = change._replace(effects=tuple(_effects(case, key, change, then)))
    if not case.scene.persist or sysctl_keys.same(change.boot or "", wanted):
        return Step(change, live)
    if not sysctl_keys.same(then.value or "", wanted):
        reason = "{} sets {} and would win over {}: change it there".format(then.source, then.value, sysctl_files.OURS)
        return refused(change, reason)
    return Step(change, live, (Write(Place("file", sysctl_files.OURS), file_value(case.text)),))


def _effects(case: _Case, key: str, change: Change, then: _Fate) -> Iterator[str]:
    wanted, host = change.wanted or "", case.scene.host
    lowers = sysctl_keys.lowers(key, wanted, change.live or "")
    if lowers:
        yield lowers
    procps = _fate(case.then.procps, key)
    if not sysctl_keys.same(procps.value or "", then.value or ""):
        makes = "makes it {0.value} ({0.source})".format(procps) if procps.source else "leaves it alone"
        yield "`sysctl --system` {}, and not what the boot does".format(makes)
    fitting = [one for one in case.profile if one.kind == "sysctl" and sysctl_files.key_path(one.option) == key]
    if fitting and not sysctl_keys.same(fitting[-1].value, wanted):
        last = procps if tuned.reapplies_sysctl(host) and (procps.source or "").startswith(tuned.REAPPLIED) else None
        yield "tuned, profile {0.profile}, sets it to {0.value}; when tuned starts, {1} wins".format(
            fitting[-1], "{0.value} of {0.source}".format(last) if last else "that"
        )


def _boot(case: _Case, key: str) -> _Fate:
    """Of systemd-sysctl, else of the kernel's command line, which it overrides."""
    fate = _fate(case.now.systemd, key)
    return fate if fate.value is not None else _of_command_line(cmdline.read(case.scene.host), key)


def _of_command_line(arguments: Sequence[cmdline.Argument], key: str) -> _Fate:
    """`sysctl.vm.swappiness=10`, and `numa_balancing=disable` (admin-guide/kernel-parameters)."""
    for argument in reversed(arguments):
        if argument.name == "numa_balancing" and key == sysctl_keys.NUMA_BALANCING:
            return _Fate({"enable": "1", "disable": "0"}.get(argument.value, argument.value), cmdline.SOURCE)
        prefix, _, name = argument.name.partition(".")
        if prefix == "sysctl" and sysctl_files.key_path(name) == key.replace("-", "_"):
            return _Fate(argument.value, cmdline.SOURCE)
    return _Fate(None)


def _fate(lines: Sequence[sysctl_files.Line], key: str) -> _Fate:
    mine, other = sysctl_files.winner(lines, key), None
    partner = sysctl_keys.partner(key)
    if partner:
        other = sysctl_files.winner(lines, partner)
    if other is not None and (mine is None or other > mine):
        return _Fate("0", lines[other].source)
    return _Fate(None) if mine is None else _Fate(lines[mine].value, lines[mine].source)


def _bad_lines(bad: Sequence[str]) -> Tuple[str, ...]:
    more = ("and {} more such".format(len(bad) - _BAD_LINES),) if len(bad) > _BAD_LINES else ()
    return (*bad[:_BAD_LINES], *more)


SETTING = Setting(
    id="sysctl",
    title="Kernel parameters",
    order=20,
    keys=("sysctl", "numa_balancing"),
    plan=plan,
)
