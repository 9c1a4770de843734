import importlib
import sys
import zipfile
from pathlib import Path
from typing import Any, Iterable, Iterator, List, Tuple

import pytest

from brctl.node.codec import decode, encode
from brctl.node.diagnose import Case, Check, Threshold, engine
from brctl.node.facts import GpuFault, Inventory, Memory, Problem
from brctl.node.report import HOST, Finding, Status, Subject
from brctl.node.request import Expected, ExpectedAccelerator, Override

MEMORY = Inventory(memory=Memory(1, 1, 1))


def a_check(*outcomes: Any, name: str = "a-check", **fields: Any) -> Check:
    """A check that gives these (status, subject name) or raises."""

    def run(case: Case) -> Iterator[Finding]:
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
            status, part = outcome
            yield check.finding(status, "summary", Subject("gpu", part, part))

    check = Check(name, "A check", ("inventory",), **{"needs": ("memory",), **fields}, run=run)
    return check


def examine(check: Check, seen: Inventory, *overrides: Override) -> Tuple[Finding, ...]:
    return engine.examine(check, seen, Expected(), overrides)


def test_the_registry_is_sorted_and_whole() -> None:
    ids = [check.id for check in engine.registry()]
    assert ids == sorted(set(ids))
    assert "gpu-responding" in ids
    assert engine.registry() is engine.registry()


