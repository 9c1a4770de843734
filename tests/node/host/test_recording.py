import errno
import json
import threading
from pathlib import Path
from typing import Any, ContextManager, Dict, List, Optional, Sequence, Tuple

import pytest

from brctl.mock import machines
from brctl.mock.machines import load
from brctl.node import deadline
from brctl.node.accel import Library
from brctl.node.deadline import HungError
from brctl.node.facts import Inventory
from brctl.node.host import BusyError, Completed, Host
from brctl.node.host.local import Local
from brctl.node.host.machine import Machine
from brctl.node.host.recording import Recording
from brctl.node.host.tree import NotRecordedError
from brctl.node.probe import inventory
from brctl.node.report import Mock

FILES = {
    "/proc/self": {"link": "42"},
    "/proc/42/mounts": "data:/x /data nfs4 rw 0 0\n",
    "/proc/42/environ": "TOKEN=abc\0",
    "/proc/42/cmdline": "mysqld\0--password=abc\0",
    "/proc/net": {"link": "self/net"},
    "/proc/42/net/route": "eth0\t0000FEA9\n",
    "/sys/class/net/eth0": {"link": "../../devices/eth0"},
    "/sys/class/net/bonding_masters": "\n",
    "/sys/devices/eth0/mtu": "1500\n",
    "/sys/devices/eth0/address": "08:11:22:33:44:55\n",
    "/sys/devices/eth0/speed": {"errno": "EINVAL"},
    "/sys/devices/eth0/hangs": {"hung": 2.5},
    "/sys/kernel/debug": {"errno": "EACCES"},
    "/loop/a": {"link": "b"},
    "/loop/b": {"link": "a"},
}
COMMANDS = {
    "ls": {"stdout": "out\n"},
    "cat": {"errno": "EACCES"},
    "top": {"hung": 10.0},
    "false": {"stderr": "host 10.1.2.3\n", "returncode": 1},
    "true": {},
}


def machine(**changes: Any) -> Machine:
    plain = {"name": "m", "recorded": False, "sources": [], "files": FILES, "commands": COMMANDS, "nvml": None}
    return Machine(dict(plain, **changes), "m", lambda: None)


@pytest.fixture
def recording() -> Recording:
    return Recording(machine())


def recorded(recording: Recording) -> Dict[str, Any]:
    plain: Dict[str, Any] = json.loads(recording.bundle())
    return plain


def replayed(recording: Recording) -> Machine:
    return Machine(recorded(recording), "again", lambda: None)


def outcome(host: Host, ask: str, *arguments: Any) -> Any:
    """What a call gives, or the error that it raises."""
    try:
        return getattr(host, ask)(*arguments)
    except (OSError, HungError) as error:
        return (type(error), str(error))


ASKED: List[Tuple[Any, ...]] = [
    ("read", "/sys/class/net/eth0/mtu"),
    ("read", "/sys/class/net/eth0/none"),
    ("read", "/sys/class/net/eth0/speed"),
    ("read", "/sys/class/net/eth0/hangs"),
    ("read", "/sys/class/net/eth0"),
    ("read", "/sys/class/net/bonding_masters/mtu"),
    ("read", "/sys/kernel/debug/x"),
    ("read", "/loop/a"),
    ("listdir", "/sys/class/net"),
    ("listdir", "/sys/class/net/eth0/"),
    ("listdir", "/sys/kernel/debug"),
    ("listdir", "/sys/class/none"),
    ("listdir", "/sys/devices/eth0/mtu"),
    ("readlink", "/sys/class/net/eth0"),
    ("readlink", "/sys/devices/eth0/mtu"),
    ("readlink", "/proc/self"),
    ("readlink", "/sys/none"),
    ("run", ["ls"]),
    ("run", ["cat"]),
    ("run", ["top"]),
    ("run", ["true"]),
    ("run", ["ibstat", "-l"]),
]


@pytest.mark.parametrize("call", ASKED, ids=str)
def test_every_answer_is_given_again(call: Tuple[Any, ...], recording: Recording) -> None:
    first = outcome(recording, *call)
    assert outcome(machine(), *call) == first
    assert outcome(replayed(recording), *call) == first


def test_all_answers_fit_in_one_machine(recording: Recording) -> None:
    first = [outcome(recording, *call) for call in ASKED]
    again = replayed(recording)
    assert [outcome(again, *call) for call in ASKED] == first


def test_what_was_not_asked_for_is_not_there(recording: Recording) -> None:
    recording.read("/sys/class/net/eth0/mtu")
    assert recorded(recording)["files"] == {
        "/sys/class/net/eth0": {"link": "../../devices/eth0"},
        "/sys/devices/eth0/mtu": "1500\n",
    }
    with pytest.raises(NotRecordedError):
        replayed(recording).read("/sys/class/net/eth0/address")


