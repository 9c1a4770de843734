from typing import Any, Callable

from brctl.node.facts import Inventory
from brctl.node.report import HOST, Cause, Finding, Status, Subject

SWITCH = Subject("nvswitch", "0000:84:00.0", "0000:84:00.0")


def sxid(second: float, words: str) -> str:
    return "[{}] nvidia-nvswitch3: SXid (PCI:0000:84:00.0): {}".format(float(second), words)


FATAL = sxid(5, "20034, Fatal, Link 30 LTSSM Fault Up")
MILD = sxid(5.2, "19084, Non-fatal, Link 30 AN1 Heartbeat Timeout Error (First)")


def test_nothing(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    assert examine(logged()) == (
        Finding("nvswitch-sxid", Status.PASS, HOST, "no SXid since the boot", fold="nvswitch-sxid pass host"),
    )


def test_a_fatal_one_comes_first(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    for lines in ((FATAL, MILD), (MILD.replace("5.2", "4.8"), FATAL)):
        (found,) = examine(logged(*lines))
        assert (found.status, found.subject) == (Status.CRIT, SWITCH)
        assert found.summary == "0000:84:00.0: SXid 20034, fatal (at 5.0 s); with SXid 19084"
        assert "nvidia-smi --gpu-reset" in found.remedy


def test_one_that_is_not_fatal(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(logged(sxid(5, "12028, Non-fatal, Link 32 egress non-posted PRIV error (First)")))
    assert (found.status, found.summary) == (Status.WARN, "0000:84:00.0: SXid 12028, not fatal (at 5.0 s)")
    (found,) = examine(logged(sxid(5, "12028, Link 32 egress")))
    assert (found.status, found.summary) == (Status.WARN, "0000:84:00.0: SXid 12028, of unknown severity (at 5.0 s)")


def test_a_consequence_of_a_lost_gpu(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    lost = "[4.0] NVRM: Xid (PCI:0000:86:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    (found,) = examine(logged(lost, FATAL))
    gpu = Subject("gpu", "GPU-00000003-1111-2222-3333-444444444444", "GPU 3")
    assert (found.status, found.cause) == (Status.CRIT, Cause("gpu-xid", gpu))
