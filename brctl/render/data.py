"""Plain data -> JSON and YAML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .. import __version__
from ..node.codec import encode, sound
from ..node.report import SCHEMA_VERSION, Report


def reports(command: str, found: Sequence[Report]) -> dict[str, Any]:
    """The Reports of one run."""
    return {"command": command, "reports": [encode(report) for report in found]}


def dump(plain: Mapping[str, Any], form: str) -> str:
    """The text of one run, without the last newline. ASCII only: what a node sent cannot reach a terminal as such."""
    output = {"schema_version": SCHEMA_VERSION, "brctl_version": __version__, **_sound(plain)}
    if form == "json":
        return json.dumps(output, indent=2, allow_nan=False)
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(output, Dumper=dumper, sort_keys=False, allow_unicode=False)
    return text.rstrip("\n")


def _sound(value: Any) -> Any:
    """The same data, with U+FFFD for each surrogate in its texts."""
    if isinstance(value, str):
        return sound(value)
    if isinstance(value, Mapping):
        return {key: _sound(item) for key, item in value.items()}
    return [_sound(item) for item in value] if isinstance(value, list) else value
