import json
import os
import sys
import threading
import time
from typing import Any, Dict

import pytest

from brctl.node.facts import Nic, Problem
from brctl.node.host.local import Local
from brctl.node.probe.net import parse_device_type, parse_firmware, parse_speed, read

NET = "/sys/class/net/"
MLX5 = """\
driver: mlx5_core
version: 24.10-1.1.4
firmware-version: 28.41.1000 (MT_0000000838)
expansion-rom-version:
bus-info: 0000:1a:00.0
supports-statistics: yes
"""


def interface(name: str, where: str = "virtual", **attributes: Any) -> Dict[str, Any]:
    """The files of one interface, which hangs at `where` in /sys/devices."""
    folder = "/sys/devices/{}/net/{}".format(where, name)
    values = {"mtu": "1500\n", "operstate": "up\n", "type": "1\n", "ifindex": "7\n", "iflink": "7\n", "uevent": ""}
    files: Dict[str, Any] = {folder + "/" + key: value for key, value in dict(values, **attributes).items()}
    files[NET + name] = {"link": "../../devices/{}/net/{}".format(where, name)}
    return files


def kind(machine: Any, files: Dict[str, Any]) -> str:
    (nic,) = read(machine(files)).facts
    return str(nic.kind)


def test_parse_device_type() -> None:
    assert parse_device_type("DEVTYPE=bond\nINTERFACE=bond0\n") == "bond"
    assert parse_device_type("INTERFACE=eth0\nIFINDEX=2\n") is None


@pytest.mark.parametrize(
    ("text", "speed"), [("400000\n", 400000), ("-1\n", None), ("4294967295\n", None), ("0\n", None)]
)
def test_parse_speed(text: str, speed: Any) -> None:
    assert parse_speed(text) == speed


@pytest.mark.parametrize(
    ("text", "firmware"),
    [
        (MLX5, "28.41.1000"),
        ("driver: tg3\nfirmware-version: FFV22.71.3 bc 5720-v1.39\n", "FFV22.71.3 bc 5720-v1.39"),
        ("driver: virtio_net\nversion: 1.0.0\nfirmware-version: \n", None),
        ("driver: x\nfirmware-version:\n", None),
        ("driver: x\nfirmware-version: N/A\n", None),
        ("", None),
    ],
)
def test_parse_firmware(text: str, firmware: Any) -> None:
    assert parse_firmware(text) == firmware


def test_a_rail_of_dgx(dgx: Any) -> None:
    nics = {nic.name: nic for nic in read(dgx).facts}
    assert nics["ens1np0"] == Nic(
        name="ens1np0",
        kind="physical",
        mac="02:b0:7d:00:01:00",
        mtu=9000,
        operstate="up",
        carrier=True,
        speed_mbps=400000,
        driver="mlx5_core",
        firmware="28.41.1000",
        pci="0000:1a:00.0",
        numa_node=0,
        master=None,
        lower=(),
        rdma="mlx5_0",
    )
    assert [nics[name].rdma for name in nics if name.startswith("ens")] == [
        "mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11",
    ]  # fmt: skip


def test_the_rest_of_dgx(dgx: Any) -> None:
    nics = {nic.name: nic for nic in read(dgx).facts}
    assert (nics["bond0"].kind, nics["bond0"].lower) == ("bond", ("enp157s0f0np0", "enp27s0f0np0"))
    assert (nics["bond0"].driver, nics["bond0"].pci, nics["bond0"].speed_mbps) == (None, None, 200000)
    assert (nics["bond0.100"].kind, nics["bond0.100"].lower) == ("vlan", ("bond0",))
    assert (nics["enp27s0f0np0"].master, nics["enp27s0f0np0"].speed_mbps) == ("bond0", 100000)
    down = nics["eno2"]
    assert (down.operstate, down.carrier, down.speed_mbps, down.firmware) == (
        "down", None, None, "FFV22.71.3 bc 5720-v1.39",
    )  # fmt: skip
    assert (nics["lo"].kind, nics["lo"].speed_mbps) == ("loopback", None)
    assert "bonding_masters" not in nics


