"""Completion in the real shells, at a terminal of their own."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from brctl.cli.shells import SHELLS

ROOT = Path(__file__).parents[2]
COMPLETIONS = ROOT / "completions"
CONFIG = 'version: 1\ncluster: {name: c, nodes: "gpu[001-003],login", groups: {compute: {nodes: "gpu[001-003]"}}}\n'
CHECK = "brctl node-manager check "
pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the programs are in ~/bin, with configs and a file that a node set would match as a pattern."""
    home = tmp_path_factory.mktemp("home")
    (home / "bin").mkdir()
    entries = {"brctl": "main", "br-node-manager": "br_node_manager", "br-monitor": "br_monitor"}
    for name, function in entries.items():
        code = f"from brctl.__main__ import {function}; {function}()"
        _program(home / "bin" / name, f"PYTHONPATH='{ROOT}' exec '{sys.executable}' -c '{code}' \"$@\"")
    for name in ("cluster-config.yaml", "other.yaml", "my own.yaml"):
        (home / name).write_text(CONFIG)
    (home / "gpu1").touch()
    return home


def _program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def _environment(home: Path) -> dict[str, str]:
    path = os.pathsep.join([str(home / "bin"), os.environ["PATH"]])
    return {"PATH": path, "HOME": str(home), "TERM": "dumb", "LANG": "C.UTF-8", "BRCTL_STATE_DIR": str(home / "state")}


class Terminal:
    """An interactive shell at a terminal of its own."""

    def __init__(self, home: Path, *argv: str) -> None:
        if shutil.which(argv[0]) is None:
            pytest.skip(f"{argv[0]} is not installed")
        self._ours, its = pty.openpty()
        self._shell = subprocess.Popen(
            argv, stdin=its, stdout=its, stderr=its, cwd=home, env=_environment(home), start_new_session=True
        )
        os.close(its)

    def run(self, *commands: str) -> None:
        for command in (*commands, "echo rea''dy"):
            os.write(self._ours, f"{command}\n".encode())
        self._read(rb"ready\r?\n")

    def line(self, keys: str) -> str:
        """What stands on the line after these keys; ^Xp is bound to show and empty it."""
        os.write(self._ours, f"{keys}\x18p".encode())
        return self._read(rb"<([^<>\n]*)>\r?\n").group(1).decode()

    def close(self) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._ours)

    def _read(self, pattern: bytes) -> "re.Match[bytes]":
        seen, until = b"", time.monotonic() + 30
        while time.monotonic() < until:
            if select.select([self._ours], [], [], 1)[0]:
                seen += os.read(self._ours, 1 << 16)
            found = re.search(pattern, seen)
            if found:
                return found
        raise AssertionError(f"{pattern!r} is not in {seen!r}")


ARGV = {"bash": ("bash", "--norc", "--noprofile", "-i"), "zsh": ("zsh", "-f", "-i")}
BASH = (
    f"source '{COMPLETIONS / 'brctl.bash'}'",
    "PS1=; bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; bind '\"\\C-xa\": insert-completions'",
    'bind -x \'"\\C-xp": printf "<%s>\\n" "$READLINE_LINE"; READLINE_LINE=\'',
)
ZSH = (
    f"PROMPT=; unsetopt zle_bracketed_paste prompt_sp beep; fpath=('{COMPLETIONS}' $fpath)",
    "autoload -Uz compinit; compinit -D -u; zle -C every complete-word _generic; bindkey '^Xa' every",
    "zstyle ':completion:every:*' completer _all_matches _complete; zstyle ':completion:every:*' insert true",
    "show() { print -r -- \"<$BUFFER>\"; BUFFER= }; zle -N show; bindkey '^Xp' show",
)


@pytest.fixture(scope="module")
def bash(home: Path) -> Iterator[Terminal]:
    with closing(Terminal(home, *ARGV["bash"])) as terminal:
        terminal.run(*BASH)
        yield terminal


@pytest.fixture(scope="module")
def zsh(home: Path) -> Iterator[Terminal]:
    with closing(Terminal(home, *ARGV["zsh"])) as terminal:
        terminal.run(*ZSH)
        yield terminal


TAB, EVERY = "\t", "\x18a"
COMPLETED = [
    ("brctl node", "brctl node-manager "),
    (CHECK + "--nodes gpu001,lo", CHECK + "--nodes gpu001,login "),
    (CHECK + "--nodes @co", CHECK + "--nodes @compute "),
    (CHECK + "--nodes=@co", CHECK + "--nodes=@compute "),
    (CHECK + "--nodes 'gpu[1-2]!lo", CHECK + "--nodes 'gpu[1-2]!login' "),
    (CHECK + "--nodes bogus", CHECK + "--nodes bogus"),
    (CHECK + "--fail-on=w", CHECK + "--fail-on=warn "),
    ("brctl --mock dgx-h100+gpu3-unsup", "brctl --mock dgx-h100+gpu3-unsupported:"),
    (
        "brctl --mock dgx-h100+gpu3-unsupported:nvmlDeviceGetPcieThr",
        "brctl --mock dgx-h100+gpu3-unsupported:nvmlDeviceGetPcieThroughput ",
    ),
    ("brctl config explain tune.netw", "brctl config explain tune.network."),
    ("brctl node-manager list --filter sta", "brctl node-manager list --filter state="),
    ("brctl node-manager list --filter state=", "brctl node-manager list --filter state=up "),
    ("brctl -c oth", "brctl -c other.yaml "),
    ("brctl --config=oth", "brctl --config=other.yaml "),
    ("brctl -c my", "brctl -c my\\ own.yaml "),
    ("brctl -c ~/other.yaml node-manager check --as lo", "brctl -c ~/other.yaml node-manager check --as login "),
    ("~/bin/brctl conf", "~/bin/brctl config "),
    ("br-node-manager --as=lo", "br-node-manager --as=login "),
    ("br-monitor --inter", "br-monitor --interval "),
]