def test_of_a_link_only_the_link_is_known(recording: Recording) -> None:
    recording.readlink("/sys/class/net/eth0")
    assert recorded(recording)["files"] == {"/sys/class/net/eth0": {"link": "../../devices/eth0"}}
    with pytest.raises(NotRecordedError):
        replayed(recording).listdir("/sys/class/net/eth0")


def test_a_folder_keeps_the_names_of_what_was_not_read(recording: Recording) -> None:
    recording.listdir("/sys/class/net/eth0")
    recording.read("/sys/class/net/eth0/mtu")
    assert recorded(recording)["files"]["/sys/devices/eth0"] == {"names": ["address", "hangs", "mtu", "speed"]}


def test_the_root_is_not_listed(recording: Recording) -> None:
    assert recording.listdir("/") == ("loop", "proc", "sys")
    assert recorded(recording)["files"] == {}


def test_that_there_is_nothing_does_not_replace_what_there_is(recording: Recording) -> None:
    recording.read("/sys/devices/eth0/mtu")
    recording.listdir("/sys/devices/eth0/mtu")
    recording.readlink("/sys/devices/eth0/mtu")
    assert recorded(recording)["files"] == {"/sys/devices/eth0/mtu": "1500\n"}


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/42/cmdline", "/proc/net/route"])
def test_what_is_never_kept(path: str, recording: Recording) -> None:
    assert recording.read(path)
    text = recording.bundle()
    assert "abc" not in text
    assert "FEA9" not in text


def test_what_leaves_is_masked(recording: Recording) -> None:
    recording.read("/proc/self/mounts")
    recording.read("/sys/class/net/eth0/address")
    recording.run(["false"])
    plain = recorded(recording)
    assert plain["files"]["/proc/42/mounts"] == "server1:/x /data nfs4 rw 0 0\n"
    assert plain["files"]["/sys/devices/eth0/address"] == "02:00:00:00:00:01\n"
    assert plain["commands"]["false"] == {"returncode": 1, "stderr": "host 240.0.1.3\n"}
    assert plain["sources"][1] == "masked: 1 IPv4 network, 1 MAC address, 1 server name"


def test_the_head(recording: Recording) -> None:
    plain = recorded(recording)
    assert list(plain) == ["name", "recorded", "partial", "sources", "files", "commands", "nvml", "nvml_calls"]
    assert (plain["name"], plain["recorded"], plain["partial"]) == ("recording", False, True)
    assert plain["sources"][0].startswith("brctl ")
    assert " recorded what it read of the mock m at 2" in plain["sources"][0]
    assert plain["sources"][1] == "masked: nothing"


def test_only_a_real_host_gives_a_recorded_machine() -> None:
    assert recorded(Recording(Local()))["recorded"] is True
    assert "of this machine at" in recorded(Recording(Local()))["sources"][0]
    assert recorded(Recording(machine(recorded=True)))["recorded"] is False


def test_a_write_goes_to_the_host(recording: Recording) -> None:
    with pytest.raises(OSError, match="Read-only"):
        recording.write("/sys/devices/eth0/mtu", "9000\n")
    assert recorded(recording)["files"] == {}


def test_a_recording_of_a_recording_is_the_same(recording: Recording) -> None:
    for call in ASKED:
        outcome(recording, *call)
    second = Recording(replayed(recording))
    for call in [*ASKED, ("read", "/sys/never/asked"), ("run", ["never", "asked"])]:
        outcome(second, *call)
    first, again = recorded(recording), recorded(second)
    for part in ("files", "commands", "nvml"):
        assert again[part] == first[part]


class Changing:
    """A host on which things come and go."""

    mock: Optional[Mock] = None

    def __init__(self) -> None:
        self.answers: Dict[str, Any] = {}
        self.come_back = threading.Event()

    def _answer(self, path: str) -> Any:
        if path == "/hangs":
            self.come_back.wait(10)
        answer = self.answers.get(path)
        if isinstance(answer, Exception):
            raise answer
        return answer

    read = listdir = _answer

    def readlink(self, path: str) -> Optional[str]:
        if path == "/locked/x":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return None

    def write(self, path: str, text: str) -> None: ...

    def read_bytes(self, path: str) -> Optional[bytes]:
        return path.encode()

    def replace(self, path: str, data: bytes, mode: int = 0o644) -> None: ...

    def remove(self, path: str) -> None: ...

    def append(self, path: str, data: bytes) -> None: ...

    def lock(self, path: str, holder: str) -> ContextManager[None]:  # noqa: ARG002
        raise BusyError(holder)

    def run(self, argv: Sequence[str], limit_s: float = 1.0) -> Optional[Completed]:  # noqa: ARG002
        return None

    def accelerators(self) -> Tuple[Library, ...]:
        return ()


