"""Plain data -> JSON and YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .. import __version__
from ..node.codec import encode
from ..node.report import SCHEMA_VERSION, Report


def reports(command: str, found: Sequence[Report]) -> dict[str, Any]:
    """The Reports of one run."""
    return {"command": command, "reports": [encode(report) for report in found]}


_SURROGATE = re.compile("[\ud800-\udfff]")
"""What Python makes of a byte that is no UTF-8: it has no place in JSON or YAML."""


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
        return value if value.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, Mapping):
        return {key: _sound(item) for key, item in value.items()}
    return [_sound(item) for item in value] if isinstance(value, list) else value