@pytest.mark.parametrize(("typed", "line"), COMPLETED)
def test_bash(bash: Terminal, typed: str, line: str) -> None:
    assert bash.line(typed + TAB) == line


@pytest.mark.parametrize(("typed", "line"), COMPLETED)
def test_zsh(zsh: Terminal, typed: str, line: str) -> None:
    assert zsh.line(typed + TAB) == line


def test_bash_offers_all_and_expands_no_pattern(bash: Terminal) -> None:
    assert bash.line(CHECK + "--nodes @" + EVERY) == CHECK + "--nodes @all @compute "
    assert bash.line(CHECK + "--nodes gpu[1-2],lo" + TAB) == CHECK + "--nodes gpu[1-2],login "


def test_zsh_offers_all_and_quotes_patterns(zsh: Terminal) -> None:
    assert zsh.line(CHECK + "--nodes @" + EVERY) == CHECK + "--nodes @all @compute "
    assert zsh.line(CHECK + "--nodes gpu[1-2],lo" + TAB) == CHECK + "--nodes gpu\\[1-2\\],login "


def test_bash_beside_the_completion_of_bridge_utils(home: Path) -> None:
    loader = Path("/usr/share/bash-completion/bash_completion")
    if not loader.exists():
        pytest.skip("bash-completion is not installed")
    with closing(Terminal(home, *ARGV["bash"])) as terminal:
        terminal.run(*BASH, f"source {loader}")
        assert terminal.line("brctl node" + TAB) == "brctl node-manager "
        assert terminal.line("sudo brctl node" + TAB) == "sudo brctl node-manager "


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("brctl node", ["node-manager"]),
        (CHECK + "--nodes gpu001,gp", ["gpu001,gpu001", "gpu001,gpu002", "gpu001,gpu003"]),
        (CHECK + "--nodes=@co", ["--nodes=@compute"]),
        (CHECK + "--nodes 'gpu[1-2]!lo", ["gpu[1-2]!login"]),
        (CHECK + "--nodes bogus", []),
        ("brctl --mock dgx-h100+gpu3-unsup", ["dgx-h100+gpu3-unsupported:"]),
        ("brctl -c oth", ["other.yaml"]),
        ("brctl --config=my", ["--config=my own.yaml"]),
        ("~/bin/brctl conf", ["config"]),
        ("br-node-manager --as=lo", ["--as=login"]),
    ],
)
def test_fish(home: Path, typed: str, words: list[str]) -> None:
    assert _fish(home, typed) == words


def test_fish_shows_what_it_means(home: Path) -> None:
    assert _fish(home, CHECK + "--require", told=True) == ["--require-gpu\tExit 3 where no GPU answers."]


def _fish(home: Path, typed: str, told: bool = False) -> list[str]:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    script = f"source '{COMPLETIONS / 'brctl.fish'}'; complete -C \"$argv\""
    done = subprocess.run(
        ["fish", "--no-config", "-c", script, typed],
        cwd=home,
        env=_environment(home),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    return [line if told else line.partition("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", list(SHELLS))
def test_another_program_of_this_name_is_given_nothing_to_act_on(tmp_path: Path, shell: str) -> None:
    """`brctl addbr br0 TAB` must not make bridge-utils' brctl add it."""
    (tmp_path / "bin").mkdir()
    _program(tmp_path / "bin" / "brctl", f"echo \"$#\" >> '{tmp_path / 'calls'}'; echo usage >&2; exit 1")
    if shell == "fish":
        assert _fish(tmp_path, "brctl addbr br0") == []
    else:
        with closing(Terminal(tmp_path, *ARGV[shell])) as terminal:
            terminal.run(*(BASH if shell == "bash" else ZSH))
            assert terminal.line("brctl addbr br0" + TAB) == "brctl addbr br0"
    assert set((tmp_path / "calls").read_text().split()) == {"0"}


@pytest.mark.parametrize(("shell", "file"), [("bash", "brctl.bash"), ("zsh", "_brctl"), ("fish", "brctl.fish")])
def test_the_program_prints_its_scripts(home: Path, shell: str, file: str) -> None:
    environment = {**_environment(home), "_BRCTL_COMPLETE": f"source_{shell}"}
    done = subprocess.run([home / "bin" / "brctl"], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ((COMPLETIONS / file).read_text(), "")


def test_node_names_need_no_pydantic(home: Path) -> None:
    environment = {
        **_environment(home),
        "PYTHONPATH": str(ROOT),
        "_BRCTL_COMPLETE": "complete_fish",
        "_BRCTL_LINE": CHECK + "--nodes ",
    }
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "brctl"], cwd=home, env=environment, capture_output=True, text=True
    )
    assert done.stdout.split() == ["gpu001", "gpu002", "gpu003", "login", "@all", "@compute"]
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not {"pydantic", "rich", "psutil", "pynvml"} & imported
