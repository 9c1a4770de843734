import io
from pathlib import Path
from typing import Any

import pytest

from brctl import saved
from brctl.node.diagnose import engine
from brctl.node.report import Status
from brctl.node.request import Expected
from brctl.saved import read
from brctl.saved.stream import Source, UnreadableError

IBSTAT = b"CA 'mlx5_0'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n"
NVLINK = b"GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n\t Link 0: 25 GB/s\n"
SMI = b"=====NVSMI LOG=====\n\nAttached GPUs : 1\nGPU 00000000:83:00.0\n    Product Name : NVIDIA H200\n"
XML = b'<?xml version="1.0" ?>\n<nvidia_smi_log><gpu id="00000000:83:00.0"><uuid>GPU-1</uuid></gpu></nvidia_smi_log>'


def of(data: bytes) -> saved.Saved:
    return read(Source(io.BufferedReader(io.BytesIO(data))), "file")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "kind", "parts"),
    [
        (b"[1.0] eth0: up\n", "kernel log", ("kernel_log",)),
        (b"6,1,5,-;eth0: up\n", "kernel log", ("kernel_log",)),
        (
            b"Feb 23 16:24:18 gpu001 sshd[1]: hello\nFeb 23 16:24:18 gpu001 kernel: eth0: up\n",
            "kernel log",
            ("kernel_log",),
        ),
        (b"NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.\n", "kernel log", ("kernel_log",)),
        (SMI, "nvidia-smi", ("gpus", "accelerator_driver")),
        (XML, "nvidia-smi", ("gpus", "accelerator_driver")),
        (b"No devices were found\n", "nvidia-smi", ("gpus", "accelerator_driver")),
        (NVLINK, "nvidia-smi nvlink", ("gpus",)),
        (IBSTAT, "ibstat", ("rdma", "nics")),
        (b"NIC statistics:\n     rx_discards_phy: 12\n", "ethtool -S", ("port_counters",)),
    ],
)
def test_a_file_says_what_it_is(data: bytes, kind: str, parts: Any) -> None:
    assert of(data)[:2] == (kind, parts)


@pytest.mark.parametrize("data", [b"hello\n", b"Feb 23 16:24:18 gpu001 sshd[1]: hello\n", b"{}", b"NIC: none\n"])
def test_what_nobody_knows(data: bytes) -> None:
    with pytest.raises(UnreadableError, match="is no output that brctl knows"):
        of(data)


def test_one_that_is_parsed_as_a_whole_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved, "WHOLE_BYTES", 50)
    with pytest.raises(UnreadableError, match="is larger than 0 MiB"):
        of(SMI)


def test_only_what_it_tells_is_judged() -> None:
    told = [check.id for check in engine.registry() if of(IBSTAT).tells(check)]
    assert "nic-speed" in told
    assert not [name for name in told if name.startswith("gpu") or "kernel" in name]
    assert "gpu-driver" in [check.id for check in engine.registry() if of(SMI).tells(check)]


@pytest.mark.parametrize("folder", ["nvidia-smi-xml", "nvidia-smi-text"])
def test_no_false_alarm_on_recordings_of_healthy_machines(recordings: Path, folder: str) -> None:
    files = sorted((recordings / folder).iterdir())
    assert files
    for file in files:
        with file.open("rb") as stream:
            one = read(Source(stream), file.name)
        assert one.seen.gpus
        chosen = [check for check in engine.registry() if one.tells(check)]
        found = engine.run(one.seen, Expected(), (), chosen)
        bad = [finding for finding in found if finding.status in (Status.WARN, Status.CRIT, Status.UNKNOWN)]
        assert not bad, file.name
