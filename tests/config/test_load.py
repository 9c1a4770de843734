"""Every case that validation refuses or warns of, and what must be accepted letter for letter."""

from pathlib import Path

import pytest

from brctl.config import resolve
from brctl.config.load import load
from brctl.config.mistake import ConfigError
from brctl.config.units import Amount
from brctl.node.diagnose import Check, Threshold

from .conftest import HEAD, Load, Refuse, Said

EXAMPLE = Path(__file__).resolve().parents[2] / "cluster-config.example.yaml"

# ---------------------------------------------------------------------------------------------------------------------
# Accepted


def test_the_least_config(config: Load) -> None:
    loaded = config("version: 1\ncluster: {name: c, nodes: n1}\n")
    assert loaded.nodes == ("n1",)
    assert loaded.groups == {}
    assert loaded.settings.transport.connect_timeout == 10.0
    assert loaded.settings.monitor.interval == 5.0
    assert loaded.warnings == ()


def test_the_scheduler_letter_for_letter(config: Load) -> None:
    scheduler = config(
        "scheduler:\n  resource_policy: elastic\n  gpu_allocation: exclusive\n  network_qos: guaranteed\n"
    ).settings.scheduler
    assert (scheduler.kind, scheduler.resource_policy) == ("none", "elastic")
    assert (scheduler.gpu_allocation, scheduler.network_qos) == ("exclusive", "guaranteed")


def test_alerting_letter_for_letter(config: Load) -> None:
    alerting = config(
        "alerting:\n  gpu_temperature:\n    threshold: 85\n    action: throttle\n"
        "  network_loss:\n    threshold: 1%\n    action: reroute\n"
    ).settings.alerting
    assert (alerting["gpu_temperature"].threshold, alerting["gpu_temperature"].action) == (Amount(85, ""), "throttle")
    assert (alerting["network_loss"].threshold, alerting["network_loss"].action) == (Amount(1, "%"), "reroute")
    assert (alerting["network_loss"].hold, alerting["network_loss"].severity) == (0.0, None)


def test_a_byte_order_mark(config: Load) -> None:
    assert config("\ufeff" + HEAD).settings.cluster.name == "test"


def test_the_example_uses_every_section_and_is_clean() -> None:
    loaded = load(EXAMPLE)
    assert loaded.warnings == ()
    assert set(loaded.document.data) == set(type(loaded.settings).model_fields)


def test_values(config: Load) -> None:
    tune = config(
        "tune:\n"
        "  sysctl: {net.core.rmem_max: 2147483647B, vm.swappiness: 10, net.ipv4.ip_local_port_range: [1024, 65000],\n"
        "    net.ipv4.tcp_congestion_control: bbr, net.ipv4.conf.eth0/100.rp_filter: 2}\n"
        "  gpu: {power_limit: {NVIDIA H200: 80%, NVIDIA B200: 1kW}}\n"
        "  numa_balancing: 2\n"
        "  memlock: 1GiB\n"
    ).settings.tune
    assert tune.sysctl.rmem_max == 2**31 - 1
    assert tune.sysctl.__pydantic_extra__ == {
        "vm.swappiness": "10",
        "net.ipv4.ip_local_port_range": "1024 65000",
        "net.ipv4.tcp_congestion_control": "bbr",
        "net.ipv4.conf.eth0/100.rp_filter": "2",
    }
    assert tune.gpu.power_limit == {"NVIDIA H200": Amount(80, "%"), "NVIDIA B200": Amount(1000, "W")}
    assert (tune.numa_balancing, tune.memlock) == (2, 1 << 30)


# ---------------------------------------------------------------------------------------------------------------------
# Refused: one key

