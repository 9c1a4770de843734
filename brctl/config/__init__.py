"""The config: cluster-config.yaml -> a Config that is valid, or every mistake in it with its place.

Importing this package is light; pydantic, yaml and ClusterShell are imported when there is a file to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from . import find

if TYPE_CHECKING:
    from ..node.diagnose import Check
    from .resolve import Config


def open_config(explicit: Path | None, registry: Callable[[], Iterable[Check]] = tuple) -> Config | None:
    """The config that `--config` names, else the one that is found; None where there is none.

    `registry` gives the checks that the thresholds under `diagnose.checks` are validated against; it is called only
    where there is a config. Raises ConfigError.
    """
    found = find.find(explicit)
    if found is None:
        return None
    from .load import load  # the heavy part: pydantic, yaml, ClusterShell

    return load(found.path, registry(), found.warnings)
