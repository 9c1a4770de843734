from typing import Any

import pytest

from brctl.node.accel import NVIDIA
from brctl.node.diagnose import gpus
from brctl.node.facts import GpuFault, Inventory
from brctl.node.report import Subject

UUID3 = "GPU-00000003-1111-2222-3333-444444444444"


@pytest.mark.parametrize(
    ("fields", "id_of_it", "name"),
    [
        ({}, UUID3, "GPU 3"),
        ({"uuid": None}, "0000:86:00.0", "GPU 3"),
        ({"uuid": None, "pci": None}, "GPU 3", "GPU 3"),
        ({"gpu_index": None}, UUID3, "GPU 0000:86:00.0"),
    ],
)
def test_a_subject_is_what_no_reboot_changes(dgx: Inventory, fields: Any, id_of_it: str, name: str) -> None:
    gpu = (dgx.gpus or ())[3]._replace(**fields)
    assert gpus.subject(gpu) == Subject("gpu", id_of_it, name)


def test_parts(dgx: Inventory) -> None:
    healthy, bare, lost = (dgx.gpus or ())[:3]
    bare = bare._replace(identity=None)
    lost = lost._replace(fault=GpuFault("lost", "nvmlDeviceGetUUID", "GPU is lost"))
    found = gpus.parts(
        (healthy, bare, lost), lambda gpu: gpu.identity and gpu.identity.vbios, "VBIOS {}".format, "call"
    )
    assert [(part.subject.name, part.value, part.text, part.kin, part.reason) for part in found] == [
        ("GPU 0", "96.00.99.00.01", "VBIOS 96.00.99.00.01", "NVIDIA H100 80GB HBM3", None),
        ("GPU 1", None, "no value", None, None),
        ("GPU 2", None, "not read", None, "error"),
    ]


@pytest.mark.parametrize(
    ("fields", "is_one"),
    [
        ({}, True),
        ({"pci_class": "0300"}, True),
        ({"pci_class": "0680"}, False),  # a switch
        ({"pci_class": "0403"}, False),  # the sound of a graphics card
        ({"vendor_id": "1002"}, False),
        ({"driver": "vfio-pci"}, True),
        ({"driver": None}, True),
        ({"physical_function": "0000:53:00.0"}, False),
    ],
)
def test_what_is_a_gpu(dgx: Inventory, fields: Any, is_one: bool) -> None:
    (board,) = [device for device in dgx.pci or () if device.address == "0000:53:00.0"]
    device = board._replace(**fields)
    assert NVIDIA.is_gpu(device) is is_one
    assert gpus.on_bus(Inventory(pci=(device,))) == ((device,) if is_one else ())


def test_a_vgpu_host_has_as_many_gpus_as_boards(dgx: Inventory) -> None:
    boards = gpus.on_bus(dgx) or ()
    parts = [
        board._replace(address="{}.{}".format(board.address[:-2], number), physical_function=board.address)
        for board in boards
        for number in range(1, 5)
    ]
    assert gpus.on_bus(dgx._replace(pci=(*(dgx.pci or ()), *parts))) == boards
    assert len(boards) == 8


def test_a_bus_that_is_not_known(dgx: Inventory) -> None:
    assert gpus.on_bus(dgx._replace(pci=None)) is None


@pytest.mark.parametrize(
    ("used", "state", "fault", "works"),
    [
        (50, 0, None, True),
        (50, 2, None, True),
        (50, 3, None, False),
        (50, None, None, False),
        (49, 0, None, False),
        (None, 0, None, False),
        (50, 0, GpuFault("lost", "nvmlDeviceGetUUID", "GPU is lost"), False),
    ],
)
def test_whether_it_works(well: Inventory, used: Any, state: Any, fault: Any, works: bool) -> None:
    gpu = (well.gpus or ())[3]
    assert gpu.telemetry
    values = gpu.telemetry._replace(gpu_utilization_percent=used, performance_state=state)
    assert gpus.works(gpu._replace(telemetry=values, fault=fault), 50) is works
    assert gpus.works(gpu._replace(telemetry=None), 50) is False
