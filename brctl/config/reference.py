"""What each key means, from the models: JSON Schema, `config explain`, `config show`, docs/config, the nearest key."""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import zip_longest
from typing import Any, NamedTuple

from pydantic.json_schema import GenerateJsonSchema

from .mistake import ConfigError, Mistake
from .models import NodeValues, Settings
from .nodes import nearest
from .resolve import Config
from .source import Loc, dotted
from .units import KINDS

NAME = "NAME"
"""Stands for a key that the operator chooses: a group, an alert, a variable."""
ORDER = (
    *("version", "cluster", "transport", "hardware", "tune", "comm", "monitor", "alerting", "diagnose"),
    *("scheduler", "maintenance", "topology", "overrides"),
)

Schema = dict[str, Any]


class Value(NamedTuple):
    """One value that is in force."""

    path: Loc
    value: Any
    """As it is written in the file or stands as a default: `64MiB`, 9000, `["/data"]`."""
    origin: str
    """`default`, `FILE:LINE`, or `override at FILE:LINE`."""

    @property
    def key(self) -> str:
        return dotted(self.path)


class Explanation(NamedTuple):
    key: str
    meaning: str
    kind: str
    """What may be written: `size (B, KiB, MiB, GiB, TiB)`, `ssh | local | exec`, `whole number, 1 to 64`, `section`."""
    required: bool
    default: str | None
    """None: nothing is assumed."""
    example: str | None
    source: str | None
    """Where the meaning or the limit comes from."""
    keys: tuple[str, ...]
    """Of a section: the keys in it."""


class _Plain(GenerateJsonSchema):
    """Without titles and null: a key that has no value is refused before any model sees it."""

    def nullable_schema(self, schema: Any) -> Schema:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> Schema:
        nothing = schema.get("default") is None
        return self.generate_inner(schema["schema"]) if nothing else super().default_schema(schema)

    def field_title_should_be_set(self, _schema: Any) -> bool:
        return False


@cache
def schema() -> Schema:
    """The JSON Schema of cluster-config.yaml, for editors."""
    result = Settings.model_json_schema(schema_generator=_Plain)
    result["properties"] = {key: result["properties"][key] for key in ORDER}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **result, "title": "cluster-config.yaml"}


def _child(node: Schema, part: str | int) -> Schema | None:
    """The schema of a key or list item, its reference followed; None where there is none. NAME is any chosen key."""
    chosen = next(iter(node.get("patternProperties", {}).values()), None) or node.get("additionalProperties")
    found = node.get("items") if isinstance(part, int) else node.get("properties", {}).get(part) or chosen
    if not found:
        return None
    target = schema()["$defs"][found["$ref"].rsplit("/", 1)[1]] if "$ref" in found else {}
    return {"description": node.get("description", ""), **target, **found}


def _at(loc: Loc) -> Schema | None:
    node: Schema | None = schema()
    for part in loc:
        node = _child(node, part) if node else None
    return node


def _keys(node: Schema, path: Loc = ()) -> Iterator[Loc]:
    """Every key that can be written, in the order of the documentation."""
    for part in (*node.get("properties", {}), NAME, 0):
        child = _child(node, part)
        if child:
            yield (*path, part)
            yield from _keys(child, (*path, part))


def _is_section(node: Schema) -> bool:
    return node.get("type") == "object" or "$ref" in node.get("items", {})


def lookup(loc: Loc) -> Explanation | None:
    """What a key means; None where there is no such key."""
    node, parent = _at(loc), _at(loc[:-1])
    if not (loc and node and parent):
        return None
    default, examples = node.get("default"), node.get("examples")
    return Explanation(
        key=dotted(loc),
        meaning=node["description"],
        kind=_kind(node),
        required=loc[-1] in parent.get("required", []),
        default=None if default in (None, {}, []) else plain(default),
        example=plain(examples[0]) if examples and default is None else None,
        source=node.get("x-source"),
        keys=tuple(str(part) for part in (*node.get("properties", {}), *[NAME] * bool(_child(node, NAME)))),
    )


def explain(key: str) -> Explanation:
    """What `tune.sysctl.net.core.rmem_max` or `hardware.compute.nics.speed` means. Raises ConfigError: no such key."""
    loc = _parse(key)
    found = lookup(loc)
    if found is None:
        raise ConfigError([Mistake("unknown key", path=key, hint=instead(loc))])
    return found._replace(key=key)


def _parse(key: str) -> Loc:
    """The parts of a dotted key; those of sysctl have dots in them. `overrides.nodes` is `overrides[0].nodes`."""
    loc: Loc = ()
    rest = key.replace("[", ".").replace("]", "")
    while rest:
        node = _at(loc) or {}
        word, _, others = rest.partition(".")
        if "items" in node:
            loc, rest = (*loc, 0), others if word.isdigit() else rest
            continue
        chosen = _child(node, NAME)
        leaf = rest if chosen and not _is_section(chosen) else word
        name = next((name for name in node.get("properties", {}) if f"{rest}.".startswith(f"{name}.")), leaf)
        loc, rest = (*loc, name), rest[len(name) + 1 :]
    return loc