WRONG = {
    "tune: {netwrk: {mtu: 9000}}": "8:8 tune.netwrk: unknown key (did you mean 'network'?)",
    "tune: {mtu: 9000}": "8:8 tune.mtu: unknown key ('mtu' is a key of tune.network: is the indentation right?)",
    "comm: {zzz: 1}": "8:8 comm.zzz: unknown key (the keys are backend, framework, rails, dscp, env)",
    "hardware: {compute: {speed: 400Gb/s}}": "8:22 hardware.compute.speed: unknown key "
    "('speed' is a key of hardware.compute.nics: is the indentation right?)",
    "tune: {network: {mtu: big}}": "8:23 tune.network.mtu: a whole number is expected, not 'big' "
    "(whole number, 1280 to 65520)",
    "tune: {network: {mtu: 9000.5}}": "8:23 tune.network.mtu: a whole number is expected, not 9000.5 "
    "(whole number, 1280 to 65520)",
    "tune: {network: {mtu: 1000}}": "8:23 tune.network.mtu: 1000 is out of range (whole number, 1280 to 65520)",
    "transport: {fanout: 0}": "8:21 transport.fanout: 0 is out of range (whole number, 1 to 4096)",
    "transport: {sudo: yes}": "8:19 transport.sudo: true or false is expected, not 'yes' "
    "(yes, no, on and off are text in YAML 1.2)",
    "transport: {user: -x}": "8:19 transport.user: '-x' is no text without blanks or a leading dash",
    "transport: {kind: exec}": "8:12 transport: kind exec needs a template (for example: template: srun -N1 -w %host)",
    "transport: {template: srun}": "8:23 transport.template: 'srun' is no text (for example srun -N1 -w %host)",
    "transport: {options: {ForwardAgent: 'yes'}}": "8:22 transport.options: "
    "ForwardAgent is set by brctl (remove it here)",
    "transport: {port: 22, options: {Port: 2222}}": "8:32 transport.options: "
    "Port is set by transport.port (remove it here)",
    "transport: {options: {Compression: 'yes', compression: 'no'}}": "8:22 transport.options: "
    "compression is set by Compression (remove it here)",
    "transport: {connect_timeout: 10}": "8:30 transport.connect_timeout: 10 has no unit "
    "(write a number and one of ms, s, m, h, d: 5s)",
    "scheduler: {kind: slrum}": "8:19 scheduler.kind: "
    "'slrum' is none of slurm, kubernetes, none (did you mean 'slurm'?)",
    "topology: {kind: 3}": "8:18 topology.kind: 3 is none of clos, rail-only, dragonfly, torus",
    "scheduler: elastic": "8:12 scheduler: `key: value` lines are expected, not 'elastic' (indent its keys below it)",
    "hardware: {compute: {mounts: /data}}": "8:30 hardware.compute.mounts: a list is expected, not '/data' "
    "(write [A, B], or a line `- A` for each)",
    "hardware: {compute: {mounts: [data]}}": "8:31 hardware.compute.mounts[0]: 'data' is no absolute path",
    "hardware: {compute: {nics: {firmware: 28}}}": "8:39 hardware.compute.nics.firmware: text is expected, not 28 "
    "(put quotes around it)",
    "hardware: {compute: {accelerator: {driver: new}}}": "8:44 hardware.compute.accelerator.driver: "
    "'new' is no version range (for example >=550,<600)",
    "comm: {env: {A B: x}}": "8:14 comm.env.A B: 'A B' is no name (a name is of letters, digits, '.', '_' and '-')",
    "comm: {env: {A: true}}": "8:17 comm.env.A: true is no text (put quotes around it)",
    'comm: {env: {A: "\\e"}}': "8:17 comm.env.A: '\\x1b' has unprintable characters",
    "comm: {env: [A]}": "8:13 comm.env: `key: value` lines are expected, not a list (indent its keys below it)",
    "monitor: {listen: localhost}": "8:19 monitor.listen: 'localhost' has no port "
    "(write ADDRESS:PORT, the port 1 to 65535)",
    "monitor: {listen: '[::1]:99999'}": "8:19 monitor.listen: '[::1]:99999' has no port "
    "(write ADDRESS:PORT, the port 1 to 65535)",
    "diagnose: {checks: {x: {y: high}}}": "8:28 diagnose.checks.x.y: a number is expected, not 'high' "
    "(number, at least 0)",
    "diagnose: {checks: {x: {y: 1e999}}}": "8:28 diagnose.checks.x.y: a number is expected, not inf "
    "(number, at least 0)",
    "tune: {numa_balancing: 7}": "8:24 tune.numa_balancing: 7 is no mode of NUMA balancing "
    "(write false, true, or the kernel's mask: 0 to 3)",
    "tune: {gpu: {power_limit: 300}}": "8:27 tune.gpu.power_limit: 300 has no unit "
    "(write a number and one of W, kW, %: 650W)",
    "tune: {gpu: {power_limit: 120%}}": "8:27 tune.gpu.power_limit: 120% is out of range (at most 100%)",
    "tune: {gpu: {locked_clocks: {min: 2GHz, max: 1GHz}}}": "8:29 tune.gpu.locked_clocks: "
    "min 2000MHz is above max 1000MHz",
    "tune: {gpu: {locked_clocks: {min: 2GHz}}}": "8:14 tune.gpu.locked_clocks.max: missing (The greatest.)",
    "alerting: {network_loss: {threshold: 1}}": "8:38 alerting.network_loss.threshold: "
    "a loss is a share of the packets (write it in percent: 0.001%)",
    "tune: {sysctl: {net.core.rmem_max: 64MB}}": "8:36 tune.sysctl.net.core.rmem_max: "
    "'MB' may be powers of 1000 or of 1024 (write 64MiB, or the exact number with B)",
    "tune: {sysctl: {net.core.rmem_max: 2KiB}}": "8:36 tune.sysctl.net.core.rmem_max: "
    "2048 bytes are below the kernel's floor of 2304 (64MiB suits one data centre)",
    "tune: {sysctl: {net.core.wmem_max: 2048MiB}}": "8:36 tune.sysctl.net.core.wmem_max: "
    "2147483648 bytes are more than the kernel takes (the most is 2147483647B)",
    "tune: {sysctl: {net.core.rmem_max: 67108864}}": "8:36 tune.sysctl.net.core.rmem_max: 67108864 has no unit "
    "(for bytes write 67108864B, which is 64 MiB)",
    "tune: {sysctl: {net.core.wmem_max: 8192}}": "8:36 tune.sysctl.net.core.wmem_max: 8192 has no unit "
    "(8192B is less than the default; 8192KiB is 8 MiB; 8192MiB is more than the kernel takes (2147483647B); "
    "64MiB suits one data centre)",
    "tune: {sysctl: {net.ipv4.tcp_rmem: [4KiB, 1KiB, 64MiB]}}": "8:36 tune.sysctl.net.ipv4.tcp_rmem: "
    "three rising sizes are expected (minimum, default, maximum: [4KiB, 128KiB, 64MiB])",
    "tune: {sysctl: {net.ipv4.tcp_rmem: [4096B, 1MiB, 2]}}": "8:50 tune.sysctl.net.ipv4.tcp_rmem[2]: 2 has no unit "
    "(for bytes write 2B; else write a number and one of B, KiB, MiB, GiB, TiB: 64MiB)",
    "tune: {sysctl: {vm.min_free_kbytes: 1GiB}}": "8:37 tune.sysctl.vm.min_free_kbytes: "
    "no units for this key: '1GiB' (write the number as /proc/sys shows it)",
    "tune: {sysctl: {vm.x: 1.5}}": "8:23 tune.sysctl.vm.x: 1.5 is no kernel value "
    "(write what /proc/sys shows: a number or a word)",
    "tune: {sysctl: {../../etc/passwd: x}}": "8:16 tune.sysctl: '../../etc/passwd' is no kernel parameter "
    "(write it as sysctl does: net.core.somaxconn)",
    "tune: {sysctl: {net/core/rmem_max: 2048}}": "8:16 tune.sysctl: 'net/core/rmem_max' is written with slashes "
    "(write net.core.rmem_max)",
    "tune: {sysctl: {net/ipv4/conf/eth0.100/rp_filter: 2}}": "8:16 tune.sysctl: "
    "'net/ipv4/conf/eth0.100/rp_filter' is written with slashes (write net.ipv4.conf.eth0/100.rp_filter)",
    "tune: {sysctl: {net.//.rp_filter: 2}}": "8:16 tune.sysctl: 'net.//.rp_filter' is no kernel parameter "
    "(write it as sysctl does: net.core.somaxconn)",
    "tune: {numa_balancing: false, sysctl: {kernel.numa_balancing: 1}}": "8:39 tune.sysctl: "
    "'kernel.numa_balancing' has a key of its own (write it as tune.numa_balancing)",
    "hardware: {compte: {}}": "8:12 hardware.compte: no group is called 'compte' (did you mean 'compute'?)",
    "hardware: {gpu1: {}}": "8:12 hardware.gpu1: no group is called 'gpu1' (the groups are compute, rack, all)",
    "monitor: {peers: gpu9}": "8:18 monitor.peers: not among cluster.nodes: gpu9",
    "overrides: [{nodes: 'gpu[1-'}]": "8:21 overrides[0].nodes: not a node set: '[' is not closed",
    "overrides: [{nodes: '@rak'}]": "8:21 overrides[0].nodes: no group is called 'rak'; did you mean 'rack'?",
    "overrides: [{nodes: 'gpu[3-6]'}]": "8:21 overrides[0].nodes: not among cluster.nodes: gpu[5-6]",
    "overrides: [{tune: {}}]": "8:13 overrides[0].nodes: missing (The nodes that differ; @GROUP is a group.)",
    "overrides: [5]": "8:13 overrides[0]: `key: value` lines are expected, not 5 (indent its keys below it)",
}


