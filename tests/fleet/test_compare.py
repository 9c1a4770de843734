from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from brctl.fleet import compare, fold
from brctl.fleet.compare import Member, against_fleet
from brctl.fleet.traits import TRAITS, interfaces, near
from brctl.node import ports
from brctl.node.diagnose.engine import registry
from brctl.node.facts import Inventory, Problem
from brctl.node.report import HOST, Evidence, Finding, NodeError, Report, Status, Subject
from brctl.node.request import Expected, ExpectedAccelerator, ExpectedNics

Look = Callable[..., Report]
OPEN = Expected()
Change = Callable[[Inventory], Inventory]


def _seen(report: Report) -> Inventory:
    assert report.inventory
    return report.inventory


def _driver(version: str) -> Change:
    return lambda it: it._replace(
        accelerator_driver=it.accelerator_driver and it.accelerator_driver._replace(version=version)
    )


def _kernel(release: str) -> Change:
    return lambda it: it._replace(kernel=it.kernel and it.kernel._replace(release=release))


def _memory(size: float) -> Change:
    return lambda it: it._replace(memory=it.memory and it.memory._replace(total_bytes=int(size)))


def _nic(name: str, **values: Any) -> Change:
    def change(it: Inventory) -> Inventory:
        nics = tuple(nic._replace(**values) if nic.name == name else nic for nic in it.nics or ())
        return it._replace(nics=nics)

    return change


def _lent(it: Inventory) -> Inventory:
    """Its first port is in another network namespace."""
    rdma = tuple(port for port in it.rdma or () if port.device != "mlx5_0")
    return it._replace(nics=tuple(nic for nic in it.nics or () if nic.name != "ens1np0"), rdma=rdma)


def _off_the_bus(it: Inventory) -> Inventory:
    absent = ports.absent(it)
    return it._replace(pci=tuple(device for device in it.pci or () if device not in absent))


def _gpus(change: Callable[[Any], Any]) -> Change:
    return lambda it: it._replace(gpus=change(it.gpus))


def _vbios(gpus: Any) -> Any:
    return tuple(gpu._replace(identity=gpu.identity._replace(vbios="96.00.01.00.00")) for gpu in gpus)


@pytest.fixture
def odd(look: Look) -> Callable[..., list[Finding]]:
    """What is found, beside passes, on the fourth of four nodes, that one being changed."""

    def found(change: Change, expected: Expected = OPEN, nodes: int = 4) -> list[Finding]:
        reports = [look(f"gpu{i:03}") for i in range(1, nodes + 1)]
        reports[-1] = reports[-1]._replace(inventory=change(_seen(reports[-1])))
        compared = against_fleet([Member(report, "compute", expected) for report in reports])
        assert all(finding.status in (Status.PASS, Status.NA) for it in compared[:-1] for finding in it.findings)
        return [it for it in compared[-1].findings if it.check.startswith("fleet") and it.status is not Status.PASS]

    return found


Odd = Callable[..., list[Finding]]


def test_the_odd_driver_is_named_with_what_the_others_have(odd: Odd) -> None:
    assert odd(_driver("570.86.10")) == [
        Finding(
            "fleet-gpu-driver",
            Status.WARN,
            HOST,
            "nvidia driver 570.86.10; 3 of 4 nodes of compute: nvidia driver 580.105.08",
            (
                Evidence("host", "nvidia driver 570.86.10", "nvmlSystemGetDriverVersion"),
                Evidence("3 of 4 nodes of compute", "nvidia driver 580.105.08", "nvmlSystemGetDriverVersion"),
            ),
            "drain the node and bring it to what the others have; or the others, if this one is right",
            fold="fleet-gpu-driver warn host nvidia driver 570.86.10",
        )
    ]


