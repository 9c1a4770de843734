"""What a newcomer reads: each of these is mended from the message alone."""

import pytest

from .conftest import Load, Refuse


def text(refused: Refuse, config: str) -> str:
    return "\n".join(mistake.show() for mistake in refused(config))


def test_a_misspelt_key(refused: Refuse) -> None:
    config = "hardware:\n  compute:\n    nics: {interfaces: ens*np*, sped: 400Gb/s}\n"
    assert text(refused, config) == (
        "error: c.yaml:10:33: hardware.compute.nics.sped: unknown key\n"
        "   10 |     nics: {interfaces: ens*np*, sped: 400Gb/s}\n"
        "      |                                 ^\n"
        "hint: did you mean 'speed'?"
    )


def test_a_misspelt_key_that_is_required(refused: Refuse) -> None:
    assert text(refused, "version: 1\nclustr:\n  name: a\n  nodes: n1\n") == (
        "error: c.yaml:2:1: clustr: unknown key\n    2 | clustr:\n      | ^\nhint: did you mean 'cluster'?"
    )


def test_a_wrong_unit(refused: Refuse) -> None:
    assert text(refused, "hardware:\n  compute:\n    nics:\n      speed: 400Gbps\n") == (
        "error: c.yaml:11:14: hardware.compute.nics.speed: unknown unit 'Gbps'\n"
        "   11 |       speed: 400Gbps\n"
        "      |              ^\n"
        "hint: did you mean 400Gb/s?"
    )


def test_no_unit(refused: Refuse) -> None:
    assert text(refused, "tune:\n  sysctl:\n    net.core.rmem_max: 2048\n") == (
        "error: c.yaml:10:24: tune.sysctl.net.core.rmem_max: 2048 has no unit: as bytes the kernel refuses it "
        "(its floor is 2304) and keeps the old value\n"
        "   10 |     net.core.rmem_max: 2048\n"
        "      |                        ^\n"
        "hint: 2048KiB is less than the default of recent kernels (4MiB); "
        "2048MiB is more than the kernel takes (2147483647B); 64MiB suits one data centre"
    )


def test_not_indented_enough(refused: Refuse) -> None:
    assert text(refused, "tune:\n  network:\n  mtu: 9000\n") == (
        "error: c.yaml:9:3: tune.network: no value\n"
        "    9 |   network:\n"
        "      |   ^\n"
        "hint: give it a value, or comment it out; if the lines below belong to it, indent them further\n"
        "error: c.yaml:10:3: tune.mtu: unknown key\n"
        "   10 |   mtu: 9000\n"
        "      |   ^\n"
        "hint: 'mtu' is a key of tune.network: is the indentation right?"
    )
    assert refused("alerting:\n  gpu_temperature:\n  threshold: 85\n")[1].hint == (
        "'threshold' is a key of alerting.NAME: is the indentation right?"
    )


def test_indented_too_far(refused: Refuse) -> None:
    assert text(refused, "tune:\n  network:\n    mtu: 9000\n      interfaces: ens*\n") == (
        "error: c.yaml:11:7: the key is indented too far\n"
        "   11 |       interfaces: ens*\n"
        "      |       ^\n"
        "hint: line 10 already has a value: align it with that"
    )


def test_indented_under_the_wrong_key(refused: Refuse) -> None:
    assert text(refused, "comm:\n  rails: 8\n  alerting: {}\n") == (
        "error: c.yaml:10:3: comm.alerting: unknown key\n"
        "   10 |   alerting: {}\n"
        "      |   ^\n"
        "hint: 'alerting' is a key of the top level: is the indentation right?"
    )


def test_a_node_set_that_does_not_end(refused: Refuse) -> None:
    assert text(refused, "version: 1\ncluster:\n  name: a\n  nodes: gpu[001-\n") == (
        "error: c.yaml:4:10: cluster.nodes: not a node set: '[' is not closed\n"
        "    4 |   nodes: gpu[001-\n"
        "      |          ^"
    )


