import json
import os
import sys
from pathlib import Path
from typing import Any, Tuple

import pytest

from brctl.mock import MockError, machines
from brctl.mock.machines import hostname, idle_faults, load, names
from brctl.node.host.machine import Machine
from brctl.node.report import Mock

FOLDER = Path(machines.__file__).with_name("machines")
SMALL = {"name": "small", "recorded": True, "sources": [], "files": {"/proc/sys/kernel/hostname": "real-host\n"}}
NAMES = (
    "cpu-only",
    "dgx-a100",
    "dgx-h100",
    "h100-mig",
    "hgx-b200",
    "hgx-h200",
    "l40s-pcie",
    "old-driver",
    "sixteen-gpus",
    "vgpu-guest",
)
OTHERS = "nearest: dgx-h100; there are {}, or give the FILE of one".format(", ".join(NAMES))
HOSTNAME = "/proc/sys/kernel/hostname"
MTU = "/sys/class/net/ens1np0/mtu"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "small.json").write_text(json.dumps(SMALL))
    return tmp_path / "small.json"


def test_names() -> None:
    assert names() == NAMES


@pytest.mark.parametrize("name", names())
def test_the_json_is_what_the_composer_writes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import compose

    assert sorted(compose.machines()) == [known + ".json" for known in names()]
    assert (FOLDER / (name + ".json")).read_text() == compose.machines()[name + ".json"], "run tests/mock/compose.py"


@pytest.mark.parametrize("spec", ["dgx-h100", "cpu-only", "dgx-h100+gpu3-lost", "dgx-h100+gpu3-lost@5+gpu4-hang"])
def test_a_machine_goes_by_its_spec(spec: str) -> None:
    machine = load(spec)
    assert machine.mock == Mock(spec, False)
    assert machine.name == spec.partition("+")[0]
    assert machine.read(HOSTNAME) == ("cpu001\n" if spec == "cpu-only" else "gpu001\n")


def test_faults_reach_the_accelerators(own_pynvml: Any) -> None:
    library, *_ = load("dgx-h100+gpu3-lost").accelerators()
    assert library.driver().version == "580.105.08"
    assert library.count() == 8
    assert library.open(2).uuid() == "GPU-441fcbaf-8607-5c38-9114-860870eb7a62"
    with pytest.raises(Exception, match="GPU is lost"):
        library.open(3).uuid()


def test_what_a_lost_gpu_leaves_behind() -> None:
    information = "/proc/driver/nvidia/gpus/0000:5d:00.0/information"
    assert load("dgx-h100+gpu3-lost").read(information) == load("dgx-h100").read(information)


def test_without_its_driver_a_machine_shows_nothing_of_it() -> None:
    machine = load("dgx-h100+no-driver")
    assert machine.listdir("/proc/driver/nvidia") is None
    assert machine.readlink("/sys/bus/pci/devices/0000:19:00.0/driver") is None
    assert machine.readlink("/sys/bus/pci/devices/0000:83:00.0/driver") is None
    assert machine.readlink("/sys/bus/pci/devices/0000:1a:00.0/driver") is not None
    assert machine.read("/sys/bus/pci/devices/0000:19:00.0/vendor") == "0x10de\n"


def test_a_node_has_a_name_and_writes_of_its_own() -> None:
    one, two, none = load("dgx-h100", "gpu001"), load("dgx-h100", "gpu002"), load("dgx-h100")
    assert (one.read(HOSTNAME), two.read(HOSTNAME), none.read(HOSTNAME)) == ("gpu001\n", "gpu002\n", "gpu001\n")
    one.write(MTU, "1500\n")
    assert (one.read(MTU), two.read(MTU), none.read(MTU)) == ("1500\n", "9000\n", "9000\n")


def test_writes_outlive_the_machine_whatever_its_faults() -> None:
    load("dgx-h100").write(MTU, "4200\n")
    assert load("dgx-h100+gpu3-lost").read(MTU) == "4200\n"


def test_a_file(small: Path) -> None:
    machine = load(str(small))
    assert (machine.mock, machine.name) == (Mock(str(small), True), "small")
    assert machine.read(HOSTNAME) == "real-host\n"
    assert load(str(small), "gpu001").read(HOSTNAME) == "gpu001\n"