@pytest.mark.parametrize(
    ("change", "check", "summary"),
    [
        (_kernel("6.8.0"), "fleet-kernel", "kernel 6.8.0; 3 of 4 nodes of compute: kernel 5.15.0-1063-nvidia"),
        (_gpus(_vbios), "fleet-gpu-vbios", "VBIOS 96.00.01.00.00; 3 of 4 nodes of compute: VBIOS 96.00.99.00.01"),
        (_gpus(lambda gpus: gpus[:7]), "fleet-gpu-count", "7 GPUs; 3 of 4 nodes of compute: 8 GPUs"),
        (_gpus(lambda _: None), "fleet-gpu-count", "no GPU; 3 of 4 nodes of compute: 8 GPUs"),
        (_memory(2015.5 * 0.9375 * 2**30), "fleet-memory-size", "1890 GiB; 3 of 4 nodes of compute: 2015 GiB"),
        (_nic("ens1np0", mtu=1500), "fleet-nic-mtu", "ens1np0: MTU 1500; 3 of 4 nodes of compute: MTU 9000"),
        (_nic("ens1np0", speed_mbps=200000), "fleet-nic-speed", "ens1np0: 200 Gb/s; 3 of 4 nodes of compute: 400 Gb/s"),
        (
            _nic("ens1np0", carrier=None, speed_mbps=None),
            "fleet-nic-speed",
            "ens1np0: administratively down; 3 of 4 nodes of compute: 400 Gb/s",
        ),
        (
            _nic("ens1np0", firmware="28.40.1000"),
            "fleet-nic-firmware",
            "ens1np0: firmware 28.40.1000; 3 of 4 nodes of compute: firmware 28.41.1000",
        ),
        (
            lambda it: _off_the_bus(_lent(it)),
            "fleet-nic-count",
            "11 interfaces; 3 of 4 nodes of compute: 12 interfaces",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("fleet-") else "",
)
def test_each_odd_thing_is_named(odd: Odd, change: Change, check: str, summary: str) -> None:
    (found,) = odd(change)
    assert (found.check, found.status, found.summary) == (check, Status.WARN, summary)
    assert found.remedy


def _booted(seconds: float) -> Change:
    return lambda it: it._replace(kernel=it.kernel and it.kernel._replace(uptime_s=seconds))


def test_no_link_is_as_bad_as_the_nodes_own_checks_have_it(odd: Odd) -> None:
    """As nic-speed of a declared port, and rdma-state where most like ports have one; but not just after a boot."""
    gone = _nic("ens1np0", carrier=False)
    (found,) = odd(gone)
    assert (found.check, found.status) == ("fleet-nic-speed", Status.CRIT)
    assert found.summary == "ens1np0: no link; 3 of 4 nodes of compute: 400 Gb/s"
    assert found.fold == "fleet-nic-speed crit ens1np0 no link"
    assert found.remedy
    assert odd(lambda it: _booted(60)(gone(it))) == []
    assert len(odd(lambda it: _booted(600)(gone(it)))) == 1


@pytest.mark.parametrize("carrier", [False, None])
def test_a_link_that_most_others_lack_is_only_noted(look: Look, carrier: "bool | None") -> None:
    reports = [look(f"gpu{i:03}") for i in range(1, 5)]
    gone = _nic("ens1np0", carrier=carrier, speed_mbps=None)
    reports[:3] = [report._replace(inventory=gone(_seen(report))) for report in reports[:3]]
    found = against_fleet([Member(report, "compute") for report in reports])[3].findings
    (noted,) = [it for it in found if it.check == "fleet-nic-speed"]
    assert (noted.status, noted.subject.name, noted.remedy) == (Status.INFO, "ens1np0", None)


def test_a_port_that_is_lent_to_a_pod_is_not_missing(odd: Odd) -> None:
    assert odd(_lent) == []


def test_the_odd_model_is_named(odd: Odd) -> None:
    def a100(gpus: Any) -> Any:
        return tuple(gpu._replace(identity=gpu.identity._replace(name="NVIDIA A100")) for gpu in gpus)

    (found,) = odd(_gpus(a100))
    assert found.summary == "NVIDIA A100; 3 of 4 nodes of compute: NVIDIA H100 80GB HBM3"


def test_an_interface_is_the_subject_of_its_finding(odd: Odd) -> None:
    (found,) = odd(_nic("ens1np0", mtu=1500))
    assert found.subject == Subject("nic", "ens1np0", "ens1np0")
    assert found.fold == "fleet-nic-mtu warn ens1np0 MTU 1500"


def test_memory_of_like_machines_differs_a_little(odd: Odd) -> None:
    assert odd(_memory(2015.5 * 0.985 * 2**30)) == []
    assert dict(near([100, 102, 103, 104, 50])) == {50: 50, 100: 100, 102: 100, 103: 100, 104: 104}


def test_within_a_declared_range_it_is_only_noted(odd: Odd) -> None:
    expected = Expected(accelerator=ExpectedAccelerator(driver=">=550,<600"))
    (found,) = odd(_driver("570.86.10"), expected)
    assert (found.status, found.remedy) == (Status.INFO, None)


def test_what_is_declared_exactly_is_not_compared(odd: Odd) -> None:
    expected = Expected(nics=ExpectedNics(interfaces="ens*np*", nic_count=8, speed_mbps=400000), mtu=9000)
    assert odd(_nic("ens1np0", mtu=1500, speed_mbps=200000), expected) == []


def test_what_the_node_found_itself_is_not_told_twice(look: Look) -> None:
    reports = [look(f"gpu{i:03}") for i in range(1, 5)]
    nic = Subject("nic", "ens1np0", "ens1np0")
    own = Finding("nic-mtu", Status.WARN, nic, "ens1np0: MTU 1500, 7 siblings: MTU 9000")
    changed = _nic("ens2np0", mtu=1500)(_nic("ens1np0", mtu=1500)(_seen(reports[3])))
    reports[3] = reports[3]._replace(inventory=changed, findings=(own,))
    found = against_fleet([Member(report, "compute") for report in reports])[3].findings
    assert [it.subject.name for it in found if it.status is Status.WARN] == ["ens1np0", "ens2np0"]
    assert [it.check for it in found if it.subject == nic] == ["nic-mtu"]


def test_a_link_that_is_gone_is_told_once(look: Look) -> None:
    reports = [look(f"gpu{i:03}") for i in range(1, 5)]
    own = Finding("rdma-state", Status.CRIT, Subject("nic", "ens1np0", "ens1np0"), "ens1np0: no link (DOWN, Polling)")
    gone = _nic("ens1np0", carrier=False)(_seen(reports[3]))
    reports[3] = reports[3]._replace(inventory=gone, findings=(own,))
    found = against_fleet([Member(report, "compute") for report in reports])[3].findings
    assert [it for it in found if it.status is not Status.PASS] == [own]


def test_without_a_majority_the_difference_is_noted_on_all(look: Look) -> None:
    reports = [look(f"gpu{i:03}") for i in range(1, 5)]
    changed = [report._replace(inventory=_kernel("6.8.0")(_seen(report))) for report in reports[2:]]
    found = against_fleet([Member(report, "compute") for report in (*reports[:2], *changed)])
    noted = {it for report in found for it in report.findings if it.check == "fleet-kernel"}
    (finding,) = noted
    assert finding.status is Status.INFO
    assert finding.summary == (
        "nodes of compute differ: kernel 5.15.0-1063-nvidia on gpu[001-002]; kernel 6.8.0 on gpu[003-004]"
    )


def test_what_many_nodes_differ_in_is_worked_out_once(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    """To fold the names of a thousand nodes takes 10 ms, and each of them would be told anew."""
    folded: list[int] = []

    def node_set(names: Iterable[str]) -> str:
        found = list(names)
        folded.append(len(found))
        return fold.node_set(found)

    monkeypatch.setattr(compare, "node_set", node_set)
    kernels = [_kernel(f"6.{i % 2}")(_seen(look("n"))) for i in range(64)]
    reports = [look(f"gpu{i:03}")._replace(inventory=seen) for i, seen in enumerate(kernels)]
    found = against_fleet([Member(report, "compute") for report in reports])
    assert all("fleet-kernel" in {it.check for it in report.findings if it.status is Status.INFO} for report in found)
    assert folded == [32, 32]


def test_of_many_values_only_the_most_frequent_are_named(look: Look) -> None:
    reports = [look(f"gpu{i:03}") for i in range(1, 8)]
    changed = [it._replace(inventory=_kernel(f"6.{i}")(_seen(it))) for i, it in enumerate(reports)]
    found = against_fleet([Member(report, "compute") for report in changed])[0].findings
    (summary,) = (it.summary for it in found if it.check == "fleet-kernel")
    assert summary.endswith("kernel 6.3 on gpu004; 3 more values")


def test_kin_is_compared_with_kin_alone(look: Look) -> None:
    members = [Member(look("gpu001"), "compute"), Member(look("gpu002"), "compute")]
    members += [Member(look("store01", "cpu-only"), "storage")]
    found = against_fleet(members)
    assert {it.status for report in found[:2] for it in report.findings if it.check.startswith("fleet")} == {
        Status.PASS
    }
    assert found[2] is members[2].report


def test_all_is_well_is_said_once_a_trait(look: Look) -> None:
    found = against_fleet([Member(look(f"gpu{i}"), "compute") for i in range(3)])[0].findings
    told = {it.check: it.summary for it in found if it.check.startswith("fleet")}
    assert set(told) == {trait.check for trait in TRAITS}
    assert told["fleet-gpu-driver"] == "nvidia driver 580.105.08, as on most of 3 nodes of compute"
    assert told["fleet-nic-mtu"] == "10 interfaces, as on most of 3 nodes of compute"


def test_what_could_not_be_read_is_compared_with_nothing(look: Look) -> None:
    reports = [look(f"gpu{i:03}") for i in range(1, 5)]
    problem = Problem("gpus", "no-driver", "Driver Not Loaded")
    empty = Inventory(problems=(problem,))
    reports[3] = reports[3]._replace(inventory=empty, findings=())
    assert against_fleet([Member(report, "compute") for report in reports])[3].findings == ()


def test_silent_nodes_are_left_out(look: Look) -> None:
    silent = Report("gpu009", 0, 0, errors=(NodeError("timeout", "no"),))
    reports = [look("gpu001"), look("gpu002"), silent]
    assert against_fleet([Member(report, "compute") for report in reports])[2] is silent


def test_findings_stay_worst_first(look: Look) -> None:
    reports = [look(f"gpu{i:03}") for i in range(1, 5)]
    reports[3] = reports[3]._replace(inventory=_driver("1.2")(_seen(reports[3])))
    statuses = [it.status for it in against_fleet([Member(it, "c") for it in reports])[3].findings]
    assert statuses == sorted(statuses, key=[Status.WARN, Status.PASS, Status.NA].index)


def test_undeclared_interfaces_are_the_physical_ones_then_veths(look: Look) -> None:
    seen = _seen(look("gpu001"))
    plain = seen._replace(rdma=None, nics=tuple(nic._replace(rdma=None) for nic in seen.nics or ()))
    names = [port.subject.name for port in interfaces(plain, Expected())]
    assert "ens1np0" in names
    assert "lo" not in names
    veth = plain._replace(nics=tuple(nic._replace(kind="veth") for nic in plain.nics or () if nic.name == "ens1np0"))
    assert [port.subject.name for port in interfaces(veth, Expected())] == ["ens1np0"]


def test_infiniband_firmware_stands_in_the_port(look: Look, odd: Odd) -> None:
    def without(it: Inventory) -> Inventory:
        rdma = tuple(port._replace(firmware="1.2.3") for port in it.rdma or ())
        return it._replace(nics=tuple(nic._replace(firmware=None) for nic in it.nics or ()), rdma=rdma)

    assert {finding.check for finding in odd(without)} == {"fleet-nic-firmware"}


def test_the_checks_that_traits_name_exist() -> None:
    known = {check.id for check in registry()}
    names: Sequence[str] = [trait.check for trait in TRAITS]
    assert len(set(names)) == len(names)
    assert all(name.startswith("fleet-") for name in names)
    assert {name for trait in TRAITS for name in (trait.judged_by, trait.judged_too)} - {None} <= known
