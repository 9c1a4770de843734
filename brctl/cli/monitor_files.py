"""brctl monitor rules, brctl monitor dashboard: what Prometheus and Grafana are given to read what we export."""

from __future__ import annotations

import typer

from .common import Command, common


def add(app: typer.Typer) -> None:
    """To the group of `brctl monitor`."""
    app.command(cls=Command)(rules)
    app.command(cls=Command)(dashboard)


def rules(
    ctx: typer.Context,
    runbooks: str | None = typer.Option(
        None, "--runbooks", metavar="URL", help="Where docs/alerts.md can be read: alerts link to their place there."
    ),
) -> None:
    """Print Prometheus rules for what is exported: the alerts of the config, and what dashboards need."""
    from .. import render
    from ..config.alerts import of_all_nodes
    from ..render.rules import text
    from .session import opened

    given = common(ctx)
    given.form("yaml")
    config = opened(given)
    render.plain(text(runbooks, of_all_nodes(config) if config else None))


def dashboard(ctx: typer.Context) -> None:
    """Print a Grafana dashboard of all that is exported, to be imported."""
    from .. import render
    from ..node.monitor import registry
    from ..render.dashboard import text

    common(ctx).form("json")
    render.plain(text(registry()))
