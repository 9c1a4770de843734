"""Runs in a mount namespace of its own: lets systemd-tmpfiles read sets of files, and tells what came of each.

stdin: a JSON list of sets, path -> text, or {"link": TARGET}, and the files that they write to. stdout: for each set
what these then held, and what brctl expected.
"""

import json
import os
import subprocess
import sys
from typing import Any, Dict, List

from brctl.node.host.local import Local
from brctl.node.tune import tmpfiles

UNTOUCHED = "000"


def main() -> None:
    sets, targets = json.load(sys.stdin)
    for place in ("/etc/tmpfiles.d", "/run", "/usr/local/lib", "/usr/lib/tmpfiles.d"):
        subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    for folder in (*tmpfiles.FOLDERS, *map(os.path.dirname, targets)):
        os.makedirs(folder, exist_ok=True)
    json.dump([watch(files, targets) for files in sets], sys.stdout)


def watch(files: Dict[str, Any], targets: List[str]) -> List[List[str]]:
    for folder in tmpfiles.FOLDERS:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
    for path, content in files.items():
        if isinstance(content, dict):
            os.symlink(content["link"], path)
        else:
            write(path, content)
    for target in targets:
        write(target, UNTOUCHED)
    # The prefix keeps it away from all else, whatever became of the mounts.
    command = ["systemd-tmpfiles", "--create", "--boot", "--prefix=/run"]
    subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
    lines = tmpfiles.read(Local())
    winners = [tmpfiles.winner(lines, (target,)) for target in targets]
    return [[open(target).read() for target in targets], [line.value if line else UNTOUCHED for line in winners]]


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


main()
