"""Environments as they are found: a shell's, /etc/nccl.conf's, a process's; text -> Settings."""

import re
import shlex
from typing import Iterator, List, NamedTuple, Optional, Tuple

_YAML = re.compile(r"\s*-?\s*\{?\s*name:\s*[\"']?([A-Za-z_][A-Za-z0-9_]*)[\"']?\s*,?\s*(?:value:\s*(.*?))?\s*\}?\s*$")
_CONFIG_MAP = re.compile(r"\s*((?:NCCL|BR|CUDA)_[A-Z0-9_]+):\s+(.+?)\s*$")
_VALUE = re.compile(r"\s*value:\s*(.*?)\s*$")


class Setting(NamedTuple):
    """One variable that is set."""

    name: str
    value: str
    line: Optional[int]
    """Counted from 1; None: of a process."""
    text: str
    """The whole line, as it stands; of a process: empty."""
    computed: bool = False
    """A shell works it out when the script runs: `$(...)`, `${GID:-3}`."""


def is_conf(name: str) -> bool:
    """Whether a file of this name is read by NCCL, which takes it letter by letter, and not by a shell."""
    return name.rsplit("/", 1)[-1].endswith("nccl.conf")


def of_conf(text: str) -> Tuple[Setting, ...]:
    """As NCCL reads its files: what stands before the first `=`, all that follows; no blank and no quote is removed."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):  # NCCL takes a carriage return for a part of the value
        if line.startswith("#") or "=" not in line:
            continue
        name, _, value = line.partition("=")
        found.append(Setting(name, value, number, line))
    return tuple(found)


def of_shell(text: str) -> Tuple[Setting, ...]:
    """Of `NAME=VALUE` lines: a job script, `env`'s output, systemd's and Slurm's forms, a Kubernetes manifest.

    What the script unsets later, on a line of its own, is not set.
    """
    lines = tuple(_joined(text))
    gone = {name: number for number, line in lines if line.startswith("unset") for name in line.split()[1:]}
    return tuple(setting for setting in _lines(lines) if (setting.line or 0) >= gone.get(setting.name, 0))


def _joined(text: str) -> Iterator[Tuple[int, str]]:
    """Lines with their numbers; one that ends in a backslash goes on in the next."""
    begin, so_far = 0, ""
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        begin, so_far = begin or number, so_far + line
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            so_far = so_far[:-1]
            continue
        yield begin, so_far
        begin, so_far = 0, ""
    if begin:
        yield begin, so_far


def _lines(lines: Tuple[Tuple[int, str], ...]) -> Iterator[Setting]:
    pending: Optional[str] = None
    for number, line in lines:
        stripped = line.split(" #")[0]
        if stripped.lstrip().startswith("#") and not stripped.startswith("#SBATCH"):
            continue
        if pending:
            value = _VALUE.match(stripped)
            if value:
                yield _setting(pending, _unquoted(value.group(1)), number, line)
            pending = None
            continue
        entry = _CONFIG_MAP.match(stripped)
        if entry:
            yield _setting(entry.group(1), _unquoted(entry.group(2)), number, line)
            continue
        manifest = _YAML.match(stripped)
        if manifest:
            if manifest.group(2) is None:
                pending = manifest.group(1)
            else:
                yield _setting(manifest.group(1), _unquoted(manifest.group(2)), number, line)
            continue
        yield from _assignments(stripped, number, line)


def _assignments(text: str, number: int, line: str) -> Iterator[Setting]:
    """`A=1 B=2 command`, `export A=1;export B=2`, `Environment="A=1"`, `setenv A 1`, `--export=ALL,A=1`,
    `mpirun -x A=1`, and a Slurm prolog's `echo 'export A=1'`."""
    words = _words(text)
    for place, word in enumerate(words):
        if words[place - 1 : place] == ["setenv"] and place + 1 < len(words):
            yield _setting(word, words[place + 1], number, line)
        if word.startswith("export "):
            yield from _assignments(word, number, line)
            continue
        for part in word.split(",") if word.startswith("--export=") else [word]:
            name, equals, value = re.sub("^(Environment|--env|--export)=", "", part).partition("=")
            if equals and re.match(r"[A-Za-z_][A-Za-z0-9_]*$", name):
                yield _setting(name, value, number, line)


def _words(text: str) -> List[str]:
    """As a shell parts them, operators too."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:  # an open quote: a text of several lines
        return text.split()


def _setting(name: str, value: str, number: int, line: str) -> Setting:
    return Setting(name, value, number, line, "$" in value or "`" in value)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def of_process(text: str) -> Tuple[Setting, ...]:
    """Of `NAME=VALUE` lines, as Environment.process has them."""
    pairs = (line.partition("=") for line in text.split("\n"))
    return tuple(Setting(name, value, None, "") for name, equals, value in pairs if equals)
