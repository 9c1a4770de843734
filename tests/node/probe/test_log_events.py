from typing import Optional, Tuple

import pytest

from brctl.node.probe.log_events import (
    Message,
    Sighting,
    address,
    is_boot,
    is_driver_start,
    lines_after,
    named_gpu,
    sighting,
)

XID = "NVRM: Xid (PCI:0000:3b:00): "
MLX = "mlx5_core 0000:1a:00.0: "
PORT = "pcieport 0000:4d:01.0: "


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (XID + "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", Sighting("xid", "0000:3b:00.0", 79)),
        (
            XID + "119, pid=20417, name=nvidia-smi, Timeout waiting for RPC",
            Sighting("xid", "0000:3b:00.0", 119, process="nvidia-smi", pid=20417),
        ),
        ("NVRM: Xid (0000:03:00): 31, Ch 00000010, engmask", Sighting("xid", "0000:03:00.0", 31)),
        (
            "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 43, pid=1, name=a b, Ch 0",
            Sighting("xid", "0000:01:00.0", 43, process="a b", pid=1),
        ),
        (XID + "145, RLW_SRC_TRACK Nonfatal XC1 i1 Link 03 (0x1)", Sighting("xid", "0000:3b:00.0", 145, "non-fatal")),
        (XID + "149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 08", Sighting("xid", "0000:3b:00.0", 149, "fatal")),
        (XID + "13, pid=1, name=x, Fatal ESR", Sighting("xid", "0000:3b:00.0", 13, process="x", pid=1)),
        (
            XID + "154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)",
            Sighting("xid", "0000:3b:00.0", 154, detail="drain-and-reset"),
        ),
        (
            XID + "154, pid=1, name=x, GPU recovery action changed from 0x0 (None) to 0x2a (New)",
            Sighting("xid", "0000:3b:00.0", 154, process="x", pid=1, detail="42"),
        ),
        ("NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.", Sighting("xid", "0000:3b:00.0", 79, echo=True)),
        ("NVRM: GPU at 0000:3B:00.0 has fallen off the bus.", Sighting("xid", "0000:3b:00.0", 79, echo=True)),
        ("NVRM: GPU 0000:9b:00.0: RmInitAdapter failed! (0x62:0x55:2477)", Sighting("adapter-init", "0000:9b:00.0")),
        ("NVRM: RmInitAdapter failed! (0x62:0x55:2477)", Sighting("adapter-init")),
        ("NVRM: API mismatch: the client has the version 1", Sighting("version-mismatch")),
        (
            "nvidia-nvswitch3: SXid (PCI:0000:84:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
            Sighting("sxid", "0000:84:00.0", 20034, "fatal"),
        ),
        (
            "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)",
            Sighting("sxid", "0000:c1:00.0", 12028, "non-fatal"),
        ),
        (
            PORT + "PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)",
            Sighting("aer", "0000:4d:01.0", severity="fatal"),
        ),
        (
            PORT + "AER: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer",
            Sighting("aer", "0000:4d:01.0", severity="non-fatal"),
        ),
        (
            "nvme 0000:02:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
            Sighting("aer", "0000:02:00.0", severity="corrected"),
        ),
        (
            PORT + "AER: Multiple Corrected error received: 0000:4e:00.0",
            Sighting("aer", "0000:4e:00.0", severity="corrected", echo=True),
        ),
        (
            PORT + "AER: Uncorrectable (Non-Fatal) error message received from 0000:4e:00.0",
            Sighting("aer", "0000:4e:00.0", severity="non-fatal", echo=True),
        ),
        (
            PORT + "AER: Uncorrected (Fatal) error received",
            Sighting("aer", "0000:4d:01.0", severity="fatal", echo=True),
        ),
        (
            "INFO: task nvidia-smi:4411 blocked for more than 120 seconds.",
            Sighting("hung-task", process="nvidia-smi", pid=4411, detail="nvidia"),
        ),
        (
            "INFO: task jbd2/sda1-8:88 blocked for more than 120 seconds.",
            Sighting("hung-task", process="jbd2/sda1-8", pid=88),
        ),
        (
            "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:123]",
            Sighting("soft-lockup", process="python3", pid=123),
        ),
        ("Out of memory: Killed process 7 (python3) total-vm:1kB", Sighting("oom", process="python3", pid=7)),
        ("Out of memory: Kill process 7 (python3) score 9", Sighting("oom", process="python3", pid=7)),
        (
            "Memory cgroup out of memory: Killed process 7 (a (b)) total-vm:1kB",
            Sighting("oom", process="a (b", pid=7, detail="cgroup"),
        ),
        (
            MLX + "wait_func:1118:(pid 1): CREATE_CQ(0x400) timeout. Will cause a leak of a command resource",
            Sighting("nic-firmware", "0000:1a:00.0"),
        ),
        (
            "mlx5_core 0000:1a:00.0 ens1np0: poll_health:1: device's health compromised - reached miss count",
            Sighting("nic-firmware", "0000:1a:00.0"),
        ),
        (
            "NETDEV WATCHDOG: ens1np0 (mlx5_core): transmit queue 3 timed out",
            Sighting("nic-timeout", detail="ens1np0"),
        ),
        (
            "NETDEV WATCHDOG: CPU: 3: ens1np0 (mlx5_core): transmit queue 3 timed out 5000 ms",
            Sighting("nic-timeout", detail="ens1np0"),
        ),
        (
            "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
            Sighting("peermem"),
        ),
    ],
)
def test_every_kind(text: str, seen: Sighting) -> None:
    assert sighting(Message(text)) == seen


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.105.08",
        "NVRM: Xid (PCI:0000:3b:00",
        "NVRM: something has fallen off the bus",
        "NVRM: The NVIDIA GPU 0000:9b:00.0",
        "nvidia-nvswitch3: SXid (PCI:0000:84:00.0): 20034, Severity 1 Engine instance 30 Sub-engine instance 00",
        "nvidia-nvswitch3: SXid (PCI:0000:84:00.0): 20034, Data {0x00000001}",
        MLX + "firmware version: 28.41.1000",
        "nvidia-peermem: loading",
        "a user wrote NVRM: Xid (PCI:0000:3b:00): 79, gone",
        "a user wrote mlx5_core 0000:1a:00.0: health compromised",
        "CUDA out of memory: Killed",
        "INFO: task x blocked",
        "watchdog: BUG: soft lockup",
        "NETDEV WATCHDOG: off",
        "AER: enabled with IRQ 26",
        PORT + "AER: enabled with IRQ 26",
    ],
)
def test_what_does_not_matter(text: str) -> None:
    assert sighting(Message(text)) is None


