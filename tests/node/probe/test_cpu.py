import json
from typing import Any, Dict

import pytest

from brctl.node.facts import Cpu
from brctl.node.host.local import Local
from brctl.node.probe.cpu import parse_cpulist, parse_model, read

CPUS = "/sys/devices/system/cpu"


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0-2,7\n", (0, 1, 2, 7)), ("0\n", (0,)), ("\n", ()), ("0-1,4-5", (0, 1, 4, 5))],
)
def test_parse_cpulist(text: str, cpus: Any) -> None:
    assert parse_cpulist(text) == cpus


def test_parse_model() -> None:
    assert parse_model("processor\t: 0\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R): 8480C\n") == (
        "Intel(R) Xeon(R): 8480C"
    )
    assert parse_model("processor\t: 0\nCPU implementer\t: 0x41\n") is None


def test_dgx(dgx: Any) -> None:
    assert read(dgx) == Cpu("Intel(R) Xeon(R) Platinum 8480C", 2, 112, 224)


def test_a_core_counts_while_one_of_its_threads_is_online(machine: Any) -> None:
    """Two sockets of two cores; of the four second threads only CPU 5 is online."""
    threads: Dict[int, str] = {0: "0", 1: "1,5", 2: "2", 3: "3", 5: "1,5"}
    files = {CPUS + "/online": "0-3,5\n"}
    for cpu, siblings in threads.items():
        socket = "0-1,5\n" if cpu in (0, 1, 5) else "2-3\n"
        files["{}/cpu{}/topology/thread_siblings_list".format(CPUS, cpu)] = siblings + "\n"
        files["{}/cpu{}/topology/core_siblings_list".format(CPUS, cpu)] = socket
    assert read(machine(files)) == Cpu(None, 2, 4, 5)


def test_without_topology_the_path_is_named(machine: Any) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        read(machine({CPUS + "/online": "0\n"}))
    assert raised.value.filename == CPUS + "/cpu0/topology/core_siblings_list"


def test_no_sys(machine: Any) -> None:
    assert read(machine({})) is None


@pytest.mark.real
def test_against_lscpu() -> None:
    answer = Local().run(["lscpu", "-J"])
    if answer is None:
        pytest.skip("lscpu is not installed")
    fields = {entry["field"].rstrip(":"): entry["data"] for entry in _flat(json.loads(answer.stdout)["lscpu"])}
    sockets = int(fields["Socket(s)"])
    assert read(Local()) == Cpu(
        fields["Model name"], sockets, sockets * int(fields["Core(s) per socket"]), len(parse_cpulist(_online(fields)))
    )


def _online(fields: Dict[str, str]) -> str:
    return fields.get("On-line CPU(s) list") or "0-{}".format(int(fields["CPU(s)"]) - 1)


def _flat(entries: Any) -> Any:
    """From util-linux 2.37 on the entries are a tree."""
    for entry in entries:
        yield entry
        yield from _flat(entry.get("children", ()))
