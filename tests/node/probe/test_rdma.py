import json
from typing import Any, Dict, Optional

import pytest

from brctl.node.facts import Gid, Problem, RdmaPort
from brctl.node.probe.rdma import parse_active_mtu, parse_rate, parse_state, read, roce_mtu
from brctl.node.probe.rows import Reading

RDMA = "/sys/class/infiniband/"
FUNCTION = "/sys/devices/pci0000:15/0000:1a:00.0"
DEVINFO = """\
hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t2048 (4)
"""


def infiniband(port: int = 1, netdevs: Optional[Dict[str, str]] = None) -> Dict[str, Any]:
    """An HCA with one port, and interfaces on its function: name -> dev_port."""
    device = FUNCTION + "/infiniband/mlx5_0"
    here = "{}/ports/{}/".format(device, port)
    files: Dict[str, Any] = {
        RDMA + "mlx5_0": {"link": "../../devices/pci0000:15/0000:1a:00.0/infiniband/mlx5_0"},
        device + "/device": {"link": "../../../0000:1a:00.0"},
        device + "/fw_ver": "28.41.1000",
        here + "state": "4: ACTIVE\n",
        here + "phys_state": "5: LinkUp\n",
        here + "rate": "400 Gb/sec (4X NDR)\n",
        here + "link_layer": "InfiniBand\n",
        here + "gids/0": "fe80:0000:0000:0000:946d:ae03:0012:3456\n",
        here + "gids/1": "0000:0000:0000:0000:0000:0000:0000:0000\n",
        here + "gid_attrs/types/0": "IB/RoCE v1\n",
        here + "gid_attrs/ndevs/0": {"errno": "EINVAL"},
    }
    for name, number in (netdevs or {}).items():
        files[FUNCTION + "/net/" + name + "/dev_port"] = number + "\n"
        files["/sys/class/net/" + name] = {"link": "../../devices/pci0000:15/0000:1a:00.0/net/" + name}
    return files


def test_parse_state() -> None:
    assert parse_state("4: ACTIVE\n") == "ACTIVE"
    assert parse_state("5: LinkUp\n") == "LinkUp"


def test_parse_rate() -> None:
    assert parse_rate("400 Gb/sec (4X NDR)\n") == 400.0
    assert parse_rate("2.5 Gb/sec (1X SDR)\n") == 2.5


def test_parse_active_mtu() -> None:
    assert parse_active_mtu(DEVINFO) == 2048
    assert parse_active_mtu("hca_id:\tmlx5_0\n") is None


@pytest.mark.parametrize(
    ("interface", "rdma"),
    [(1500, 1024), (2200, 2048), (4096, 2048), (4191, 2048), (4192, 4096), (8192, 4096), (9000, 4096), (351, None)],
)
def test_roce_mtu(interface: int, rdma: Any) -> None:
    assert roce_mtu(interface) == rdma


def test_a_rail_of_dgx(dgx: Any) -> None:
    ports = {port.device: port for port in read(dgx).facts}
    link_local = "fe80:0000:0000:0000:00b0:7dff:fe00:0100"
    address = "0000:0000:0000:0000:0000:ffff:0a00:0101"
    assert ports["mlx5_0"] == RdmaPort(
        device="mlx5_0",
        port=1,
        state="ACTIVE",
        physical_state="LinkUp",
        rate_gbps=400.0,
        link_layer="Ethernet",
        rdma_mtu=4096,
        firmware="28.41.1000",
        board_id="MT_0000000838",
        hca_type="MT4129",
        pci="0000:1a:00.0",
        netdev="ens1np0",
        gids=(
            Gid(0, link_local, "IB/RoCE v1", "ens1np0"),
            Gid(1, link_local, "RoCE v2", "ens1np0"),
            Gid(2, address, "IB/RoCE v1", "ens1np0"),
            Gid(3, address, "RoCE v2", "ens1np0"),
        ),
    )
    assert len(ports) == 12