def test_files_of_one_folder_may_stand_in_an_object(small: Path) -> None:
    small.write_text(json.dumps(dict(SMALL, files={"/a/b/": {"c": "1\n", "d": {"link": "c"}, "e": {"errno": "EIO"}}})))
    machine = load(str(small))
    assert machine.listdir("/a/b") == ("c", "d", "e")
    assert machine.read("/a/b/d") == "1\n"


@pytest.mark.parametrize("name", NAMES)
def test_the_files_are_small(name: str) -> None:
    assert (FOLDER / (name + ".json")).stat().st_size < 170_000


@pytest.mark.parametrize("name", NAMES)
def test_a_machine_says_where_its_figures_come_from(name: str) -> None:
    plain = json.loads((FOLDER / (name + ".json")).read_text())
    assert plain["recorded"] is False
    assert plain["sources"]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "cpu-only"])
def test_a_machine_with_gpus_is_well_kept(name: str) -> None:
    machine = load(name)
    assert machine.read("/proc/sys/kernel/numa_balancing") == "0\n"
    assert "[madvise]" in (machine.read("/sys/kernel/mm/transparent_hugepage/enabled") or "")
    assert "Max locked memory         unlimited" in (machine.read("/proc/self/limits") or "")
    policies = machine.listdir("/sys/devices/system/cpu/cpufreq") or ()
    path = "/sys/devices/system/cpu/cpufreq/{}/scaling_governor"
    assert {machine.read(path.format(policy)) for policy in policies} <= {"performance\n"}
    assert json.loads((FOLDER / (name + ".json")).read_text())["nvml"]["defaults"]["persistence_mode"] is True


def test_the_old_driver_lacks_what_the_mock_has() -> None:
    """Else the list would be longer than it need be."""
    from brctl.mock.nvml_functions import FUNCTIONS
    from brctl.mock.nvml_library import OF_THE_LIBRARY

    missing = json.loads((FOLDER / "old-driver.json").read_text())["nvml"]["missing_functions"]
    assert set(missing) <= set(FUNCTIONS) | set(OF_THE_LIBRARY)


def test_a_file_with_any_name_and_even_with_a_plus(small: Path) -> None:
    for name in ("recording", "a+b"):
        small.with_name(name).write_text(small.read_text())
        assert load(str(small.with_name(name))).name == "small"


def test_a_stray_file_does_not_hide_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dgx-h100").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert load("dgx-h100+gpu0-hang").name == "dgx-h100"


def test_two_files_of_one_name_have_writes_of_their_own(small: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_text(small.read_text())
    load(str(small)).write(HOSTNAME, "renamed\n")
    assert load(str(copy)).read(HOSTNAME) == "real-host\n"
    assert load(str(small)).read(HOSTNAME) == "renamed\n"


def test_a_machine_without_a_host_name(small: Path) -> None:
    small.write_text(json.dumps(dict(SMALL, files={})))
    assert load(str(small), "gpu001").read(HOSTNAME) is None


@pytest.mark.parametrize(
    ("spec", "message", "hint"),
    [
        ("dgx-h10", "no machine is called 'dgx-h10'", OTHERS),
        ("none.json", "cannot read none.json: No such file or directory", "name a machine or its FILE"),
        (
            "dgx-h100+gpu3-lst",
            "unknown fault 'gpu3-lst'; nearest: 'gpu3-lost'",
            "write dgx-h100+gpu3-lost; docs/mock.md lists all faults, and TAB completes them",
        ),
    ],
)
def test_what_cannot_be_had(spec: str, message: str, hint: str) -> None:
    with pytest.raises(MockError) as raised:
        load(spec)
    assert (raised.value.message, raised.value.hint) == (message, hint)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("spec", "lines"),
    [
        ("dgx-h100+gpu7-lost+no-driver", ()),
        ("dgx-h100+gpu8-lost+gpu7-lost", ("gpu8-lost has nothing to act on: dgx-h100 has 8 GPUs",)),
        ("cpu-only+no-library", ("no-library has nothing to act on: cpu-only has 0 GPUs",)),
    ],
)
def test_a_fault_with_nothing_to_act_on_is_said_and_changes_nothing(spec: str, lines: Tuple[str, ...]) -> None:
    assert idle_faults(spec) == lines
    assert isinstance(load(spec), Machine)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name":\n "x",}', ":2:6: no machine: "),
        ("[]", ": no machine: an object is expected"),
        (json.dumps(dict(SMALL, extra=1)), ": no machine: missing [], unknown ['extra']"),
        (json.dumps(dict(SMALL, files={"/a": 1})), ': no machine: files: /a: a text, {"link": TARGET}'),
        (json.dumps(dict(SMALL, files={"/a/": {"b": 1}})), ": no machine: files: /a/b: a text"),
        (json.dumps(dict(SMALL, nvml={})), ": no machine: nvml"),
        (json.dumps(dict(SMALL, nvml={"gpus": [{"uid": "x"}]})), ": no machine: nvml"),
        ('"\xff"', ": no machine: "),
        ('{"hung": 1e999}', ": no machine: 1e999 is no finite number"),
        ("[-Infinity, NaN]", ": no machine: -Infinity is no finite number"),
    ],
)
def test_files_that_are_no_machine(small: Path, text: str, message: str) -> None:
    small.write_bytes(text.encode("latin-1"))
    with pytest.raises(MockError) as raised:
        load(str(small))
    assert raised.value.message.startswith(str(small) + message)
    assert raised.value.hint == "{} is a small one".format(FOLDER / "cpu-only.json")


