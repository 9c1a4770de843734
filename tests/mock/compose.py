"""Composes the machines that brctl brings along: `python tests/mock/compose.py` writes them anew.

A composed machine is one of our own: figures of real hardware that belong together, each with its source.
"""

import json
from pathlib import Path
from typing import Any

import compose_cpu_only
import compose_dgx_h100

FOLDER = Path(__file__).resolve().parents[2] / "brctl" / "mock" / "machines"


def machines() -> dict[str, str]:
    """The text of each machine's JSON, by the file's name."""
    composed = (compose_cpu_only.machine(), compose_dgx_h100.machine())
    return {machine["name"] + ".json": render(machine) for machine in composed}


def render(machine: dict[str, Any]) -> str:
    """One line for each file, command and GPU, so that a change reads well in a diff."""
    parts = (f" {json.dumps(key)}: {spread(part, 2 if key == 'nvml' else 1, ' ')}" for key, part in machine.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


def spread(value: Any, levels: int, indent: str) -> str:
    """JSON with the outer `levels` on lines of their own."""
    if not levels or not value or not isinstance(value, (dict, list)):
        return json.dumps(value)
    inner = indent + " "
    if isinstance(value, dict):
        rows = [f"{inner}{json.dumps(key)}: {spread(item, levels - 1, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + "\n" + indent + "}"
    rows = [inner + spread(item, levels - 1, inner) for item in value]
    return "[\n" + ",\n".join(rows) + "\n" + indent + "]"


if __name__ == "__main__":
    for name, text in machines().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
