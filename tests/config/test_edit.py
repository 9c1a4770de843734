import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brctl.config import edit
from brctl.config.edit import Edit, add_nodes
from brctl.config.load import load
from brctl.config.mistake import ConfigError
from brctl.config.nodes import expand
from brctl.config.source import parse

FORMS = [
    ("nodes: gpu[001-002]", "nodes: gpu[001-003]", "plain"),
    ('nodes: "gpu[001-002]" # two', 'nodes: "gpu[001-003]" # two', "in quotes, with a comment"),
    ("nodes: 'gpu[001-002]'", "nodes: 'gpu[001-003]'", "in single quotes"),
    ("nodes:   gpu[001-002]   # é", "nodes:   gpu[001-003]   # é", "blanks stay"),
    ("nodes:\n    gpu[001-002]\n", "nodes:\n    gpu[001-003]\n", "on a line of its own"),
    ("nodes: gpu001,\n    gpu002", "nodes: gpu[001-003]", "over two lines"),
    ("nodes: gpu001", 'nodes: "gpu[001,003]"', "without special characters"),
    ("nodes: >-\n    gpu001,gpu002\n", 'nodes: "gpu[001-003]"\n', "folded"),
]
HEAD = "# möbius\nversion: 1\ncluster:\n  name: c # the name\n  "
TAIL = '\n  sources: [config]\n\n# the end\ntune: {sysctl: {"vm.swappiness": 1}} # ä\n'


def _write(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "cluster-config.yaml"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(("before", "after", "form"), FORMS, ids=[form[2] for form in FORMS])
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["", "bom"])
def test_all_but_the_value_stays_byte_for_byte(
    tmp_path: Path, before: str, after: str, form: str, newline: str, bom: bytes
) -> None:
    old, new = (bom + (HEAD + text + TAIL).replace("\n", newline).encode() for text in (before, after))
    made = add_nodes(_write(tmp_path, old), ["gpu003"])
    assert made.new == new
    made.apply()
    assert {"gpu001", "gpu003"} <= set(load(made.path).nodes)


def test_within_braces_it_is_quoted(tmp_path: Path) -> None:
    path = _write(tmp_path, b"{version: 1, cluster: {name: c, nodes: gpu1, groups: {a: {nodes: gpu1}}}}\n")
    assert add_nodes(path, ["gpu2"]).new == (
        b'{version: 1, cluster: {name: c, nodes: "gpu[1-2]", groups: {a: {nodes: gpu1}}}}\n'
    )


def test_of_very_many_nodes_none_is_left_out(tmp_path: Path) -> None:
    path = _write(tmp_path, b"version: 1\ncluster: {name: c, nodes: 'gpu[0001-2000]'}\n")
    assert add_nodes(path, ["gpu2001"]).new == b"version: 1\ncluster: {name: c, nodes: 'gpu[0001-2001]'}\n"


def test_nothing_new_is_no_change(tmp_path: Path) -> None:
    path = _write(tmp_path, b"version: 1\ncluster: {name: c, nodes: gpu1}\n")
    assert add_nodes(path, ["gpu1"]).diff() == ()


def test_the_diff_names_the_file_and_one_line(tmp_path: Path) -> None:
    path = _write(tmp_path, b"version: 1\ncluster:\n  name: c\n  nodes: gpu1\n")
    assert add_nodes(path, ["gpu2"]).diff() == (
        f"--- {path}",
        f"+++ {path}",
        "@@ -1,4 +1,4 @@",
        " version: 1",
        " cluster:",
        "   name: c",
        "-  nodes: gpu1",
        '+  nodes: "gpu[1-2]"',
    )


def test_mode_and_link_stay(tmp_path: Path) -> None:
    real = tmp_path / "real.yaml"
    real.write_bytes(b"version: 1\ncluster: {name: c, nodes: gpu1}\n")
    real.chmod(0o640)
    link = tmp_path / "cluster-config.yaml"
    link.symlink_to(real)
    add_nodes(link, ["gpu2"]).apply()
    assert link.is_symlink()
    assert b"gpu[1-2]" in real.read_bytes()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["cluster-config.yaml", "real.yaml"]


def test_a_file_that_somebody_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = _write(tmp_path, b"version: 1\ncluster: {name: c, nodes: gpu1}\n")
    made = add_nodes(path, ["gpu2"])
    path.write_bytes(b"version: 1\ncluster: {name: d, nodes: gpu1}\n")
    with pytest.raises(ConfigError, match="was changed meanwhile"):
        made.apply()
    assert b"name: d" in path.read_bytes()


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _write(tmp_path, b"version: 1\ncluster: {name: c, nodes: gpu1}\n")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match="No space left on device"):
        add_nodes(path, ["gpu2"]).apply()
    assert os.listdir(tmp_path) == ["cluster-config.yaml"]
    assert path.read_bytes() == b"version: 1\ncluster: {name: c, nodes: gpu1}\n"


def test_the_owner_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _write(tmp_path, b"version: 1\ncluster: {name: c, nodes: gpu1}\n")
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    monkeypatch.setattr(os, "fchown", lambda _, uid, gid: given.append((uid, gid)))
    Edit(path, path.read_bytes(), b"x").apply()
    assert given == [(path.stat().st_uid, path.stat().st_gid)]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    comment=st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=20),
    numbers=st.sets(st.integers(1, 99), min_size=1, max_size=8),
)
def test_any_comment_stays(tmp_path_factory: pytest.TempPathFactory, comment: str, numbers: set[int]) -> None:
    comment = "".join(letter for letter in comment if letter.isprintable())
    text = f"version: 1 # {comment}\ncluster: {{name: c, nodes: gpu1}} # {comment}\n# {comment}"
    path = tmp_path_factory.mktemp("edit") / "c.yaml"
    path.write_bytes(text.encode())
    new = add_nodes(path, [f"n{number}" for number in numbers]).new.decode()
    assert new.startswith(f"version: 1 # {comment}\ncluster: {{name: c, nodes: ")
    assert new.endswith(f"}} # {comment}\n# {comment}")
    nodes = parse(new.encode(), "c.yaml").data["cluster"]["nodes"]
    assert set(expand(nodes)) == {"gpu1", *(f"n{number}" for number in numbers)}


def test_what_would_not_read_as_it_should_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _write(tmp_path, b"version: 1\ncluster: {name: c, nodes: gpu1}\n")
    monkeypatch.setattr(edit, "_written", lambda *_: "gpu3")
    with pytest.raises(ConfigError, match="stands in a form that cannot be changed"):
        add_nodes(path, ["gpu2"])
