import errno
from typing import Any, ContextManager, Dict, List, Optional

import pytest

from brctl.node.deadline import HungError
from brctl.node.host import BusyError, Completed, read_if_valid
from brctl.node.host.machine import InvalidMachineError, Machine
from brctl.node.host.tree import NotRecordedError
from brctl.node.report import Mock

FILES = {
    "/proc/uptime": "1.5 2.5\n",
    "/sys/class/net/eth0": {"link": "../../devices/pci0000:00/0000:00:03.0/net/eth0"},
    "/sys/devices/pci0000:00/0000:00:03.0/net/eth0/mtu": "1500\n",
    "/sys/devices/pci0000:00/0000:00:03.0/net/eth0/speed": {"errno": "EINVAL"},
    "/sys/devices/pci0000:00/0000:00:03.0/net/eth0/device": {"link": "../../../0000:00:03.0"},
    "/sys/devices/pci0000:00/0000:00:03.0/vendor": "0x1af4\n",
    "/sys/kernel/debug": {"errno": "EACCES"},
    "/etc/os-release": {"link": "/usr/lib/os-release"},
    "/usr/lib/os-release": "ID=debian\n",
    "/loop/a": {"link": "b"},
    "/loop/b": {"link": "a"},
    "/bin": {"link": "usr/bin"},
    "/usr/bin/ls": "\x7fELF",
}
FORMS = 'a text, {"link": TARGET}, {"names": [NAME, ...]}, {"errno": NAME}, {"hung": SECONDS} or null is expected'
COMMANDS = {"uname -m": {"stdout": "x86_64\n"}, "false": {"returncode": 1, "stderr": "no\n"}}


def plain(**changes: Any) -> Dict[str, Any]:
    return dict({"name": "m", "recorded": False, "sources": [], "files": FILES, "commands": COMMANDS}, **changes)


def nothing() -> None:
    """Loads no accelerators."""


@pytest.fixture
def machine() -> Machine:
    return Machine(plain(), "m+fault", nothing)


class Writes:
    def __init__(self) -> None:
        self.texts: Dict[str, Optional[str]] = {}
        self.read = self.texts.get

    def write(self, path: str, text: Optional[str]) -> None:
        self.texts[path] = text

    def changed(self) -> Dict[str, Optional[str]]:
        return self.texts

    def lock(self, path: str, holder: str) -> ContextManager[None]:  # noqa: ARG002
        raise BusyError(holder)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/proc/uptime", "1.5 2.5\n"),
        ("/proc/none", None),
        ("/none/at/all", None),
        ("/proc/uptime/below", None),
        ("/sys/class/net/eth0/mtu", "1500\n"),
        ("/sys/class/net/eth0/device/vendor", "0x1af4\n"),
        ("/sys/class/net/eth0/../../vendor", "0x1af4\n"),  # ..: where the link leads, not where it stands
        ("/sys/class/net/./eth0//mtu", "1500\n"),
        ("/etc/os-release", "ID=debian\n"),
        ("/bin/ls", "\x7fELF"),
    ],
)
def test_read(machine: Machine, path: str, text: Any) -> None:
    assert machine.read(path) == text


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/sys/class/net/eth0/speed", errno.EINVAL),
        ("/sys/class/net/eth0", errno.EISDIR),
        ("/proc", errno.EISDIR),
        ("/sys/kernel/debug/anything", errno.EACCES),
        ("/loop/a", errno.ELOOP),
    ],
)
def test_what_cannot_be_read(machine: Machine, path: str, code: int) -> None:
    with pytest.raises(OSError, match="Errno") as raised:
        machine.read(path)
    assert (raised.value.errno, raised.value.filename) == (code, path)


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/sys/class/net/eth0", ("device", "mtu", "speed")),
        ("/sys/class/net/eth0/", ("device", "mtu", "speed")),
        ("/", ("bin", "etc", "loop", "proc", "sys", "usr")),
        ("/proc/uptime", None),
        ("/none", None),
    ],
)
def test_listdir(machine: Machine, path: str, names: Any) -> None:
    assert machine.listdir(path) == names


def test_listdir_of_what_is_forbidden(machine: Machine) -> None:
    with pytest.raises(PermissionError):
        machine.listdir("/sys/kernel/debug")


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/sys/class/net/eth0", "../../devices/pci0000:00/0000:00:03.0/net/eth0"),
        ("/sys/class/net/eth0/device", "../../../0000:00:03.0"),
        ("/loop/a", "b"),
        ("/proc/uptime", None),
        ("/none", None),
    ],
)
def test_readlink(machine: Machine, path: str, target: Any) -> None:
    assert machine.readlink(path) == target


