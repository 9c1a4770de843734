"""What holds of every Setting on every machine: apply leaves an empty plan, and rollback the machine as it was."""

from typing import Any, Callable, Dict, List

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brctl.mock.machines import names
from brctl.node.probe import inventory
from brctl.node.report import Outcome, Report
from brctl.node.request import Clocks, KernelParameter, PowerLimit
from brctl.node.tune import engine, journal
from brctl.node.tune.places import Places

Ask = Callable[..., Report]  # the fixtures of conftest.py
Load = Callable[[str], Any]

WANTED: Dict[str, Any] = {
    "sysctls": (
        KernelParameter("net.core.rmem_max", "134217728"),
        KernelParameter("net.ipv4.tcp_rmem", "4096 262144 134217728"),
    ),
    "numa_balancing": 1,
    "power_limits": (PowerLimit(None, None, 90.0),),
    "persistence_mode": False,
    "locked_clocks": Clocks(900, 1200),
    "cpu_governor": "powersave",
    "transparent_hugepage": "never",
    "memlock": "1073741824",
    "mtu": 4200,
}
"""What none of these machines is like."""
OF_FILES = ("memlock", "comm-env")
"""Settings that write files alone; the others write to /proc, /sys or NVML."""


def possible(report: Report) -> List[str]:
    """The Settings that this machine has something for, and refuses nothing of."""
    refused = {change.setting for change in report.changes if change.outcome is Outcome.REFUSED}
    pending = {change.setting for change in report.changes if change.outcome is Outcome.PENDING}
    kept = {change.setting for change in report.changes if "--allow-mgmt" in " ".join(change.effects)}
    return sorted(pending - refused - kept - set(OF_FILES))


def reading(machine: Any) -> Dict[str, Any]:
    """What differs, byte for byte, from how it was at first, our journal left out; and what NVML tells or was told."""
    found: Dict[str, Any] = {}
    for path, text in machine._overlay.changed().items():
        first = machine._tree._texts.get(path)
        if path.startswith("/") and not path.startswith(journal.FOLDER) and text != first:
            found[path] = machine.read_bytes(path)
        if path.endswith("locked_clocks_mhz") and text != "null":
            found[path] = text
    for gpu in inventory(machine).gpus or ():
        found["gpu{}".format(gpu.gpu_index)] = gpu.limits, gpu.identity and gpu.identity.persistence_mode
    return found


def parts(report: Report) -> List[Any]:
    """What was touched, each once; what was as wanted already is left out."""
    touched = (Outcome.CHANGED, Outcome.RESTORED)
    return sorted((each.setting, each.subject, each.key) for each in report.changes if each.outcome in touched)


@pytest.mark.parametrize("name", names())
def test_apply_leaves_an_empty_plan_and_rollback_nothing(ask: Ask, load: Load, name: str) -> None:
    machine = load(name)
    before = reading(machine)
    chosen = possible(ask(machine, "tune-plan", **WANTED))
    wanted = dict(WANTED, settings=chosen)
    done = ask(machine, "tune-apply", **wanted)
    assert done.transactions[0].state == "done", done.changes
    assert {change.setting for change in done.changes if change.outcome is Outcome.CHANGED} == set(chosen)
    again = ask(machine, "tune-plan", **wanted)
    assert {change.outcome for change in again.changes} <= {Outcome.OK, Outcome.NA}
    back = ask(machine, "tune-rollback")
    assert {change.outcome for change in back.changes} == {Outcome.RESTORED}
    assert parts(back) == parts(done)
    assert reading(machine) == before
    assert machine.read(journal.MARKER) is None


def test_every_setting_is_tried_on_some_machine(ask: Ask) -> None:
    plans = [ask(machine, "tune-plan", **WANTED) for machine in ("dgx-h100", "cpu-only", "dgx-a100")]
    tried = {name for plan in plans for name in possible(plan)}
    assert tried == {setting.id for setting in engine.registry()} - set(OF_FILES)


def _numbers(least: int, most: int) -> Any:
    return st.integers(least, most)


ANY: Any = st.fixed_dictionaries(
    {},
    optional={
        "sysctls": st.lists(_numbers(1, 2**31 - 1), min_size=3, max_size=3).map(
            lambda sizes: (KernelParameter("net.ipv4.tcp_rmem", " ".join(map(str, sorted(sizes)))),)
        ),
        "numa_balancing": _numbers(0, 3),
        "power_limits": _numbers(200, 700).map(lambda watts: (PowerLimit(None, float(watts)),)),
        "persistence_mode": st.booleans(),
        "locked_clocks": st.tuples(_numbers(1, 1980), _numbers(1, 1980)).map(lambda pair: Clocks(*sorted(pair))),
        "persist": st.booleans(),
    },
)
"""What this machine can take."""


