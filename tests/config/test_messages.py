"""What a newcomer reads: each of these is mended from the message alone."""

from .conftest import Refuse


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
