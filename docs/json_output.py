"""The JSON output described from the types that make it: pages json.md and report.schema.json of generate.py."""

import ast
import inspect
from enum import Enum
from itertools import pairwise
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from brctl.fleet import balance, discover, drain, listing
from brctl.node import alert_facts, facts, host_facts, log_facts, net_facts, report
from brctl.node.diagnose import manual, ranking

_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean"}
_LATER = {**vars(host_facts), **vars(log_facts), **vars(net_facts)}
"""What facts.py defines when it is asked for."""
_MODULES = (
    alert_facts,
    facts,
    host_facts,
    log_facts,
    net_facts,
    report,
    discover,
    drain,
    listing,
    balance,
    ranking,
    manual,
)


def _name(kind: type[Any]) -> str:
    """Of its definition: three classes are called Outcome, each at its place."""
    named = {report.Outcome: "ChangeOutcome", alert_facts.Outcome: "ActionOutcome"}
    return named.get(kind, kind.__name__)


_KINDS = {_name(kind): kind for module in _MODULES for kind in vars(module).values() if isinstance(kind, type)}


def schema() -> dict[str, Any]:
    """The JSON Schema of what `--output json` prints for the commands of node-manager and tune."""
    definitions: dict[str, Any] = {}
    kinds = (
        report.Report,
        listing.Row,
        drain.Outcome,
        discover.Discovery,
        balance.Balance,
        balance.Straggler,
        ranking.Answer,
    )
    reports, row, outcome, discovery, evenness, straggler, answer = (_define(kind, definitions) for kind in kinds)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "brctl output",
        "type": "object",
        "required": ["schema_version", "brctl_version", "command"],
        "properties": {
            "schema_version": {"const": report.SCHEMA_VERSION},
            "brctl_version": {"type": "string"},
            "command": {"type": "string"},
            "reports": {"type": "array", "items": reports},
            "nodes": {"type": "array", "items": {"anyOf": [row, outcome]}},
            "drained": {"type": "array", "items": outcome},
            "discovery": discovery,
            "balance": evenness,
            "stragglers": {"type": "array", "items": straggler},
            "answers": {"type": "array", "items": answer},
        },
        "$defs": dict(sorted(definitions.items())),
    }


def page() -> str:
    """docs/json.md: every object with its fields, their types and meaning."""
    lines = [_HEAD]
    for name, definition in schema()["$defs"].items():
        kind = _KINDS[name]
        summary = _summary(kind)
        lines += [f"## {name}", ""] + ([summary, ""] if summary else [])
        if "enum" in definition:
            lines += [", ".join(f"`{word}`" for word in definition["enum"]), ""]
            continue
        lines += ["| field | type | meaning |", "|---|---|---|"]
        documents = _field_docs(kind)
        for field, hint in get_type_hints(kind, localns=_LATER).items():
            meaning = documents.get(field, "").replace("|", "\\|")
            lines.append(f"| `{field}` | {_words(hint)} | {meaning} |")
        lines.append("")
    return "\n".join(lines)


_HEAD = """\
# JSON output

Made from the types in brctl/node by `python docs/generate.py`; the same as a JSON Schema: report.schema.json.

`--output json` and `--output yaml` print one object: `schema_version`, `brctl_version`, `command`, and

- of `node-manager show` and `check`: `reports`, one [Report](#report) a node, never folded; with `check --act` also
  `drained`, one [Outcome](#outcome) a node that is critical; with `check --discover` also `discovery`;
- of `diagnose run`: `reports`; of `diagnose symptom` also `answers`, one [Answer](#answer) a node;
- of `node-manager list`: `nodes`, one [Row](#row) each;
- of `node-manager drain` and `resume`: `nodes`, one [Outcome](#outcome) each;
- of `node-manager discover`: `discovery`, a [Discovery](#discovery);
- of `tune plan`, `apply`, `rollback`, `confirm` and `history`: `reports`, one [Report](#report) a node, with its
  `changes` or `transactions`;
- of `tune list`: `settings`, each with `id`, `title` and `keys` of the config (none: it is set by hand);
- of `tune explain`: `setting`, the same with its `text`, a list of paragraphs.
- of `monitor`: `reports`, one [Report](#report) a node, with `series` and `samples`; `balance`, a [Balance](#balance)
  of the GPUs' utilisation; `stragglers`, one [Straggler](#straggler) a GPU that lags behind.

`monitor --output jsonl` prints a line a node and tick: `schema_version`, `node`, `time`, `mock`, `errors`, `notes`, and
`samples`, which are objects of `series`, `labels` (an object), `value`, `state` and `at`. `xids` has an object for each
Xid of a GPU that came since the line before: `gpu`, `uuid`, `xid`, `times`, `last_seen`.

Within a schema version fields are added, never removed or changed.
`null` means that this machine has no such thing or that the part does not support it; it is never written as 0. What
could not be read has an entry in `problems`, and its checks are `unknown`.
"""


def _define(kind: type[Any], definitions: dict[str, Any]) -> dict[str, Any]:
    name = _name(kind)
    reference = {"$ref": f"#/$defs/{name}"}
    if name in definitions:
        return reference
    if issubclass(kind, Enum):
        definitions[name] = {"enum": [member.value for member in kind], "description": _summary(kind)}
        return reference
    definitions[name] = definition = {"type": "object", "description": _summary(kind)}
    documents = _field_docs(kind)
    hints = get_type_hints(kind, localns=_LATER)
    definition["required"] = list(hints)
    definition["properties"] = {
        field: _property(hint, documents.get(field), definitions) for field, hint in hints.items()
    }
    return reference


def _property(hint: Any, document: str | None, definitions: dict[str, Any]) -> dict[str, Any]:
    described = {"description": document} if document else {}
    return {**_shape(hint, definitions), **described}


def _shape(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return {"anyOf": [_shape(arguments[0], definitions), {"type": "null"}]}
    if origin is tuple:
        return {"type": "array", "items": _shape(arguments[0], definitions)}
    return {"type": _SIMPLE[hint]} if hint in _SIMPLE else _define(hint, definitions)


def _words(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return f"{_words(arguments[0])} or null"
    if origin is tuple:
        return f"list of {_words(arguments[0])}"
    return _SIMPLE[hint] if hint in _SIMPLE else f"[{_name(hint)}](#{_name(hint).lower()})"


def _summary(kind: type[Any]) -> str:
    """A class without a docstring of its own has the one that NamedTuple makes: no news."""
    text = inspect.getdoc(kind) or ""
    return "" if text.startswith(f"{kind.__name__}(") else " ".join(text.split())


def _field_docs(kind: type[Any]) -> dict[str, str]:
    """The string after each field of a class."""
    tree: Any = ast.parse(inspect.getsource(kind)).body[0]
    documents: dict[str, str] = {}
    for field, after in pairwise(tree.body):
        named = isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if named and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            documents[field.target.id] = " ".join(str(after.value.value).split())
    return documents
