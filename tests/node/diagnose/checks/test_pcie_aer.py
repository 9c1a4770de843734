from typing import Any, Callable

import pytest

from brctl.node.diagnose import engine
from brctl.node.facts import Inventory
from brctl.node.host.members import of_ids
from brctl.node.report import HOST, Cause, Finding, Status, Subject
from brctl.node.request import Expected, Override

PORT = Subject("pci", "0000:85:01.0", "0000:85:01.0")
GPU3 = Subject("gpu", "GPU-00000003-1111-2222-3333-444444444444", "GPU 3")
FATAL = (
    "[91231.110402] pcieport 0000:85:01.0: AER: Uncorrected (Fatal) error received: 0000:85:01.0",
    "[91231.110418] pcieport 0000:85:01.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
    "[91231.110421] pcieport 0000:85:01.0:    [ 5] SDES                   (First)",
)
LOST = (
    "[91231.402377] NVRM: Xid (PCI:0000:86:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "[91231.402381] NVRM: GPU 0000:86:00.0: GPU has fallen off the bus.",
)


def below(dgx: Inventory, port: str) -> Inventory:
    """With GPU 3 below a port."""
    pci = tuple(
        one._replace(ancestors=("pci0000:80", port)) if one.address == "0000:86:00.0" else one for one in dgx.pci or ()
    )
    return dgx._replace(pci=pci)


def of_log(seen: Inventory) -> Any:
    found = engine.run(seen, Expected(), (), of_ids(engine.registry(), ("pcie-aer", "gpu-xid", "nic-firmware-error")))
    return [(one.check, one.status, one.subject, one.cause) for one in found if one.status is not Status.PASS]


def test_nothing(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    assert examine(logged()) == (
        Finding("pcie-aer", Status.PASS, HOST, "no PCIe error since the boot", fold="pcie-aer pass host"),
    )


def test_a_port_that_lost_its_gpu_is_one_finding(
    logged: Callable[..., Inventory], examine: Callable[..., Any], dgx: Inventory
) -> None:
    for seen in (dgx, Inventory(), below(dgx, PORT.id)):
        gpu = GPU3 if seen.gpus else Subject("gpu", "0000:86:00.0", "GPU 0000:86:00.0")
        assert of_log(logged(*FATAL, *LOST, seen=seen)) == [
            ("pcie-aer", Status.CRIT, PORT, None),
            ("gpu-xid", Status.INFO, gpu, Cause("pcie-aer", PORT)),
        ]
    (found,) = examine(logged(*FATAL, *LOST))
    assert found.summary == "0000:85:01.0: a fatal PCIe error, SDES (at 91231.110402 s)"
    assert found.remedy.startswith("drain the node and power-cycle it")


def test_another_port_is_not_the_cause(logged: Callable[..., Inventory], dgx: Inventory) -> None:
    assert of_log(logged(*FATAL, *LOST, seen=below(dgx, "0000:80:01.0"))) == [
        ("gpu-xid", Status.CRIT, GPU3, None),
        ("pcie-aer", Status.CRIT, PORT, None),
    ]


def test_long_before_is_not_the_cause(logged: Callable[..., Inventory]) -> None:
    late = [line.replace("[91231", "[99999") for line in LOST]
    assert [status for _, status, *_ in of_log(logged(*FATAL, *late))] == [Status.CRIT, Status.CRIT]


def test_a_port_that_complains_of_a_gpu_that_is_gone(logged: Callable[..., Inventory], dgx: Inventory) -> None:
    later = [line.replace("[91231", "[91251") for line in FATAL]
    assert of_log(logged(*LOST, *later, seen=below(dgx, PORT.id))) == [
        ("gpu-xid", Status.CRIT, GPU3, None),
        ("pcie-aer", Status.INFO, PORT, Cause("gpu-xid", GPU3)),
    ]


def test_a_card_whose_link_failed(logged: Callable[..., Inventory], dgx: Inventory) -> None:
    card = dgx.nics[1].pci if dgx.nics else ""
    aer = "[5.0] mlx5_core {}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer".format(card)
    dead = "[6.0] mlx5_core {}: poll_health:1: device's health compromised".format(card)
    pci = tuple(
        one._replace(ancestors=("pci0000:10", "0000:10:01.0")) if one.address == card else one for one in dgx.pci or ()
    )
    (found, *others) = of_log(logged(aer, dead, seen=dgx._replace(pci=pci)))
    nic = Subject("nic", "ens1np0", "ens1np0")
    assert found[:3] == ("nic-firmware-error", Status.CRIT, nic)
    assert [other[:3] for other in others] == [("pcie-aer", Status.CRIT, nic)]


@pytest.mark.parametrize(
    ("severity", "status", "words"),
    [
        ("Uncorrected (Fatal)", Status.CRIT, "0000:85:01.0: a fatal PCIe error (at 5.0 s)"),
        ("Uncorrectable (Non-Fatal)", Status.WARN, "0000:85:01.0: an uncorrected PCIe error (at 5.0 s)"),
        ("Corrected", Status.INFO, "0000:85:01.0: a corrected PCIe error (at 5.0 s)"),
    ],
)
def test_severities(
    logged: Callable[..., Inventory], examine: Callable[..., Any], severity: str, status: Status, words: str
) -> None:
    line = "[5.0] pcieport 0000:85:01.0: PCIe Bus Error: severity={}, type=Physical Layer, (Receiver ID)"
    found, *_ = examine(logged(line.format(severity)))
    assert (found.status, found.summary) == (status, words)


@pytest.mark.parametrize(
    ("count", "limit", "status"), [(31, None, Status.INFO), (40, None, Status.WARN), (40, 99, Status.INFO)]
)
def test_a_rate_of_corrected_ones(
    logged: Callable[..., Inventory], examine: Callable[..., Any], count: int, limit: Any, status: Status
) -> None:
    line = "[{}.0] pcieport 0000:85:01.0: PCIe Bus Error: severity=Corrected, type=Physical Layer"
    overrides = [Override("pcie-aer", "corrected_per_minute", limit)] if limit else []
    found, *_ = examine(logged(*map(line.format, range(count))), None, *overrides)
    assert found.status is status


def test_a_slow_trickle_is_no_rate(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    line = "[{}.0] pcieport 0000:85:01.0: PCIe Bus Error: severity=Corrected, type=Physical Layer"
    found, *_ = examine(logged(*(line.format(60 * minute) for minute in range(500))))
    assert found.status is Status.INFO
    undated = "pcieport 0000:85:01.0: PCIe Bus Error: severity=Corrected, type=Physical Layer"
    found, *_ = examine(logged(*[undated] * 500))
    assert found.status is Status.INFO
