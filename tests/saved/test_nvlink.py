from pathlib import Path

from brctl.saved.nvlink import parse

NONE = b"""\
GPU 3: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-1111-2222-3333-444444444444)
NVML: Unable to retrieve NVLink information as all links are inActive
GPU 4: NVIDIA H100 80GB HBM3 (UUID: GPU-2)
\t Link 0: 26.562 GB/s
\t Link 1: <inactive>
GPU 5: NVIDIA L40S (UUID: GPU-3)
"""


def test_links_that_are_up_down_and_none() -> None:
    third, fourth, fifth = parse(NONE).gpus or ()
    assert (third.gpu_index, third.uuid, third.links) == (3, "GPU-00000000-1111-2222-3333-444444444444", ())
    assert [(link.link_index, link.active) for link in fourth.links or ()] == [(0, True), (1, False)]
    assert fifth.links is None


def test_what_stands_before_a_gpu_is_nobodys() -> None:
    assert parse(b"\t Link 0: 25 GB/s\nall links are inActive\n").gpus == ()


def test_recorded(recordings: Path) -> None:
    found = parse((recordings / "nvidia-smi-text" / "nvlink-status-a100.txt").read_bytes()).gpus or ()
    assert [sum(link.active for link in gpu.links or ()) for gpu in found] == [12] * 8
