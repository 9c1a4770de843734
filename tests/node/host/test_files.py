"""Files of this machine that are changed: whole or not at all."""

import errno
import os
import time
from pathlib import Path

import pytest

from brctl.node.host import BusyError, files
from brctl.node.host.local import Local


def test_a_new_file_has_its_folders_and_mode(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.conf"
    Local().replace(str(path), b"x\xff", 0o640)
    assert Local().read_bytes(str(path)) == b"x\xff"
    assert path.stat().st_mode & 0o7777 == 0o640
    assert os.listdir(str(path.parent)) == ["b.conf"]


def test_one_that_is_there_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    path, link = tmp_path / "a.conf", tmp_path / "link.conf"
    path.write_bytes(b"old")
    path.chmod(0o600)
    link.symlink_to("a.conf")
    files.replace(str(link), b"new", 0o644)
    assert (path.read_bytes(), path.stat().st_mode & 0o7777, link.is_symlink()) == (b"new", 0o600, True)


@pytest.mark.parametrize("call", ["fsync", "rename", "fchmod"])
def test_what_fails_leaves_all_as_it_was(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "a.conf"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="No space"):
        files.replace(str(path), b"new", 0o644)
    assert path.read_bytes() == b"old"
    assert os.listdir(str(tmp_path)) == ["a.conf"]


def test_what_a_killed_run_left_goes_after_an_hour(tmp_path: Path) -> None:
    old, young, other = (tmp_path / name for name in (".a.conf.0.brctl-new", ".a.conf.1.brctl-new", "b.brctl-new"))
    for path, age_s in ((old, 3700), (young, 3500), (other, 3700)):
        path.write_bytes(b"half")
        os.utime(path, (0, time.time() - age_s))
    files.replace(str(tmp_path / "a.conf"), b"new", 0o644)
    assert sorted(os.listdir(str(tmp_path))) == [young.name, "a.conf", other.name]


def test_two_writers_do_not_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second begins and ends while the first has not put its file in place."""
    path, sync = tmp_path / "a", os.fsync

    def meanwhile(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        files.replace(str(path), b"second", 0o644)
        assert path.read_bytes() == b"second"
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", meanwhile)
    files.replace(str(path), b"first", 0o644)
    assert (path.read_bytes(), os.listdir(str(tmp_path))) == (b"first", ["a"])


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no regular file"):
        files.replace(str(tmp_path), b"", 0o644)
    with pytest.raises(IsADirectoryError):
        Local().read_bytes(str(tmp_path))


def test_to_remove_what_is_not_there_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1")
    Local().remove(str(path))
    Local().remove(str(path))
    Local().remove(str(path / "b"))
    assert Local().read_bytes(str(path)) is None
    assert Local().read_bytes(str(path / "b")) is None


def test_append_makes_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "j.jsonl"
    Local().append(str(path), b"1\n")
    Local().append(str(path), b"2\n")
    assert path.read_bytes() == b"1\n2\n"
    assert (path.stat().st_mode & 0o7777, path.parent.stat().st_mode & 0o7777) == (0o600, 0o700)


def test_a_full_disk_takes_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write = tmp_path / "j", os.write
    Local().append(str(path), b"1\n")
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:1]))
    with pytest.raises(OSError, match="No space left on device"):
        Local().append(str(path), b"12\n")
    assert path.read_bytes() == b"1\n"  # and the next line is no part of this one


@pytest.mark.parametrize("read", ["read", "read_bytes"])
def test_a_pipe_is_not_waited_for(read: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no regular file"):
        getattr(Local(), read)(str(tmp_path / "pipe"))


def test_of_a_link_the_file_is_removed_and_no_device(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    Local().replace(str(link), b"1")
    assert target.read_bytes() == b"1"
    Local().remove(str(link))
    assert (link.is_symlink(), target.exists()) == (True, False)
    target.mkdir()
    with pytest.raises(OSError, match="no regular file"):
        Local().remove(str(link))


def test_a_lock_is_held_by_one_and_names_him(tmp_path: Path) -> None:
    path = str(tmp_path / "run" / "l")
    with Local().lock(path, "root: tune apply"):
        held = r"^root: tune apply, process {}, since ".format(os.getpid())
        with pytest.raises(BusyError, match=held), Local().lock(path, "x"):
            pass
    with Local().lock(path, "x"):
        assert Path(path).read_text().startswith("x, process ")


def test_a_full_disk_does_not_refuse_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    path = str(tmp_path / "l")
    with Local().lock(path, "x"), pytest.raises(BusyError, match=r"^another process$"), Local().lock(path, "y"):
        pass


def test_a_lock_without_a_name(tmp_path: Path) -> None:
    path = str(tmp_path / "l")
    with Local().lock(path, "x"):
        Path(path).write_text("")
        with pytest.raises(BusyError, match=r"^another process$"), Local().lock(path, "y"):
            pass
