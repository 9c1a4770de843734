"""Kernel parameters: what is planned, and what is refused in words."""

import errno
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

from brctl.node.facts import Inventory
from brctl.node.host.machine import Machine
from brctl.node.report import Outcome, Report
from brctl.node.request import Expected, KernelParameter, Wanted
from brctl.node.tune import Place, Scene, Step, Write, tuned
from brctl.node.tune.settings.sysctl import plan
from brctl.node.tune.sysctl_files import OURS

Make = Callable[..., Machine]
Files = Dict[str, Any]

RMEM, TRIPLE, BALANCING = (
    "/proc/sys/net/core/rmem_max",
    "/proc/sys/net/ipv4/tcp_rmem",
    "/proc/sys/kernel/numa_balancing",
)
FILES: Files = {RMEM: "4194304\n", TRIPLE: "4096\t131072\t6291456\n", BALANCING: "1\n"}


def steps(host: Machine, *pairs: Tuple[str, str], persist: bool = False, balancing: Optional[int] = None) -> List[Step]:
    sysctls = tuple(KernelParameter(*pair) for pair in pairs)
    want = Wanted(sysctls=sysctls, numa_balancing=balancing)
    return list(plan(Scene(host, Inventory(), want, Expected(), persist)))


def knob(path: str, value: str) -> Write:
    return Write(Place("knob", path), value)


def kept(step: Step) -> List[str]:
    """The lines that our file is to hold."""
    (write,) = step.boot
    assert write.place == Place("file", OURS)
    return (write.value or "").splitlines()[2:]


def test_nothing_is_wanted(machine: Make) -> None:
    assert steps(machine([], FILES)) == []


def test_a_value_that_differs(machine: Make) -> None:
    (step,) = steps(machine([], FILES), ("net.core.rmem_max", "67108864"))
    change = step.change
    assert (change.setting, change.key, change.outcome) == ("sysctl", "net.core.rmem_max", Outcome.OK)
    assert (change.live, change.wanted, change.boot, change.boot_source) == ("4194304", "67108864", None, None)
    assert change.source == "bandwidth times delay: 400 Gb/s for 1 ms are 50 MB"
    assert (step.live, step.boot) == ((knob(RMEM, "67108864"),), ())


def test_triples_are_compared_by_their_words(machine: Make) -> None:
    (step,) = steps(machine([], FILES), ("net.ipv4.tcp_rmem", "4096  131072 6291456"))
    assert (step.live, step.change.live, step.change.wanted) == ((), "4096 131072 6291456", "4096 131072 6291456")
    (step,) = steps(machine([], FILES), ("net.ipv4.tcp_rmem", "4096 131072 67108864"))
    assert step.live == (knob(TRIPLE, "4096 131072 67108864"),)


def test_zero_is_a_value(machine: Make) -> None:
    (step,) = steps(machine([], FILES), balancing=0)
    assert step.live == (knob(BALANCING, "0"),)
    (step,) = steps(machine([], dict(FILES, **{BALANCING: "0\n"})), balancing=0)
    assert (step.live, step.change.outcome) == ((), Outcome.OK)


@pytest.mark.parametrize(
    ("wanted", "live", "is_pending"), [(1, "1", False), (0, "2", True), (2, "1", True), (3, "3", False)]
)
def test_numa_balancing_is_a_mask(machine: Make, wanted: int, live: str, is_pending: bool) -> None:
    (step,) = steps(machine([], {BALANCING: live + "\n"}), balancing=wanted)
    assert step.change.key == "kernel.numa_balancing"
    assert step.live == ((knob(BALANCING, str(wanted)),) if is_pending else ())


@pytest.mark.parametrize(("wanted", "outcome"), [(0, Outcome.NA), (1, Outcome.REFUSED)])
def test_a_kernel_without_numa_balancing(machine: Make, wanted: int, outcome: Outcome) -> None:
    (step,) = steps(machine([], {RMEM: "1\n"}), balancing=wanted, persist=True)
    assert (step.change.outcome, step.live, step.boot) == (outcome, (), ())
    assert step.change.reason == "this kernel was built without it (CONFIG_NUMA_BALANCING)"


