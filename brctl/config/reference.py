"""What each key means, from the models: JSON Schema, `config explain`, `config show`, the nearest key."""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import zip_longest
from typing import Any, NamedTuple

from pydantic.json_schema import GenerateJsonSchema

from ..node.diagnose.engine import registry
from .mistake import ConfigError, Mistake
from .models import Settings, Shared
from .nodes import nearest, nearest_or
from .resolve import Config
from .source import Loc, dotted
from .units import KINDS

NAME = "NAME"
"""Stands for a key that the operator chooses: a group, an alert, a variable."""
_OWN = [key for key in Settings.model_fields if key not in Shared.model_fields]
_SPLIT = _OWN.index("hardware") + 1
ORDER = (*_OWN[:_SPLIT], *Shared.model_fields, *_OWN[_SPLIT:])
"""Of the sections: as the models have it, what a node may have of its own after the hardware."""

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


def keys(path: Loc = ()) -> Iterator[Loc]:
    """Every key that can be written below one, in the order of the documentation; NAME and 0 stand for any."""
    node = _at(path) or {}
    for part in (*node.get("properties", {}), NAME, 0):
        if _child(node, part):
            yield (*path, part)
            yield from keys((*path, part))


def _is_section(node: Schema) -> bool:
    return node.get("type") == "object" or "$ref" in node.get("items", {})


def lookup(loc: Loc) -> Explanation | None:
    """What a key means; None where there is no such key."""
    node, parent = _at(loc), _at(loc[:-1])
    if not (loc and node and parent):
        return None
    default, examples = node.get("default"), node.get("examples")
    section = (_child(node, 0) or {}) if "items" in node else node
    return Explanation(
        key=dotted(loc),
        meaning=node["description"],
        kind=_kind(node),
        required=loc[-1] in parent.get("required", []),
        default=None if default in (None, {}, []) else plain(default),
        example=plain(examples[0]) if examples and default is None else None,
        source=node.get("x-source"),
        keys=tuple(str(part) for part in (*section.get("properties", {}), *[NAME] * bool(_child(section, NAME)))),
    )


def explain(key: str) -> Explanation:
    """What `tune.sysctl.net.core.rmem_max` or `hardware.compute.nics.speed` means. Raises ConfigError: no such key."""
    loc = _parse(key)
    found = lookup(loc)
    if found is None:
        raise ConfigError([Mistake("unknown key", path=key, hint=_elsewhere(loc) or instead(loc))])
    below = loc[2:] if loc[0] == "overrides" else loc
    found = found._replace(key=key)
    if loc == ("hardware",):
        found = found._replace(meaning=f"{found.meaning} NAME is a group of cluster.groups, or all.")
    return _of_check(found, *below[2:]) if below[:2] == ("diagnose", "checks") else found


def _elsewhere(loc: Loc) -> str | None:
    """The whole key that one on the command line probably stands for."""
    alike = [path for path in keys() if loc and path[-1] == loc[-1] and path[0] != "overrides"]
    near = max(alike, key=lambda path: (len({*path} & {*loc}), -len(path)), default=None)
    if near is None:
        return None
    group = ", where NAME is a group" if near[:2] == ("hardware", NAME) else ""
    return f"{dotted(near)}{group}"


def _of_check(found: Explanation, name: str | int = "", threshold: str | int = "") -> Explanation:
    """`diagnose.checks`, a check in it, or a threshold of that: the checks themselves know."""
    checks = {check.id: check for check in registry()}
    if not name:
        return found._replace(keys=tuple(check.id for check in checks.values() if check.thresholds))
    check = checks.get(str(name))
    limits = {limit.name: limit for limit in check.thresholds} if check else {}
    if check is None or (threshold and threshold not in limits):
        word, known = (threshold, limits) if check else (name, checks)
        hint = nearest_or(str(word), known, f"it has {', '.join(known) or 'none'}")
        raise ConfigError([Mistake("no such threshold" if check else "no such check", path=found.key, hint=hint)])
    if not threshold:
        return found._replace(meaning=f"{check.title}.", keys=tuple(limits))
    limit = limits[str(threshold)]
    meaning = f"A threshold of the check {name}, in {limit.unit}."
    return found._replace(meaning=meaning, default=f"{limit.default:g}", source=limit.source)


def _parse(key: str) -> Loc:
    """The parts of a dotted key; those of sysctl have dots in them. `overrides.nodes` is `overrides[0].nodes`."""
    loc: Loc = ()
    rest = key.replace("[", ".").replace("]", "")
    while rest:
        node = _at(loc) or {}
        word, _, others = rest.partition(".")
        if "items" in node:
            loc, rest = (*loc, 0), others if word.isdecimal() else rest
            continue
        chosen = _child(node, NAME)
        leaf = rest if chosen and not _is_section(chosen) else word
        name = next((name for name in node.get("properties", {}) if f"{rest}.".startswith(f"{name}.")), leaf)
        loc, rest = (*loc, name), rest[len(name) + 1 :]
    return loc


def _kind(node: Schema) -> str:
    name = node.get("x-kind")
    if name:
        units = f" ({', '.join(filter(None, KINDS[name].units))})" if name in KINDS else ""
        return f"{name}{units}" + (f", {node['x-range']}" if "x-range" in node else "")
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

    owners = [path[:-1] for path in keys() if path[-1] == loc[-1] and path[0] != "overrides"]
    owner = max(owners, key=lambda path: (shared(path), -len(path)), default=None)
    return owner and tuple(
        mine if part == NAME else part for part, mine in zip_longest(owner, loc[:-1][: len(owner)], fillvalue=NAME)
    )


def instead(loc: Loc) -> str:
    """What to do about an unknown key."""
    elsewhere = misplaced(loc) if loc else None
    if elsewhere:
        return elsewhere
    siblings = (_at(loc[:-1]) or {}).get("properties") or schema()["properties"]
    word = str(loc[-1]) if loc else ""
    alike = [key for key in siblings if nearest(word, key.split("_"))]  # `powr` is far from power_limit as a whole
    near = nearest(word, siblings) or (alike[0] if len(alike) == 1 else None)
    return f"did you mean {near!r}?" if near else f"the keys are {', '.join(siblings)}"


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
