import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import socket
import struct
from pathlib import Path
from typing import Any, Iterator

import pytest

from brctl.mock.machines import load
from brctl.node.host import Space, measure
from brctl.node.host.local import Local
from brctl.node.host.machine import InvalidMachineError, Machine, check
from brctl.node.host.recording import Recording
from brctl.node.host.tree import NotRecordedError

PLAIN = {"name": "m", "recorded": False, "sources": [], "files": {}}


def test_a_file_stays_open_and_shows_what_is_in_it_now(tmp_path: Path) -> None:
    kept, file = measure.KeptFiles(), tmp_path / "counter"
    file.write_text("1\n")
    assert kept.read(str(file)) == "1\n"
    with file.open("r+") as stream:
        stream.write("27\n")
    assert kept.read(str(file)) == "27\n"
    assert len(kept._open) == 1


def test_one_that_went_away_and_came_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, file = measure.KeptFiles(), tmp_path / "counter"
    assert kept.read(str(file)) is None
    file.write_text("1\n")
    kept.read(str(file))
    real, gone = os.pread, [True]

    def pread(descriptor: int, size: int, offset: int) -> bytes:
        if gone.pop() if gone else False:
            raise OSError(errno.ENODEV, "No such device")
        return real(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", pread)
    assert kept.read(str(file)) == "1\n"
    gone[:] = [True]
    file.unlink()
    assert kept.read(str(file)) is None


@pytest.mark.parametrize(("soft", "kept"), [(1024, 512), (4096, 2048), (1 << 30, 2048)])
def test_half_of_the_descriptors_are_left_to_others(soft: int, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, 1 << 30))
    assert measure.KeptFiles()._most == kept


def test_a_long_file_and_one_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, file = measure.KeptFiles(), tmp_path / "long"
    file.write_text("x" * (2 * measure._CHUNK))
    assert len(kept.read(str(file)) or "") == 2 * measure._CHUNK
    monkeypatch.setattr(measure, "_MOST_OPEN", 0)
    assert len(measure.KeptFiles().read(str(file)) or "") == 2 * measure._CHUNK
    with pytest.raises(OSError, match="Is a directory"):
        measure.KeptFiles().read(str(tmp_path))


def test_the_space_of_a_file_system(tmp_path: Path) -> None:
    seen = Local().space(str(tmp_path))
    assert seen is not None
    assert seen.size_bytes >= seen.free_bytes >= seen.available_bytes > 0
    assert Local().space(str(tmp_path / "none")) is None


class Kernel:
    """Answers ethtool's calls for one interface."""

    names = (b"rx_packets", b"tx_prio3_pause_duration")

    def __init__(self, refuses: int = 0, has: bool = True, grows_at: int = 0) -> None:
        self.refuses, self.has, self.asked, self.grows_at = refuses, has, 0, grows_at

    def call(self, *given: Any) -> None:
        data = given[2]
        if self.refuses:
            raise OSError(self.refuses, os.strerror(self.refuses))
        (command,) = struct.unpack_from("=I", data)
        there = len(self.names) + (command == self.grows_at)
        if command == 0x37:
            data[8:20] = struct.pack("=QI", 2 if self.has else 0, len(self.names))
        elif command == 0x1B:
            self.asked += 1
            data[8:12] = struct.pack("=I", there)
            data[12:] = b"".join(name.ljust(32, b"\0") for name in self.names)
        else:
            data[4:] = struct.pack("=I2Q", there, 7, 2**63)


def test_statistics_of_an_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, ethtool = Kernel(), measure.Ethtool()
    monkeypatch.setattr(measure, "_call", kernel.call)
    for _ in range(2):
        assert ethtool.statistics("ens1") == {"rx_packets": 7, "tx_prio3_pause_duration": 2**63}
    assert kernel.asked == 1, "the names are asked for once"