def test_what_cannot_be_is_refused_with_its_reason(machine: Make) -> None:
    files = dict(FILES, **{"/proc/sys/net/ipv4/route/flush": {"errno": "EACCES"}, "/proc/sys/net/core/x": "1\n"})
    found = steps(
        machine([], files),
        ("net.core.rmem_max", "2048"),
        ("net.core.rmem_mx", "1"),
        ("net.bridge.bridge-nf-call-iptables", "1"),
        ("net.ipv4.route.flush", "1"),
        persist=True,
    )
    assert [(step.change.outcome, step.live, step.boot) for step in found] == [(Outcome.REFUSED, (), ())] * 4
    assert [(step.change.reason or "").partition(":")[0] for step in found] == [
        "the kernel takes 2304 to 2147483647",
        "the kernel has no net.core.rmem_mx; nearest",
        "the module br_netfilter brings it",
        "permission denied",
    ]


def test_a_smaller_buffer_is_said(machine: Make) -> None:
    (step,) = steps(machine([], FILES), ("net.core.rmem_max", "2097152"))
    assert step.change.effects == ("lowers the limit: it is 4194304 now",)


# ---------------------------------------------------------------------------------------------------------------------
# Not settable here


class Container(Machine):
    """One whose /proc/sys shows what is the host's."""

    code = errno.EROFS

    def denies(self, path: str) -> Optional[int]:  # noqa: ARG002
        return self.code


def test_in_a_container_it_is_said_where_to_set_it(machine: Make) -> None:
    host = machine([], FILES)
    host.__class__ = Container
    wrong, equal = steps(
        host, ("net.core.rmem_max", "67108864"), ("net.ipv4.tcp_rmem", "4096 131072 6291456"), persist=True
    )
    assert (wrong.change.outcome, wrong.live, wrong.boot) == (Outcome.REFUSED, (), ())
    assert wrong.change.reason == "not settable here (EROFS): set it on the host"
    assert (equal.change.outcome, equal.live, equal.boot) == (Outcome.OK, (), ())
    assert equal.change.effects == ("it is not settable here, and is as wanted: set it on the host",)


# ---------------------------------------------------------------------------------------------------------------------
# Pairs that exclude each other

DIRTY = {"/proc/sys/vm/dirty_bytes": "0\n", "/proc/sys/vm/dirty_ratio": "20\n"}
BYTES, RATIO = DIRTY


def test_of_a_pair_both_are_written_so_that_both_come_back(machine: Make) -> None:
    (step,) = steps(machine([], DIRTY), ("vm.dirty_bytes", "1073741824"))
    assert step.live == (knob(RATIO, "0")._replace(along=True), knob(BYTES, "1073741824"))
    (step,) = steps(machine([], {BYTES: "4096\n", RATIO: "0\n"}), ("vm.dirty_bytes", "1073741824"))
    assert step.live == (knob(BYTES, "1073741824"),)


class Kernel(Machine):
    """One that makes the other of a pair 0, and takes no 0 for bytes, as the kernel does."""

    broken = False

    def write(self, path: str, text: str) -> None:
        if path == BYTES and (text == "0\n" or self.broken):
            raise OSError(errno.EINVAL, "Invalid argument", path)
        super().write(path, text)
        super().write(RATIO if path == BYTES else BYTES, "0\n")


def test_both_of_a_pair_come_back(memory: Any, ask: Callable[..., Report]) -> None:
    plain = {"name": "m", "recorded": False, "sources": [], "files": DIRTY}
    host = Kernel(plain, "m", lambda: None, memory)
    want = {"sysctls": (KernelParameter("vm.dirty_bytes", "8192"),), "settings": ("sysctl",)}
    (change,) = ask(host, "tune-apply", **want).changes
    assert (change.outcome, host.read(BYTES), host.read(RATIO)) == (Outcome.CHANGED, "8192\n", "0\n")
    back = ask(host, "tune-rollback").changes
    assert [(one.outcome, one.key, one.live, one.reason, one.effects) for one in back] == [
        (Outcome.RESTORED, "vm.dirty_bytes", "0", None, (RATIO + ": 0 -> 20",))
    ]
    assert (host.read(BYTES), host.read(RATIO)) == ("0\n", "20\n")
    host.broken = True  # what was done before the refusal is taken back
    (change,) = ask(host, "tune-apply", **want).changes
    assert change.outcome is Outcome.REFUSED
    assert (host.read(BYTES), host.read(RATIO)) == ("0\n", "20\n")


def test_what_still_differs_stays_refused(memory: Any, ask: Callable[..., Report]) -> None:
    host = Kernel({"name": "m", "recorded": False, "sources": [], "files": DIRTY}, "m", lambda: None, memory)
    ask(host, "tune-apply", sysctls=(KernelParameter("vm.dirty_bytes", "8192"),), settings=("sysctl",))
    Machine.write(host, RATIO, "5\n")  # somebody else
    back = ask(host, "tune-rollback").changes
    assert [(one.outcome, one.effects) for one in back] == [(Outcome.REFUSED, (RATIO + ": 0 -> 5",))]
    assert (host.read(BYTES), host.read(RATIO)) == ("8192\n", "5\n")


