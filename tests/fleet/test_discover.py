from brctl.fleet.discover import Said, discovery, hosts, said, unexpected
from brctl.node.report import NodeError, Report

CONFIG = ("gpu001", "gpu002", "login")

HOSTS = """\
127.0.0.1 localhost
::1 ip6-localhost # loopback
ff02::1 ip6-allnodes
0.0.0.0 nothing
not-an-address gpu009
10.0.0.1   gpu001.example gpu001   # first
10.0.0.2\tgpu002
10.0.0.3 gpu003.example
10.0.0.4 printer
fe80::5%eth0 gpu005
10.0.0.6
# 10.0.0.7 gpu007
"""


def test_a_hosts_file() -> None:
    assert list(hosts(HOSTS)) == [
        ("gpu001", "gpu001.example"),
        ("gpu002",),
        ("gpu003.example",),
        ("printer",),
        ("gpu005",),
    ]


def test_a_scheduler_is_believed() -> None:
    found = said("slurm", [("gpu001",), ("gpu002",), ("new7",)], CONFIG)
    assert found == Said("slurm", ("gpu001", "gpu002", "new7"), ("login",), ("new7",))


def test_of_a_hosts_file_only_names_like_a_node_s_are_believed() -> None:
    found = said("hosts:/x", hosts(HOSTS), CONFIG, every=False)
    assert found.unexpected == ("gpu005",)
    assert found.passed_over == 2
    assert found.nodes == ("gpu001", "gpu002", "gpu005")


def test_a_full_name_is_the_node_of_its_short_name() -> None:
    assert said("kubernetes", [("gpu001.example",), ("gpu002.example",)], CONFIG).missing == ("login",)
    assert said("hosts:/x", [("gpu1", "gpu1.example")], ("gpu1.example",), every=False).missing == ()


def test_what_is_no_node_name_is_passed_over() -> None:
    found = said("slurm", [("gpu[1-9]",), ("x" * 300,), ("-rf",), ("a b",)], CONFIG)
    assert (found.nodes, found.unexpected, found.passed_over) == ((), (), 4)


def test_all_of_it_together() -> None:
    sources = [
        said("config", [(name,) for name in CONFIG], CONFIG),
        said("slurm", [("gpu010",), ("gpu009",), ("gpu001",)], CONFIG),
        Said("kubernetes", (), (), (), error="no"),
    ]
    assert unexpected(sources) == ("gpu009", "gpu010")
    reports = {
        "gpu001": Report("gpu001", 0, 0),
        "gpu002": Report("gpu002", 0, 0, errors=(NodeError("refused", "no"),)),
        "gpu009": Report("gpu009", 0, 0),
    }
    found = discovery(sources, reports, ["+x"], applied=True)
    assert (found.answered, found.silent) == (("gpu001", "gpu009"), ("gpu002",))
    assert (found.unexpected, found.diff, found.applied) == (("gpu009", "gpu010"), ("+x",), True)


def test_nothing_answers() -> None:
    found = discovery([], {}, [], applied=False)
    assert (found.answered, found.silent, found.unexpected) == ((), (), ())