@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=ANY, second=ANY)
def test_any_two_after_each_other_and_back(ask: Ask, load: Load, h100: str, first: Any, second: Any) -> None:
    machine = load(h100)
    before = reading(machine)
    done = 0
    for wanted in (first, second):
        report = ask(machine, "tune-apply", **wanted)
        assert {change.outcome for change in report.changes} <= {Outcome.CHANGED, Outcome.OK, Outcome.NA}, (
            report.changes
        )
        assert {change.outcome for change in ask(machine, "tune-plan", **wanted).changes} <= {Outcome.OK, Outcome.NA}
        done += len(report.transactions)
    for _ in range(done):
        back = ask(machine, "tune-rollback")
        assert {change.outcome for change in back.changes} <= {Outcome.RESTORED}
    assert ask(machine, "tune-rollback").errors[0].message == "there is nothing to roll back"
    assert reading(machine) == before


class KilledError(BaseException):
    """kill -9"""


def killed_at(machine: Any, number: int, before: bool) -> Any:
    """The machine, with a program that is killed before or after it writes that record of its journal."""
    append, count = machine.append, iter(range(10_000))

    def dying(path: str, data: bytes) -> None:
        due = next(count) == number
        if due and before:
            raise KilledError
        append(path, data)
        if due:
            raise KilledError

    machine.append = dying
    return machine


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_kill_at_each_record_leaves_what_rollback_mends(ask: Ask, load: Load, h100: str, before: bool) -> None:
    """Before a record: the write that it follows is done, and nothing tells so. After it: its own write is not done."""
    first = reading(load(h100))
    wanted = dict(WANTED, settings=possible(ask(h100, "tune-plan", **WANTED)), persist=True)
    for number in range(100):
        try:
            ask(killed_at(load(h100), number, before), "tune-apply", **wanted)
        except KilledError:
            pass
        else:
            break
        newest = next(iter(ask(h100, "tune-history").transactions), None)
        if newest and newest.state == "open" and number:
            (note,) = ask(h100, "tune-plan", **wanted).notes
            assert note == newest.id + " by op@admin was cut short: `tune rollback` takes back what it did"
            assert ask(h100, "tune-apply", **wanted).errors[0].message == note
        back = ask(h100, "tune-rollback")
        assert bool(back.errors) is (number == 0)  # nothing was done yet
        assert {change.outcome for change in back.changes} <= {Outcome.RESTORED, Outcome.OK}
        assert reading(load(h100)) == first, number
    assert number > 10


def killed_in(machine: Any, patch: pytest.MonkeyPatch, number: int, before: bool) -> Any:
    """The machine, with a program that is killed before or after that write, command or line of the journal."""
    count = iter(range(10_000))

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            due = next(count) == number
            if due and before:
                raise KilledError
            answer = call(*arguments)
            if due:
                raise KilledError
            return answer

        return called

    patch.setattr(Places, "write", dying(Places.write))
    machine.append, machine.run = dying(machine.append), dying(machine.run)
    return machine


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_rollback_that_is_killed_is_gone_on_with(
    ask: Ask, load: Load, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    """It is the same one that the next `tune rollback` takes back, to its end, and none that is older."""
    first = reading(load("cpu-only"))
    ask("cpu-only", "tune-apply", settings=("transparent-hugepage",), transparent_hugepage="never")
    older = reading(load("cpu-only"))
    assert older != first
    wanted: Any = {"settings": ("nic-mtu",), "mtu": 9000, "interfaces": "ens2f1np1", "persist": True}
    for number in range(100):
        newest = ask("cpu-only", "tune-apply", **wanted).transactions[0].id
        try:
            with monkeypatch.context() as patch:
                ask(killed_in(load("cpu-only"), patch, number, before), "tune-rollback")
        except KilledError:
            pass
        else:
            break
        if journal.load(load("cpu-only"), newest).state != "rolled back":
            if journal.open_id(load("cpu-only")):
                (note,) = ask("cpu-only", "tune-plan", **wanted).notes
                assert note == newest + " by op@admin was cut short: `tune rollback` takes back what it did"
            back = ask("cpu-only", "tune-rollback")
            assert back.transactions[0].id == newest
            assert {change.outcome for change in back.changes} <= {Outcome.RESTORED, Outcome.OK}
        assert reading(load("cpu-only")) == older, number
    assert number > 4
    ask("cpu-only", "tune-rollback")
    assert reading(load("cpu-only")) == first
