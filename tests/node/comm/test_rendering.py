"""What jobs should have on each machine, or why there is nothing to have."""

from typing import Callable, Dict, Optional

import pytest

from brctl.mock.machines import names
from brctl.node.comm.rendering import NOBODY, render
from brctl.node.facts import Inventory
from brctl.node.report import Environment
from brctl.node.request import Communication, Expected, ExpectedNics, RailOut, Setenv

See = Callable[[str], Inventory]
RAILS = "=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11"


def values(found: Environment) -> Dict[str, Optional[str]]:
    return {each.name: each.value for each in found.variables}


def test_dgx_h100(seen: See) -> None:
    comm = Communication(framework="megatron-tp", rails=8, dscp=26)
    found = render(seen("dgx-h100"), Expected(), comm, route="eno1")
    assert values(found) == {
        "NCCL_IB_HCA": RAILS,
        "NCCL_SOCKET_IFNAME": "=eno1",
        "NCCL_IB_GID_INDEX": "3",
        "NCCL_IB_TC": "104",
        "NCCL_IB_TIMEOUT": None,
        "NCCL_BUFFSIZE": None,
        "CUDA_DEVICE_MAX_CONNECTIONS": "1",
    }
    assert found.hcas == tuple(RAILS[1:].split(","))
    assert all(each.reason and each.source for each in found.variables)


@pytest.mark.parametrize(
    ("machine", "hcas"),
    [
        ("dgx-a100", 8),
        ("dgx-h100", 8),
        ("hgx-b200", 8),
        ("hgx-h200", 8),
        ("l40s-pcie", 2),
        ("old-driver", 1),
        ("sixteen-gpus", 0),
        ("vgpu-guest", 0),
    ],
)
def test_hcas(seen: See, machine: str, hcas: int) -> None:
    found = render(seen(machine), Expected(), Communication())
    assert len(found.hcas) == hcas
    assert ("NCCL_IB_HCA" in values(found)) is bool(hcas)
    assert found.refused is None


@pytest.mark.parametrize(("machine", "why"), [("cpu-only", "has no GPU"), ("h100-mig", "divided by MIG")])
def test_refused(seen: See, machine: str, why: str) -> None:
    found = render(seen(machine), Expected(), Communication())
    assert why in (found.refused or "")
    assert found.variables == ()


def test_every_machine_is_here(seen: See) -> None:
    for name in names():
        found = render(seen(name), Expected(), Communication())
        assert bool(found.refused) is not bool(found.variables), name


def test_infiniband_has_neither_gid_nor_class(seen: See) -> None:
    found = values(render(seen("hgx-h200"), Expected(), Communication(dscp=26)))
    assert "NCCL_IB_GID_INDEX" not in found
    assert "NCCL_IB_TC" not in found


def test_fewer_rails_than_declared(seen: See) -> None:
    found = render(seen("l40s-pcie"), Expected(), Communication(rails=8))
    assert found.refused == "comm.rails is 8, and 2 RDMA ports are here: see hardware.nics.interfaces"


def test_a_rail_that_is_down(seen: See) -> None:
    healthy = seen("hgx-b200")
    ports = [port._replace(state="DOWN") if port.device == "mlx5_3" else port for port in healthy.rdma or ()]
    found = render(healthy._replace(rdma=tuple(ports)), Expected(), Communication(rails=8))
    assert found.refused == "no link on mlx5_3: with other devices than its peers have, NCCL hangs"
    assert len(render(healthy._replace(rdma=tuple(ports)), Expected(), Communication()).hcas) == 7


def test_interfaces_that_the_config_names(seen: See) -> None:
    want = Expected(nics=ExpectedNics(interfaces="ens[12]np0"))
    assert render(seen("dgx-h100"), want, Communication()).hcas == ("mlx5_0", "mlx5_3")


def test_another_vendor(seen: See) -> None:
    machine = seen("dgx-h100")
    gpus = tuple(gpu._replace(vendor="amd") for gpu in machine.gpus or ())
    found = render(machine._replace(gpus=gpus), Expected(), Communication())
    assert found.refused == "NCCL is NVIDIA's, and the GPUs here are of amd"


def test_gids_that_differ_are_left_to_nccl(seen: See) -> None:
    machine = seen("dgx-h100")
    first, *others = machine.rdma or ()
    shifted = first._replace(gids=tuple(gid._replace(gid_index=gid.gid_index + 2) for gid in first.gids))
    found = render(machine._replace(rdma=(shifted, *others)), Expected(), Communication())
    assert values(found)["NCCL_IB_GID_INDEX"] is None


def test_what_the_config_gives_wins_and_is_marked(seen: See) -> None:
    env = (Setenv("NCCL_IB_TC", "96"), Setenv("BR_NCCL_BUFFSIZE", "1G"))
    found = render(seen("dgx-h100"), Expected(), Communication(backend="npo", dscp=26, env=env))
    assert values(found)["NCCL_IB_TC"] == "96"
    marked = {each.name: each.reason for each in found.variables if NOBODY in each.reason}
    assert marked == {"BR_COMM_BACKEND": NOBODY, "BR_NCCL_BUFFSIZE": "as given; " + NOBODY}


def test_rail_only(seen: See) -> None:
    assert values(render(seen("dgx-h100"), Expected(), Communication(rail_only=True)))["NCCL_CROSS_NIC"] == "0"


def test_an_interface_that_cannot_be_told(seen: See) -> None:
    found = render(seen("dgx-h100"), Expected(), Communication())
    assert values(found)["NCCL_SOCKET_IFNAME"] is None
    told = next(each for each in found.variables if each.name == "NCCL_SOCKET_IFNAME")
    assert told.reason == "which of bond0, eno1 is meant cannot be told: name it in comm.env"


def test_a_rail_that_is_out_on_all_nodes(seen: See) -> None:
    comm = Communication(rails=8, out=RailOut(1, 8, "network-loss on gpu002 since noon"))
    found = render(seen("dgx-h100"), Expected(), comm)
    assert values(found)["NCCL_IB_HCA"] == RAILS.replace("mlx5_3,", "")
    assert found.out == "mlx5_3, rail 1 of 8, is left out on all nodes: network-loss on gpu002 since noon"
    assert found.variables[0].reason.endswith("; " + found.out)


@pytest.mark.parametrize("out", [RailOut(1, 4, "x"), RailOut(8, 8, "x"), RailOut(-1, 8, "x")])
def test_a_rail_that_this_node_does_not_have(seen: See, out: RailOut) -> None:
    refused = render(seen("dgx-h100"), Expected(), Communication(out=out)).refused
    assert refused == (
        "rail {} of {} is out on all nodes (x), and 8 are here: "
        "with another set of devices than its peers have, NCCL hangs".format(out.rail, out.rails)
    )
