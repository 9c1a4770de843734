from typing import Any, Callable, Sequence

from brctl.node.diagnose import Earlier, engine
from brctl.node.facts import Inventory, Task, Tasks
from brctl.node.host.members import of_ids
from brctl.node.report import Status
from brctl.node.request import Expected

SMI, CP = Task(77, "nvidia-smi", 900), Task(88, "cp", 901)


def looked(dgx: Inventory, before: Sequence[Task], now: Sequence[Task], zombies: int = 0) -> Any:
    (check,) = of_ids(engine.registry(), ("host-d-state",))
    earlier = Earlier(dgx._replace(tasks=Tasks(100, zombies, tuple(before))), "the first sample")
    return engine.examine(check, dgx._replace(tasks=Tasks(100, zombies, tuple(now))), Expected(), (), (earlier,))


def test_nobody_waits(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = looked(dgx, (), ())
    assert (found.status, found.summary) == (Status.PASS, "100 processes, 0 in state D at both looks, 0 zombies")
    (found,) = examine(dgx._replace(tasks=Tasks(100, 0, (SMI,))))
    assert found.status is Status.PASS


def test_for_a_moment(dgx: Inventory) -> None:
    (found,) = looked(dgx, (SMI,), (SMI._replace(start_ticks=950),))
    assert found.status is Status.PASS


def test_in_the_driver(dgx: Inventory) -> None:
    (found,) = looked(dgx, (SMI, CP), (SMI, CP))
    assert (found.status, found.summary) == (Status.WARN, "hangs in NVIDIA's driver: nvidia-smi (77)")
    assert found.remedy.startswith("drain the node and reboot it")


def test_many_that_wait_for_something_else(dgx: Inventory) -> None:
    crowd = tuple(Task(pid, "cp", pid) for pid in range(50))
    (found,) = looked(dgx, crowd, crowd)
    assert (found.status, found.summary) == (Status.WARN, "50 processes wait in the kernel at both looks")
    (found,) = looked(dgx, crowd[:49], crowd)
    assert found.status is Status.PASS


def test_zombies(dgx: Inventory) -> None:
    (found,) = looked(dgx, (), (), 1000)
    assert (found.status, found.summary) == (Status.WARN, "1000 zombies")
    (found,) = looked(dgx, (), (), 999)
    assert found.status is Status.PASS
