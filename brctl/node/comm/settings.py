"""Environments as they are found: a shell's, /etc/nccl.conf's, a process's; text -> Settings."""

import re
import shlex
from typing import Iterable, Iterator, NamedTuple, Optional, Tuple

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


def is_conf(name: str) -> bool:
    """Whether a file of this name is read by NCCL, which takes it letter by letter, and not by a shell."""
    return name.rsplit("/", 1)[-1].endswith("nccl.conf")


def of_conf(text: str) -> Tuple[Setting, ...]:
    """As NCCL reads its files: what stands before the first `=`, all that follows; no blank and no quote is removed."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or "=" not in line:
            continue
        name, _, value = line.partition("=")
        found.append(Setting(name, value, number, line))
    return tuple(found)


def of_shell(text: str) -> Tuple[Setting, ...]:
    """Of `NAME=VALUE` lines: a job script, `env`'s output, systemd's and Slurm's forms, a Kubernetes manifest."""
    return tuple(_lines(text.splitlines()))


def _lines(lines: Iterable[str]) -> Iterator[Setting]:
    pending: Optional[str] = None
    for number, line in enumerate(lines, 1):
        stripped = line.split(" #")[0]
        if stripped.lstrip().startswith("#"):
            continue
        if pending:
            value = _VALUE.match(stripped)
            if value:
                yield Setting(pending, _unquoted(value.group(1)), number, line)
            pending = None
            continue
        entry = _CONFIG_MAP.match(stripped)
        if entry:
            yield Setting(entry.group(1), _unquoted(entry.group(2)), number, line)
            continue
        manifest = _YAML.match(stripped)
        if manifest:
            if manifest.group(2) is None:
                pending = manifest.group(1)
            else:
                yield Setting(manifest.group(1), _unquoted(manifest.group(2)), number, line)
            continue
        yield from _assignments(stripped, number, line)


def _assignments(text: str, number: int, line: str) -> Iterator[Setting]:
    """`A=1 B=2 command`, `export A=1`, `Environment="A=1"`, `setenv A 1`, `--export=ALL,A=1`, `mpirun -x A=1`."""
    try:
        words = shlex.split(text)
    except ValueError:  # an open quote: a text of several lines
        words = text.split()
    for place, word in enumerate(words):
        if words[place - 1 : place] == ["setenv"] and place + 1 < len(words):
            yield Setting(word, words[place + 1], number, line)
        for part in word.split(",") if word.startswith("--export=") else [word]:
            name, equals, value = part.replace("Environment=", "", 1).partition("=")
            if equals and re.match(r"[A-Za-z_][A-Za-z0-9_]*$", name):
                yield Setting(name, value, number, line)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def of_process(text: str) -> Tuple[Setting, ...]:
    """Of `NAME=VALUE` lines, as Environment.process has them."""
    pairs = (line.partition("=") for line in text.splitlines())
    return tuple(Setting(name, value, None, "") for name, _, value in pairs)