def test_run(machine: Machine) -> None:
    assert machine.run(["uname", "-m"]) == Completed(0, "x86_64\n", "")
    assert machine.run(["false"]) == Completed(1, "", "no\n")
    assert machine.run(["ethtool", "-i", "eth0"]) is None


def test_names(machine: Machine) -> None:
    assert (machine.mock, machine.name, machine.recorded) == (Mock("m+fault", recorded=False), "m", False)


def test_writes_go_to_the_overlay_by_the_path_without_links() -> None:
    writes = Writes()
    machine = Machine(plain(), "m", nothing, writes)
    machine.write("/sys/class/net/eth0/mtu", "9000\n")
    assert writes.texts == {"/sys/devices/pci0000:00/0000:00:03.0/net/eth0/mtu": "9000\n"}
    assert machine.read("/sys/class/net/eth0/mtu") == "9000\n"
    assert machine.read("/sys/devices/pci0000:00/0000:00:03.0/net/eth0/mtu") == "9000\n"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/proc/none", errno.ENOENT),
        ("/proc", errno.EISDIR),
        ("/sys/class/net/eth0/speed", errno.EINVAL),
    ],
)
def test_what_cannot_be_written(path: str, code: int) -> None:
    writes = Writes()
    with pytest.raises(OSError, match="Errno") as raised:
        Machine(plain(), "m", nothing, writes).write(path, "1\n")
    assert raised.value.errno == code
    assert writes.texts == {}


def test_without_an_overlay_nothing_is_written(machine: Machine) -> None:
    with pytest.raises(OSError, match="Read-only") as raised:
        machine.write("/proc/uptime", "0 0\n")
    with pytest.raises(OSError, match="Read-only"):
        machine.lock("/run/l", "me")
    assert raised.value.errno == errno.EROFS
    assert machine.denies("/proc/uptime") == errno.EROFS


def test_what_may_be_written_is_told_without_a_write() -> None:
    writes = Writes()
    machine = Machine(plain(), "m", nothing, writes)
    assert machine.denies("/proc/uptime") is None
    assert writes.texts == {}
    with pytest.raises(OSError, match="No such file") as raised:
        machine.denies("/proc/none")
    assert raised.value.errno == errno.ENOENT


def test_a_choice_takes_one_of_its_words() -> None:
    machine = Machine(plain(files={"/sys/enabled": "always [madvise] never\n"}), "m", nothing, Writes())
    machine.write("/sys/enabled", "never\n")
    assert machine.read("/sys/enabled") == "always madvise [never]\n"
    with pytest.raises(OSError, match="Invalid argument"):
        machine.write("/sys/enabled", "maybe\n")


def test_files_come_and_go_in_the_overlay() -> None:
    writes = Writes()
    machine = Machine(plain(), "m", nothing, writes)
    machine.replace("/etc/new.d/a.conf", b"a\xff\n")
    assert machine.read_bytes("/etc/new.d/a.conf") == b"a\xff\n"
    assert machine.read("/etc/new.d/a.conf") == "a\ufffd\n"
    assert machine.listdir("/etc/new.d") == ("a.conf",)
    assert machine.listdir("/etc") == ("new.d", "os-release")
    machine.remove("/etc/new.d/a.conf")
    machine.remove("/usr/lib/os-release")
    machine.remove("/usr/lib/none")
    assert (machine.read_bytes("/etc/new.d/a.conf"), machine.read("/etc/os-release")) == (None, None)
    assert machine.listdir("/etc/new.d") is None
    assert machine.listdir("/usr/lib") == ()
    machine.append("/var/log/j", b"1\n")
    machine.append("/var/log/j", b"2\n")
    assert machine.read_bytes("/var/log/j") == b"1\n2\n"
    with pytest.raises(BusyError, match=r"^me$"):
        machine.lock("/run/l", "me")


def test_a_partial_machine_knows_what_was_written_to_it() -> None:
    machine = Machine(plain(partial=True, files={"/proc/uptime": "1\n"}), "m", nothing, Writes())
    with pytest.raises(NotRecordedError):
        machine.listdir("/etc/x.d")
    with pytest.raises(NotRecordedError):
        machine.read_bytes("/etc/x.d/a")
    machine.replace("/etc/x.d/a", b"1")
    assert machine.listdir("/etc/x.d") == ("a",)
    assert machine.read_bytes("/etc/x.d/a") == b"1"


def test_accelerators_are_loaded_once_and_only_when_asked_for() -> None:
    calls: List[str] = []
    machine = Machine(plain(), "m", lambda: calls.append("load"))
    assert calls == []
    assert [library.vendor for library in machine.accelerators()] == ["nvidia", "amd", "biren"]
    assert machine.accelerators() is machine.accelerators()
    assert calls == ["load"]


