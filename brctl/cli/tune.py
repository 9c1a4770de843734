"""brctl tune"""

from __future__ import annotations

import typer

from .common import Command, Group
from .tune_env import env

app = typer.Typer(cls=Group, help="What hosts and GPUs are set to: planned, applied, and taken back.")
app.command(cls=Command)(env)