@pytest.mark.parametrize("name", ["bond", "bridge", "vlan", "vxlan"])
def test_kinds_that_the_kernel_names(machine: Any, name: str) -> None:
    assert kind(machine, interface("x", uevent="DEVTYPE={}\nINTERFACE=x\n".format(name))) == name


def test_kinds_that_it_does_not_name(machine: Any) -> None:
    assert kind(machine, interface("lo", type="772\n")) == "loopback"
    assert kind(machine, interface("veth0", iflink="12\n")) == "veth"
    assert kind(machine, interface("ifb0")) == "virtual"
    assert kind(machine, interface("tun0", type="65534\n", iflink="9\n")) == "virtual"
    assert kind(machine, interface("gre0", iflink="0\n")) == "virtual"
    assert kind(machine, interface("macvlan0", iflink="2\n", lower_eth0={"link": "../eth0"})) == "virtual"
    assert kind(machine, interface("geneve0", iflink="2\n", uevent="DEVTYPE=geneve\n")) == "virtual"


def test_a_partition_key_is_no_port_of_its_own(machine: Any) -> None:
    hca = "pci0000:15/0000:1a:00.0"
    port = {"device": {"link": "../../../0000:1a:00.0"}, "type": "32\n"}
    assert kind(machine, interface("ib0", hca, **port)) == "physical"
    assert kind(machine, interface("ib0.8001", hca, parent="ib0\n", **port)) == "virtual"


def test_a_partition_key_made_by_netlink_has_no_parent(machine: Any) -> None:
    port = {"device": {"link": "../../../0000:1a:00.0"}, "type": "32\n", "iflink": "2\n"}
    assert kind(machine, interface("ib0.8001", "pci0000:15/0000:1a:00.0", **port)) == "virtual"


@pytest.mark.parametrize(
    ("port", "kind_of_it"),
    [
        ("p0\n", "physical"),
        ("p0s1\n", "physical"),
        ({"errno": "EOPNOTSUPP"}, "physical"),
        ("pf0vf3\n", "virtual"),
        ("pf1sf88\n", "virtual"),
        ("c1pf0vf3\n", "virtual"),
        ("pf0hpf\n", "virtual"),
    ],
)
def test_what_represents_a_port_of_a_virtual_machine(machine: Any, port: Any, kind_of_it: str) -> None:
    card = {"device": {"link": "../../../0000:08:00.0"}, "phys_port_name": port}
    assert kind(machine, interface("ens1f0npf0vf3", "pci0000:00/0000:08:00.0", **card)) == kind_of_it


def test_a_sub_function_takes_neither_the_cards_place_nor_its_rdma_device(machine: Any) -> None:
    card, part = "pci0000:00/0000:08:00.0", "pci0000:00/0000:08:00.0/mlx5_core.sf.4"
    files = {
        **interface("ens1np0", card, device={"link": "../../../0000:08:00.0"}),
        **interface("p0sf88", part, device={"link": "../../../mlx5_core.sf.4"}),
        "/sys/class/infiniband/mlx5_0": {"link": "../../devices/{}/infiniband/mlx5_0".format(card)},
        "/sys/class/infiniband/mlx5_2": {"link": "../../devices/{}/infiniband/mlx5_2".format(part)},
    }
    nics = read(machine(files)).facts
    assert [(nic.name, nic.kind, nic.rdma) for nic in nics] == [
        ("ens1np0", "physical", "mlx5_0"),
        ("p0sf88", "virtual", None),
    ]