def test_both_of_a_pair_are_refused(machine: Make) -> None:
    found = steps(machine([], DIRTY), ("vm.dirty_bytes", "8192"), ("vm.dirty_ratio", "10"))
    assert [step.change.reason for step in found] == [
        "it excludes vm.dirty_ratio, which is wanted too",
        "it excludes vm.dirty_bytes, which is wanted too",
    ]


def test_at_boot_the_one_of_a_pair_that_is_written_last_wins(machine: Make) -> None:
    early, late = "/etc/sysctl.d/10-a.conf", "/etc/sysctl.d/20-b.conf"
    files = dict(DIRTY, **{early: "vm.dirty_bytes = 4096\n", late: "vm.dirty_ratio=5\n"})
    (step,) = steps(machine([], files), ("vm.dirty_bytes", "8192"), persist=True)
    assert (step.change.boot, step.change.boot_source) == ("0", "/etc/sysctl.d/20-b.conf:1")
    assert kept(step) == ["vm.dirty_bytes = 8192"]
    files[OURS] = "vm.dirty_ratio = 5\n"
    (step,) = steps(machine([], files), ("vm.dirty_bytes", "8192"), persist=True)
    assert kept(step) == ["vm.dirty_bytes = 8192"]
    files[early] = "vm.dirty_bytes = 8192\n"  # systemd keeps the place of a line that is repeated
    del files[OURS]
    (step,) = steps(machine([], files), ("vm.dirty_bytes", "8192"), persist=True)
    assert step.change.reason == "{}:1 sets 0 and would win over {}: change it there".format(late, OURS)
    files[early] = ""
    files["/etc/sysctl.d/zz.conf"] = "vm.dirty_ratio=7\n"
    (step,) = steps(machine([], files), ("vm.dirty_bytes", "8192"), persist=True)
    assert step.change.reason == "/etc/sysctl.d/zz.conf:1 sets 0 and would win over {}: change it there".format(OURS)


# ---------------------------------------------------------------------------------------------------------------------
# The next boot


def test_each_line_is_planned_on_those_before_it(machine: Make) -> None:
    found = steps(
        machine([], dict(FILES, **{OURS: "vm.swappiness = 10\n"})),
        ("net.core.rmem_max", "67108864"),
        ("net.core.none", "1"),
        ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
        persist=True,
    )
    assert kept(found[0]) == ["vm.swappiness = 10", "net.core.rmem_max = 67108864"]
    assert found[1].boot == ()
    assert kept(found[2]) == [
        "vm.swappiness = 10",
        "net.core.rmem_max = 67108864",
        "net.ipv4.tcp_rmem = 4096 131072 6291456",
    ]


def test_a_file_that_says_so_already_is_enough(machine: Make) -> None:
    files = dict(FILES, **{"/etc/sysctl.d/60-gpu.conf": "\nnet/core/rmem_max=67108864\n"})
    (step,) = steps(machine([], files), ("net.core.rmem_max", "67108864"), persist=True)
    assert (step.change.boot, step.change.boot_source) == ("67108864", "/etc/sysctl.d/60-gpu.conf:2")
    assert (len(step.live), step.boot) == (1, ())


def test_a_file_that_is_read_after_ours_is_named_and_nothing_claimed(machine: Make) -> None:
    files = dict(FILES, **{"/usr/lib/sysctl.d/zz-vendor.conf": "net.core.rmem_max = 8388608\n"})
    (step,) = steps(machine([], files), ("net.core.rmem_max", "67108864"))
    assert (step.change.outcome, step.change.boot) == (Outcome.OK, "8388608")
    assert step.change.boot_source == "/usr/lib/sysctl.d/zz-vendor.conf:1"
    (step,) = steps(machine([], files), ("net.core.rmem_max", "67108864"), persist=True)
    assert (step.change.outcome, step.live, step.boot) == (Outcome.REFUSED, (), ())
    assert step.change.reason == (
        "/usr/lib/sysctl.d/zz-vendor.conf:1 sets 8388608 and would win over {}: change it there".format(OURS)
    )


