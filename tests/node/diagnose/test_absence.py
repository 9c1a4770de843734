"""Absent is never 0 and never a crash: every check on machines that lack any one thing."""

from functools import partial
from typing import Any, Callable, Iterator, List, Tuple, get_type_hints

import pytest

from brctl.node import host_facts, log_facts, net_facts
from brctl.node.diagnose import engine
from brctl.node.facts import Inventory, Problem
from brctl.node.report import Finding, Status
from brctl.node.request import Expected, ExpectedAccelerator, ExpectedCpu, ExpectedNics

HEALTH = Inventory._fields[Inventory._fields.index("kernel_log") :]
"""What only `diagnose` reads of the host."""
NOTHING = Expected()
OTHERWISE = Expected(
    accelerator=ExpectedAccelerator("nvidia", "NVIDIA B200", 16, 2**40, ">=600", "97.*", 36),
    nics=ExpectedNics("e*", 12, 800000, "infiniband", "40.*"),
    cpu=ExpectedCpu(4, 8, 448),
    memory_bytes=2**42,
    mounts=("/scratch",),
    mtu=4092,
    mtu_interfaces="e*",
)


LATER = {**vars(host_facts), **vars(log_facts), **vars(net_facts)}
"""What facts.py defines when it is asked for."""


def cuts(kind: Any) -> Iterator[Callable[[Any], Any]]:
    """Edits of a NamedTuple that each take one optional thing out, at any depth; of rows from the first, then all."""
    for name, hint in get_type_hints(kind, localns=LATER).items():
        arguments = getattr(hint, "__args__", ())
        if type(None) in arguments:
            yield partial(edited, name, lambda _: None)
            hint, arguments = arguments[0], getattr(arguments[0], "__args__", ())
        if hasattr(hint, "_fields"):
            yield from (partial(edited, name, cut) for cut in cuts(hint))
        elif arguments and hasattr(arguments[0], "_fields"):
            for cut in cuts(arguments[0]):
                yield partial(edited, name, lambda rows, cut=cut: (*map(cut, rows[:1]), *rows[1:]))
                yield partial(edited, name, lambda rows, cut=cut: tuple(map(cut, rows)))


def edited(name: str, edit: Callable[[Any], Any], value: Any) -> Any:
    inner = getattr(value, name)
    return value if inner is None else value._replace(**{name: edit(inner)})


def holes(seen: Inventory) -> List[Inventory]:
    """Machines that each lack one thing."""
    lacking = [cut(seen) for cut in cuts(Inventory)]
    return [other for other in lacking if other != seen]


def everything(seen: Inventory, want: Expected) -> Tuple[Finding, ...]:
    return engine.run(seen, want, (), engine.tagged("inventory"))


def test_holes_reach_every_depth(dgx: Inventory) -> None:
    found = holes(dgx)
    assert any(one.kernel is None for one in found)
    assert any(one.gpus and one.gpus[0].identity and one.gpus[0].identity.vbios is None for one in found)
    assert any(one.gpus and one.gpus[7].links and one.gpus[7].links[17].version is None for one in found)
    assert any(one.nics and all(nic.carrier is None for nic in one.nics) for one in found)


@pytest.mark.parametrize("want", [NOTHING, OTHERWISE, None], ids=["nothing", "otherwise", "as-it-is"])
def test_no_hole_breaks_a_check(dgx: Inventory, declared: Expected, want: Any) -> None:
    for seen in (Inventory(), dgx, *holes(dgx)):
        found = everything(seen, want or declared)
        assert {one.check for one in found} == {check.id for check in engine.tagged("inventory")}
        assert not [one.summary for one in found if "itself failed" in one.summary]
        for one in found:
            assert one.summary
            assert "\n" not in one.summary
            assert "None" not in one.summary
            if one.status in (Status.WARN, Status.CRIT):
                assert one.evidence
                assert one.remedy


@pytest.mark.parametrize("part", [name for name in Inventory._fields if name != "problems"])
def test_a_part_that_could_not_be_read_is_no_fault(dgx: Inventory, declared: Expected, part: str) -> None:
    problem = Problem(part, "permission", "not allowed")
    found = everything(dgx._replace(**{part: None}, problems=(problem,)), declared)
    assert {one.status for one in found if not one.cause} <= {Status.PASS, Status.UNKNOWN, Status.NA}
    assert all(one.reason == "permission" for one in found if one.status is Status.UNKNOWN)
    judged_without = part in ("kernel", "sysctls", "pci", "accelerator_libraries", *HEALTH)
    assert any(one.status is Status.UNKNOWN for one in found) is not judged_without


@pytest.mark.parametrize("part", HEALTH)
def test_a_condition_that_could_not_be_read_is_unknown(dgx: Inventory, part: str) -> None:
    """And nothing else that is judged by it is bad for want of it."""
    healthy = [one.status for one in engine.run(dgx, NOTHING, (), engine.registry())]
    problem = Problem(part, "permission", "not allowed")
    found = engine.run(dgx._replace(**{part: None}, problems=(problem,)), NOTHING, (), engine.registry())
    bad = [one for one in found if one.status in (Status.WARN, Status.CRIT)]
    assert (bad, Status.WARN in healthy, Status.CRIT in healthy) == ([], False, False)
    assert "permission" in {one.reason for one in found if one.status is Status.UNKNOWN}
    absent = engine.run(dgx._replace(**{part: None}), NOTHING, (), engine.registry())
    assert not [one for one in absent if one.status in (Status.WARN, Status.CRIT, Status.UNKNOWN)]