def two_nics(name: str = "eno2", **attributes: Any) -> Dict[str, Any]:
    """eno1, and another one with these attributes."""
    files: Dict[str, Any] = {}
    for place, (each, its) in enumerate({"eno1": {}, name: attributes}.items()):
        function = "0000:01:00.{}".format(place)
        values = {"device": {"link": "../../../" + function}, "carrier": "1\n", "speed": "1000\n", **its}
        files.update(interface(each, "pci0000:00/" + function, **values))
        files["/sys/devices/pci0000:00/" + function + "/driver"] = {"link": "../../../bus/pci/drivers/tg3"}
    return files


@pytest.mark.parametrize("attribute", ["speed", "carrier"])
@pytest.mark.parametrize(
    ("code", "reason", "words"), [("EIO", "error", "Input/output error"), ("EACCES", "permission", "Permission denied")]
)
def test_a_value_that_fails_costs_itself_alone(
    machine: Any, attribute: str, code: str, reason: str, words: str
) -> None:
    good = read(machine(two_nics())).facts
    reading = read(machine(two_nics(**{attribute: {"errno": code}})))
    field = {"speed": "speed_mbps"}.get(attribute, attribute)
    assert reading.facts == (good[0], good[1]._replace(**{field: None}))
    message = "{}eno2/{}: {}".format(NET, attribute, words)
    assert reading.problems == (Problem("nics", reason, message, "eno2", field),)


def test_ethtool_that_hangs_on_one(machine: Any) -> None:
    commands: Dict[str, Any] = {"ethtool -i " + name: {"stdout": MLX5} for name in ("eno1", "eno2")}
    good = read(machine(two_nics(), commands)).facts
    reading = read(machine(two_nics(), dict(commands, **{"ethtool -i eno2": {"hung": 3}})))
    assert reading.facts == (good[0], good[1]._replace(firmware=None))
    assert (reading.facts[1].driver, reading.facts[1].speed_mbps) == ("tg3", 1000)
    message = "ethtool -i eno2 did not return within 3 s"
    assert reading.problems == (Problem("nics", "hung", message, "eno2"),)


def test_one_of_which_not_even_the_least_can_be_read(machine: Any) -> None:
    reading = read(machine(two_nics("veth0", mtu={"errno": "EIO"})))
    assert [nic.name for nic in reading.facts] == ["eno1"]
    assert reading.problems == (Problem("nics", "error", NET + "veth0/mtu: Input/output error", "veth0"),)


def test_rdma_that_cannot_be_read_is_for_its_own_probe_to_tell(machine: Any) -> None:
    reading = read(machine(dict(two_nics(), **{"/sys/class/infiniband": {"errno": "EACCES"}})))
    assert reading == read(machine(two_nics()))


class Watched:
    """A machine that notes which thread asks for a speed."""

    def __init__(self, machine: Any) -> None:
        self._machine = machine
        self.threads: Dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def read(self, path: str) -> Any:
        if path.endswith("/speed"):
            self.threads[path.split("/")[-2]] = threading.get_ident()
            time.sleep(0.01)  # so that a thread's number is not given to the next one
        return self._machine.read(path)


def test_while_nothing_hangs_all_have_one_thread(machine: Any) -> None:
    files = two_nics()
    for number in (2, 3):
        function = "pci0000:00/0000:01:00.{}".format(number)
        files.update(interface("eno1v{}".format(number), function, device={"link": "../x"}))
        files["/sys/bus/pci/devices/0000:01:00.{}/physfn".format(number)] = {"link": "../0000:01:00.0"}
    for name in ("lo", "veth0", "veth1"):
        files.update(interface(name))
    files.update(interface("eno1.7", lower_eno1={"link": "../eno1"}, uevent="DEVTYPE=vlan\n"))
    watched = Watched(machine(files))
    assert len(read(watched).facts) == 8
    assert set(watched.threads) >= {"lo", "veth1", "eno1", "eno2", "eno1v3", "eno1.7"}
    assert len(set(watched.threads.values())) == 1