@pytest.mark.parametrize("text", WRONG)
def test_one_clear_error(text: str, said: Said) -> None:
    assert said(text + "\n") == [WRONG[text]]


CLUSTER = {
    "nodes: 'gpu[001-'": ["4:10 cluster.nodes: not a node set: '[' is not closed"],
    "nodes: gpu[1-999999999]": ["4:10 cluster.nodes: more than 16384 nodes"],
    "nodes: '@rack'": ["4:10 cluster.nodes: a group or wildcard means nothing here: write the nodes themselves"],
    "nods: n1": ["4:3 cluster.nods: unknown key (did you mean 'nodes'?)"],
    "groups: {}": ["2:1 cluster.nodes: missing (Every node, as a ClusterShell node set.)"],
    "nodes: n1\n  groups: {all: {nodes: n1}}": [
        "5:12 cluster.groups.all: 'all' is every node by itself (choose another name)"
    ],
    "nodes: n1\n  groups: {g: {nodes: n2}}": ["5:23 cluster.groups.g.nodes: not among cluster.nodes: n2"],
    "nodes: n1\n  groups: {g: {nodes: n1}, h: {nodes: '@g'}}": [
        "5:39 cluster.groups.h.nodes: a group or wildcard means nothing here: write the nodes themselves"
    ],
    "nodes: n1\n  groups: {g: {nodes: 'n[2-1]'}}": [
        '5:23 cluster.groups.g.nodes: not a node set: bad range: "invalid values in range : "2-1""'
    ],
    "nodes: n1\n  groups: {g h: {nodes: n1}}": [
        "5:12 cluster.groups.g h: 'g h' is no name (a name is of letters, digits, '.', '_' and '-')"
    ],
    "nodes: n1\n  groups: {g: {nodes: n1, role: gpu}}": [
        "5:33 cluster.groups.g.role: 'gpu' is none of compute, storage, management"
    ],
    "nodes: n1\n  groups: {g: {nodes: n1, role: compute}, h: {nodes: n1, role: storage}}": [
        "5:64 cluster.groups.h.role: n1 is storage here and compute in group g (a node has one role)"
    ],
}