def test_fallen_off_the_bus_in_three_lines() -> None:
    told = Message(
        "NVRM: The NVIDIA GPU 0000:9b:00.0",
        (
            "NVRM: (PCI ID: 10de:2330) installed in this system has",
            "NVRM: fallen off the bus and is not responding to commands.",
        ),
    )
    whole = (
        "NVRM: The NVIDIA GPU 0000:9b:00.0 (PCI ID: 10de:2330) installed in this system has fallen off the bus and is "
        "not responding to commands."
    )
    assert sighting(told) == Sighting("xid", "0000:9b:00.0", 79, text=whole, echo=True)
    in_one = Message("\n".join([told.text, *told.after]))
    assert sighting(in_one) == Sighting("xid", "0000:9b:00.0", 79, echo=True)


@pytest.mark.parametrize(
    ("after", "detail"),
    [
        ((" _nv012345rm+0x1/0x2 [nvidia]",), "nvidia"),
        (("task:cat state:D", " nv_open [nvidia_uvm]"), "nvidia"),
        (("INFO: task nvidia-smi:2 blocked for more than 120 seconds.",), None),
        ((" nfs_wait [nfs]",), None),
    ],
)
def test_whose_driver_a_task_hangs_in(after: Tuple[str, ...], detail: Optional[str]) -> None:
    found = sighting(Message("INFO: task cat:1 blocked for more than 120 seconds.", after))
    assert found == Sighting("hung-task", process="cat", pid=1, detail=detail)


def test_the_first_error_of_aer() -> None:
    text = PORT + "PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)"
    after = (PORT + "  device [8086:352a] error status/mask=00000020/00100000", PORT + "   [ 5] SDES        (First)")
    assert sighting(Message(text, after)) == Sighting("aer", "0000:4d:01.0", severity="fatal", detail="SDES")


def test_how_much_of_what_follows_is_looked_at() -> None:
    assert lines_after("INFO: task cat:1 blocked for more than 120 seconds.") == 60
    assert lines_after("NVRM: The NVIDIA GPU 0000:9b:00.0") == lines_after(PORT + "PCIe Bus Error: severity=x") == 3
    assert lines_after(XID + "79, x") == 0


def test_marks() -> None:
    assert is_boot("Linux version 6.8.0 (a@b)")
    assert is_boot("-- Reboot --")
    assert is_boot("-- Boot 0123 --")
    assert not is_boot("Linux")
    assert is_driver_start("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.105.08")
    uuid = "GPU-00000004-0000-0000-0000-000000000004"
    assert named_gpu("NVRM: GPU at PCI:0000:9b:00: " + uuid) == ("0000:9b:00.0", uuid)
    assert named_gpu("NVRM: GPU at PCI:0000:9b:00: no") is None
    assert address("00000000:0A:00", "1") == "0000:0a:00.1"
    assert address("00010000:0A:00", None) == "10000:0a:00.0"
