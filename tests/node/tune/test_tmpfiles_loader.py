"""The winner among files of tmpfiles.d, against what systemd-tmpfiles really does."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import pytest

from brctl.node.tune.tmpfiles import FOLDERS

SETS = 60
NAMES = ("00-a.conf", "50-b.conf", "zz.conf", "README", ".hidden.conf")
TARGETS = ["/run/t/p1/g", "/run/t/p2/g", "/run/t/x"]
PATTERNS = (*TARGETS, "/run/t/p*/g", "/run/t/p[0-9]*/g", "/run/t/*/g", "/run/t/?", "/run/*/x")


def line(chance: random.Random) -> str:
    if chance.random() < 0.1:
        return chance.choice(("# w /run/t/x - - - - 1", "d /run/t/p1 - - - -", ""))
    kind = chance.choice(("w", "w", "w!", "w-"))
    return "{} {} - - - - {}".format(kind, chance.choice(PATTERNS), chance.randint(100, 999))


def a_set(chance: random.Random) -> Dict[str, Any]:
    files: Dict[str, Any] = {}
    for _ in range(chance.randint(1, 5)):
        text = "".join(line(chance) + "\n" for _ in range(chance.randint(0, 3)))
        path = "{}/{}".format(chance.choice(FOLDERS), chance.choice(NAMES))
        files[path] = {"link": "/dev/null"} if chance.random() < 0.1 else text
    return files


@pytest.mark.root
def test_it_does_what_is_said_of_it() -> None:
    if not shutil.which("systemd-tmpfiles"):
        pytest.skip("systemd is not installed")
    chance = random.Random(6)
    sets = [a_set(chance) for _ in range(SETS)]
    here = Path(__file__).resolve()
    answer = subprocess.run(
        ["unshare", "--mount", sys.executable, str(here.with_name("watch_tmpfiles.py"))],
        input=json.dumps([sets, TARGETS]),
        stdout=subprocess.PIPE,
        universal_newlines=True,
        env=dict(os.environ, PYTHONPATH=str(here.parents[3])),
        check=True,
    )
    touched = 0
    for files, (held, expected) in zip(sets, json.loads(answer.stdout)):
        assert expected == held, files
        touched += set(held) != {"000"}
    assert touched > SETS * 0.6