def test_a_long_line_is_cut_around_the_place(refused: Refuse) -> None:
    (mistake,) = refused("comm: {env: {A: '" + "x" * 5000 + "'}, rails: 99}\n")
    lines = mistake.show().splitlines()
    assert lines[0] == "error: c.yaml:8:5029: comm.rails: 99 is out of range"
    assert lines[1] == "    8 | " + "x" * 63 + "'}, rails: 99}"
    assert lines[2].index("^") == lines[1].index("99")


def test_a_long_value_is_cut_and_escapes_stay_out(refused: Refuse) -> None:
    (mistake,) = refused('comm: {"\\e[31mred": ' + "x" * 5000 + "}\n")
    assert "\x1b" not in mistake.show()
    assert mistake.show().startswith("error: c.yaml:8:8: comm.?[31mred: unknown key\n")
    (mistake,) = refused("comm: {backend: " + "x" * 5000 + "}\n")
    assert all(len(line) < 510 for line in mistake.show().splitlines())


def test_hardware_without_a_group(refused: Refuse) -> None:
    assert text(refused, "hardware:\n  nics: {speed: 400Gb/s, sped: 1}\n") == (
        "error: c.yaml:9:3: hardware.nics: it stands without a group\n"
        "    9 |   nics: {speed: 400Gb/s, sped: 1}\n"
        "      |   ^\n"
        "hint: put one above it, or `all`: hardware.all.nics"
    )


def test_each_is_told_once(refused: Refuse) -> None:
    config = (
        "hardware: {memory: 64GiB, mounts: [/data], accelerator: {}, compute: {cpu: {sockets: 2}}}\ncomm: {rials: 8}\n"
    )
    assert [mistake.path for mistake in refused(config)] == [
        "hardware.memory",
        "hardware.mounts",
        "hardware.accelerator",
        "comm.rials",
    ]


def test_a_group_may_have_such_a_name(config: Load) -> None:
    head = "version: 1\ncluster: {name: c, nodes: n1, groups: {cpu: {nodes: n1}}}\n"
    assert config(head + "hardware: {cpu: {memory: 64GiB}}\n").node("n1").hardware.memory == 64 << 30


def test_a_group_under_an_override(refused: Refuse) -> None:
    (mistake,) = refused("overrides: [{nodes: gpu1, hardware: {compute: {nics: {count: 7}}}}]\n")
    assert (mistake.path, mistake.message) == ("overrides[0].hardware.compute", "unknown key")
    assert mistake.hint == "leave the group out: `nodes` says which are meant"
    (mistake,) = refused("overrides: [{nodes: gpu1, hardware: {nisc: {count: 7}}}]\n")
    assert mistake.hint == "did you mean 'nics'?"


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("overrides: [{nodes: [gpu1, 'gpu[3-4]']}]", 'write "gpu1,gpu[3-4]"'),
        ("hardware: {all: {nics: {interfaces: [ens1, ens2]}}}", 'write "ens1,ens2"'),
        ("hardware: {all: {accelerator: {driver: ['>=550', <600]}}}", 'write ">=550,<600"'),
        ("transport: {user: [root]}", "text without blanks or a leading dash"),
        ("monitor: {peers: {a: b}}", "node set"),
        ("transport: {tree: 'gw[1-2]'}", 'write {gateways: "gw[1-2]"}'),
        ("overrides: ['@rack']", 'write {nodes: "@rack"}'),
    ],
)
def test_what_to_write_instead(wrong: str, hint: str, refused: Refuse) -> None:
    (mistake,) = refused(wrong + "\n")
    assert mistake.hint == hint


def test_a_group_written_as_its_nodes(refused: Refuse) -> None:
    (mistake,) = refused("version: 1\ncluster: {name: c, nodes: 'n[1-2]', groups: {g: n1}}\n")
    assert (mistake.path, mistake.hint) == ("cluster.groups.g", 'write {nodes: "n1"}')