def test_the_storage_ports_of_dgx(dgx: Any) -> None:
    ports = {port.device: port for port in read(dgx).facts}
    assert (ports["mlx5_1"].netdev, ports["mlx5_1"].rate_gbps) == ("bond0", 100.0)
    assert [gid.netdev for gid in ports["mlx5_1"].gids] == ["bond0"] * 4 + ["bond0.100"] * 2
    down = ports["mlx5_2"]
    assert (down.state, down.physical_state, down.rate_gbps) == ("DOWN", "Disabled", None)
    assert (down.netdev, down.rdma_mtu, down.gids) == ("enp27s0f1np1", 1024, ())


def test_infiniband(machine: Any) -> None:
    (port,) = read(machine(infiniband(), {"ibv_devinfo -d mlx5_0 -i 1": {"stdout": DEVINFO}})).facts
    assert (port.link_layer, port.rdma_mtu, port.netdev, port.board_id) == ("InfiniBand", 2048, None, None)
    assert port.firmware == "28.41.1000"
    assert port.gids == (Gid(0, "fe80:0000:0000:0000:946d:ae03:0012:3456", "IB/RoCE v1", None),)


@pytest.mark.parametrize("commands", [{}, {"ibv_devinfo -d mlx5_0 -i 1": {"returncode": 255}}])
def test_no_one_knows_the_mtu_of_infiniband(machine: Any, commands: Any) -> None:
    (port,) = read(machine(infiniband(), commands)).facts
    assert port.rdma_mtu is None


def test_interfaces_of_a_function_with_two_ports(machine: Any) -> None:
    assert [port.netdev for port in read(machine(infiniband(2, {"ib0": "0", "ib1": "1"}))).facts] == ["ib1"]
    assert [port.netdev for port in read(machine(infiniband(2, {"ib0": "0", "ib1": "0"}))).facts] == [None]
    assert [port.netdev for port in read(machine(infiniband(1, {"ib0": "0"}))).facts] == ["ib0"]


def test_a_partitions_interface_is_not_the_ports(machine: Any) -> None:
    """All show the device and its number. One made by netlink has no `parent`."""
    files = infiniband(1, {"ib0": "0", "ib0.8001": "0", "ib0.8002": "0"})
    for name, index, link in (("ib0", "2\n", "2\n"), ("ib0.8001", "5\n", "2\n"), ("ib0.8002", "6\n", "6\n")):
        files.update({"{}/net/{}/{}".format(FUNCTION, name, key): "" for key in ("mtu", "operstate")})
        files["{}/net/{}/ifindex".format(FUNCTION, name)] = index
        files["{}/net/{}/iflink".format(FUNCTION, name)] = link
    files[FUNCTION + "/net/ib0.8002/parent"] = "ib0\n"
    assert [port.netdev for port in read(machine(files)).facts] == ["ib0"]
    del files[FUNCTION + "/net/ib0.8002/parent"]
    assert [port.netdev for port in read(machine(files)).facts] == ["ib0"]  # the shortest of equals


def test_the_second_port_fails(machine: Any) -> None:
    files = infiniband()
    device = FUNCTION + "/infiniband/mlx5_0"
    for name in ("state", "phys_state", "rate", "link_layer"):
        files[device + "/ports/2/" + name] = files[device + "/ports/1/" + name]
    files[device + "/ports/2/state"] = {"errno": "EIO"}
    first, second = read(machine(files)).facts
    assert (first.port, first.state, first.rate_gbps) == (1, "ACTIVE", 400.0)
    assert (second.port, second.state, second.physical_state, second.rate_gbps) == (2, None, "LinkUp", None)
    message = "mlx5_0/2: /sys/class/infiniband/mlx5_0/ports/2/state: Input/output error"
    assert read(machine(files)).problems == (Problem("rdma", "error", message, "mlx5_0/2", "state"),)


def other(name: str, **attributes: Any) -> Dict[str, Any]:
    """A second HCA, on which some attributes of its port are otherwise."""
    text = json.dumps(infiniband()).replace("mlx5_0", name).replace("0000:1a:00.0", "0000:1b:00.0")
    files: Dict[str, Any] = json.loads(text)
    return {path: attributes.get(path.rpartition("/ports/1/")[2], value) for path, value in files.items()}