def test_without_ethtool_what_sys_has(machine: Any) -> None:
    function = "pci0000:15/0000:1a:00.0"
    files = {
        **interface("ens1np0", function, device={"link": "../../../0000:1a:00.0"}, address="02:00:00:00:00:01\n"),
        "/sys/devices/pci0000:15/0000:1a:00.0/driver": {"link": "../../../bus/pci/drivers/mlx5_core"},
        "/sys/devices/pci0000:15/0000:1a:00.0/infiniband/mlx5_0/fw_ver": "28.41.1000\n",
        "/sys/class/infiniband/mlx5_0": {"link": "../../devices/pci0000:15/0000:1a:00.0/infiniband/mlx5_0"},
        "/sys/class/infiniband/rxe0": {"link": "../../devices/virtual/infiniband/rxe0"},
    }
    (nic,) = read(machine(files)).facts
    assert (nic.driver, nic.firmware, nic.rdma, nic.numa_node) == ("mlx5_core", "28.41.1000", "mlx5_0", None)
    refused = {"ethtool -i ens1np0": {"returncode": 75, "stderr": "Cannot get driver information"}}
    assert read(machine(files, refused)).facts == (nic,)


def test_usb_has_no_pci_function_of_its_own(machine: Any) -> None:
    usb = "pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0"
    (nic,) = read(machine(interface("enx0", usb, device={"link": "../../../1-1:1.0"}))).facts
    assert (nic.kind, nic.pci, nic.driver, nic.mac, nic.carrier) == ("physical", None, None, None, None)


def test_one_that_went_away(machine: Any) -> None:
    assert read(machine({NET + "gone": {"link": "../../devices/virtual/net/gone"}})).facts == ()


def test_no_sys(machine: Any) -> None:
    assert read(machine({})) is None


@pytest.mark.real
def test_against_ip() -> None:
    answer = Local().run(["ip", "-j", "-d", "link"])
    if answer is None:
        pytest.skip("ip is not installed")
    _compare(json.loads(answer.stdout))


def _compare(links: Any) -> None:
    nics = {nic.name: nic for nic in read(Local()).facts}
    assert sorted(nics) == sorted(link["ifname"] for link in links)
    for link in links:
        nic = nics[link["ifname"]]
        assert (nic.mtu, nic.operstate, nic.mac) == (link["mtu"], link["operstate"].lower(), link.get("address"))
        assert nic.master == link.get("master")
        assert nic.carrier == (("LOWER_UP" in link["flags"]) if "UP" in link["flags"] else None)
        named = link.get("linkinfo", {}).get("info_kind")
        if link["link_type"] == "loopback":
            assert nic.kind == "loopback"
        elif named in ("bond", "bridge", "vlan", "vxlan", "veth"):
            assert nic.kind == named
            assert nic.lower == ((link["link"],) if named == "vlan" else nic.lower)
        else:
            assert nic.kind == ("virtual" if named else "physical")


@pytest.mark.root
def test_against_ip_with_interfaces_of_every_kind() -> None:
    """In a network namespace of its own, whose /sys must be mounted anew to show it."""
    if Local().run(["unshare", "-n", "-m", "ip", "link"]) is None:
        pytest.skip("unshare is not installed")
    make = [
        "set -e",
        "mount -t sysfs none /sys",
        "ip link set lo up",
        "ip link add veth0 type veth peer name veth1",
        "ip link add br0 type bridge",
        "ip link set veth0 master br0 up",
        "ip link add vxlan0 type vxlan id 7 dstport 4789 dev veth1",
        "for kind in dummy bond; do ip link add ${kind}9 type $kind 2>/dev/null || :; done",
        "ip link add link veth1 name veth1.100 type vlan id 100 2>/dev/null || :",
        "exec {} -m pytest -q -p no:cacheprovider {}::test_against_ip".format(
            sys.executable, os.path.abspath(__file__)
        ),
    ]
    answer = Local().run(["unshare", "-n", "-m", "sh", "-c", "\n".join(make)], limit_s=30)
    assert answer is not None
    assert answer.returncode == 0, answer
    assert "1 passed" in answer.stdout