def test_where_the_two_loaders_differ(machine: Make) -> None:
    files = dict(FILES, **{"/etc/sysctl.conf": "net.core.rmem_max = 212992\n"})
    (step,) = steps(machine([], files), ("net.core.rmem_max", "67108864"), persist=True)
    assert kept(step) == ["net.core.rmem_max = 67108864"]
    assert step.change.effects == (
        "`sysctl --system` makes it 212992 (/etc/sysctl.conf:1), and not what the boot does",
    )

    files = dict(FILES, **{"/etc/sysctl.d/a.conf": "net.core.*=7\n", "/etc/sysctl.d/.b.conf": "-net.core.rmem_max\n"})
    (step,) = steps(machine([], files), ("net.core.rmem_max", "4194304"))
    assert step.change.effects == ("`sysctl --system` leaves it alone, and not what the boot does",)


def test_a_name_with_dots_is_kept_with_slashes(machine: Make) -> None:
    path = "/proc/sys/net/ipv4/conf/d0.100.200/arp_ignore"
    (step,) = steps(machine([], {path: "0\n"}), ("net.ipv4.conf.d0/100/200.arp_ignore", "1"), persist=True)
    assert step.change.key == "net.ipv4.conf.d0/100/200.arp_ignore"
    assert step.live == (knob(path, "1"),)
    assert kept(step) == ["net/ipv4/conf/d0.100.200/arp_ignore = 1"]


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("quiet sysctl.vm.swappiness=40 sysctl.vm.swappiness=30", "vm.swappiness", "30"),
        ("sysctl.net/bridge/bridge-nf-x=1", "net.bridge.bridge-nf-x", "1"),
        ("numa_balancing=disable", "kernel.numa_balancing", "0"),
        ("numa_balancing=enable sysctl.kernel.numa=1", "kernel.numa_balancing", "1"),
        ("sysctl.vm.other=1", "vm.swappiness", None),
    ],
)
def test_the_kernels_command_line_comes_before_the_files(
    machine: Make, line: str, key: str, value: Optional[str]
) -> None:
    path = "/proc/sys/" + key.replace(".", "/")
    files = {path: "5\n", "/proc/cmdline": line + "\n"}
    (step,) = steps(machine([], files), (key, "5"))
    assert (step.change.boot, step.change.boot_source) == (value, value and "kernel command line")
    files["/etc/sysctl.d/a.conf"] = "{} = 5\n".format(key)
    (step,) = steps(machine([], files), (key, "5"))
    assert (step.change.boot, step.change.boot_source) == ("5", "/etc/sysctl.d/a.conf:1")


def test_others_bad_lines_are_told_once_and_hurt_nothing(machine: Make) -> None:
    files = dict(FILES, **{"/etc/sysctl.d/10-a.conf": "bad 1\nbad 2\nbad 3\nbad 4\nbad 5\nnet.core.rmem_max=1\n"})
    first, second = steps(
        machine([], files), ("net.core.rmem_max", "67108864"), ("net.ipv4.tcp_rmem", "1 2 3"), persist=True
    )
    assert first.change.effects == (
        "/etc/sysctl.d/10-a.conf:1: no assignment, ignored at boot: bad 1",
        "/etc/sysctl.d/10-a.conf:2: no assignment, ignored at boot: bad 2",
        "/etc/sysctl.d/10-a.conf:3: no assignment, ignored at boot: bad 3",
        "and 2 more such",
    )
    assert (first.change.outcome, kept(first)) == (Outcome.OK, ["net.core.rmem_max = 67108864"])
    assert second.change.effects == ("lowers the limit: it is 6291456 now",)


@pytest.mark.parametrize(
    ("main", "file", "last"),
    [
        ("", "/etc/sysctl.d/a.conf", "5 of /etc/sysctl.d/a.conf:1"),
        ("", "/usr/lib/sysctl.d/a.conf", "that"),  # tuned reads those of /run and /etc alone
        ("reapply_sysctl=0\n", "/etc/sysctl.d/a.conf", "that"),
    ],
)
def test_a_profile_of_tuned_sets_it_too(machine: Make, main: str, file: str, last: str) -> None:
    files = dict(
        FILES,
        **{
            tuned.ACTIVE: "hpc\n",
            "/etc/tuned/hpc/tuned.conf": "[sysctl]\nkernel.numa_balancing=0\nnet.core.rmem_max=7\n",
            tuned.MAIN: main,
            file: "net.core.rmem_max=5\n",
        },
    )
    found = steps(machine([], files), ("net.core.rmem_max", "4194304"), balancing=0)
    assert [step.change.effects for step in found] == [
        ("tuned, profile hpc, sets it to 7; when tuned starts, {} wins".format(last),),
        (),
    ]
