import os
from typing import Any, Dict

import pytest

from brctl.node.facts import PciDevice, Problem
from brctl.node.host.local import Local
from brctl.node.probe.pci import (
    function_above,
    parse_ancestors,
    parse_class,
    parse_numa_node,
    parse_speed,
    parse_width,
    read,
)

DEVICES = "/sys/bus/pci/devices/"


def test_parse_class() -> None:
    assert parse_class("0x030200\n") == "0302"


@pytest.mark.parametrize(
    ("text", "speed"),
    [("32.0 GT/s PCIe\n", 32.0), ("8 GT/s\n", 8.0), ("2.5 GT/s PCIe\n", 2.5), ("Unknown\n", None), ("", None)],
)
def test_parse_speed(text: str, speed: Any) -> None:
    assert parse_speed(text) == speed


@pytest.mark.parametrize(("text", "width"), [("16\n", 16), ("1\n", 1), ("0\n", None), ("63\n", None), ("255\n", None)])
def test_parse_width(text: str, width: Any) -> None:
    assert parse_width(text) == width


def test_parse_numa_node() -> None:
    assert parse_numa_node("1\n") == 1
    assert parse_numa_node("-1\n") is None


@pytest.mark.parametrize(
    ("link", "ancestors"),
    [
        ("../../../devices/pci0000:00/0000:00:03.0", ("pci0000:00",)),
        (
            "../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.0",
            ("pci0000:15", "0000:15:01.0", "0000:16:00.0", "0000:17:01.0"),
        ),
        (
            "../../../devices/platform/2e00000000.pcie/pci0006:00/0006:00:00.0/0006:01:00.0",
            ("pci0006:00", "0006:00:00.0"),
        ),
        (
            "../../../devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0",
            ("pci0000:00", "0000:00:0e.0", "pci10000:e0", "10000:e0:06.0"),
        ),
        ("", ()),
    ],
)
def test_parse_ancestors(link: str, ancestors: Any) -> None:
    assert parse_ancestors(link) == ancestors


@pytest.mark.parametrize(
    ("link", "function"),
    [
        ("../../devices/pci0000:15/0000:15:01.0/0000:1a:00.0/net/ens1np0", "0000:1a:00.0"),
        ("../../devices/pci0000:15/0000:15:01.0/0000:1a:00.0/infiniband/mlx5_0", "0000:1a:00.0"),
        ("../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0", "0000:00:03.0"),
        ("../../devices/pci0000:00/0000:08:00.0/mlx5_core.sf.4/net/p0", "0000:08:00.0"),
        ("../../devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0/net/enx0", None),
        ("../../devices/virtual/net/lo", None),
        ("", None),
    ],
)
def test_function_above(link: str, function: Any) -> None:
    assert function_above(link) == function


def test_dgx(dgx: Any) -> None:
    devices = read(dgx).facts
    by_class = {kind: [device for device in devices if device.pci_class == kind] for kind in ("0302", "0680", "0200")}
    assert by_class["0302"][0] == PciDevice(
        "0000:19:00.0", "10de", "2330", "0302", "nvidia", 0, 32.0, 16, 32.0, 16,
        ("pci0000:15", "0000:15:01.0", "0000:16:00.0", "0000:17:01.0"),
    )  # fmt: skip
    assert {kind: len(found) for kind, found in by_class.items()} == {"0302": 8, "0680": 4, "0200": 14}
    assert [device.numa_node for device in by_class["0302"]] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [device.address for device in devices] == sorted(device.address for device in devices)


def test_one_that_does_not_answer_keeps_its_place(machine: Any) -> None:
    place = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"
    files = {
        DEVICES + "0000:01:00.0": {"link": "../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0"},
        place + "/class": "0x030200\n",
        place + "/vendor": "0x10de\n",
        place + "/device": "0x2330\n",
        place + "/numa_node": "-1\n",
        place + "/current_link_speed": {"errno": "EINVAL"},
        place + "/current_link_width": "63\n",
        place + "/max_link_speed": "Unknown\n",
        place + "/max_link_width": "255\n",
    }
    assert read(machine(files)).facts == (
        PciDevice(
            "0000:01:00.0", "10de", "2330", "0302", None, None, None, None, None, None, ("pci0000:00", "0000:00:01.0")
        ),
    )
    del files[place + "/vendor"]  # gone between the one read and the other
    assert read(machine(files)).facts == ()


def a_nic(address: str, **attributes: Any) -> Dict[str, Any]:
    values = {"class": "0x020000\n", "vendor": "0x15b3\n", "device": "0x1021\n", "current_link_width": "16\n"}
    return {DEVICES + address + "/" + name: value for name, value in dict(values, **attributes).items()}


def test_a_virtual_function_and_its_link_which_is_the_cards(machine: Any) -> None:
    files = {
        **a_nic("0000:1a:00.0", current_link_speed="32.0 GT/s PCIe\n"),
        **a_nic("0000:1a:00.2", physfn={"link": "../0000:1a:00.0"}, current_link_width={"errno": "EIO"}),
    }
    reading = read(machine(files))
    assert reading.problems == ()
    assert [(device.address, device.physical_function, device.link_width) for device in reading.facts] == [
        ("0000:1a:00.0", None, 16),
        ("0000:1a:00.2", "0000:1a:00.0", None),
    ]


def test_one_that_fails_costs_its_own_values(machine: Any) -> None:
    files = {
        **a_nic("0000:1a:00.0", current_link_speed={"hung": 3}),
        **a_nic("0000:1b:00.0", current_link_speed={"errno": "EIO"}),
        **a_nic("0000:1c:00.0", vendor={"errno": "EIO"}),
        **a_nic("0000:1d:00.0"),
    }
    reading = read(machine(files))
    assert [(device.address, device.link_width) for device in reading.facts] == [
        ("0000:1a:00.0", None),
        ("0000:1b:00.0", 16),
        ("0000:1d:00.0", 16),
    ]
    path = DEVICES + "{}/current_link_speed"
    hung = "read " + path.format("0000:1a:00.0") + " did not return within 3 s"
    assert reading.problems == (
        Problem("pci", "hung", hung, "0000:1a:00.0"),
        Problem("pci", "error", path.format("0000:1b:00.0") + ": Input/output error", "0000:1b:00.0", "link_speed_gts"),
        Problem("pci", "error", DEVICES + "0000:1c:00.0/vendor: Input/output error", "0000:1c:00.0"),
    )


def test_what_is_of_no_interest_is_left_out(machine: Any) -> None:
    classes = {"0000:00:00.0": "0x060000", "0000:00:1f.0": "0x060100", "0000:00:17.0": "0x010601"}
    assert read(machine({DEVICES + address + "/class": text + "\n" for address, text in classes.items()})).facts == ()


def test_no_bus(machine: Any) -> None:
    assert read(machine({})) is None


@pytest.mark.real
def test_against_the_folders() -> None:
    reading = read(Local())
    if reading is None:
        pytest.skip("this machine has no PCI bus")
    for device in reading.facts:
        real = os.path.realpath(DEVICES + device.address)
        assert real == "/sys/devices/" + "/".join((*device.ancestors, device.address))
        with open(real + "/vendor") as file:
            assert file.read() == "0x" + device.vendor_id + "\n"
