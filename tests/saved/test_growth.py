"""Two files of one kind, one saved after the other."""

import io

import pytest

from brctl import saved
from brctl.node.diagnose import engine
from brctl.node.report import Finding, Status
from brctl.node.request import Expected
from brctl.saved import read
from brctl.saved.growth import compared, fallen
from brctl.saved.stream import Source, UnreadableError

NIC = """\
NIC statistics:
     rx_packets_phy: {packets}
     rx_crc_errors_phy: {damaged}
     rx_discards_phy: 12
     link_down_events_phy: 3
"""
SMI = """\
==============NVSMI LOG==============

Attached GPUs                             : 1
GPU 00000000:83:00.0
    Product Name                          : NVIDIA H200
    GPU UUID                              : GPU-1
    ECC Mode
        Current                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 0
            DRAM Correctable              : {corrected}
            DRAM Uncorrectable            : {uncorrected}
"""


def of(text: str, name: str) -> saved.Saved:
    return read(Source(io.BufferedReader(io.BytesIO(text.encode()))), name)


def found(before: str, now: str, apart_s: float) -> dict[str, Finding]:
    """What is wrong, by check."""
    later, earlier = compared(of(now, "b.txt"), of(before, "a.txt"), apart_s, "a.txt")
    chosen = [check for check in engine.registry() if later.tells(check)]
    findings = engine.run(later.seen, Expected(), (), chosen, (earlier,))
    return {one.check: one for one in findings if one.status in (Status.WARN, Status.CRIT)}


def test_counters_of_a_port_are_judged_by_their_growth() -> None:
    old, new = NIC.format(packets=1000, damaged=5), NIC.format(packets=900_000, damaged=50_005)
    wrong = found(old, new, 60.0)
    assert set(wrong) == {"nic-errors"}
    assert wrong["nic-errors"].subject.name == "b.txt"
    assert [each.value for each in wrong["nic-errors"].evidence][:1] == ["+50000 in 60 s, since a.txt"]
    assert found(new, new, 60.0) == {}


def test_the_time_between_makes_the_rate() -> None:
    old, new = NIC.format(packets=1000, damaged=5), NIC.format(packets=900_000_000, damaged=7)
    assert found(old, new, 7 * 86400.0) == {}


def test_counters_of_a_gpu_are_judged_by_their_growth() -> None:
    old, new = SMI.format(corrected=3, uncorrected=1), SMI.format(corrected=3, uncorrected=9)
    grown = found(old, new, 600.0)["gpu-ecc-volatile"]
    assert grown.status is Status.CRIT
    assert "+8 in 10 min, since a.txt" in " ".join(each.value for each in grown.evidence)


def test_what_the_file_does_not_say_is_not_in_the_report() -> None:
    text = NIC.format(packets=1, damaged=1)
    later, _ = compared(of(text, "b.txt"), of(text, "a.txt"), 1.0, "a.txt")
    assert [nic.name for nic in later.seen.nics or ()] == ["b.txt"]
    assert later.told.nics is None


def test_counters_that_fell_are_counted() -> None:
    later, earlier = compared(
        of(NIC.format(packets=1, damaged=5), "b"), of(NIC.format(packets=1, damaged=9), "a"), 1.0, "a"
    )
    assert fallen(later.seen, earlier.seen) == 1


@pytest.mark.parametrize(
    ("now", "before", "says"),
    [
        (NIC, SMI, "is nvidia-smi, and the other is ethtool -S"),
        ("[1.0] eth0: up\n", "[1.0] eth0: up\n", "is kernel log, without counters that grow"),
    ],
)
def test_what_cannot_be_compared(now: str, before: str, says: str) -> None:
    numbers = {"packets": 1, "damaged": 1, "corrected": 1, "uncorrected": 1}
    with pytest.raises(UnreadableError, match=says):
        compared(of(now.format(**numbers), "b"), of(before.format(**numbers), "a"), 1.0, "a")
