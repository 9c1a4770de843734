import pytest

from brctl.config.mistake import ConfigError
from brctl.config.resolve import expected, thresholds
from brctl.config.units import Amount
from brctl.node.request import Expected, ExpectedAccelerator, ExpectedCpu, ExpectedNics, Override

from .conftest import Load

FULL = """\
hardware:
  compute:
    accelerator: {vendor: nvidia, model: NVIDIA H200, count: 8, memory: 143771MiB, driver: ">=550", nvlinks: 18}
    nics: {interfaces: ens*np*, count: 8, speed: 400Gb/s, kind: roce, firmware: 28.*}
    cpu: {sockets: 2, numa_nodes: 2, threads: 224}
    memory: 2TiB
  rack:
    mounts: [/data, /scratch]
tune:
  network: {mtu: 9000}
  gpu: {power_limit: 650W}
diagnose:
  checks: {gpu-heat: {warn: 80}}
overrides:
  - nodes: gpu3
    hardware: {accelerator: {count: 7}}
    tune: {gpu: {persistence_mode: true}}
    diagnose: {checks: {gpu-heat: {crit: 95}, other: {x: 0.5}}}
  - nodes: "@rack!store1"
    tune: {gpu: {power_limit: {NVIDIA H200: 500W}}, network: {interfaces: ens1*}}
"""


def test_groups_and_roles(config: Load) -> None:
    loaded = config(FULL)
    assert (loaded.node("gpu2").groups, loaded.node("gpu2").role) == (("compute", "rack"), "compute")
    assert (loaded.node("store1").groups, loaded.node("store1").role) == (("rack",), None)
    assert loaded.groups["rack"] == ("gpu2", "gpu3", "store1")


def test_what_a_node_is_expected_to_be(config: Load) -> None:
    loaded = config(FULL)
    gpus = ExpectedAccelerator("nvidia", "NVIDIA H200", 8, 143771 << 20, ">=550", None, 18)
    nics = ExpectedNics("ens*np*", 8, 400_000, "roce", "28.*")
    plain = Expected(gpus, nics, ExpectedCpu(2, 2, 224), 2 << 40, (), 9000, "ens*np*")
    assert expected(loaded.node("gpu1")) == plain
    assert expected(loaded.node("gpu2")) == plain._replace(mounts=("/data", "/scratch"), mtu_interfaces="ens1*")
    assert expected(loaded.node("gpu3")) == plain._replace(
        mounts=("/data", "/scratch"), mtu_interfaces="ens1*", accelerator=gpus._replace(gpu_count=7)
    )
    assert expected(loaded.node("store1")) == Expected(mounts=("/data", "/scratch"), mtu=9000)


def test_overrides_lie_over_the_cluster_key_by_key(config: Load) -> None:
    loaded = config(FULL)
    gpu = loaded.node("gpu3").tune.gpu
    assert (gpu.power_limit, gpu.persistence_mode) == ({"NVIDIA H200": Amount(500, "W")}, True)
    assert loaded.node("gpu3").tune.network.mtu == 9000
    assert loaded.node("gpu1").tune.gpu.power_limit == {"*": Amount(650, "W")}
    assert loaded.node("store1").tune == loaded.settings.tune


def test_thresholds(config: Load) -> None:
    loaded = config(FULL)
    assert thresholds(loaded.node("gpu1")) == (Override("gpu-heat", "warn", 80.0),)
    assert thresholds(loaded.node("gpu3")) == (
        Override("gpu-heat", "warn", 80.0),
        Override("gpu-heat", "crit", 95.0),
        Override("other", "x", 0.5),
    )


@pytest.mark.parametrize("name", [None, "laptop"])
def test_a_host_that_is_no_node_gets_the_cluster_wide_values(name: str | None, config: Load) -> None:
    node = config(FULL).node(name)
    assert (node.name, node.groups, node.role) == (name, (), None)
    assert expected(node) == Expected(mtu=9000)
    assert node.tune.gpu.power_limit == {"*": Amount(650, "W")}


def test_hardware_of_all(config: Load) -> None:
    loaded = config("hardware: {all: {memory: 64GiB}, rack: {cpu: {sockets: 1}}}\n")
    assert expected(loaded.node("gpu1")) == Expected(memory_bytes=64 << 30)
    assert expected(loaded.node("gpu2")).cpu == ExpectedCpu(sockets=1)


def test_select(config: Load) -> None:
    loaded = config("")
    assert loaded.select("@all") == loaded.nodes == ("gpu1", "gpu2", "gpu3", "gpu4", "store1")
    assert loaded.select("@compute!gpu[1-2]") == ("gpu3", "gpu4")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu[3-6],x", "error: not among cluster.nodes: gpu[5-6],x"),
        ("@nope", "error: no group is called 'nope'"),
        ("@compute!@all", "error: the node set is empty"),
        ("gpu[1-", "error: not a node set: '[' is not closed"),
    ],
)
def test_select_refuses(text: str, message: str, config: Load) -> None:
    with pytest.raises(ConfigError) as caught:
        config("").select(text)
    assert str(caught.value) == message


def test_site_wide_group_files_are_not_asked(config: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    from ClusterShell import NodeSet

    def asked(*_: object) -> None:
        raise AssertionError("ClusterShell's own groups were asked")

    monkeypatch.setattr(NodeSet.RESOLVER_STD_GROUP, "_late_init", asked)
    loaded = config("overrides: [{nodes: '@rack', comm: {dscp: 26}}]\n")
    assert loaded.node("gpu2").comm.dscp == 26
    with pytest.raises(ConfigError):
        loaded.select("@site")
