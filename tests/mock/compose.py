"""Composes the machines that brctl brings along: `python tests/mock/compose.py` writes them anew.

A composed machine is one of our own: figures of real hardware that belong together, each with its source.
"""

import json
from os.path import dirname
from pathlib import Path
from typing import Any

import compose_cpu_only
import compose_dgx_a100
import compose_dgx_h100
import compose_guests
import compose_hgx_b200
import compose_hgx_h200
import compose_l40s_pcie
import compose_node
import compose_old_driver

FOLDER = Path(__file__).resolve().parents[2] / "brctl" / "mock" / "machines"


def machines() -> dict[str, str]:
    """The text of each machine's JSON, by the file's name."""
    nodes = (
        compose_dgx_a100.node(),
        compose_dgx_h100.node(),
        compose_guests.h100_mig(),
        compose_guests.sixteen_gpus(),
        compose_guests.vgpu_guest(),
        compose_hgx_b200.node(),
        compose_hgx_h200.node(),
        compose_l40s_pcie.node(),
        compose_old_driver.node(),
    )
    composed = (compose_cpu_only.machine(), *map(compose_node.machine, nodes))
    return {machine["name"] + ".json": render(machine) for machine in composed}


def render(machine: dict[str, Any]) -> str:
    """One line for each folder, command and GPU, so that a change reads well in a diff."""
    machine = {**machine, "files": fold(machine["files"])}
    parts = (f" {json.dumps(key)}: {spread(part, 2 if key == 'nvml' else 1, ' ')}" for key, part in machine.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


def fold(files: dict[str, Any]) -> dict[str, Any]:
    """Files of one folder in an object of their own: `"/a/b/": {"c": ...}`."""
    folders: dict[str, dict[str, Any]] = {}
    for path, entry in files.items():
        folders.setdefault(dirname(path) + "/", {})[path.rpartition("/")[2]] = entry
    folded: dict[str, Any] = {}
    for folder, entries in folders.items():
        folded |= {folder: entries} if len(entries) > 1 else {folder + name: entry for name, entry in entries.items()}
    return folded


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