def _kind(node: Schema) -> str:
    name = node.get("x-kind")
    if name:
        return f"{name} ({', '.join(filter(None, KINDS[name].units))})" if name in KINDS else str(name)
    if "enum" in node or "const" in node:
        return " | ".join(map(plain, node.get("enum", [node.get("const")])))
    if "items" in node:
        return f"list of {_kind(_child(node, 0) or {})}"
    low, high = node.get("minimum"), node.get("maximum")
    limits = "" if low is None else f", {low} to {high}" if high is not None else f", at least {low}"
    words = {"integer": "whole number", "boolean": "true | false", "string": "text", "object": "section"}
    return words.get(str(node["type"]), "number") + limits


def plain(value: Any) -> str:
    """A value as one would write it in the file."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(plain, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {plain(item)}' for key, item in value.items())}}}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def misplaced(loc: Loc) -> str | None:
    """Where a key belongs that stands in the wrong section; None where no other section has it."""
    owner = _owner(loc)
    if owner is None or owner == loc[:-1] or isinstance(loc[-1], int):
        return None
    return f"{loc[-1]!r} is a key of {dotted(owner) or 'the top level'}: is the indentation right?"


def meant(loc: Loc) -> Loc | None:
    """The key beside it that an unknown one is probably a misspelling of."""
    near = nearest(str(loc[-1]), (_at(loc[:-1]) or {}).get("properties", {}))
    return None if near is None or _owner(loc) is not None else (*loc[:-1], near)


def _owner(loc: Loc) -> Loc | None:
    """The section, as near as can be, in which a key would be right."""

    def shared(path: Loc) -> int:
        return sum(part in (other, NAME) for part, other in zip(path, loc, strict=False))

    owners = [path[:-1] for path in _keys(schema()) if path[-1] == loc[-1] and path[0] != "overrides"]
    owner = max(owners, key=lambda path: (shared(path), -len(path)), default=None)
    return owner and tuple(
        mine if part == NAME else part for part, mine in zip_longest(owner, loc[:-1][: len(owner)], fillvalue=NAME)
    )


def instead(loc: Loc) -> str:
    """What to do about an unknown key."""
    elsewhere = misplaced(loc) if loc else None
    if elsewhere:
        return elsewhere
    near = meant(loc) if loc else None
    siblings = (_at(loc[:-1]) or {}).get("properties") or schema()["properties"]
    return f"did you mean {near[-1]!r}?" if near else f"the keys are {', '.join(siblings)}"


def values(config: Config, name: str | None = None) -> tuple[Value, ...]:
    """Every value in force, with where it came from: of the whole file, or what holds for one node."""
    if name is None:
        return tuple(_values(schema(), config.document.data, (), config, {}))
    merge = config.merged(config.layers_of.get(name, ()))
    found = _values(_at(("overrides", 0)) or {}, merge.values, (), config, merge.origins)
    return tuple(sorted(found, key=lambda value: ORDER.index(str(value.path[0]))))


def _values(
    node: Schema, data: Mapping[str, Any], path: Loc, config: Config, origins: Mapping[Loc, Loc]
) -> Iterator[Value]:
    properties = node.get("properties", {})
    for key in (*properties, *(key for key in data if key not in properties)):
        child, here = _child(node, key) or {}, (*path, key)
        value = data.get(key, child.get("default"))
        if isinstance(value, list) and _is_section(child):
            for i, each in enumerate(value):
                yield from _values(_child(child, 0) or {}, each, (*here, i), config, origins)
        elif isinstance(value, Mapping) and _is_section(child):
            yield from _values(child, value, here, config, origins)
        elif key in data or value not in (None, []):
            yield Value(here, value, _origin(config, origins.get(here, here)) if key in data else "default")


def _origin(config: Config, loc: Loc) -> str:
    place = config.document.place(loc)
    return f"{'override at ' * (loc[0] == 'overrides')}{place.file}:{place.line}"


def docs() -> str:
    """docs/config.md"""
    lines = [_HEAD]
    for key in ORDER:
        node = _child(schema(), key) or {}
        rows = [lookup(loc) for loc in ((key,), *_keys(node, (key,))) if _is_told(loc)]
        lines += [f"## {key}", "", node["description"], "", "| key | value | default | meaning |", "|---|---|---|---|"]
        lines += [*(_row(it) for it in rows if it and not it.kind.endswith("section")), ""]
    return "\n".join(lines)


_HEAD = """# The config

Made from the models in brctl/config by `python docs/generate.py`; `brctl config explain KEY` shows the same.

A quantity carries its unit: a bare number is refused where it could be misread. NAME is a name that you choose.
"""


def _is_told(loc: Loc) -> bool:
    """Not the items of a plain list, and not what an override repeats."""
    repeated = loc[0] == "overrides" and loc[2:3] and loc[2] in NodeValues.model_fields
    return not (isinstance(loc[-1], int) or repeated)


def _row(it: Explanation) -> str:
    default = "required" if it.required else f"`{it.default}`" if it.default else ""
    notes = (it.meaning, it.example and f"Example: `{it.example}`.", it.source and f"({it.source})")
    cells = (f"`{it.key.replace('[0]', '[]')}`", it.kind, default, " ".join(filter(None, notes)))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