def test_what_hung_is_told_at_once() -> None:
    files = {"/sys/x": {"hung": 3.0}, "/mnt": {"link": "sys/x"}}
    machine = Machine(plain(files=files, commands={"ls -l": {"hung": 10}}), "m", nothing)
    for ask, call in ((machine.read, "read"), (machine.listdir, "list")):
        with pytest.raises(HungError, match="^{} /mnt did not return within 3 s$".format(call)):
            ask("/mnt")
    with pytest.raises(HungError, match=r"^readlink /sys/x/y did not return"):
        machine.readlink("/sys/x/y")
    with pytest.raises(HungError, match=r"^ls -l did not return within 10 s$"):
        machine.run(["ls", "-l"])


def test_a_command_that_could_not_be_run() -> None:
    machine = Machine(plain(commands={"ls": {"errno": "EACCES"}, "rm": None}), "m", nothing)
    with pytest.raises(PermissionError) as raised:
        machine.run(["ls"])
    assert raised.value.filename == "ls"
    assert machine.run(["rm"]) is None


PARTIAL = {
    "/sys/class/net": {"names": ["lo", "eth0", "bonding_masters"]},
    "/sys/class/net/eth0": {"link": "../../devices/eth0"},
    "/sys/class/net/bonding_masters/mtu": None,
    "/sys/devices/eth0/mtu": "1500\n",
    "/sys/devices/eth0/speed": {"errno": "EINVAL"},
    "/sys/class/infiniband": None,
    "/sys/empty": {"names": []},
}


@pytest.fixture
def partial() -> Machine:
    return Machine(plain(files=PARTIAL, partial=True, commands={"ibstat": None}), "m", nothing)


def test_what_a_partial_machine_knows(partial: Machine) -> None:
    assert partial.listdir("/sys/class/net") == ("bonding_masters", "eth0", "lo")
    assert partial.listdir("/sys/empty") == ()
    assert partial.read("/sys/class/net/eth0/mtu") == "1500\n"
    assert partial.readlink("/sys/class/net/eth0") == "../../devices/eth0"
    assert partial.readlink("/sys/devices/eth0/mtu") is None
    assert partial.readlink("/sys/devices/eth0/speed") is None
    assert partial.run(["ibstat"]) is None


@pytest.mark.parametrize(
    "path",
    [
        "/sys/class/net/eth1",  # its folder was listed
        "/sys/class/net/eth1/mtu",
        "/sys/class/infiniband",  # it was asked for
        "/sys/class/infiniband/mlx5_0",
        "/sys/class/net/bonding_masters/mtu",
        "/sys/devices/eth0/mtu/below",  # a file has nothing in it
        "/sys/empty/x/y",
    ],
)
def test_what_a_partial_machine_knows_not_to_be_there(partial: Machine, path: str) -> None:
    assert partial.read(path) is None
    assert partial.listdir(path) is None
    assert partial.readlink(path) is None


def test_a_file_is_no_folder(partial: Machine) -> None:
    assert partial.listdir("/sys/devices/eth0/mtu") is None


@pytest.mark.parametrize("path", ["/sys/class/net/lo", "/sys/class/net/eth0/address", "/sys/devices/eth1", "/proc"])
def test_what_a_partial_machine_does_not_know(partial: Machine, path: str) -> None:
    for ask in (partial.read, partial.listdir):
        with pytest.raises(NotRecordedError, match="is not in this recording: '{}'".format(path)) as raised:
            ask(path)
        assert raised.value.errno == errno.ENODATA
    with pytest.raises(NotRecordedError):
        partial.readlink(path)
    with pytest.raises(NotRecordedError):
        partial.write(path, "1")


def test_what_else_a_partial_machine_does_not_know(partial: Machine) -> None:
    with pytest.raises(NotRecordedError, match="'/sys/devices'"):
        partial.listdir("/sys/devices")  # what is in it was read, but not all
    with pytest.raises(NotRecordedError, match="'uname -m'"):
        partial.run(["uname", "-m"])