@pytest.mark.parametrize("text", CLUSTER)
def test_the_cluster(text: str, said: Said) -> None:
    assert (
        said(f"version: 1\ncluster:\n  name: c\n  {text}\nhardware: {{nowhere: {{}}}}\n")[: len(CLUSTER[text])]
        == CLUSTER[text]
    )


def test_what_rests_on_a_wrong_cluster_is_not_judged(said: Said) -> None:
    assert len(said("version: 1\ncluster: {name: c, nodes: n, group: {}}\nhardware: {g: {}}\n")) == 1


def test_version(said: Said) -> None:
    rest = "\ncluster: {name: c, nodes: n}\n"
    assert said("version: 2" + rest) == ["1:10 version: 2 is not 1"]
    assert said('version: "1"' + rest) == ["1:10 version: '1' is not 1 (without quotes)"]


NOTHING = {
    "monitor: {interval: 0s}": "monitor.interval: 0s is out of range (more than 0: 5s)",
    "monitor: {interval: 367d}": "monitor.interval: 367d is out of range (at most 366d)",
    "monitor: {collectors: {cpu: {every: 0ms}}}": "monitor.collectors.cpu.every: 0ms is out of range (more than 0: 5s)",
    "transport: {command_timeout: 0.0s}": "transport.command_timeout: 0.0s is out of range (more than 0: 5s)",
    "transport: {connect_timeout: 0s}": "transport.connect_timeout: 0s is out of range (more than 0: 5s)",
    "hardware: {all: {memory: 0B}}": "hardware.all.memory: 0B is out of range (more than 0: 64MiB)",
    "hardware: {all: {nics: {speed: 0Gb/s}}}": "hardware.all.nics.speed: 0Gb/s is out of range (more than 0: 400Gb/s)",
    "hardware: {all: {cpu: {sockets: 0}}}": "hardware.all.cpu.sockets: 0 is out of range (whole number, 1 to 65536)",
    "tune: {memlock: 0B}": "tune.memlock: 0B is out of range (more than 0: 64MiB)",
    "tune: {gpu: {power_limit: 0W}}": "tune.gpu.power_limit: 0W is out of range (more than 0: 650W)",
    "tune: {gpu: {power_limit: 0%}}": "tune.gpu.power_limit: 0% is out of range (more than 0: 650W)",
    "tune: {gpu: {locked_clocks: {min: 0MHz, max: 1GHz}}}": "tune.gpu.locked_clocks.min: 0MHz is out of range "
    "(more than 0: 1200MHz)",
    "tune: {sysctl: {net.core.rmem_max: 0B}}": "tune.sysctl.net.core.rmem_max: "
    "0 bytes are below the kernel's floor of 2304 (64MiB suits one data centre)",
    "alerting: {gpu_hot: {threshold: 0}}": "alerting.gpu_hot.threshold: 0 is out of range (more than 0: 85)",
    "alerting: {gpu_hot: {threshold: 101%}}": "alerting.gpu_hot.threshold: 101% is out of range (at most 100%)",
    "diagnose: {checks: {a: {tolerance: -1}}}": "diagnose.checks.a.tolerance: -1 is out of range (number, at least 0)",
}


