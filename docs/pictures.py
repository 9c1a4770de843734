"""Draws the README's pictures from the program's own output: pages *.svg of generate.py."""

import io
import os
import re
import subprocess
import sys

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

WIDTH = 100
_THEME = TerminalTheme(
    (22, 27, 34),
    (230, 237, 243),
    [
        (72, 79, 88),
        (255, 123, 114),
        (63, 185, 80),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (177, 186, 196),
    ],
)


def draw(arguments: str) -> str:
    """The SVG of `brctl ARGUMENTS` on a terminal of 100 columns."""
    environment = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(WIDTH)}
    for name in ("NO_COLOR", "BRCTL_CONFIG", "BRCTL_MOCK"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "brctl", *arguments.split()]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout
    if not printed:
        raise SystemExit(f"brctl {arguments} printed nothing: there is no picture to draw")
    return svg(f"brctl {arguments}", printed)


def svg(command: str, printed: str) -> str:
    """What a command printed, with its colours, on such a terminal."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {command}", style="bold"))
    console.print(Text.from_ansi(printed), no_wrap=True)
    drawn = console.export_svg(title="brctl", theme=_THEME, unique_id="brctl")
    # The fonts that rich names lie on another site: a picture of ours must not ask it for anything.
    drawn = re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL).replace("Fira Code, ", "")
    return drawn.replace("<svg ", '<svg xml:space="preserve" ', 1)  # some viewers drop leading blanks
