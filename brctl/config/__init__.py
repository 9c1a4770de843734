"""The config: cluster-config.yaml -> a Config that is valid, or every mistake in it with its place.

Importing this package is light; pydantic, yaml and ClusterShell are imported when there is a file to read.

    open_config(explicit, registry)  find, trust and load; None where there is no config
    mistake.ConfigError              .mistakes; each Mistake has .show("error"), the text for a terminal
    find.find(explicit)              which file it is: Found(path, warnings), or None
    find.choose(flag, variable, declared, default, parse)     flag > environment > file > default
    find.which_node(names, as_node, hostname, fqdn)           the node that this host is, or None
    load.load(path, checks, warnings)                         one file -> Config
    resolve.Config                   .path .warnings .settings .nodes .groups .select(text) .node(name)
    resolve.Node                     .name .groups .role .hardware .tune .comm .monitor .alerting .diagnose
    resolve.expected(node), resolve.thresholds(node)          what a Request needs
    reference.values(config, name)   each value and where it came from (`config show`)
    reference.schema()               JSON Schema (`config schema`)
    reference.explain(key)           one Explanation (`config explain`)
    reference.docs()                 docs/config.md
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
