from typing import Any, Callable

from brctl.node.facts import Inventory
from brctl.node.report import HOST, Cause, Finding, Status, Subject

HUNG = "[{}.0] INFO: task {}:{} blocked for more than 120 seconds."


def test_nothing(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    clean = "no hung task, no locked up CPU since the boot"
    assert examine(logged()) == (
        Finding("kernel-hung-task", Status.PASS, HOST, clean, fold="kernel-hung-task pass host"),
    )


def test_in_the_driver(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(logged(HUNG.format(500, "jbd2/sda1-8", 88), HUNG.format(501, "nvidia-smi", 4411)))
    assert found.status is Status.CRIT
    assert found.summary == "nvidia-smi (pid 4411) hung in NVIDIA's driver (at 501.0 s); so did jbd2/sda1-8"
    assert found.remedy == "drain the node and reboot it: a task that hangs in the driver cannot be ended"


def test_elsewhere(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(logged(HUNG.format(500, "cp", 88), HUNG.format(620, "cp", 88)))
    assert (found.status, found.summary) == (Status.WARN, "cp (pid 88) hung (2 times, 500.0 to 620.0 s)")
    assert "/proc/PID/stack" in found.remedy


def test_a_cpu(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(logged("[5.0] watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:123]"))
    assert (found.status, found.summary) == (Status.CRIT, "python3 (pid 123) locked up a CPU (at 5.0 s)")


def test_after_a_gpu_was_lost(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    lost = "[400.0] NVRM: Xid (PCI:0000:86:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    (found,) = examine(logged(lost, HUNG.format(530, "nvidia-smi", 4411)))
    gpu = Subject("gpu", "GPU-00000003-1111-2222-3333-444444444444", "GPU 3")
    assert (found.status, found.cause) == (Status.CRIT, Cause("gpu-xid", gpu))
    (found,) = examine(logged(lost, HUNG.format(530, "cp", 4411)))
    assert (found.status, found.cause) == (Status.WARN, None)
