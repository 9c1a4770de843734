import errno
import threading
from typing import Any, Callable, Iterator, Optional

import pytest

from brctl.mock.machines import load
from brctl.node import deadline
from brctl.node.facts import Inventory, Problem
from brctl.node.host.local import Local
from brctl.node.probe import again, inventory

pytestmark = pytest.mark.usefixtures("own_pynvml")


class Troubled:
    """A machine where reading one path does as `trouble` does."""

    def __init__(self, path: str, trouble: Callable[[], Optional[str]], machine: str = "cpu-only") -> None:
        self._machine = load(machine)
        self._path, self._trouble = path, trouble

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def read(self, path: str) -> Optional[str]:
        if path != self._path:
            return self._machine.read(path)
        deadline.calling("read " + path, 0.1)  # the others have their time, on a busy machine as well
        return self._trouble()


SHOWN = Inventory._fields[: Inventory._fields.index("kernel_log")]
"""The rest is read for `diagnose` alone."""


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """An event that comes only when the test is over."""
    event = threading.Event()
    yield event
    event.set()


def test_dgx() -> None:
    seen = inventory(load("dgx-h100"))
    assert seen.problems == ()
    assert [field for field in SHOWN if getattr(seen, field) is None] == []
    assert [(gpu.gpu_index, gpu.pci, gpu.nearest_nic, gpu.nearest_nic_path) for gpu in seen.gpus or ()] == [
        (0, "0000:19:00.0", "ens1np0", "PIX"),
        (1, "0000:3b:00.0", "ens2np0", "PIX"),
        (2, "0000:4c:00.0", "ens3np0", "PIX"),
        (3, "0000:5d:00.0", "ens4np0", "PIX"),
        (4, "0000:9b:00.0", "ens5np0", "PIX"),
        (5, "0000:bb:00.0", "ens6np0", "PIX"),
        (6, "0000:cb:00.0", "ens7np0", "PIX"),
        (7, "0000:db:00.0", "ens8np0", "PIX"),
    ]


def test_the_condition_of_a_dgx() -> None:
    seen = inventory(load("dgx-h100"), health=True)
    assert seen.problems == ()
    absent = [field for field in Inventory._fields if getattr(seen, field) is None]
    assert absent == ["hypervisor"]  # it is no virtual machine
    assert again(load("dgx-h100"), seen).tasks == seen.tasks


def test_cpu_only() -> None:
    seen = inventory(load("cpu-only"))
    assert seen.problems == ()
    absent = [field for field in SHOWN if getattr(seen, field) is None]
    assert absent == ["rdma", "accelerator_driver", "gpus"]
    assert seen.kernel is not None
    assert (seen.kernel.architecture, seen.kernel.product) == ("x86_64", "Supermicro SYS-221H-TNR")


def test_a_hung_file_costs_its_own_part(never: threading.Event) -> None:
    def hang() -> Optional[str]:
        never.wait()
        return None

    seen = inventory(Troubled("/proc/meminfo", hang))
    assert seen.problems == (Problem("memory", "hung", "read /proc/meminfo did not return within 0.1 s"),)
    assert seen.memory is None
    assert seen.cpu is not None


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "/proc/meminfo"),
            "permission",
            "/proc/meminfo: Permission denied",
        ),
        (PermissionError(errno.EPERM, "Not permitted", "/proc/meminfo"), "permission", "/proc/meminfo: Not permitted"),
        (OSError(errno.EIO, "Input/output error", "/proc/meminfo"), "error", "/proc/meminfo: Input/output error"),
        (OSError("broken"), "error", "broken"),
        (ValueError("no\n number"), "error", "no number"),
        (RuntimeError(), "error", "RuntimeError"),
    ],
)
def test_what_fails_is_a_problem(error: Exception, reason: str, message: str) -> None:
    def fail() -> Optional[str]:
        raise error

    seen = inventory(Troubled("/proc/meminfo", fail))
    assert seen.problems == (Problem("memory", reason, message),)


TROUBLES = [
    ("/sys/class/net/ens4np0/speed", "nics", "ens4np0", "speed_mbps"),
    ("/sys/class/infiniband/mlx5_5/ports/1/state", "rdma", "mlx5_5", "state"),
    ("/sys/bus/pci/devices/0000:5e:00.0/current_link_speed", "pci", "0000:5e:00.0", "link_speed_gts"),
    ("/etc/os-release", "kernel", None, "distribution"),
    ("/proc/sys/vm/swappiness", "sysctls", "vm.swappiness", None),
]


@pytest.mark.parametrize(("path", "part", "subject", "field"), TROUBLES)
def test_one_item_that_fails_takes_no_other_along(path: str, part: str, subject: Any, field: Any) -> None:
    def fail() -> Optional[str]:
        raise OSError(errno.EIO, "Input/output error", path)

    whole, seen = inventory(load("dgx-h100")), inventory(Troubled(path, fail, "dgx-h100"))
    (problem,) = seen.problems
    assert (problem.part, problem.reason, problem.subject, problem.field) == (part, "error", subject, field)
    assert "Input/output error" in problem.message
    assert [name for name in Inventory._fields if getattr(seen, name) != getattr(whole, name)] == [part, "problems"]
    if part not in ("kernel", "sysctls"):
        rows, same = getattr(seen, part), getattr(whole, part)
        assert len(rows) == len(same)
        assert len(set(rows) - set(same)) == 1


@pytest.mark.parametrize(("path", "part", "subject"), [trouble[:3] for trouble in TROUBLES[:3]])
def test_one_item_that_hangs_takes_no_other_along(never: threading.Event, path: str, part: str, subject: str) -> None:
    def hang() -> Optional[str]:
        never.wait()
        return None

    seen = inventory(Troubled(path, hang, "dgx-h100"))
    message = "read {} did not return within 0.1 s".format(path)
    assert seen.problems == (Problem(part, "hung", message, subject),)
    assert len(getattr(seen, part)) == len(getattr(inventory(load("dgx-h100")), part))


@pytest.mark.real
def test_this_machine() -> None:
    seen = inventory(Local())
    assert [problem for problem in seen.problems if problem.part != "gpus"] == []
    assert seen.cpu is not None
    assert seen.nics is not None