@pytest.mark.parametrize("text", NOTHING)
def test_what_cannot_be_meant(text: str, said: Said) -> None:
    assert [line.partition(" ")[2] for line in said(text + "\n")] == [NOTHING[text]]


def test_nothing_that_can_be_meant(config: Load) -> None:
    text = "alerting: {gpu_hot: {for: 0m}}\ndiagnose: {checks: {a: {tolerance: 0}}}\n"
    text += "hardware: {all: {nics: {count: 0}}}\n"
    settings = config(text).settings
    assert (settings.alerting["gpu_hot"].hold, settings.diagnose.checks["a"]["tolerance"]) == (0.0, 0.0)
    assert settings.hardware["all"].nics.count == 0


def test_too_many_are_told_by_their_number(said: Said) -> None:
    text = "overrides:\n" + 1025 * "  - {nodes: gpu1}\n"
    assert said(text) == ["9:3 overrides: 1025 are too many (the most is 1024)"]


# ---------------------------------------------------------------------------------------------------------------------
# Refused: one part against another


def test_two_overrides_that_set_one_key_differently(refused: Refuse) -> None:
    text = "overrides:\n  - nodes: gpu[1-3]\n    tune: {gpu: {power_limit: 500W}, network: {mtu: 9000}}\n"
    text += '  - nodes: "@rack"\n    tune: {gpu: {power_limit: 400W}, network: {mtu: 9000}}\n'
    (mistake,) = refused(text)
    assert mistake.show() == (
        "error: c.yaml:12:31: overrides[1].tune.gpu.power_limit: "
        "line 10 sets it differently, and both are for gpu[2-3]\n"
        "   12 |     tune: {gpu: {power_limit: 400W}, network: {mtu: 9000}}\n"
        "      |                               ^\n"
        "hint: let only one of the two name these nodes"
    )


@pytest.mark.parametrize("limits", [("500W", "{NVIDIA H200: 500W}"), ("{NVIDIA H200: 500W}", "500W")])
def test_values_of_another_shape_differ(limits: tuple[str, str], said: Said) -> None:
    text = "overrides:\n" + "".join(
        f"  - {{nodes: gpu1, tune: {{gpu: {{power_limit: {limit}}}}}}}\n" for limit in limits
    )
    assert said(text)[0].startswith(
        "10:45 overrides[1].tune.gpu.power_limit: line 9 sets it differently, and both are for gpu1"
    )


def test_overrides_of_different_nodes_or_keys_agree(config: Load) -> None:
    one = "  - {{nodes: {}, tune: {{gpu: {}}}}}\n"
    text = one.format("gpu1", "{power_limit: 500W}") + one.format("gpu2", "{power_limit: 450W}")
    text += one.format("'gpu[1-2]'", "{persistence_mode: true}")
    assert config("overrides:\n" + text).node("gpu2").tune.gpu.power_limit == {"*": Amount(450, "W")}


