"""The winner among sysctl files, against what systemd-sysctl and `sysctl --system` really do."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

SETS = 100
FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d")
NAMES = (
    "10-first.conf",
    "50-default.conf",
    "90-brctl.conf",
    "99-sysctl.conf",
    "99-zz-brctl.conf",
    "zz.conf",
    "A.conf",
    ".hidden.conf",
    "README",
)
INTERFACES = ("lo", "all", "default", "d0.100", "d1")
PARAMETERS = ("arp_ignore", "arp_announce", "arp_notify")
KEYS = ["net/ipv4/conf/{}/{}".format(interface, parameter) for interface in INTERFACES for parameter in PARAMETERS]
PATTERNS = (
    "net.ipv4.conf.*.{}",
    "net/ipv4/conf/*/{}",
    "/net/ipv4/conf/*/{}",
    "net.ipv4.conf.[ld]*.{}",
    "net.ipv4.conf.d?.{}",
    "net.*.{}",
)
NOISE = ("", "# a comment = 1", "; another = 1", "nonsense", "  ", "= 5", "no.such.key = 1", "#")
LAST = "/etc/sysctl.conf"


def spelt(chance: random.Random, key: str) -> str:
    """A key in one of the ways in which people write it."""
    dotted = key.translate(str.maketrans("./", "/."))
    return chance.choice((dotted, dotted, key, "/" + key))


def line(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.15:
        return chance.choice(NOISE)
    if kind < 0.4:
        key = chance.choice(PATTERNS).format(chance.choice(PARAMETERS))
    else:
        key = spelt(chance, chance.choice(KEYS[:6]))
    if kind > 0.9:
        return "-" + key
    sign, end = chance.choice(("", "", "", "-")), chance.choice(("", "", "  ", "\r"))
    return "{}{}{}{}{}".format(sign, key, chance.choice(("=", " = ", "\t= ")), chance.randint(1, 9), end)


def a_set(chance: random.Random) -> Dict[str, Any]:
    files: Dict[str, Any] = {}
    for _ in range(chance.randint(1, 6)):
        path = chance.choice(FOLDERS) + "/" + chance.choice(NAMES)
        lines = "".join(line(chance) + "\n" for _ in range(chance.randint(0, 4)))
        links = [{"link": target} for target in ("/dev/null", "/nowhere", "../sysctl.conf")]
        files[path] = chance.choice((lines, lines, lines, lines, lines, *links))
    if chance.random() < 0.5:
        files[LAST] = line(chance) + "\n" + line(chance)
    return files


LINKED = {"/etc/sysctl.d/99-sysctl.conf": {"link": "../sysctl.conf"}}
"""As Debian has it."""
KNOWN = (
    # /etc/sysctl.conf is read by procps alone (redhat-performance/tuned#409, systemd/systemd#20919)
    ({"/etc/sysctl.d/90-brctl.conf": "1", LAST: "2"}, "1", "2"),
    ({"/etc/sysctl.d/90-brctl.conf": "1", LAST: "2", **LINKED}, "2", "2"),
    # the name of a file decides, and not its folder
    ({"/etc/sysctl.d/90-brctl.conf": "1", "/usr/lib/sysctl.d/99-vendor.conf": "2"}, "2", "2"),
    ({"/etc/sysctl.d/99-brctl.conf": "1", "/etc/sysctl.d/99-sysctl.conf": "2"}, "2", "2"),
    ({"/etc/sysctl.d/99-zz-brctl.conf": "1", "/etc/sysctl.d/99-sysctl.conf": "2"}, "1", "1"),
    ({"/etc/sysctl.d/zz-brctl.conf": "1", "/etc/sysctl.d/99-sysctl.conf": "2"}, "1", "1"),
)
"""What each file sets arp_ignore of lo to, and what then systemd-sysctl and procps make of it."""


def known_sets() -> List[Dict[str, Any]]:
    def text(value: Any) -> Any:
        return value if isinstance(value, dict) else "net.ipv4.conf.lo.arp_ignore = {}\n".format(value)

    return [{path: text(value) for path, value in files.items()} for files, _, _ in KNOWN]


@pytest.mark.root
def test_both_loaders_do_what_is_said_of_them() -> None:
    for program in ("/lib/systemd/systemd-sysctl", "sysctl", "ip"):
        if not shutil.which(program):
            pytest.skip("{} is not installed".format(program))
    chance = random.Random(6)
    sets = [*known_sets(), *(a_set(chance) for _ in range(SETS))]
    here = Path(__file__).resolve()
    answer = subprocess.run(
        ["unshare", "--net", "--mount", sys.executable, str(here.with_name("watch_loaders.py"))],
        input=json.dumps([sets, KEYS]),
        stdout=subprocess.PIPE,
        universal_newlines=True,
        env=dict(os.environ, PYTHONPATH=str(here.parents[3])),
        check=True,
    )
    found = json.loads(answer.stdout)
    for (_, systemd, procps), seen in zip(KNOWN, found):
        values = [seen[loader][0]["net/ipv4/conf/lo/arp_ignore"] for loader in ("systemd", "procps")]
        assert values == [systemd, procps]
    touched = differ = 0
    for files, seen in zip(sets, found):
        for loader, (kernel, ours) in seen.items():
            assert ours == kernel, (loader, files)
        touched += set(seen["procps"][0].values()) != {"7777"}
        differ += seen["procps"][0] != seen["systemd"][0]
    assert touched > SETS * 0.6  # the sets are worth the name
    assert differ > SETS * 0.2
