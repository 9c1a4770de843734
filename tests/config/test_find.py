import os
import stat
from pathlib import Path

import pytest

from brctl.config import find as module
from brctl.config.find import Found, choose, distrust, find, which_node
from brctl.config.mistake import ConfigError

ME = os.geteuid()


@pytest.fixture(autouse=True)
def _paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other user can write to the test's folder, whatever the way to it allows."""
    monkeypatch.setattr(module, "SYSTEM", tmp_path / "etc" / "cluster-config.yaml")
    steps = module._steps
    monkeypatch.setattr(module, "_steps", lambda *at: (s for s in steps(*at) if s == tmp_path or tmp_path in s.parents))
    tmp_path.chmod(0o755)


def write(path: str, mode: int = 0o644) -> Path:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).touch()
    Path(path).chmod(mode)
    return Path(path)


def test_nothing_to_find() -> None:
    assert find() is None


def test_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = write(str(tmp_path / "etc" / "cluster-config.yaml"))
    assert find() == Found(system)
    write("cluster-config.yaml")
    assert find() == Found(Path("cluster-config.yaml"))
    monkeypatch.setenv("BRCTL_CONFIG", "/elsewhere.yaml")
    assert find() == Found(Path("/elsewhere.yaml"))
    assert find(Path("/named.yaml")) == Found(Path("/named.yaml"))


def test_one_that_others_could_have_written_is_refused_for_root(monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("cluster-config.yaml", 0o666)
    doubt = f"everybody can write to {Path.cwd() / path}"
    if os.getuid():  # then the folder, which comes first, is not root's
        doubt = f"{Path.cwd()} belongs to user {os.getuid()}"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(ConfigError) as caught:
        find()
    assert str(caught.value) == (
        f"error: cluster-config.yaml was found by itself, and another user could have written it: {doubt}\n"
        "hint: if it is the one you mean, name it: --config cluster-config.yaml"
    )
    assert find(path) == Found(path)


def test_and_warned_of_for_anybody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    write("cluster-config.yaml", 0o666)
    uid = os.lstat("cluster-config.yaml").st_uid
    monkeypatch.setattr(os, "geteuid", lambda: uid or 4711)
    found = find()
    assert found is not None
    assert found.path == Path("cluster-config.yaml")
    assert found.warnings[0].show("warning").startswith("warning: cluster-config.yaml was found by itself, and another")


def test_the_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("file")
    assert distrust(path) is None
    monkeypatch.setattr(os, "geteuid", lambda: ME + 1)
    assert distrust(path) == (None if ME == 0 else f"{Path.cwd()} belongs to user {ME}")


def test_a_file_of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("file")
    lstat = Path.lstat

    def foreign(self: Path) -> os.stat_result:
        status = list(lstat(self))
        if self.name == "file":
            status[stat.ST_UID] = 4711
        return os.stat_result(status)

    monkeypatch.setattr(Path, "lstat", foreign)
    assert distrust(path) == f"{Path.cwd() / 'file'} belongs to user 4711"


def test_folders_on_the_way() -> None:
    path = write("folder/file")
    Path("folder").chmod(0o777)
    assert distrust(path) == f"everybody can write to {Path.cwd() / 'folder'}"
    Path("folder").chmod(0o1777)
    assert distrust(path) is None
    path.chmod(0o666)
    assert distrust(path) == f"everybody can write to {Path.cwd() / 'folder/file'}"


def test_symbolic_links_are_followed() -> None:
    write("open/file")
    Path("open").chmod(0o777)
    Path("middle").symlink_to("open/file")
    Path("link").symlink_to(Path.cwd() / "middle")
    assert distrust(Path("link")) == f"everybody can write to {Path.cwd() / 'open'}"
    Path("dangling").symlink_to("nowhere")
    assert distrust(Path("dangling")) is None
    Path("loop").symlink_to("loop")
    assert distrust(Path("loop")) is None


def test_a_group_counts_unless_it_is_the_owners_own(monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("file", 0o664)
    monkeypatch.setattr(module, "_private", lambda *_: True)
    assert distrust(path) is None
    monkeypatch.setattr(module, "_private", lambda *_: False)
    assert distrust(path) == f"group {path.stat().st_gid} can write to {Path.cwd() / 'file'}"


def test_private_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    import grp
    import pwd

    people = {1000: ("alice", "x", 1000, 1000, "", "", "")}
    groups = {1000: ("alice", "x", 1000, []), 1001: ("alice", "x", 1001, ["bob"]), 100: ("users", "x", 100, [])}
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: pwd.struct_passwd(people[uid]))
    monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group(groups[gid]))
    assert module._private(1000, 1000) is True
    assert module._private(1001, 1000) is False
    assert module._private(100, 1000) is False
    assert module._private(1000, 7) is False


def test_flag_then_environment_then_file_then_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose(None, "BRCTL_FANOUT", None, 64, int) == 64
    assert choose(None, "BRCTL_FANOUT", 32, 64, int) == 32
    assert choose(None, "BRCTL_FANOUT", 0, 64, int) == 0
    monkeypatch.setenv("BRCTL_FANOUT", "16")
    assert choose(None, "BRCTL_FANOUT", 32, 64, int) == 16
    assert choose(8, "BRCTL_FANOUT", 32, 64, int) == 8
    monkeypatch.setenv("BRCTL_FANOUT", "")
    assert choose(None, "BRCTL_FANOUT", 32, 64, int) == 32
    monkeypatch.setenv("BRCTL_FANOUT", "many")
    with pytest.raises(ConfigError, match=r"^error: \$BRCTL_FANOUT: invalid literal"):
        choose(None, "BRCTL_FANOUT", 32, 64, int)


def test_which_node() -> None:
    nodes = ("gpu1", "gpu2.lan")
    assert which_node(nodes, None, "gpu1", "gpu1.lan") == "gpu1"
    assert which_node(nodes, None, "gpu1.lan", "gpu1.lan") == "gpu1"
    assert which_node(nodes, None, "gpu2", "gpu2.lan") == "gpu2.lan"
    assert which_node(nodes, None, "laptop", "laptop.lan") is None
    assert which_node(nodes, "gpu2.lan", "gpu1", "gpu1") == "gpu2.lan"
    assert which_node(nodes, "nobody", "gpu1", "gpu1") is None
