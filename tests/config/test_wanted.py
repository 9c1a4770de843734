"""What the tune section, and --set over it, come to for a node."""

from pathlib import Path

import pytest

from brctl.config import open_config
from brctl.config.mistake import ConfigError
from brctl.config.wanted import wanted
from brctl.node.request import Clocks, KernelParameter, PowerLimit, Wanted

EXAMPLE = Path(__file__).parents[2] / "cluster-config.example.yaml"


def test_the_example() -> None:
    config = open_config(EXAMPLE)
    assert wanted(config, "gpu001") == Wanted(
        mtu=9000,
        interfaces="ens*np*",
        sysctls=(
            KernelParameter("net.core.rmem_max", "67108864"),
            KernelParameter("net.core.wmem_max", "67108864"),
            KernelParameter("net.ipv4.tcp_rmem", "4096 131072 67108864"),
            KernelParameter("net.ipv4.tcp_wmem", "4096 65536 67108864"),
            KernelParameter("vm.zone_reclaim_mode", "0"),
        ),
        numa_balancing=0,
        power_limits=(PowerLimit("NVIDIA H100 80GB HBM3", 650.0),),
        persistence_mode=True,
        locked_clocks=Clocks(1200, 1980),
        cpu_governor="performance",
        transparent_hugepage="madvise",
        memlock="unlimited",
    )
    assert wanted(config, "gpu004").power_limits == (PowerLimit("NVIDIA H100 80GB HBM3", 500.0),)
    assert wanted(config, "store01").interfaces == "ens*"


def test_interfaces_are_those_of_the_hardware_where_tune_names_none(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text('version: 1\ncluster: {name: c, nodes: n1, groups: {g: {nodes: n1}}}\n'
                    'hardware: {g: {nics: {interfaces: "rail*"}}}\ntune: {memlock: 1GiB}\n')  # fmt: skip
    assert wanted(open_config(path), "n1") == Wanted(interfaces="rail*", memlock="1073741824")
    assert wanted(open_config(path), "stranger") == Wanted(memlock="1073741824")


def test_without_a_config_what_is_set_alone() -> None:
    assert wanted(None, "n1") == Wanted()
    sets = ["network.mtu=9000", "tune.sysctl.net.core.rmem_max=64MiB", "gpu.power_limit=80%", "memlock=unlimited"]
    assert wanted(None, "n1", sets) == Wanted(
        mtu=9000,
        sysctls=(KernelParameter("net.core.rmem_max", "67108864"),),
        power_limits=(PowerLimit(None, None, 80.0),),
        memlock="unlimited",
    )


@pytest.mark.parametrize(
    ("sets", "field", "value"),
    [
        (["network.mtu=4200", "network.mtu=8192"], "mtu", 8192),
        (["gpu.locked_clocks.min=900MHz"], "locked_clocks", Clocks(900, 1980)),
        (["gpu.power_limit=300W"], "power_limits", (PowerLimit(None, 300.0),)),
        (
            ["gpu.power_limit.NVIDIA H200 v1.1=90%"],
            "power_limits",
            (PowerLimit("NVIDIA H100 80GB HBM3", 650.0), PowerLimit("NVIDIA H200 v1.1", None, 90.0)),
        ),
        (["numa_balancing=true"], "numa_balancing", 1),
        (["transparent_hugepage = never"], "transparent_hugepage", "never"),
    ],
)
def test_what_is_set_goes_over_the_file(sets: list[str], field: str, value: object) -> None:
    assert getattr(wanted(open_config(EXAMPLE), "gpu001", sets), field) == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mtu", "error: --set mtu: KEY=VALUE is expected\nhint: for example: --set network.mtu=9000"),
        ("=9000", "error: --set =9000: KEY=VALUE is expected\nhint: for example: --set network.mtu=9000"),
        ("network.mtuu=9000", "error: --set: tune.network.mtuu: unknown key\nhint: did you mean 'mtu'?"),
        ("network.mtu=big", "error: --set: tune.network.mtu: a whole number is expected, not 'big'\nhint: "),
        ("network.mtu=", "error: --set network.mtu:1:1: no value\n"),
        ("network.mtu=[1", "error: --set network.mtu:1:8: [ is not closed\n"),
        ("gpu.power_limit=300", "error: --set: tune.gpu.power_limit: 300 has no unit\n"),
        ("sysctl.net.core.rmem_max=2048", "error: --set: tune.sysctl.net.core.rmem_max: 2048 has no unit: as bytes"),
        ("sysctl.kernel.numa_balancing=0", "error: --set: tune.sysctl: 'kernel.numa_balancing' has a key of its own\n"),
    ],
)
def test_what_is_wrong_with_it_is_told_as_of_the_file(text: str, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        wanted(None, "n1", [text])
    assert str(raised.value).startswith(told)
