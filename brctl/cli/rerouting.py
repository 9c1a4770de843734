"""The action `reroute` for the nodes of a config."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..fleet.alert_courier import Courier
from ..fleet.alert_reroute import Reroute
from ..fleet.rail_out import RailFile
from ..node.report import Report
from .common import Common

if TYPE_CHECKING:
    from ..config.resolve import Config


def rerouting(given: Common, config: Config | None) -> Reroute:
    """All nodes of the config are meant, whichever are watched."""
    from .session import fleet, mocked

    names = config.nodes if config else ()

    def look() -> Sequence[Report]:
        run = fleet(given._replace(quiet=True, nodes="@all"), config, names)
        return run.ask_each([target.request("comm") for target in run.targets])

    rail_only = config is not None and config.settings.topology.kind == "rail-only"
    file = RailFile(config.path if config else None, any(mocked(given)))
    return Reroute(file, names, rail_only, look, Courier(workers=1))
