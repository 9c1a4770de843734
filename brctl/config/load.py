"""One file -> Config, or all that is wrong with it at once."""

import copy
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..node.diagnose import Check
from . import source
from .check import across, advice, cluster
from .mistake import MOST, ConfigError, Mistake
from .models import Hardware, Settings
from .resolve import Config
from .source import Document, Loc, dotted


def load(path: Path, checks: Iterable[Check] = (), warnings: Sequence[Mistake] = ()) -> Config:
    """Read, validate and resolve. With `checks`, `diagnose.checks` is validated against them.

    Config.warnings holds `warnings` and what is legal and surely not meant. Raises ConfigError.
    """
    document = source.parse(source.read(path), str(path))
    document.mistakes.extend(_ungrouped(document))
    settings, document, mistakes = _validate(document)
    if settings is None or any(mistake.path.startswith("cluster") for mistake in mistakes):
        raise ConfigError(mistakes)  # what rests on nodes and groups would seem wrong only because they are
    config = Config(path, document, settings)
    registry = tuple(checks)
    mistakes += list(islice(cluster(config), MOST)) or islice(across(config, registry), MOST)
    if mistakes:
        raise ConfigError(mistakes)
    config.warnings = (*warnings, *islice(advice(config, registry), MOST))
    return config


def _ungrouped(document: Document) -> Iterator[Mistake]:
    """Hardware without a group above it, taken out: it would be taken for a group of that name."""
    cluster, hardware = document.data.get("cluster"), document.data.get("hardware")
    groups = cluster.get("groups") if isinstance(cluster, dict) else None
    if isinstance(hardware, dict):
        for name in {*hardware} & {*Hardware.model_fields} - {*(groups if isinstance(groups, dict) else ())}:
            loc = ("hardware", name)
            hint = f"put one above it, or `all`: hardware.all.{name}"
            yield Mistake("it stands without a group", document.place(loc, key=True), dotted(loc), hint)
            del hardware[name]


def _validate(document: Document) -> tuple[Settings | None, Document, list[Mistake]]:
    """The settings without what is wrong with them, so that the rest can be judged; None where that is not possible."""
    try:
        return Settings.model_validate(document.data), document, document.mistakes
    except ValidationError as error:
        errors = error.errors(include_url=False)
    from .words import mistakes as told  # only a config with mistakes pays for the JSON Schema

    mistakes = document.mistakes + told(errors[:MOST], document)
    rest = copy.deepcopy(document.data)
    for each in errors:
        _remove(rest, each["loc"])
    try:
        return Settings.model_validate(rest), document._replace(data=rest), mistakes
    except ValidationError:
        return None, document, mistakes


def _remove(data: Any, loc: Loc) -> None:
    """Take a value out; a list goes as a whole, as the places of what follows in it would shift."""
    names = [i for i, part in enumerate(loc) if isinstance(part, str) and part != "[key]"]
    for part in loc[: names[-1]]:
        data = data[int(part)] if isinstance(data, list) else data.get(part, {})
    data.pop(loc[names[-1]], None)
