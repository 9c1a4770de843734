"""Runs in network and mount namespaces of its own: lets both loaders read sets of files, and tells what came of each.

stdin: a JSON list of sets, path -> text, or {"link": TARGET}. stdout: for each set what the kernel then had, and what
brctl expected.
"""

import json
import os
import subprocess
import sys
from typing import Any, Dict, List, Optional

from brctl.node.host.local import Local
from brctl.node.tune import sysctl_files

UNTOUCHED = "7777"
LOADERS = {"systemd": ["/lib/systemd/systemd-sysctl"], "procps": ["sysctl", "--system"]}
LAST = "/etc/sysctl.conf"


def main() -> None:
    sets, keys = json.load(sys.stdin)
    for command in (["link", "set", "lo", "up"], ["link", "add", "d0.100", "type", "veth", "peer", "name", "d1"]):
        subprocess.run(["ip", *command], check=True)
    folders = [folder for folder in sysctl_files.FOLDERS if folder != "/lib/sysctl.d"]
    if not os.path.samefile("/lib", "/usr/lib"):
        sys.exit("what is in /lib/sysctl.d would be set for the whole machine")
    for place in (*folders[:1], "/run", "/usr/local/lib", folders[3]):
        subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    with open("/run/sysctl.conf", "w"):
        pass
    subprocess.run(["mount", "--bind", "/run/sysctl.conf", LAST], check=True)
    json.dump([watch(files, folders, keys) for files in sets], sys.stdout)


def watch(files: Dict[str, Any], folders: List[str], keys: List[str]) -> Dict[str, List[Dict[str, Optional[str]]]]:
    for folder in folders:
        os.makedirs(folder, exist_ok=True)
        empty(folder)
    for path, content in {LAST: "", **files}.items():
        if isinstance(content, dict):
            os.symlink(content["link"], path)
        else:
            with open(path, "w", newline="") as file:
                file.write(content)
    loaded = sysctl_files.load(sysctl_files.read(Local()))
    expected = {"systemd": loaded.systemd, "procps": loaded.procps}
    return {name: [kernel(LOADERS[name], keys), ours(expected[name], keys)] for name in LOADERS}


def empty(folder: str) -> None:
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))


def kernel(command: List[str], keys: List[str]) -> Dict[str, Optional[str]]:
    """What the kernel has after the command."""
    for key in keys:
        with open("/proc/sys/" + key, "w") as file:
            file.write(UNTOUCHED)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return {key: open("/proc/sys/" + key).read().strip() for key in keys}


def ours(lines: Any, keys: List[str]) -> Dict[str, Optional[str]]:
    """What brctl says that it will have."""
    winners = {key: sysctl_files.winner(lines, key) for key in keys}
    return {key: UNTOUCHED if line is None else lines[line].value for key, line in winners.items()}


main()
