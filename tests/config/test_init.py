"""A first config validates, and the machine that it was written from passes its own check."""

from pathlib import Path

import pytest

from brctl.config.init import text
from brctl.config.load import load
from brctl.config.mistake import ConfigError
from brctl.config.models import Hardware
from brctl.config.resolve import expected
from brctl.node.diagnose import engine
from brctl.node.facts import Cpu, Inventory, Memory, Mount, Nic, NumaNode, PciDevice, RdmaPort
from brctl.node.report import Status

GIB = 1 << 30


def nic(name: str, mbps: int | None, pci: str | None = None, **more: object) -> Nic:
    plain = Nic(
        name, "physical", "02:00:00:00:00:01", 1500, "up", True, mbps, "mlx5_core", None, pci, 0, None, (), None
    )
    return plain._replace(**more)  # type: ignore[arg-type]


def port(i: int, gbps: float | None, layer: str = "InfiniBand", **more: object) -> RdmaPort:
    pci = f"0000:{i:02x}:00.0"
    plain = RdmaPort(f"mlx5_{i}", 1, "ACTIVE", "LinkUp", gbps, layer, 4096, "28.41.1000", "MT_1", None, pci, None, ())
    return plain._replace(**more)  # type: ignore[arg-type]


def memory(size: float) -> Memory:
    return Memory(int(size), int(size), 0)


def written(seen: Inventory, node: str = "n1") -> Hardware:
    """What the config says of the hardware; it is valid, with no warning, and the checks find nothing."""
    Path("new.yaml").write_text(text(seen, node))
    config = load(Path("new.yaml"), engine.registry())
    assert config.warnings == ()
    assert config.nodes == (node,)
    (group,) = config.groups
    findings = engine.run(seen, expected(config.node(node)), (), engine.tagged("inventory"))
    assert {finding.status for finding in findings} <= {Status.PASS, Status.NA, Status.INFO}, findings
    return config.settings.hardware[group]


@pytest.mark.parametrize("node", ["1001", "1e5", "null", "true", "0x1f", "no", "a.b-c_d", "9" * 99])
def test_a_name_that_yaml_would_take_for_something_else(node: str) -> None:
    assert written(Inventory(memory=memory(64 * GIB)), node).memory == 64 * GIB


@pytest.mark.parametrize("node", ["a{b", "-x", "", "a b", "@all", "n[1-2]", "a,b", "x" * 254, "n*", "\x1b[31m"])
def test_what_is_no_node_name_is_refused(node: str) -> None:
    with pytest.raises(ConfigError) as caught:
        text(Inventory(), node)
    (mistake,) = caught.value.mistakes
    assert mistake.hint == "--as NODE names this host"


def test_a_machine_of_which_nothing_is_known() -> None:
    assert written(Inventory()) == Hardware()


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (1.97 * 1024, "2032GiB"),
        (2015.5, "2016GiB"),
        (251.5, "256GiB"),
        (62.7, "64GiB"),
        (15.4, "15769MiB"),
        (7.6, "7782MiB"),
        (3.2, "3276MiB"),
        (1.5, "1536MiB"),
        (0.95, "972MiB"),
    ],
)
def test_memory_is_what_is_fitted_where_that_is_certain(seen: float, said: str) -> None:
    found = Inventory(memory=memory(seen * GIB + 4096))
    written(found)
    assert f"    memory: {said}\n" in text(found, "n1")


def test_memory_of_a_gpu_is_not_the_hosts() -> None:
    nodes = (NumaNode(0, "0-71", 478 * GIB, (10, 80)), NumaNode(1, "", 93 * GIB, (80, 10)))
    assert written(Inventory(memory=memory(571 * GIB), numa=nodes)).memory == 480 * GIB


def test_counts() -> None:
    cpu = written(Inventory(cpu=Cpu("EPYC", 2, 128, 256), numa=(NumaNode(0, "0-255", GIB, (10,)),))).cpu
    assert (cpu.sockets, cpu.numa_nodes, cpu.threads) == (2, 1, 256)
    assert written(Inventory(cpu=Cpu(None, 0, 4, 4))).cpu.sockets is None


def test_mounts_are_those_that_stay_and_are_written_to() -> None:
    mounts = (
        Mount("/", "/dev/sda1", "ext4", False),
        Mount("/home", "nas:/home", "nfs4", False),
        Mount("/sw", "nas:/sw", "nfs4", True),
        Mount("/odd \"name'\\\n", "nas:/odd", "nfs", False),
        Mount("/twice", "nas:/a", "nfs", False),
        Mount("/twice", "nas:/b", "lustre", False),
        Mount("/ro-now", "nas:/a", "nfs", False),
        Mount("/ro-now", "nas:/b", "nfs", True),
        Mount("/var/lib/kubelet/pods/1/volumes/kubernetes.io~nfs/data", "nas:/pv", "nfs4", False),
        Mount("/var/snap/microk8s/common/var/lib/kubelet/pods/1/data", "nas:/pv", "nfs4", False),
        Mount("/run/user/1000/share", "//nas/share", "cifs", False),
        Mount("/var/lib/docker/volumes/x/_data", "nas:/x", "nfs", False),
        Mount("/net", "auto.net", "autofs", False),
        Mount("/net/alice", "nas:/alice", "nfs4", False),
    )
    assert written(Inventory(mounts=mounts)).mounts == ("/home", "/odd \"name'\\\n", "/twice")