def test_groups_that_expect_different_hardware_of_one_node(said: Said) -> None:
    text = "hardware:\n  compute: {accelerator: {count: 8}}\n  rack: {accelerator: {count: 4}}\n"
    (line,) = said(text)
    assert line.startswith(
        "10:31 hardware.rack.accelerator.count: line 9 sets it differently, and both are for gpu[2-3]"
    )


def test_node_sets_are_counted_before_they_are_expanded(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "MOST_MEMBERS", 7 + 8)  # the groups of HEAD hold seven
    text = "overrides:\n" + 2 * "  - {nodes: 'gpu[1-4]', comm: {rails: 8}}\n"
    message = "more than 15 nodes in the node sets up to here (what holds for all nodes needs no override)"
    assert said(text + "  - {nodes: gpu1}\n") == [f"11:13 overrides[2].nodes: {message}"]
    assert said("hardware: {compute: {}}\nmonitor: {peers: '@all'}\n") == [f"9:18 monitor.peers: {message}"]
    assert said("monitor: {peers: 'gpu*'}\n") == [f"8:18 monitor.peers: {message}"]


def test_all_mistakes_at_once_in_the_order_of_the_file(said: Said) -> None:
    text = "comm: {rails: 0}\ntune: {network: {mtu: x}}\ncomm: {}\nhardware: {nowhere: {}}\nmonitor:\nscheduler: *x\n"
    assert [line.split(" (")[0] for line in said(text)] == [
        "8:15 comm.rails: 0 is out of range",
        "9:23 tune.network.mtu: a whole number is expected, not 'x'",
        "10:1 comm: duplicate key",
        "11:12 hardware.nowhere: no group is called 'nowhere'",
        "12:1 monitor: no value",
        "13:12 scheduler: YAML aliases are not read",
    ]


def test_no_more_than_fifty_are_told(refused: Refuse) -> None:
    assert len(refused("comm:\n  env:\n" + "".join(f"    A{i}: true\n" for i in range(2000)))) == 50


# ---------------------------------------------------------------------------------------------------------------------
# Warned of

ODD = {
    "comm: {env: {NCCL_BUFFSIZE: 1G}}": "8:29 comm.env.NCCL_BUFFSIZE: NCCL knows no units: it reads '1G' as 1",
    "tune: {network: {mtu: 4096}}": "8:23 tune.network.mtu: with an MTU of 4096 RDMA uses 2048, "
    "as it needs 96 bytes more than its own",
    "alerting: {network_loss: {threshold: 1%}}": "8:38 alerting.network_loss.threshold: "
    "too late: RoCE hardly moves at 1% loss",
    "topology: {kind: dragonfly, group_nodes: 36}": "8:42 topology.group_nodes: "
    "no balanced dragonfly (a = 2p = 2h) has groups of 36",
    "hardware: {compute: {accelerator: {model: NVIDIA H100 80GB HBM3}}}\ntune: {gpu: {power_limit: 300W}}": "9:27 "
    "tune.gpu.power_limit: 57% below the default of NVIDIA H100 80GB HBM3, 700W",
    "hardware: {rack: {accelerator: {model: NVIDIA H200}}}\n"
    "overrides: [{nodes: gpu2, tune: {gpu: {power_limit: 350W}}}]": "9:53 overrides[0].tune.gpu.power_limit: "
    "50% below the default of NVIDIA H200, 700W",
    "tune: {gpu: {power_limit: {NVIDIA L40S: 40%}}}": "8:27 tune.gpu.power_limit: 60% below the default",
    "tune: {gpu: {power_limit: {NVIDIA L40S: 100W}}}": "8:27 "
    "tune.gpu.power_limit: 71% below the default of NVIDIA L40S, 350W",
    "tune: {gpu: {power_limit: 10%}}": "8:27 tune.gpu.power_limit: 90% below the default",
    'hardware: {all: {accelerator: {model: "NVIDIA L4, NVIDIA H100*"}}}\ntune: {gpu: {power_limit: 300W}}': "9:27 "
    "tune.gpu.power_limit: 57% below the default of NVIDIA H100 80GB HBM3, 700W",
    "overrides: [{nodes: gpu1, tune: {gpu: {power_limit: 1W}}, hardware: {accelerator: {model: NVIDIA B200}}}]": "8:53 "
    "overrides[0].tune.gpu.power_limit: 100% below the default of NVIDIA B200, 1000W",
    "hardware: {compute: {nics: {kind: roce}}, rack: {nics: {kind: roce}}}\ntune: {network: {mtu: 4092}}": "9:23 "
    "tune.network.mtu: with an MTU of 4092 RDMA uses 2048, as it needs 96 bytes more than its own",
}


