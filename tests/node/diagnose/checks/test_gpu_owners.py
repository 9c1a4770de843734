from typing import Any, Callable

import pytest

from brctl.node.facts import GpuProcess, Inventory
from brctl.node.report import Evidence, Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def held(well: Inventory, *processes: GpuProcess, used: int = 8 * 2**30) -> Inventory:
    gpus = list(well.gpus or ())
    values = gpus[3].telemetry
    assert values
    gpus[3] = gpus[3]._replace(processes=processes, telemetry=values._replace(memory_used_bytes=used))
    return well._replace(gpus=tuple(gpus))


def a_process(pid: int, present: bool = True, state: str = "S") -> GpuProcess:
    return GpuProcess(pid, "compute", 2**30, None, None, present, state if present else None)


def test_all_alive(well: Inventory, examine: Examine) -> None:
    for seen in (well, held(well, a_process(7))):
        (found,) = examine(seen)
        assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs: all processes on them are alive")


def test_one_that_is_gone(well: Inventory, examine: Examine) -> None:
    (found,) = examine(held(well, a_process(7), a_process(8, present=False), a_process(9, present=False)))
    assert (found.status, found.summary) == (Status.WARN, "GPU 3: still held by PID 8, 9, not there any more")
    assert found.evidence[0] == Evidence("PID 8", "in the driver's list, not in /proc, 1024 MiB", "/proc/8")


def test_one_that_hangs_in_both_looks(well: Inventory, examine: Examine) -> None:
    seen = held(well, a_process(7, state="D"))
    (found,) = examine(seen, before=seen)
    assert (found.status, found.summary) == (Status.CRIT, "GPU 3: PID 7 hangs in the driver")
    for before in (None, held(well, a_process(7)), well):
        (found,) = examine(seen, before=before)
        assert found.status is Status.PASS


@pytest.mark.parametrize(("mib", "status"), [(2047, Status.PASS), (2048, Status.WARN)])
def test_nobodys_memory(well: Inventory, examine: Examine, mib: int, status: Status) -> None:
    (found,) = examine(held(well, used=mib * 2**20))
    assert found.status is status
    if status is Status.WARN:
        assert found.summary == "GPU 3: 2048 MiB in use, and no process"


def test_mig_and_shared_memory_are_somebodys(with_values: Values, examine: Examine) -> None:
    for identity in ({"mig_enabled": True}, {"unified_memory": True}):
        seen = with_values(3, identity=identity, telemetry={"memory_used_bytes": 2**36})
        (found,) = examine(seen)
        assert found.status is Status.PASS


@pytest.mark.parametrize("own", [True, None])
def test_in_a_container_nothing_can_be_told(well: Inventory, examine: Examine, own: Any) -> None:
    seen = held(well, a_process(8, present=False))
    assert seen.kernel
    (found,) = examine(seen._replace(kernel=seen.kernel._replace(own_pid_namespace=own)))
    assert (found.status, found.summary) == (Status.NA, "PIDs are those of another PID namespace")


def test_no_list(dgx: Inventory, examine: Examine) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.NA, "no GPU tells its processes")
