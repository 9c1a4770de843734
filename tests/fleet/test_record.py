"""The record of who failed: what it says, and that nothing in its place does harm."""

import json
import os
from pathlib import Path

import pytest

from brctl.fleet.record import Record


def _note(record: Record, well: str = "", silent: str = "") -> None:
    record.note({**dict.fromkeys(well.split(), False), **dict.fromkeys(silent.split(), True)})


@pytest.fixture
def record() -> Record:
    return Record("node-manager check", Path("/etc/brctl/c.yaml"), mocked=False)


def _file(tmp_path: Path) -> Path:
    (path,) = (tmp_path / "state" / "failed").iterdir()
    return path


def test_it_remembers_of_each_node_how_it_was_when_last_asked(record: Record, tmp_path: Path) -> None:
    assert record.failed() == frozenset()
    _note(record, well="a b", silent="c d")
    assert record.failed() == {"c", "d"}
    _note(record, well="c", silent="a")
    assert record.failed() == {"a", "d"}
    _note(record, well="a b c d")
    assert record.failed() == frozenset()
    assert _file(tmp_path).stat().st_mode & 0o777 == 0o600
    assert _file(tmp_path).parent.stat().st_mode & 0o777 == 0o700


def test_where_none_fails_nothing_is_written(record: Record, tmp_path: Path) -> None:
    _note(record, well="a b")
    assert not (tmp_path / "state").exists()


def test_each_command_config_and_world_has_its_own(record: Record) -> None:
    _note(record, silent="a")
    for command, config, mocked in (
        ("node-manager list", "/etc/brctl/c.yaml", False),
        ("node-manager check", "/etc/brctl/d.yaml", False),
        ("node-manager check", "/etc/brctl/c.yaml", True),
    ):
        assert Record(command, Path(config), mocked).failed() == frozenset()
    assert Record("node-manager check", None, mocked=False).failed() == frozenset()
    assert Record("node-manager check", Path("/etc/brctl/c.yaml"), mocked=False).failed() == {"a"}


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("", set()),
        ("{", set()),
        ("[" * 100_000, set()),
        ("[]", set()),
        ('{"failed": 7}', set()),
        ('{"failed": {"a": 1}}', set()),
        ('{"failed": ["a", 7, null, ["b"]]}', {"a"}),
        ('{"failed": ["a"], "more": 1}', {"a"}),
    ],
)
def test_a_broken_file_is_no_record_and_written_anew(
    record: Record, tmp_path: Path, text: str, failed: "set[str]"
) -> None:
    _note(record, silent="x")
    _file(tmp_path).write_text(text)
    assert record.failed() == failed
    _note(record, silent="b", well="a")
    assert json.loads(_file(tmp_path).read_text()) == {"failed": ["b"]}


def test_what_is_no_file_is_no_record(record: Record, tmp_path: Path) -> None:
    _note(record, silent="x")
    path = _file(tmp_path)
    path.unlink()
    os.mkfifo(path)
    assert record.failed() == frozenset()
    path.unlink()
    path.mkdir()
    assert record.failed() == frozenset()
    with pytest.raises(OSError, match="no regular file"):
        _note(record, silent="x")
    assert [each.name for each in path.parent.iterdir()] == [path.name]  # no temporary file is left