@pytest.mark.parametrize("text", ODD)
def test_legal_and_surely_not_meant(text: str, config: Load) -> None:
    (warning,) = config(text + "\n").warnings
    assert f"{str(warning.place)[7:]} {warning.path}: {warning.message}" == ODD[text]
    assert warning.hint
    assert warning.show("warning").startswith("warning: c.yaml:")


BOARD = "hardware: {rack: {accelerator: {model: NVIDIA H200}}}\n"


@pytest.mark.parametrize(
    "text",
    [
        "comm: {env: {NCCL_BUFFSIZE: 8388608}}",
        "comm: {env: {NCCL_BUFFSIZE: 0x400000}}",
        "tune: {network: {mtu: 4200}}",
        "tune: {network: {mtu: 1500}}",
        "alerting: {network_loss: {threshold: 0.001%}}",
        "topology: {kind: dragonfly, group_nodes: 32}",
        "topology: {kind: clos, group_nodes: 36}",
        "hardware: {compute: {accelerator: {model: NVIDIA H100 80GB HBM3}}}\ntune: {gpu: {power_limit: 650W}}",
        BOARD + "overrides: [{nodes: gpu1, tune: {gpu: {power_limit: 350W}}}]",
        "tune: {gpu: {power_limit: 300W}}",
        "hardware: {all: {nics: {kind: infiniband}}}\ntune: {network: {mtu: 4092}}",
        "hardware: {rack: {nics: {kind: efa}}}\noverrides: [{nodes: gpu2, tune: {network: {mtu: 4092}}}]",
    ],
)
def test_fine(text: str, config: Load) -> None:
    assert config(text + "\n").warnings == ()


def test_what_a_power_limit_does(config: Load) -> None:
    (warning,) = config("tune: {gpu: {power_limit: 10%}}\n").warnings
    assert warning.hint == "a power cap lowers clocks under load: measure what it costs"


def test_the_nearest_balanced_groups(config: Load) -> None:
    hints = [config(f"topology: {{kind: dragonfly, group_nodes: {n}}}\n").warnings[0].hint for n in (1, 36)]
    assert hints == ["the nearest is 2", "the nearest is 32 or 50"]


# ---------------------------------------------------------------------------------------------------------------------
# Thresholds, against the checks


def check(name: str, *thresholds: str) -> Check:
    made = tuple(Threshold(threshold, 1.0, "C", "test") for threshold in thresholds)
    return Check(name, "Fine", (), (), lambda _: (), thresholds=made)


CHECKS = (check("gpu-heat", "warn", "crit"), check("plain"))


def test_thresholds_are_validated_against_the_checks(config: Load) -> None:
    text = "diagnose: {checks: {gpu-heat: {wran: 5}, plain: {x: 1}}}\n"
    text += "overrides: [{nodes: gpu1, diagnose: {checks: {gpu-haet: {warn: 5}}}}]\n"
    config(text)  # nobody said which checks there are
    with pytest.raises(ConfigError) as caught:
        load(Path("c.yaml"), CHECKS)
    assert [(it.path, it.message, it.hint) for it in caught.value.mistakes] == [
        ("diagnose.checks.gpu-heat.wran", "gpu-heat has no such threshold", "its thresholds are warn, crit"),
        ("diagnose.checks.plain.x", "plain has no such threshold", "it has none"),
    ]


def test_a_check_of_a_later_version_is_warned_of(config: Load) -> None:
    config("diagnose: {checks: {gpu-heat: {warn: 5}, gpu-haet: {warn: 5}, zzz: {}}}\n")
    assert [(it.path, it.message, it.hint) for it in load(Path("c.yaml"), CHECKS).warnings] == [
        ("diagnose.checks.gpu-haet", "no check is called 'gpu-haet'", "did you mean 'gpu-heat'?"),
        ("diagnose.checks.zzz", "no check is called 'zzz'", "it is ignored"),
    ]