def test_only_a_regular_file_of_some_size_is_read(tmp_path: Path) -> None:
    os.mkfifo(str(tmp_path / "fifo.json"))
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate((16 << 20) + 1)
    for name in ("fifo", "folder", "zero", "large"):
        path = str(tmp_path / (name + ".json"))
        reason = "it is larger than 16 MiB" if name == "large" else "it is no regular file"
        with pytest.raises(MockError) as raised:
            load(path)
        assert raised.value.message == "cannot read {}: {}".format(path, reason)
        assert raised.value.hint == "name a machine or its FILE"


def test_a_file_that_is_nested_too_deep(small: Path) -> None:
    small.write_text("[" * 200_000)
    with pytest.raises(MockError) as raised:
        load(str(small))
    assert raised.value.message == "{}: no machine: it is nested too deep".format(small)


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("gpu001.example\n", "gpu001.example"),
        ("x" * 300, "x" * 253),
        (" \n", "localhost"),
        (None, "localhost"),
        ({"hung": 3.0}, "localhost"),
        ({"errno": "EIO"}, "localhost"),
        ({"link": "hostname"}, "localhost"),
    ],
)
def test_a_host_name_is_told_whatever_happens(small: Path, entry: Any, name: str) -> None:
    small.write_text(json.dumps(dict(SMALL, files={HOSTNAME: entry})))
    assert hostname(load(str(small))) == name


@pytest.mark.parametrize("fault", ["nic0-down", "pfc-storm", "numa-balancing", "no-kmsg", "gpu0-lost", "no-driver"])
def test_what_is_no_machine_is_told_whatever_its_faults(small: Path, fault: str) -> None:
    """Faults look at the files first."""
    files = {
        "/sys/class/infiniband/a": {"link": "../../devices/x/infiniband/a"},
        "/sys/class/net/b": {"link": "../../devices/x/net/b"},
        "/sys/devices/x/infiniband/a/ports/1/rate": {"errno": "EIO"},
        "/sys/devices/x/infiniband/a/ports/1/state": {"link": 5},
    }
    small.write_text(json.dumps(dict(SMALL, files=files, commands={"ethtool -S b": 3})))
    with pytest.raises(MockError, match="no machine: files: /sys/devices/x/infiniband/a/ports/1/state"):
        load("{}+{}".format(small, fault))


def test_a_fault_of_a_machine_in_a_file(small: Path) -> None:
    small.write_text(json.dumps(dict(SMALL, files={"/proc/sys/kernel/numa_balancing": "0\n"})))
    assert load("{}+numa-balancing".format(small)).read("/proc/sys/kernel/numa_balancing") == "1\n"
    assert idle_faults("{}+nic0-down".format(small)) == (
        "nic0-down has nothing to act on: small has 0 NICs on its RDMA network",
    )


def test_a_broken_overlay_is_told_at_once(tmp_path: Path) -> None:
    overlay = tmp_path / "state" / "mock" / "dgx-h100.json"
    overlay.parent.mkdir(parents=True)
    overlay.write_text("{")
    with pytest.raises(MockError, match=r"dgx-h100\.json does not hold"):
        load("dgx-h100")
    assert isinstance(load("dgx-h100", "gpu001"), Machine)


@pytest.mark.process
def test_loading_needs_no_pynvml() -> None:
    import subprocess

    script = "import sys; from brctl.mock.machines import load; load('dgx-h100'); assert 'pynvml' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
