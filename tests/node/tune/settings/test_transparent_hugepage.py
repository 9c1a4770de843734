"""Transparent huge pages: a choice, and who makes it at boot."""

import errno
from typing import Any, Callable, Dict, List, Optional

import pytest

from brctl.node.facts import Inventory
from brctl.node.host.machine import Machine
from brctl.node.report import Outcome
from brctl.node.request import Expected, Wanted
from brctl.node.tune import Place, Scene, Step, Write
from brctl.node.tune.settings.transparent_hugepage import OURS, PATH, plan

Make = Callable[..., Machine]
FILES: Dict[str, Any] = {PATH: "always [madvise] never\n", "/run/systemd/system": {"names": []}}


def steps(host: Machine, want: Optional[str], persist: bool = False) -> List[Step]:
    return list(plan(Scene(host, Inventory(), Wanted(transparent_hugepage=want), Expected(), persist)))


def test_nothing_is_wanted(machine: Make) -> None:
    assert steps(machine([], FILES), None) == []


def test_another_choice(machine: Make) -> None:
    host = machine([], FILES)
    (step,) = steps(host, "always", persist=True)
    assert (step.change.outcome, step.change.live, step.change.boot) == (Outcome.OK, "madvise", None)
    assert step.change.source == "tuned, hpc-compute"
    assert step.live == (Write(Place("knob", PATH), "always"),)
    (write,) = step.boot
    assert write.place == Place("file", OURS)
    assert (write.value or "").endswith("\nw {}[d] - - - - always\n".format(PATH[:-1]))
    host.write(PATH, "always\n")
    assert host.read(PATH) == "[always] madvise never\n"
    (step,) = steps(host, "always")
    assert (step.live, step.change.live) == ((), "always")


def test_what_the_kernel_does_not_offer(machine: Make) -> None:
    (step,) = steps(machine([], dict(FILES, **{PATH: "always [never]\n"})), "madvise")
    assert (step.change.outcome, step.live) == (Outcome.REFUSED, ())
    assert step.change.reason == "the kernel offers always, never"


@pytest.mark.parametrize(("want", "outcome"), [("never", Outcome.NA), ("always", Outcome.REFUSED)])
def test_a_kernel_without_them(machine: Make, want: str, outcome: Outcome) -> None:
    (step,) = steps(machine([]), want, persist=True)
    assert (step.change.outcome, step.live, step.boot) == (outcome, (), ())
    assert step.change.reason == "this kernel has none (CONFIG_TRANSPARENT_HUGEPAGE)"


def test_in_a_container(machine: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    host = machine([], FILES)
    monkeypatch.setattr(host, "denies", lambda path: errno.EROFS)  # noqa: ARG005
    (step,) = steps(host, "never")
    assert (step.change.outcome, step.change.reason) == (Outcome.REFUSED, "not settable here: set it on the host")
    (step,) = steps(host, "madvise")
    assert step.change.outcome is Outcome.OK


def test_who_else_decides(machine: Make) -> None:
    files = dict(FILES, **{"/proc/cmdline": "transparent_hugepage=never\n", "/etc/tuned/active_profile": "hpc\n"})
    files["/usr/lib/tuned/hpc/tuned.conf"] = "[vm]\ntransparent_hugepages=always\n"
    (step,) = steps(machine([], files), "madvise")
    assert (step.change.boot, step.change.boot_source) == ("never", "kernel command line")
    assert step.change.effects == ("tuned, profile hpc, sets it to always whenever it starts",)
    files["/etc/tmpfiles.d/thp.conf"] = "w {} - - - - madvise\n".format(PATH)
    (step,) = steps(machine([], files), "madvise", persist=True)
    assert (step.change.boot, step.change.boot_source, step.boot) == ("madvise", "/etc/tmpfiles.d/thp.conf:1", ())
