"""The environment as programs take it: shell, nccl.conf, systemd, Slurm, Kubernetes."""

import json
import re
import shlex
from typing import Callable, Dict, Iterator, Sequence, Tuple

from ..report import EnvironmentVariable

ORDER = "NCCL takes the environment first, then $NCCL_CONF_FILE or else ~/.nccl.conf, then /etc/nccl.conf"
BEGIN = "# brctl: from here on"
END = "# brctl: up to here"


def shell(variables: Sequence[EnvironmentVariable]) -> Iterator[str]:
    for each in variables:
        yield "# " + _why(each)
        if each.value is not None:
            yield _export(each.name, each.value)


def _export(name: str, value: str) -> str:
    """Quoted also where it begins with `=`, after which zsh looks for a command."""
    plain = re.match(r"[A-Za-z0-9_./:-]*$", value)
    return "export {}={}".format(name, value if plain else "'{}'".format(value.replace("'", "'\\''")))


def nccl_conf(variables: Sequence[EnvironmentVariable]) -> Iterator[str]:
    """NCCL takes all after `=`, quotes and blanks too, and reads lines of up to 1023 letters. CUDA reads its own before
    this file is read, so they are left out."""
    for each in variables:
        if each.name.startswith("NCCL_"):
            yield "# " + _why(each)
            if each.value is not None:
                yield "{}={}".format(each.name, each.value)


def systemd(variables: Sequence[EnvironmentVariable]) -> Iterator[str]:
    """A drop-in of a service (systemd.exec(5)): `%` is doubled, what stands in quotes is escaped as in C."""
    yield "[Service]"
    for each in variables:
        yield "# " + _why(each)
        if each.value is not None:
            pair = "{}={}".format(each.name, each.value)
            yield 'Environment="{}"'.format(pair.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%"))


def slurm(variables: Sequence[EnvironmentVariable]) -> Iterator[str]:
    """A TaskProlog: Slurm takes what it prints on lines that begin with `export` (slurm.conf(5))."""
    yield "#!/bin/sh"
    for each in variables:
        yield "# " + _why(each)
        if each.value is not None:
            yield "echo {}".format(shlex.quote("export {}={}".format(each.name, each.value)))


def kubernetes(variables: Sequence[EnvironmentVariable]) -> Iterator[str]:
    """`env` of a container; JSON texts are YAML ones too."""
    yield "env:"
    for each in variables:
        yield "  # " + _why(each)
        if each.value is not None:
            yield "  - name: {}".format(each.name)
            yield "    value: {}".format(json.dumps(each.value.replace("$(", "$$(")))


FORMATS: Dict[str, Callable[[Sequence[EnvironmentVariable]], Iterator[str]]] = {
    "shell": shell,
    "nccl-conf": nccl_conf,
    "systemd": systemd,
    "slurm": slurm,
    "kubernetes": kubernetes,
}


def _why(variable: EnvironmentVariable) -> str:
    left = "{} is left unset: ".format(variable.name) if variable.value is None else ""
    return "{}{} ({})".format(left, variable.reason, variable.source).replace("\n", " ")


def managed(old: str, variables: Sequence[EnvironmentVariable]) -> Tuple[str, Tuple[str, ...]]:
    """/etc/nccl.conf with our block at its end, the operator's own lines as they were; and the names that stand there
    already, which are left out of the block: NCCL takes the first line of a name."""
    own = _without_block(old)
    taken = {line.partition("=")[0] for line in own.split("\n") if "=" in line and not line.startswith("#")}
    ours = [each for each in variables if each.name not in taken]
    lines = [line for line in nccl_conf(ours) if not line.startswith("#")]
    if own and not own.endswith("\n"):
        own += "\n"
    text = own + "\n".join((BEGIN, *lines, END)) + "\n" if lines else own
    return text, tuple(sorted(taken & {each.name for each in variables}))


def _without_block(text: str) -> str:
    lines = text.split("\n")  # splitlines would cut within the UTF-8 of letters
    marks = [line.rstrip("\r") for line in lines]
    if BEGIN not in marks or END not in marks[marks.index(BEGIN) :]:
        return text
    first = marks.index(BEGIN)
    return "\n".join(lines[:first] + lines[marks.index(END, first) + 1 :])