@pytest.mark.parametrize("name", ["EINVAL", "ENODEV", "EOPNOTSUPP"])
def test_a_value_that_the_kernel_does_not_have_now(name: str) -> None:
    machine = Machine(
        plain(files={"/speed": {"errno": name}, "/mtu": "1500\n", "/odd": {"errno": "EIO"}}), "m", nothing
    )
    assert read_if_valid(machine, "/speed") is None
    assert read_if_valid(machine, "/none") is None
    assert read_if_valid(machine, "/mtu") == "1500\n"
    with pytest.raises(OSError, match="Input/output error"):
        read_if_valid(machine, "/odd")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "an object is expected"),
        ({"name": "m"}, "missing ['recorded', 'sources', 'files'], unknown []"),
        (plain(file={}), "missing [], unknown ['file']"),
        (plain(name="../m"), "name: '../m' does not match [A-Za-z0-9][A-Za-z0-9._-]*"),
        (plain(name=7), "name: 7 does not match [A-Za-z0-9][A-Za-z0-9._-]*"),
        (plain(recorded="no"), "recorded: true or false is expected"),
        (plain(partial=1), "partial: true or false is expected"),
        (plain(nvml_calls=[]), "nvml_calls: an object is expected"),
        (plain(sources="here"), "sources: a list of texts is expected"),
        (plain(sources=[1]), "sources: a list of texts is expected"),
        (plain(files=[]), "files: an object is expected"),
        (plain(commands=None), "commands: an object is expected"),
        (plain(nvml=[]), "nvml: an object or null is expected"),
        (plain(files={"proc/uptime": ""}), "files: 'proc/uptime' is no absolute path in its shortest form"),
        (plain(files={"uptime": ""}), "files: 'uptime' is no absolute path in its shortest form"),
        (plain(files={"/proc//uptime": ""}), "files: '/proc//uptime' is no absolute path in its shortest form"),
        (plain(files={"/proc/../uptime": ""}), "files: '/proc/../uptime' is no absolute path in its shortest form"),
        (plain(files={"/": ""}), "files: '/' is no absolute path in its shortest form"),
        (plain(files={"/a": 1}), "files: /a: " + FORMS),
        (plain(files={"/a": {}}), "files: /a: " + FORMS),
        (plain(files={"/a": {"link": 1}}), "files: /a: " + FORMS),
        (plain(files={"/a": {"link": "b", "errno": "EIO"}}), "files: /a: " + FORMS),
        (plain(files={"/a": {"hung": "3"}}), "files: /a: " + FORMS),
        (plain(files={"/a": {"names": "b"}}), "files: /a: " + FORMS),
        (plain(files={"/a": {"names": ["b/c"]}}), "files: /a: " + FORMS),
        (plain(files={"/a": {"names": ["b"]}, "/a/c": ""}), "files: /a: c is not among its names"),
        (plain(files={"/a": "", "/a/b": {"names": []}}), "files: /a/b: /a is no folder"),
        (plain(files={"a": None}), "files: 'a' is no absolute path in its shortest form"),
        (plain(files={"/a": {"errno": 5}}), "files: /a: errno 5: a name such as EACCES is expected"),
        (plain(files={"/a": {"errno": "EWRONG"}}), "files: /a: errno 'EWRONG': a name such as EACCES is expected"),
        (plain(files={"/a": {"errno": "ENOENT"}}), "files: /a: errno 'ENOENT': null says it"),
        (plain(files={"/a": "", "/a/b": ""}), "files: /a/b: /a is no folder"),
        (plain(files={"/a": {"link": "c"}, "/a/b": ""}), "files: /a/b: /a is no folder"),
        (plain(files={"/a/b/c": "", "/a/b": ""}), "files: /a/b: other paths make this a folder"),
        (plain(commands={"ls": "out"}), 'commands: ls: {"stdout": TEXT, "returncode": NUMBER} is expected'),
        (plain(commands={"ls": {"stdout": 1}}), 'commands: ls: {"stdout": TEXT, "returncode": NUMBER} is expected'),
        (plain(commands={"ls": {"errno": 5}}), "commands: ls: errno 5: a name such as EACCES is expected"),
        (plain(commands={"ls": {"hung": "no"}}), 'commands: ls: {"stdout": TEXT, "returncode": NUMBER} is expected'),
        (plain(commands={"ls": {"out": "a"}}), 'commands: ls: {"stdout": TEXT, "returncode": NUMBER} is expected'),
    ],
)
def test_what_is_no_machine(wrong: Any, message: str) -> None:
    with pytest.raises(InvalidMachineError) as raised:
        Machine(wrong, "m", nothing)
    assert str(raised.value) == message


def test_what_is_remembered_of_a_way_changes_nothing() -> None:
    files = {
        "/a/real/deep/file": "1",
        "/a/link": {"link": "real"},
        "/a/real/up": {"link": "../../b"},
        "/b/file": "2",
        "/a/bad": {"errno": "EACCES"},
        "/a/slow": {"hung": 3.0},
    }
    host = Machine(plain(files=files, commands={}), "m", nothing)
    for _ in range(2):
        assert host.read("/a/link/deep/file") == "1"
        assert host.read("/a/real/deep/../../link/deep/file") == "1"
        assert host.read("/a/link/up/file") == "2"
        assert host.read("/a/link/up/../a/real/deep/file") == "1"
        assert host.read("/a/link/none/file") is None
        with pytest.raises(PermissionError):
            host.read("/a/bad/x/y")
        with pytest.raises(HungError, match="read /a/slow/x"):
            host.read("/a/slow/x")
    assert host.listdir("/a/link/deep") == ("file",)
