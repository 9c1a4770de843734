"""What a parameter can be completed to, from what there is: nodes and groups, checks, keys, machines and their faults.

Whatever goes wrong here is raised, and shells.py keeps it to itself. Node names must come fast, and no command may
wait for completions: what a function needs, it imports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import typer

from .common import FORMS, MORE_FORMS

FILES = ":files"
"""What a shell is told to list files."""
_OPERATORS = ",!&^"
"""Of node sets."""
_SECTION = re.compile(rb"^cluster:.*?(?=^[^\s#]|\Z)", re.MULTILINE | re.DOTALL)
"""Up to the next line that is neither indented nor a comment."""

_LOOKED_FOR = {"state": ("up",), "worst": ("ok", "unknown")}

Values = Iterable[str | tuple[str, str]]


def files(_ctx: typer.Context, incomplete: str) -> Values:
    """A file: the shell knows them. Only what begins with `incomplete` passes Typer, so it is said in the help."""
    return [(incomplete, FILES)]


def forms(ctx: typer.Context, _incomplete: str) -> Values:
    """The forms of output; some commands have others."""
    if ctx.info_name == "monitor":
        from .monitor import FORMS as OF_MONITOR

        return OF_MONITOR
    return (
        FORMS + MORE_FORMS if ctx.command_path.endswith(("diagnose run", "diagnose log", "diagnose symptom")) else FORMS
    )


def checks(_ctx: typer.Context, _incomplete: str) -> Values:
    """Ids and groups of checks."""
    from ..node.diagnose import GROUPS
    from ..node.diagnose.engine import registry

    return (*GROUPS, *(check.id for check in registry()))


def explained(_ctx: typer.Context, _incomplete: str) -> Values:
    """What `diagnose explain` takes first."""
    from ..node.diagnose.engine import registry
    from ..node.diagnose.manual import SYMPTOMS

    return ("xid", "symptom", *SYMPTOMS, *(check.id for check in registry()))


def symptoms(_ctx: typer.Context, _incomplete: str) -> Values:
    """What the manual has a card for."""
    from ..node.diagnose.manual import SYMPTOMS, card

    return [(symptom, card(symptom).title) for symptom in SYMPTOMS]


def alerts(_ctx: typer.Context, _incomplete: str) -> Values:
    """Our own alerts."""
    from ..node.monitor.alert_rules import DEFAULTS

    return [default.rule.id for default in DEFAULTS]


def nodes(ctx: typer.Context, _incomplete: str) -> Values:
    """The nodes of the config. Raises whatever is wrong with it."""
    from ..config.nodes import expand

    return expand(_cluster(ctx)["nodes"])


def node_sets(ctx: typer.Context, incomplete: str) -> Values:
    """Nodes and groups of the config, as the last element of a set."""
    head = incomplete[: 1 + max(incomplete.rfind(operator) for operator in _OPERATORS)]
    if head.count("[") > head.count("]"):
        return ()  # within brackets stand numbers
    from ..config.nodes import ALL, expand

    cluster = _cluster(ctx)
    groups = (f"@{name}" for name in (ALL, *cluster.get("groups", ())))
    return [f"{head}{name}" for name in (*expand(cluster["nodes"]), *groups)]


def _cluster(ctx: typer.Context) -> dict[str, Any]:
    """That section of the config which commands would find. Only it is read, and not validated: TAB is impatient."""
    from ..config import find, source

    named = ctx.find_root().meta.get("config")
    found = find.find(Path(named).expanduser() if named else None)
    if found is None:
        return {}
    data = source.read(found.path)
    section = _SECTION.search(data)
    cluster: dict[str, Any] = source.parse(section.group() if section else data, str(found.path)).data["cluster"]
    return cluster


def columns(_ctx: typer.Context, _incomplete: str) -> Values:
    """Those of `node-manager list`."""
    from ..fleet.listing import Row

    return Row._fields


def filters(ctx: typer.Context, incomplete: str) -> Values:
    """A column with its `=`; and behind that, what is most often looked for."""
    column, equals, _ = incomplete.partition("=")
    if not equals:
        return [f"{name}=" for name in columns(ctx, incomplete)]
    return [f"{column}={value}" for value in _LOOKED_FOR.get(column.removesuffix("!"), ())]


def machines(ctx: typer.Context, incomplete: str) -> Values:
    """Mocked machines, and behind a `+` the faults of that one; or the file of one."""
    from ..mock.machines import names

    head, plus, last = incomplete.rpartition("+")
    if plus:
        return [(f"{head}+{fault}", says) for fault, says in _faults(head.partition("+")[0], last).items()]
    return [name for name in names() if name.startswith(incomplete)] or files(ctx, incomplete)


def _faults(machine: str, incomplete: str) -> dict[str, str]:
    """Fault -> what it is. One level at a time: `gpu3-`, `gpu3-unsupported:`, `gpu3-unsupported:nvmlDeviceGetName`."""
    from ..mock.faults import KINDS, UNSUPPORTED

    part = re.match(r"(gpu|nic)[0-9]+-", incomplete)
    if part is None:
        whole = {kind.name: kind.says for kind in KINDS if kind.of not in ("gpu", "nic")}
        return {**_parts(machine, "gpu", "lost"), **_parts(machine, "nic", "down"), **_acting(machine, whole)}
    unsupported = f"{part.group()}{UNSUPPORTED.name}:"
    if incomplete.startswith(unsupported):
        from ..mock.nvml_functions import FUNCTIONS

        return dict.fromkeys((unsupported + function for function in sorted(FUNCTIONS)), "")
    mine = {part.group() + kind.name: kind.says for kind in KINDS if kind.of == part.group(1)}
    says = mine.pop(unsupported[:-1], None)
    return {**_acting(machine, mine), **({unsupported: says} if says else {})}


def _parts(machine: str, of: str, fault: str) -> dict[str, str]:
    """`gpu0-`, `gpu1-`, ...: those of the machine, by a fault that any of them can have."""
    there = takewhile(lambda number: _acting(machine, {f"{of}{number}-{fault}": ""}), count())
    return {f"{of}{number}-": "" for number in there}


def _acting(machine: str, faults: dict[str, str]) -> dict[str, str]:
    """Those that the machine has something for."""
    from ..mock.machines import idle_faults

    idle = {line.partition(" ")[0] for line in idle_faults("+".join([machine, *faults]))}
    return {fault: says for fault, says in faults.items() if fault not in idle}


def settings(_ctx: typer.Context, _incomplete: str) -> Values:
    """What `tune` sets."""
    from ..node.tune.engine import registry

    return [(setting.id, setting.title) for setting in registry()]


def pages(_ctx: typer.Context, _incomplete: str) -> Values:
    """What `tune explain` has a page of."""
    from ..node.tune import engine, manual

    return [(page.id, page.title) for page in manual.pages(engine.registry())]


def tune_keys(ctx: typer.Context, incomplete: str) -> Values:
    """The keys of the config's tune section, each with the sign that its value follows."""
    above = "tune."
    cut = 0 if incomplete.startswith(above) else len(above)  # it may be left out
    found = [(key, says) for key, says in keys(ctx, above[:cut] + incomplete) if key.startswith(above)]
    return [(key[cut:] + ("" if key.endswith(".") else "="), says) for key, says in found]


def keys(_ctx: typer.Context, incomplete: str) -> Iterable[tuple[str, str]]:
    """The keys of the config, one level at a time: a section ends in a dot, as more is to come."""
    from ..config.reference import ORDER, explain

    before, names = "", tuple(ORDER)
    while deeper := _entered(incomplete[len(before) :], names):
        before += f"{deeper}."
        names = _keys_of(before[:-1])
    for about in (explain(before + name) for name in names):
        yield about.key + "." * about.kind.endswith("section"), about.meaning


def _entered(rest: str, names: Sequence[str]) -> str | None:
    """Which of the names is written in full, with its dot; a name that the operator chose counts as one."""
    from ..config.reference import NAME

    known = next((name for name in names if rest.startswith(f"{name}.")), None)
    begun = any(name.startswith(rest) for name in names)  # net.core of net.core.rmem_max is no name
    return known or (rest.partition(".")[0] if "." in rest and NAME in names and not begun else None)


def _keys_of(section: str) -> tuple[str, ...]:
    """What may follow."""
    from ..config.reference import explain

    return explain(section).keys or explain(f"{section}[0]").keys