def test_a_laptop() -> None:
    nics = (
        nic("lo", None, kind="loopback"),
        nic("wlan0", None, "0000:02:00.0"),
        nic("enp1s0", 1000, "0000:01:00.0", mtu=576),
        nic("docker0", 10_000, kind="bridge"),
    )
    found = written(Inventory(nics=nics, memory=memory(7.6 * GIB), cpu=Cpu("i7", 1, 4, 8))).nics
    assert (found.interfaces, found.count, found.speed, found.kind, found.firmware) == (
        *("enp1s0", 1, 1000, "ethernet"),
        None,
    )


HCAS = tuple(port(i, 400.0) for i in (0, 3, 4, 5, 6, 9, 10, 11))
STORAGE = port(1, 200.0, "Ethernet", netdev="ens1f0")
ETHERNET = (nic("eno1", 1000, "0000:e1:00.0", driver="igb"), nic("ens1f0", 200_000, "0000:01:00.0", rdma="mlx5_1"))
IPOIB = tuple(
    nic(f"ib{i}", 400_000, hca.pci, mtu=4092, rdma=hca.device, mac=":".join(["00"] * 20)) for i, hca in enumerate(HCAS)
)


@pytest.mark.parametrize("interfaces", [(), IPOIB, tuple(it._replace(carrier=None, operstate="down") for it in IPOIB)])
def test_infiniband_rails_need_no_interface(interfaces: tuple[Nic, ...]) -> None:
    names = [it.name for it in interfaces] or [None] * 8
    hcas = tuple(hca._replace(netdev=name) for hca, name in zip(HCAS, names, strict=True))
    seen = Inventory(nics=(*ETHERNET, *interfaces), rdma=(STORAGE, *hcas))
    found = written(seen).nics
    assert found.interfaces == ",".join(hca.device for hca in HCAS)  # mlx5_* would be storage too
    assert (found.count, found.speed, found.kind, found.firmware) == (8, 400_000, "infiniband", "28.41.1000")
    assert "tune:" not in text(seen, "n1")


def test_a_pattern_where_it_names_the_rails_alone() -> None:
    found = written(Inventory(nics=ETHERNET[:1], rdma=HCAS)).nics
    assert (found.interfaces, found.count) == ("mlx5_*", 8)


def test_an_infiniband_port_without_a_link_is_no_rail() -> None:
    down = HCAS[0]._replace(state="DOWN", physical_state="Polling", rate_gbps=None)
    assert written(Inventory(nics=ETHERNET[:1], rdma=(down, *HCAS[1:]))).nics.count == 7


def test_a_second_port_is_named_by_its_number() -> None:
    two = (port(0, 200.0), port(0, 200.0, port=2))
    assert written(Inventory(nics=(), rdma=two)).nics.interfaces == "mlx5_0*"


def test_roce() -> None:
    nics = tuple(
        nic(f"ens{i}np0", 400_000, f"0000:{i:02x}:00.0", mtu=9000, rdma=f"mlx5_{i}", firmware="28.1") for i in range(8)
    )
    seen = Inventory(
        nics=(ETHERNET[0], *nics),
        rdma=tuple(port(i, 400.0, "Ethernet", netdev=f"ens{i}np0", pci=f"0000:{i:02x}:00.0") for i in range(8)),
    )
    found = written(seen).nics
    assert (found.interfaces, found.count, found.kind, found.firmware) == ("ens*np0", 8, "roce", "28.1")
    assert text(seen, "n1").endswith("  network:\n    mtu: 9000\n")


def test_virtual_functions_are_no_rails() -> None:
    nics = (nic("ens1np0", 400_000, "0000:01:00.0"), nic("ens1v0", 400_000, "0000:01:00.1"))
    pci = tuple(
        PciDevice(f"0000:01:00.{i}", "15b3", "1021", "0200", "mlx5_core", 0, 32.0, 16, 32.0, 16, (), whole)
        for i, whole in enumerate((None, "0000:01:00.0"))
    )
    found = written(Inventory(nics=nics, pci=pci)).nics
    assert (found.interfaces, found.count) == ("ens1np0", 1)


def test_efa() -> None:
    seen = Inventory(
        nics=(nic("ens5", 100_000, "0000:05:00.0", driver="ena"),),
        rdma=tuple(port(i, 100.0, "Unspecified", device=f"rdmap{i}s0") for i in range(4)),
    )
    found = written(seen).nics
    assert (found.interfaces, found.count, found.kind, found.speed) == ("rdmap*s0", 4, "efa", 100_000)