@pytest.mark.parametrize("command", [0x1B, 0x1D], ids=["names", "values"])
def test_statistics_that_change_meanwhile_are_not_told_under_other_names(
    monkeypatch: pytest.MonkeyPatch, command: int
) -> None:
    kernel, ethtool = Kernel(grows_at=command), measure.Ethtool()
    monkeypatch.setattr(measure, "_call", kernel.call)
    with pytest.raises(BlockingIOError, match="its statistics changed meanwhile"):
        ethtool.statistics("ens1")
    kernel.grows_at = 0
    assert ethtool.statistics("ens1") == {"rx_packets": 7, "tx_prio3_pause_duration": 2**63}


def test_there_is_room_for_more_than_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel writes all that it has."""

    def ioctl(_: int, __: int, request: bytes) -> None:
        (place,) = struct.unpack("16xQ16x", request)
        ctypes.memmove(place, struct.pack("=II100Q", 0x1D, 100, *range(100)), 808)

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    data = bytearray(struct.pack("=IIQ", 0x1D, 1, 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        measure._call(door, "ens1", data)
    assert struct.unpack("=IIQ", data) == (0x1D, 100, 0)


@pytest.mark.parametrize("kernel", [Kernel(has=False), Kernel(errno.EOPNOTSUPP), Kernel(errno.ENODEV)])
def test_an_interface_without_statistics(monkeypatch: pytest.MonkeyPatch, kernel: Kernel) -> None:
    monkeypatch.setattr(measure, "_call", kernel.call)
    assert measure.Ethtool().statistics("lo") is None


def test_a_refusal_of_another_kind_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_call", Kernel(errno.EPERM).call)
    with pytest.raises(OSError, match="not permitted"):
        measure.Ethtool().statistics("ens1")


@pytest.fixture
def listening() -> Iterator[int]:
    with contextlib.closing(socket.socket()) as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.mark.real
def test_a_round_trip_to_what_listens_and_to_what_refuses(listening: int) -> None:
    for port in (listening, 1):
        seconds = Local().round_trip("127.0.0.1", port, 1.0)
        assert seconds is not None
        assert 0 < seconds < 1


@pytest.mark.real
def test_this_kernel_answers() -> None:
    local = Local()
    assert local.ethtool_statistics("lo") is None
    assert (local.reread("/proc/uptime") or "").count(".") == 2
    assert local.reread("/proc/self/none") is None


def test_a_peer_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: Any) -> None:
        raise socket.timeout

    monkeypatch.setattr(socket, "create_connection", late)
    assert measure.round_trip("192.0.2.1", 22, 0.1) is None


def test_a_machine_that_is_not_here() -> None:
    machine = load("dgx-h100")
    tib = 1 << 40
    assert machine.space("/raid") == Space(
        28 * tib, 28 * tib // 10 * 7, 28 * tib // 10 * 6, 28 << 26, (28 << 26) // 10 * 9
    )
    assert machine.space("/none") is None
    assert machine.round_trip("n2", 22, 1.0) == 0.00011
    assert (machine.ethtool_statistics("ens1np0") or {})["tx_prio3_packets"] == 20509512466
    assert machine.ethtool_statistics("bond0") is None
    assert machine.reread("/proc/loadavg") == machine.read("/proc/loadavg")


def test_what_a_recording_does_not_know_is_unknown() -> None:
    partial = Machine({**PLAIN, "partial": True}, "m", lambda: None)
    with pytest.raises(NotRecordedError):
        partial.space("/")


def test_a_recording_passes_on_what_is_measured() -> None:
    recording = Recording(load("dgx-h100"))
    assert recording.space("/") == load("dgx-h100").space("/")
    assert recording.round_trip("n2", 22, 1.0) == 0.00011
    assert recording.ethtool_statistics("bond0") is None
    assert recording.reread("/proc/loadavg") == "2.14 2.20 2.31 3/2911 88211\n"


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"space": []}, "space: five whole numbers"),
        ({"space": {"/": [1, 2]}}, "space: five whole numbers"),
        ({"space": {"/": [1, 2, 3, 4, -1]}}, "space: five whole numbers"),
        ({"round_trip_s": "fast"}, "round_trip_s: a number"),
        ({"round_trip_s": True}, "round_trip_s: a number"),
    ],
)
def test_a_machine_of_another_form_is_refused(part: Any, message: str) -> None:
    with pytest.raises(InvalidMachineError, match=message):
        check({**PLAIN, **part})
