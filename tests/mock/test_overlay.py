import json
import multiprocessing
import os
from pathlib import Path
from typing import Any, Optional

import pytest

from brctl.mock import MockError
from brctl.mock.overlay import Overlay, state_folder
from brctl.node.host import BusyError


def file(tmp_path: Path, name: str = "m") -> Path:
    return tmp_path / "state" / "mock" / (name + ".json")


@pytest.mark.parametrize(
    ("own", "base", "folder"),
    [
        ("/own", "/xdg", "/own"),
        ("", "/xdg", "/xdg/brctl"),
        ("", "", "/home/op/.local/state/brctl"),
        ("", "relative", "/home/op/.local/state/brctl"),
    ],
)
def test_state_folder(own: str, base: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("BRCTL_STATE_DIR", own), ("XDG_STATE_HOME", base), ("HOME", "/home/op")):
        monkeypatch.setenv(name, value)
    assert state_folder() == folder


def test_what_was_written_is_read_also_by_others(tmp_path: Path) -> None:
    one, two = Overlay("m"), Overlay("m")
    assert one.read("/a") is None
    one.write("/a", "1\n")
    two.write("/b", "2\n")
    one.write("/a", "3\n")
    assert (one.read("/a"), one.read("/b"), one.read("/c")) == ("3\n", "2\n", None)
    assert (two.read("/a"), two.read("/b")) == ("3\n", "2\n")
    assert Overlay("other").read("/a") is None
    assert json.loads(file(tmp_path).read_text()) == {"/a": "3\n", "/b": "2\n"}


def test_what_was_removed_is_so_for_others_too() -> None:
    one, two = Overlay("m"), Overlay("m")
    one.write("/a", "1\n")
    two.write("/a", None)
    assert (one.read("/a"), one.changed(), Overlay("m").changed()) == (None, {"/a": None}, {"/a": None})


def test_a_lock_names_its_holder_and_is_of_one_machine() -> None:
    mine, other, again = Overlay("m"), Overlay("other"), Overlay("m")
    with mine.lock("/run/l", "root: brctl tune apply"), other.lock("/run/l", "b"):
        held = r"^root: brctl tune apply, process \d+, since \d{4}-\d\d-\d\d .* UTC$"
        with pytest.raises(BusyError, match=held), again.lock("/run/l", "c"):
            pass
    with again.lock("/run/l", "c"):
        pass


def test_only_a_write_makes_a_folder_and_it_is_private(tmp_path: Path) -> None:
    overlay = Overlay("m")
    overlay.read("/a")
    assert not (tmp_path / "state").exists()
    overlay.write("/a", "1\n")
    assert file(tmp_path).parent.stat().st_mode & 0o777 == 0o700
    assert sorted(os.listdir(file(tmp_path).parent)) == [".lock", "m.json"]


def test_a_removed_file_is_as_at_first(tmp_path: Path) -> None:
    overlay = Overlay("m")
    overlay.write("/a", "1\n")
    file(tmp_path).unlink()
    assert overlay.read("/a") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"/a": "1"', "Expecting ',' delimiter: line 1 column 11 (char 10)"),
        ("[]", "an object of texts is expected"),
        ("[" * 200_000, "it is nested too deep"),
        ('{"/a": 1}', "an object of texts is expected"),
        ("\xff", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    ],
)
def test_a_broken_file_is_named_and_left_alone(text: str, reason: str, tmp_path: Path) -> None:
    overlay = Overlay("m")
    overlay.write("/a", "1\n")
    file(tmp_path).write_bytes(text.encode("latin-1"))
    message = "{} does not hold what was written to this mocked machine: {}".format(file(tmp_path), reason)
    for touch in (lambda: Overlay("m"), lambda: overlay.read("/a"), lambda: overlay.write("/b", "2\n")):
        with pytest.raises(MockError) as raised:
            touch()
        assert raised.value.message == message
        assert raised.value.hint == "remove the file: the machine then is as it was at first"
    assert file(tmp_path).read_bytes() == text.encode("latin-1")


@pytest.mark.parametrize(
    ("kind", "reason"), [("folder", "it is no regular file"), ("fifo", "it is no regular file"), ("place", None)]
)
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, kind: str, reason: Optional[str]) -> None:
    path = file(tmp_path)
    if kind == "place":
        (tmp_path / "state").write_text("")
    else:
        path.parent.mkdir(parents=True)
        path.mkdir() if kind == "folder" else os.mkfifo(str(path))
    with pytest.raises(MockError) as raised:
        Overlay("m")
    assert raised.value.message == "cannot read {}: {}".format(path, reason or "Not a directory")
    assert raised.value.hint == "remove it, or name another folder in $BRCTL_STATE_DIR"


def test_a_crash_before_the_rename_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overlay = Overlay("m")
    overlay.write("/a", "1\n")
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", interrupt)
        with pytest.raises(KeyboardInterrupt):
            overlay.write("/a", "2\n")
    assert (overlay.read("/a"), Overlay("m").read("/a")) == ("1\n", "1\n")
    overlay.write("/b", "3\n")
    assert json.loads(file(tmp_path).read_text()) == {"/a": "1\n", "/b": "3\n"}


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def test_what_is_on_disk_is_synced_before_it_is_renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    sync, rename = os.fsync, os.rename
    monkeypatch.setattr(os, "fsync", lambda descriptor: (calls.append("fsync"), sync(descriptor)))
    monkeypatch.setattr(os, "rename", lambda old, new: (calls.append("rename"), rename(old, new)))
    Overlay("m").write("/a", "1\n")
    assert calls == ["fsync", "rename", "fsync"]


@pytest.mark.real
def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_many, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    wanted = {"/{}/{}".format(number, count): "{}\n".format(count) for number in range(4) for count in range(25)}
    assert json.loads(file(tmp_path).read_text()) == wanted


def write_many(number: int) -> None:
    overlay = Overlay("m")
    for count in range(25):
        overlay.write("/{}/{}".format(number, count), "{}\n".format(count))
