"""The door by itself, as a node runs it; that it opens is shown by test_engine.py and test_namespaces.py."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
import zipfile
import zlib
from hashlib import sha256
from pathlib import Path

import pytest

from brctl.fleet import door
from brctl.node import request
from brctl.node.frame import Frame, Unpacker


def _zip(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.py", text)
    return buffer.getvalue()


ARCHIVE = _zip(hello="WORD = 'hello'\n", broken="def")
_READ, _WRITE = os.read, os.write
DIGEST = sha256(ARCHIVE).hexdigest()


class Admin:
    """What stands at the other end of stdin and stdout."""

    def __init__(self) -> None:
        self.asked = 0
        self.sends = ARCHIVE
        self.said: list[Frame] = []
        self._left = b""

    def read(self, descriptor: int, number: int) -> bytes:
        if descriptor != 0:
            return _READ(descriptor, number)
        taken, self._left = self._left[: min(number, 50)], self._left[min(number, 50) :]
        return taken

    def write(self, descriptor: int, text: bytes) -> int:
        if descriptor != 1:
            return _WRITE(descriptor, text)
        self.said += Unpacker().feed(text)
        if self.said[-1].id == "absent":
            self.asked += 1
            deflated = zlib.compress(self.sends)
            self._left = b"%010d" % len(deflated) + deflated
        return len(text)


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Admin:
    other = Admin()
    monkeypatch.setattr(os, "read", other.read)
    monkeypatch.setattr(os, "write", other.write)
    return other


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_the_bundle_is_taken_once(admin: Admin, cache: Path) -> None:
    for _ in range(2):
        assert door.find(DIGEST, str(cache)) == (str(cache / DIGEST), "")
    assert admin.asked == 1
    assert cache.stat().st_mode & 0o777 == (cache / DIGEST).stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in (cache / DIGEST).iterdir()) == ["__pycache__", "broken.py", "hello.py", "seal"]
    assert [path.name.partition(".")[0] for path in (cache / DIGEST / "__pycache__").iterdir()] == ["hello"]
    assert [path.name for path in cache.iterdir()] == [DIGEST]


@pytest.mark.parametrize(
    "change",
    [
        lambda copy: (copy / "hello.py").write_text("WORD = 'hullo'\n"),
        lambda copy: (copy / "hello.py").unlink(),
        lambda copy: next((copy / "__pycache__").iterdir()).write_bytes(b""),
        lambda copy: (copy / "os.py").write_text(""),
        lambda copy: (copy / "json").symlink_to("/tmp"),
        lambda copy: (copy / "empty").mkdir(),
        lambda copy: (copy / "hello.py").chmod(0o666),
        lambda copy: (copy / "seal").write_text("0" * 64),
        lambda copy: (copy / "seal").unlink(),
        lambda copy: copy.chmod(0o755),
        lambda copy: copy.rename(copy.parent / "elsewhere") and copy.symlink_to("elsewhere"),
    ],
)
def test_a_copy_that_was_changed_is_replaced(admin: Admin, cache: Path, change) -> None:  # type: ignore[no-untyped-def]
    door.find(DIGEST, str(cache))
    before = (cache / DIGEST / "hello.py").stat()
    change(cache / DIGEST)
    if (cache / DIGEST / "hello.py").exists():
        os.utime(cache / DIGEST / "hello.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert door.find(DIGEST, str(cache)) == (str(cache / DIGEST), "")
    assert admin.asked == 2
    assert (cache / DIGEST / "hello.py").read_text() == "WORD = 'hello'\n"
    assert door.sealed(str(cache / DIGEST))
    assert not (cache / DIGEST).is_symlink()
    assert {path.name for path in cache.iterdir()} <= {DIGEST, "elsewhere"}


def test_the_copy_of_another_python_is_replaced(admin: Admin, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    door.find(DIGEST, str(cache))
    monkeypatch.setattr(sys, "version", "4.0")
    door.find(DIGEST, str(cache))
    assert admin.asked == 2


def test_a_run_that_was_faster_is_no_error(admin: Admin, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    door.find(DIGEST, str(cache))
    looks = iter([False, True, True])
    monkeypatch.setattr(door, "sealed", lambda _: next(looks))
    assert door.find(DIGEST, str(cache)) == (str(cache / DIGEST), "")
    assert [path.name for path in cache.iterdir()] == [DIGEST]


@pytest.mark.process
@pytest.mark.parametrize(
    "spoil",
    [
        lambda cache: cache.symlink_to("/tmp"),
        lambda cache: cache.write_text(""),
        lambda cache: (cache.mkdir(), cache.chmod(0o750)),
        lambda cache: cache.parent.rename(cache.parent.with_name("gone")),
    ],
)
def test_where_there_can_be_no_cache_it_runs_from_memory(admin: Admin, cache: Path, spoil) -> None:  # type: ignore[no-untyped-def]
    spoil(cache)
    place, note = door.find(DIGEST, str(cache))
    assert note.startswith("the bundle is not cached: ")
    assert str(cache) in note
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {place!r}); import hello; print(hello.WORD)"]
    descriptor = int(place.rpartition("/")[2])
    assert subprocess.run(command, capture_output=True, pass_fds=[descriptor], check=True).stdout == b"hello\n"
    os.close(descriptor)


def test_where_it_cannot_be_written_it_runs_from_memory(
    admin: Admin, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    place, note = door.find(DIGEST, str(cache))
    os.close(int(place.rpartition("/")[2]))
    assert note == "the bundle is not cached: [Errno 28] No space left on device"
    assert list(cache.iterdir()) == []


def test_what_does_not_arrive_as_it_was_sent_is_refused(admin: Admin, cache: Path) -> None:
    admin.sends = _zip(hello="")
    with pytest.raises(SystemExit, match="the bundle did not arrive as it was sent"):
        door.find(DIGEST, str(cache))
    assert list(cache.iterdir()) == []


def test_the_newest_two_are_kept_and_what_was_used_within_a_week(admin: Admin, cache: Path) -> None:
    ages_h = {"a": 170, "b": 171, ".new-young": 0.5, ".new-old": 2, ".new-x.old": 0}
    cache.mkdir(0o700)
    for name, age_h in ages_h.items():
        (cache / name).mkdir()
        os.utime(cache / name, (time.time() - age_h * 3600,) * 2)
    (cache / "d").symlink_to("/tmp")
    os.utime(cache / "d", (0, 0), follow_symlinks=False)
    door.find(DIGEST, str(cache))
    assert {path.name for path in cache.iterdir()} == {DIGEST, "a", ".new-young"}
    for name in "cde":
        (cache / name).mkdir()
        os.utime(cache / name, (time.time() - 160 * 3600,) * 2)
    door._prune(str(cache))
    assert {path.name for path in cache.iterdir()} == {DIGEST, "c", "d", "e", ".new-young"}


def test_a_copy_that_is_used_counts_as_new_and_its_seal_holds(admin: Admin, cache: Path) -> None:
    door.find(DIGEST, str(cache))
    os.utime(cache / DIGEST, (0, 0))
    for name in "ab":
        (cache / name).mkdir()
        os.utime(cache / name, (1, 1))
    door.find(DIGEST, str(cache))
    door._prune(str(cache))
    assert time.time() - (cache / DIGEST).stat().st_mtime < 60
    assert (admin.asked, door.sealed(str(cache / DIGEST))) == (1, True)
    assert len(list(cache.iterdir())) == 2


def test_clean_removes_all_and_says_so(admin: Admin, cache: Path) -> None:
    door.find(DIGEST, str(cache))
    for note in (f"removed {cache}", f"nothing was left: there is no {cache}"):
        door.clean(False, str(cache))
        assert json.loads(admin.said[-1].payload)["notes"] == [note]
    assert not cache.exists()


def test_clean_leaves_alone_what_is_not_ours(admin: Admin, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    cache.symlink_to("precious")
    door.clean(False, str(cache))
    (error,) = json.loads(admin.said[-1].payload)["errors"]
    assert error == {"kind": "permission", "message": f"[Errno 1] Not a folder of this user alone: '{cache}'"}
    assert (tmp_path / "precious").is_dir()


def test_clean_waits_for_the_end_of_a_transaction(
    admin: Admin, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert door.TUNING == request.TUNING
    monkeypatch.setattr(door, "TUNING", str(tmp_path / "open"))
    (tmp_path / "open").symlink_to("nowhere")
    door.find(DIGEST, str(cache))
    door.clean(False, str(cache))
    (error,) = json.loads(admin.said[-1].payload)["errors"]
    assert error == {
        "kind": "busy",
        "message": f"a tuning transaction is open: {tmp_path}/open",
        "hint": "end it first, or --force",
    }
    assert cache.exists()
    door.clean(True, str(cache))
    assert json.loads(admin.said[-1].payload)["notes"] == [f"removed {cache}"]
    assert (tmp_path / "open").is_symlink()


def test_the_cache_of_a_user() -> None:
    assert (door.cache_of(0), door.cache_of(4242)) == ("/var/cache/brctl", "/var/tmp/brctl-4242")


def test_the_end_of_stdin_ends_it(admin: Admin) -> None:
    with pytest.raises(SystemExit, match="stdin ended"):
        door.read(1)
