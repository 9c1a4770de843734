import os
import subprocess
from pathlib import Path

import pytest

from brctl.fleet import ssh_config
from brctl.fleet.ssh_config import hops, render, socket_folder, write
from brctl.fleet.transport import Transport, TransportError
from brctl.node.monitor import release
from brctl.node.tune import journal, throttle


@pytest.fixture
def runtime(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("r")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setattr(ssh_config, "MOST_FOLDER", 200)
    return folder


def test_what_brctl_insists_on_stands_first_and_what_the_config_says_next() -> None:
    options = (("ServerAliveInterval", "5"), ("Compression", "yes"))
    text = render(Transport(options=options, proxy_jump="admin@login:2222,gate"), 4.4, Path("/run/brctl-ssh"))
    assert text == (
        "Host *\n"
        "  BatchMode yes\n"
        "  ForwardAgent no\n"
        "  ForwardX11 no\n"
        "  ClearAllForwardings yes\n"
        "  RequestTTY no\n"
        "  StrictHostKeyChecking yes\n"
        "  ServerAliveInterval 5\n"
        "  Compression yes\n"
        "  ControlMaster auto\n"
        "  ControlPersist 60\n"
        "  ServerAliveInterval 15\n"
        "  ServerAliveCountMax 2\n"
        "  UpdateHostKeys no\n"
        "  LogLevel INFO\n"
        "  ControlPath /run/brctl-ssh/%C\n"
        "  ConnectTimeout 4\n"
        "Host * !login !gate\n"
        "  ProxyJump admin@login:2222,gate\n"
        "Host *\n"
        "  Include ~/.ssh/config\n"
        "  Include /etc/ssh/ssh_config\n"
    )


def test_another_file_takes_the_place_of_the_users_own() -> None:
    text = render(Transport(ssh_config="/etc/cluster/ssh"), 0.2, Path("/run/brctl-ssh"))
    assert "Include /etc/cluster/ssh\n  Include /etc/ssh/ssh_config\n" in text
    assert "~/.ssh/config" not in text
    assert "ProxyJump" not in text
    assert "ConnectTimeout 1\n" in text  # 0 would be the system's two minutes


@pytest.mark.parametrize(
    ("jump", "found"),
    [("login", ["login"]), ("a@b.c:22,d", ["b.c", "d"]), ("root@[fe80::1]:22", []), ("", []), (",", [])],
)
def test_hops(jump: str, found: list[str]) -> None:
    assert hops(jump) == found


@pytest.mark.real
def test_ssh_understands_it(runtime: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("Host gpu*\n  StrictHostKeyChecking no\n  ForwardAgent yes\n  HostName 10.0.0.1\n  User op\n")
    path = write(Transport(ssh_config=str(own), proxy_jump="login"), 7)

    def asked(host: str) -> dict[str, str]:
        printed = subprocess.run(["ssh", "-G", "-F", path, host], capture_output=True, text=True, check=True).stdout
        return dict(line.split(" ", 1) for line in printed.splitlines() if " " in line)

    node, hop = asked("gpu001"), asked("login")
    expected = {
        "stricthostkeychecking": "true",
        "forwardagent": "no",
        "batchmode": "yes",
        "requesttty": "false",
        "connecttimeout": "7",
        "controlmaster": "auto",
        "hostname": "10.0.0.1",
        "user": "op",
        "proxyjump": "login",
    }
    assert {key: node[key] for key in expected} == expected
    assert "proxyjump" not in hop
    assert Path(node["controlpath"]).parent == runtime / "brctl"


def test_runs_of_one_config_share_the_file(runtime: Path) -> None:
    first, second, other = write(Transport(), 4), write(Transport(), 4), write(Transport(), 5)
    assert first == second != other
    assert sorted(path.name for path in (runtime / "brctl").iterdir()) == sorted([first.name, other.name])
    assert (runtime / "brctl").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_enter_is_refused(runtime: Path) -> None:
    (runtime / "brctl").mkdir()
    (runtime / "brctl").chmod(0o750)
    with pytest.raises(TransportError, match="not a folder of this user alone") as refused:
        socket_folder()
    assert refused.value.hint == "remove it, or set XDG_RUNTIME_DIR"


def test_a_link_is_refused(runtime: Path, tmp_path: Path) -> None:
    (runtime / "brctl").symlink_to(tmp_path)
    with pytest.raises(TransportError, match="not a folder of this user alone"):
        socket_folder()


def test_a_folder_that_cannot_be_made_is_told(runtime: Path) -> None:
    (runtime / "brctl").write_text("")
    with pytest.raises(TransportError, match="brctl: File exists"):
        socket_folder()


def test_a_full_disk_is_told(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TransportError, match=r"/brctl/[0-9a-f]{16}\.conf: No space left on device"):
        write(Transport(), 4)
    assert list((runtime / "brctl").iterdir()) == []


def test_a_long_name_is_refused(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh_config, "MOST_FOLDER", 3)
    with pytest.raises(TransportError, match="too long a name for sockets"):
        socket_folder()


@pytest.mark.parametrize(("user", "folder"), [(0, "/run/brctl-ssh"), (4242, "/tmp/brctl-4242")])
def test_without_a_runtime_folder_of_its_own(user: int, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert ssh_config._folder(user) == Path(folder)


@pytest.mark.parametrize("path", [release.PATH, journal.LOCK, throttle.LOCK])
def test_it_is_not_a_folder_that_others_need_to_read(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert ssh_config._folder(0) not in Path(path).parents


def test_the_runtime_folder_of_another_user_is_not_used(runtime: Path) -> None:
    assert ssh_config._folder(os.geteuid()) == runtime / "brctl"
    assert ssh_config._folder(os.geteuid() + 1) == Path(f"/tmp/brctl-{os.geteuid() + 1}")