def test_a_call_that_never_came_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.05)
    host = Changing()
    recording = Recording(host)
    (answer,) = deadline.run_all([lambda: recording.read("/hangs")])
    assert isinstance(answer, HungError)
    assert recorded(recording)["files"] == {"/hangs": {"hung": 0.05}}
    host.come_back.set()
    while recording._waiting:
        pass
    assert recorded(recording)["files"] == {"/hangs": None}


def test_files_that_came_and_went_are_a_tree_all_the_same() -> None:
    host = Changing()
    recording = Recording(host)
    for path, answer in (("/a", "was a file\n"), ("/a/b", "1\n"), ("/c", ("d",)), ("/c/e", "came later\n")):
        host.answers[path] = answer
        recording.read(path) if isinstance(answer, str) else recording.listdir(path)
    files = recorded(recording)["files"]
    assert files == {"/a/b": "1\n", "/c": {"names": ["d", "e"]}, "/c/e": "came later\n"}
    assert replayed(recording).listdir("/c") == ("d", "e")


def test_an_error_without_a_number_or_a_name() -> None:
    host = Changing()
    host.answers = {"/odd": OSError("odd"), "/locked/x/y": PermissionError(errno.EACCES, "Permission denied")}
    recording = Recording(host)
    for path in host.answers:
        with pytest.raises(OSError, match=r"."):
            recording.read(path)
    assert recorded(recording)["files"] == {"/odd": {"errno": "EIO"}, "/locked/x/y": {"errno": "EACCES"}}


def blank(seen: Inventory) -> Inventory:
    """Without what moves, and what is masked."""
    assert seen.kernel
    assert seen.memory
    kernel = seen.kernel._replace(hostname="", boot_id=None, uptime_s=0)
    nics = tuple(nic._replace(mac=nic.mac and "") for nic in seen.nics or ())
    rdma = tuple(port._replace(gids=tuple(gid._replace(gid="") for gid in port.gids)) for port in seen.rdma or ())
    mounts = tuple(mount._replace(source=mount.source.partition(":")[2] or mount.source) for mount in seen.mounts or ())
    memory = seen.memory._replace(available_bytes=0)
    gpus = tuple(
        gpu._replace(
            uuid=None, telemetry=None, processes=None, identity=gpu.identity and gpu.identity._replace(serial="")
        )
        for gpu in seen.gpus or ()
    )
    return seen._replace(kernel=kernel, nics=nics, rdma=rdma, mounts=mounts, memory=memory, gpus=gpus)


def test_a_host_that_is_called_as_a_word_of_nvml(tmp_path: Path) -> None:
    recording = Recording(load("l40s-pcie", "none"))
    seen = inventory(recording)
    again = replay(recording, tmp_path)
    assert again.kernel
    assert again.kernel.hostname == "host1"
    assert blank(again) == blank(seen)


def test_a_serial_number_that_all_gpus_share(tmp_path: Path) -> None:
    plain = json.loads(Path(machines.__file__).with_name("machines").joinpath("dgx-h100.json").read_text())
    for gpu in plain["nvml"]["gpus"]:
        gpu["serial"] = "1650000000099"
    (tmp_path / "one.json").write_text(json.dumps(plain))
    recording = Recording(load(str(tmp_path / "one.json")))
    assert inventory(recording).gpus
    assert "1650000000099" not in recording.bundle()


def replay(recording: Recording, folder: Path) -> Inventory:
    """What is read of the bundle by `--mock FILE`."""
    (folder / "x.json").write_text(recording.bundle())
    return inventory(load(str(folder / "x.json")))


@pytest.mark.parametrize("spec", ["dgx-h100", "cpu-only", "dgx-h100+no-library"])
def test_a_mocked_machine(spec: str, tmp_path: Path) -> None:
    recording = Recording(load(spec))
    seen = inventory(recording)
    again = replay(recording, tmp_path)
    assert blank(again) == blank(seen)
    assert len(again.nics or ()) > 1


@pytest.mark.real
def test_this_machine(tmp_path: Path) -> None:
    recording = Recording(Local())
    seen = inventory(recording)
    assert seen.kernel
    assert blank(replay(recording, tmp_path)) == blank(seen)
    text = (tmp_path / "x.json").read_text()
    identifiers = [seen.kernel.boot_id, *(nic.mac for nic in seen.nics or ()), *(gpu.uuid for gpu in seen.gpus or ())]
    assert [known for known in identifiers if known and known.strip("0:") and known in text] == []