def test_the_registry_in_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent of a far node is sent as one zip. Here under another name, not to get in the way of brctl itself."""
    root = Path(engine.__file__).parents[3] / "brctl"
    with zipfile.ZipFile(str(tmp_path / "bundle.zip"), "w") as bundle:
        for file in [root / "__init__.py", *(root / "node").rglob("*.py")]:
            bundle.write(str(file), str("bundled" / file.relative_to(root)))
    monkeypatch.syspath_prepend(str(tmp_path / "bundle.zip"))
    try:
        zipped = importlib.import_module("bundled.node.diagnose.engine")
        assert [check.id for check in zipped.registry()] == [check.id for check in engine.registry()]
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "bundled"]:
            del sys.modules[name]


def test_a_part_that_is_not_there_is_not_applicable() -> None:
    assert examine(a_check(needs=("memory", "gpus")), Inventory()) == (
        Finding("a-check", Status.NA, HOST, "this machine has no memory, no gpus", fold="a-check n/a host"),
    )


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("hung", "hung"), ("permission", "permission"), ("error", "error"), ("no-driver", "error")],
)
def test_a_part_that_could_not_be_read_is_unknown(kind: str, reason: str) -> None:
    problem = Problem("memory", kind, "/proc/meminfo: why")
    expected = Finding(
        "a-check", Status.UNKNOWN, HOST, "/proc/meminfo: why", reason=reason, fold="a-check unknown host"
    )
    assert examine(a_check((Status.PASS, "A")), Inventory(problems=(problem,))) == (expected,)


def test_one_finding_for_several_problems_the_hung_one_first() -> None:
    problems = tuple(Problem("memory", kind, kind) for kind in ("error", "hung", "permission"))
    (found,) = examine(a_check(), Inventory(problems=problems))
    assert (found.summary, found.reason) == ("hung", "hung")


def test_problems_of_other_parts_do_not_matter() -> None:
    seen = MEMORY._replace(problems=(Problem("gpus", "hung", "no"),))
    (found,) = examine(a_check((Status.PASS, "A")), seen)
    assert found.status is Status.PASS
    (found,) = examine(a_check(), seen._replace(memory=None))
    assert found.status is Status.NA


def test_a_part_that_it_reads_may_be_absent_but_not_unread() -> None:
    check = a_check((Status.CRIT, "A"), reads=("pci",))
    (found,) = examine(check, MEMORY)
    assert found.status is Status.CRIT
    (found,) = examine(check, MEMORY._replace(problems=(Problem("pci", "error", "no bus"),)))
    assert (found.status, found.summary) == (Status.UNKNOWN, "no bus")


def test_a_part_that_is_there_but_for_some_values_is_judged() -> None:
    (found,) = examine(a_check((Status.PASS, "A")), MEMORY._replace(problems=(Problem("memory", "error", "one"),)))
    assert found.status is Status.PASS


def test_a_check_that_breaks_or_says_nothing_is_unknown() -> None:
    (found,) = examine(a_check((Status.CRIT, "A"), KeyError("x")), MEMORY)
    assert (found.status, found.reason) == (Status.UNKNOWN, "error")
    assert found.summary == "the check a-check itself failed: KeyError: 'x'"
    (found,) = examine(a_check(), MEMORY)
    assert (found.status, found.reason) == (Status.UNKNOWN, "error")
    assert found.summary == "the check a-check itself failed: it gave no verdict"


def test_thresholds_are_the_defaults_or_what_the_config_says() -> None:
    seen: List[Any] = []

    def run(case: Case) -> Iterable[Finding]:
        seen.append(dict(case.thresholds))
        return [check.finding(Status.PASS, "")]

    limits = tuple(Threshold(name, 1, "percent", "source") for name in ("low", "high"))
    check = Check("a-check", "A check", (), (), run, limits)
    examine(check, Inventory())
    examine(check, Inventory(), Override("a-check", "high", 9), Override("other", "low", 7))
    assert seen == [{"low": 1, "high": 1}, {"low": 1, "high": 9}]


def test_run_orders_worst_first_then_by_check_then_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    first = a_check((Status.NA, "GPU 1"), (Status.CRIT, "GPU 10"), (Status.CRIT, "GPU 2"), (Status.WARN, "ens2f1"))
    outcomes = ((Status.CRIT, "GPU 1"), (Status.UNKNOWN, "²"), (Status.INFO, "A"), (Status.PASS, "A"))
    checks = (a_check(*outcomes, name="b-check"), first, first._replace(id="c-check", tags=("other",)))
    monkeypatch.setattr(engine, "registry", lambda: checks)
    found = engine.run(MEMORY, Expected(), (), engine.tagged("inventory"))
    assert [(one.status.value, one.subject.name) for one in found] == [
        ("crit", "GPU 2"),
        ("crit", "GPU 10"),
        ("crit", "GPU 1"),
        ("warn", "ens2f1"),
        ("unknown", "²"),
        ("info", "A"),
        ("pass", "A"),
        ("n/a", "GPU 1"),
    ]


def test_a_healthy_node_is_clean(dgx: Inventory, declared: Expected) -> None:
    found = engine.run(dgx, declared, (), engine.tagged("inventory"))
    assert {one.status for one in found} == {Status.PASS}
    assert [one.check for one in found] == [check.id for check in engine.tagged("inventory")]
    assert {one.status for one in engine.run(dgx, Expected(), (), engine.tagged("inventory"))} == {
        Status.PASS,
        Status.NA,
    }
    assert engine.run(dgx, declared, (), engine.tagged("active")) == ()
    assert tuple(decode(Finding, encode(one)) for one in found) == found


@pytest.mark.parametrize("kind", ["lost", "hung", "reset-required", "permission", "error", "invisible"])
def test_one_fault_is_one_finding(dgx: Inventory, declared: Expected, kind: str) -> None:
    gpus = list(dgx.gpus or ())
    gpus[3] = gpus[3]._replace(identity=None, links=None, fault=GpuFault(kind, "nvmlDeviceGetHandleByIndex_v2", "no"))
    for want in (declared, Expected()):
        found = engine.run(dgx._replace(gpus=tuple(gpus)), want, (), engine.tagged("inventory"))
        calling = [one for one in found if one.status not in (Status.PASS, Status.NA)]
        assert [(one.check, one.subject.name) for one in calling] == [("gpu-responding", "GPU 3")]


def test_a_machine_without_gpus_is_clean_unless_some_are_declared(dgx: Inventory, declared: Expected) -> None:
    bare = dgx._replace(gpus=None, accelerator_driver=None, pci=())
    found = engine.run(bare, declared._replace(accelerator=None), (), engine.tagged("inventory"))
    assert {one.status for one in found} == {Status.PASS, Status.NA}
    found = engine.run(bare, Expected(accelerator=ExpectedAccelerator(gpu_count=8)), (), engine.tagged("inventory"))
    assert [(one.check, one.summary) for one in found if one.status is Status.CRIT] == [
        ("gpu-count", "0 of 8 GPUs expected")
    ]