@pytest.mark.parametrize(
    ("attribute", "fields"),
    [
        ("state", {"state": None, "rate_gbps": None}),
        ("phys_state", {"physical_state": None}),
        ("rate", {"rate_gbps": None}),
        ("gids/0", {"gids": ()}),
    ],
)
def test_a_value_that_fails_costs_itself_alone(machine: Any, attribute: str, fields: Dict[str, Any]) -> None:
    good = read(machine({**infiniband(), **other("mlx5_1")})).facts
    assert [(port.device, port.state) for port in good] == [("mlx5_0", "ACTIVE"), ("mlx5_1", "ACTIVE")]
    reading = read(machine({**infiniband(), **other("mlx5_1", **{attribute: {"errno": "EIO"}})}))
    assert reading.facts == (good[0], good[1]._replace(**fields))
    (problem,) = reading.problems
    message = "/sys/class/infiniband/mlx5_1/ports/1/{}: Input/output error".format(attribute)
    assert (problem.part, problem.subject, problem.field) == ("rdma", "mlx5_1", next(iter(fields)))
    assert problem.message == message


def test_ibv_devinfo_that_hangs_on_one(machine: Any) -> None:
    commands = {"ibv_devinfo -d mlx5_0 -i 1": {"stdout": DEVINFO}, "ibv_devinfo -d mlx5_1 -i 1": {"hung": 3}}
    reading = read(machine({**infiniband(), **other("mlx5_1")}, commands))
    assert [(port.rdma_mtu, port.rate_gbps) for port in reading.facts] == [(2048, 400.0), (None, 400.0)]
    message = "ibv_devinfo -d mlx5_1 -i 1 did not return within 3 s"
    assert reading.problems == (Problem("rdma", "hung", message, "mlx5_1"),)


@pytest.mark.parametrize("path", ["link_layer", ""])
def test_one_of_which_not_even_the_least_can_be_read(machine: Any, path: str) -> None:
    files = {**infiniband(), **other("mlx5_1")}
    ports = "/sys/devices/pci0000:15/0000:1b:00.0/infiniband/mlx5_1/ports"
    if path:
        files[ports + "/1/" + path] = {"errno": "EIO"}
    else:
        files = {name: text for name, text in files.items() if not name.startswith(ports)}
        files[ports] = {"errno": "EIO"}
    reading = read(machine(files))
    assert [port.device for port in reading.facts] == ["mlx5_0"]
    assert [(problem.reason, problem.subject, problem.field) for problem in reading.problems] == [
        ("error", "mlx5_1", None)
    ]


def test_the_virtual_functions_of_a_card_are_ports_too(machine: Any) -> None:
    files = {**infiniband(), **other("mlx5_1")}
    files["/sys/bus/pci/devices/0000:1b:00.0/physfn"] = {"link": "../0000:1a:00.0"}
    assert [port.pci for port in read(machine(files)).facts] == ["0000:1a:00.0", "0000:1b:00.0"]


def test_roce_without_an_interface(machine: Any) -> None:
    files = infiniband()
    files[FUNCTION + "/infiniband/mlx5_0/ports/1/link_layer"] = "Ethernet\n"
    (port,) = read(machine(files)).facts
    assert (port.netdev, port.rdma_mtu) == (None, None)


def test_one_that_went_away(machine: Any) -> None:
    files = infiniband()
    del files[FUNCTION + "/infiniband/mlx5_0/ports/1/link_layer"]
    assert read(machine(files)) == Reading(())
    files = infiniband()
    del files[FUNCTION + "/infiniband/mlx5_0/ports/1/rate"]
    (problem,) = read(machine(files)).problems
    assert problem.message == "/sys/class/infiniband/mlx5_0/ports/1/rate: No such file or directory"


def test_no_rdma(machine: Any) -> None:
    assert read(machine({})) is None
