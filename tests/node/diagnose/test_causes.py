from typing import Any

import pytest

from brctl.node.diagnose import Check
from brctl.node.diagnose.causes import attributed
from brctl.node.facts import Inventory
from brctl.node.report import HOST, Cause, Finding, Status, Subject

GPU, OTHER = Subject("gpu", "GPU-00000003-1111-2222-3333-444444444444", "GPU 3"), Subject("gpu", "GPU-b", "GPU 4")
PORT = Subject("pci", "0000:85:00.0", "port 0000:85:00.0")


def a_check(name: str, *after: str) -> Check:
    return Check(name, "A check", (), (), lambda _: (), after=after)


def told(seen: Inventory, checks: Any, *found: Any) -> Any:
    """(check, status, cause's check) of each finding after attribution."""
    findings = [Finding(name, status, subject, "", fold="old") for name, status, subject in found]
    return [
        (finding.check, finding.status, finding.cause.check if finding.cause else None)
        for finding in attributed(findings, checks, seen)
    ]


def test_a_consequence_is_an_info_that_names_its_cause() -> None:
    checks = (a_check("hot"), a_check("slow", "hot"))
    findings = [Finding("slow", Status.WARN, GPU, "slow"), Finding("hot", Status.CRIT, GPU, "hot")]
    slow, hot = attributed(findings, checks, Inventory())
    assert slow == Finding("slow", Status.INFO, GPU, "slow", fold="slow info GPU 3", cause=Cause("hot", GPU))
    assert (hot.status, hot.cause, hot.fold) == (Status.CRIT, None, "hot crit GPU 3")


def test_on_another_part_it_stands_by_itself() -> None:
    checks = (a_check("hot"), a_check("slow", "hot"))
    assert told(Inventory(), checks, ("slow", Status.WARN, OTHER), ("hot", Status.CRIT, GPU)) == [
        ("slow", Status.WARN, None),
        ("hot", Status.CRIT, None),
    ]


def test_what_concerns_the_host_explains_every_part() -> None:
    checks = (a_check("driver"), a_check("slow", "driver"))
    assert told(Inventory(), checks, ("slow", Status.WARN, GPU), ("driver", Status.CRIT, HOST)) == [
        ("slow", Status.INFO, "driver"),
        ("driver", Status.CRIT, None),
    ]


def test_what_is_of_all_follows_from_what_is_of_each(dgx: Inventory) -> None:
    gpus = (dgx.gpus or ())[3:5]
    seen = dgx._replace(gpus=gpus)
    checks = (a_check("hot"), a_check("slow", "hot"))
    each = [("hot", Status.CRIT, Subject("gpu", gpu.uuid or "", "")) for gpu in gpus]
    assert told(seen, checks, ("slow", Status.CRIT, HOST), *each)[0] == ("slow", Status.INFO, "hot")
    assert told(seen, checks, ("slow", Status.CRIT, HOST), each[0])[0] == ("slow", Status.CRIT, None)
    unread = [(check, Status.UNKNOWN, subject) for check, _, subject in each]
    assert told(seen, checks, ("slow", Status.CRIT, HOST), *unread)[0] == ("slow", Status.CRIT, None)


def test_a_chain_is_told_as_one_and_as_bad_as_its_worst() -> None:
    checks = (a_check("a"), a_check("b", "a"), a_check("c", "b"))
    found = (("c", Status.CRIT, GPU), ("b", Status.WARN, GPU), ("a", Status.WARN, GPU))
    assert told(Inventory(), checks, *found) == [
        ("c", Status.INFO, "a"),
        ("b", Status.INFO, "a"),
        ("a", Status.CRIT, None),
    ]


def test_the_likeliest_cause_comes_first() -> None:
    checks = (a_check("a"), a_check("b"), a_check("c", "b", "a"))
    found = (("a", Status.WARN, GPU), ("b", Status.WARN, GPU), ("c", Status.WARN, GPU))
    assert told(Inventory(), checks, *found)[2] == ("c", Status.INFO, "b")


def test_two_that_name_each_other_do_not_vanish() -> None:
    checks = (a_check("a", "b"), a_check("b", "a"))
    found = told(Inventory(), checks, ("a", Status.WARN, GPU), ("b", Status.WARN, GPU))
    assert Status.WARN in [status for _, status, _ in found]


def test_what_was_not_read_explains_only_what_was_not_read() -> None:
    checks = (a_check("answers"), a_check("slow", "answers"))
    found = (("answers", Status.UNKNOWN, GPU), ("slow", Status.WARN, GPU), ("slow", Status.UNKNOWN, HOST))
    assert told(Inventory(), checks, *found) == [
        ("answers", Status.UNKNOWN, None),
        ("slow", Status.WARN, None),
        ("slow", Status.INFO, "answers"),
    ]


@pytest.mark.parametrize("status", [Status.PASS, Status.INFO, Status.NA])
def test_what_is_well_explains_nothing_and_needs_no_cause(status: Status) -> None:
    checks = (a_check("hot"), a_check("slow", "hot"))
    assert told(Inventory(), checks, ("hot", status, GPU), ("slow", Status.WARN, GPU))[1] == ("slow", Status.WARN, None)
    assert told(Inventory(), checks, ("hot", Status.CRIT, GPU), ("slow", status, GPU))[1] == ("slow", status, None)


def test_a_port_explains_what_is_below_it(dgx: Inventory) -> None:
    ancestors = ("pci0000:80", PORT.id)
    pci = tuple(device._replace(ancestors=ancestors) for device in dgx.pci or ())
    checks = (a_check("aer"), a_check("lost", "aer"))
    found = (("lost", Status.CRIT, GPU), ("aer", Status.CRIT, PORT))
    assert told(dgx._replace(pci=pci), checks, *found)[0] == ("lost", Status.INFO, "aer")
    assert told(dgx, checks, *found)[0] == ("lost", Status.CRIT, None)


AER = Finding("aer", Status.WARN, PORT, "a PCIe error")
XID = Finding("xid", Status.CRIT, GPU, "Xid 79", cause=Cause("aer", PORT))


def stated(*findings: Finding) -> Any:
    found = attributed(findings, (a_check("aer"), a_check("xid")), Inventory())
    return [(one.check, one.status, one.cause) for one in found]


@pytest.mark.parametrize("status", [Status.CRIT, Status.INFO])
def test_a_cause_that_the_check_itself_names(status: Status) -> None:
    worse = max(status, Status.WARN, key=list(Status).index)
    assert stated(AER, XID._replace(status=status)) == [
        ("aer", worse, None),
        ("xid", Status.INFO, Cause("aer", PORT)),
    ]


@pytest.mark.parametrize("others", [(), (AER._replace(status=Status.PASS),), (AER._replace(subject=GPU),)])
def test_a_cause_that_was_not_found_explains_nothing(others: Any) -> None:
    assert stated(*others, XID)[-1] == ("xid", Status.CRIT, None)
