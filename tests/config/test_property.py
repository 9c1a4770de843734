"""Any text ends in a Config or in our errors, with a place in it, in bounded time."""

import random
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brctl.config.load import load
from brctl.config.mistake import ConfigError, Mistake
from brctl.node.diagnose.engine import registry

EXAMPLE = (Path(__file__).resolve().parents[2] / "cluster-config.example.yaml").read_text()
BITS = (
    ": ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "\n",
    "  ",
    "\t",
    "'",
    '"',
    "#",
    "&a ",
    "*a",
    "!x ",
    "|",
    ">",
    "@",
    "%",
    ",",
    "~",
)
BITS += (
    "\x00",
    "\ufeff",
    "\u2028",
    "\x85",
    "\r",
    "é",
    "\U0001f600",
    "yes",
    "9" * 400,
    "-1",
    "1e999",
    "64MiB",
    "gpu[001-",
)
BITS += (
    "version: 1\n",
    "cluster:",
    "nodes:",
    "tune:",
    "overrides:",
    "sysctl:",
    "<<: ",
    "? ",
    "---\n",
    "...",
    "%YAML 1.2\n",
)


def judge(data: bytes) -> None:
    """Load it, and look at what comes."""
    path = Path("property.yaml")
    path.write_bytes(data)
    began = time.process_time()
    mistakes = mistakes_in(path)
    assert time.process_time() - began < 2
    lines = len(data.decode("utf-8", "replace").splitlines())
    for mistake in mistakes:
        assert mistake.place is not None
        assert 1 <= mistake.place.line <= max(lines, 1)
        assert 1 <= mistake.place.column <= len(mistake.place.text) + 1
        assert all(line.isprintable() for line in mistake.show().split("\n"))


def mistakes_in(path: Path) -> tuple[Mistake, ...]:
    """None for a Config."""
    try:
        load(path, registry())
    except ConfigError as error:
        return error.mistakes
    return ()


PROFILE = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)


@settings(PROFILE, max_examples=80)
@given(st.text())
def test_any_text(text: str) -> None:
    judge(text.encode("utf-8", "surrogatepass"))


@settings(PROFILE, max_examples=50)
@given(st.binary())
def test_any_bytes(data: bytes) -> None:
    judge(data)


@settings(PROFILE, max_examples=100)
@given(st.lists(st.sampled_from(BITS), max_size=30))
def test_any_heap_of_yaml(bits: list[str]) -> None:
    judge("".join(bits).encode())


@settings(PROFILE, max_examples=60)
@given(st.integers(min_value=0, max_value=2**32), st.integers(min_value=1, max_value=4))
def test_any_slip_in_a_good_file(seed: int, slips: int) -> None:
    """Lines lost, doubled, moved, cut, indented or with something stuck in."""
    chance = random.Random(seed)
    lines = EXAMPLE.splitlines()
    for _ in range(slips):
        i, column = chance.randrange(len(lines)), chance.randrange(60)
        old = lines[i]
        lines[i : i + 1] = chance.choice(
            [
                [],
                [old, old],
                [old[:column]],
                ["  " + old],
                [old[2:]],
                [old[:column] + chance.choice(BITS) + old[column:]],
                [chance.choice(lines)],
            ]
        )
    judge("\n".join(lines).encode())


@pytest.mark.parametrize(
    "text",
    [
        "a: " * 1000,
        "[" * 4_000_000,
        "{a: " * 1_000_000,
        "- " * 1_000_000,
        "a: &a [*a, *a]\n" * 20_000,
        "x: " + "y" * 4_000_000,
        "".join(f"k{i}: {i}\n" for i in range(99_990)),
        "k: 1\n" * 90_000,
        "version: 1\ncluster: {name: a, nodes: '" + "n1," * 20_000 + "n2'}\n",
        "? " * 500_000,
        '"' + "\\n" * 2_000_000,
    ],
    ids=lambda text: text[:12],
)
def test_bombs(text: str) -> None:
    began = time.process_time()
    Path("bomb.yaml").write_text(text)
    mistakes = mistakes_in(Path("bomb.yaml"))
    assert sum(len(mistake.show()) for mistake in mistakes) < 100_000
    assert time.process_time() - began < 10


def cluster(nodes: str, groups: str = "") -> str:
    return f"version: 1\ncluster:\n  name: c\n  nodes: '{nodes}'\n" + ("  groups:\n" + groups if groups else "")


def lines(form: str, count: int) -> str:
    return "".join(form.format(i) for i in range(1, count + 1))


LARGE = cluster("n[1-16384]")
LETTERS = "abcdefghijklmn"
BITWISE = "".join(f"{letter}[0-1]" for letter in LETTERS)
HALVES = "".join(
    f"  - {{nodes: '{BITWISE.replace(f'{letter}[0-1]', f'{letter}1')}', comm: {{env: {{K{letter}: 1}}}}}}\n"
    for letter in LETTERS
)
"""Each of 16384 nodes has its own choice of these overrides."""


@pytest.mark.parametrize(
    "text",
    [
        cluster("n[1-16384]", lines("    g{}: {{nodes: 'n[1-16384]'}}\n", 200)),
        cluster("n[1-16384]", lines("    g{0}: {{nodes: n{0}}}\n", 9000)),
        cluster("x", lines("    g{0}: {{nodes: 'n[{0}-16384]'}}\n", 20)),
        LARGE + "overrides:\n" + lines("  - {{nodes: n1, monitor: {{peers: 'n[{}-16384]'}}}}\n", 1000),
        LARGE + "overrides:\n" + lines("  - {{nodes: '" + "@all," * 60 + "n{}'}}\n", 1000),
        LARGE + "overrides:\n" + lines("  - {{nodes: 'n*!n{}'}}\n", 100),
        cluster("n[1-512]", lines("    " + "g" * 240 + "{0}: {{nodes: n{0}}}\n", 512))
        + "overrides:\n"
        + lines("  - {{nodes: '@" + "h" * 200 + "g" * 40 + "{}'}}\n", 1024),
        LARGE + "diagnose:\n  checks:\n" + lines("    gpu-memroy{}: {{}}\n", 9000),
        LARGE + "tune:\n  gpu:\n    power_limit:\n" + lines("      A{}: 10%\n", 9000),
        cluster(BITWISE) + "comm:\n  env:\n" + lines("    A{}: 1\n", 9000) + "overrides:\n" + HALVES,
    ],
    ids=[
        *("groups too large", "groups too many", "unknown nodes", "peers", "lookups", "wildcards", "unknown groups"),
        *("unknown checks", "power limits", "every choice of overrides"),
    ],
)
def test_text_that_names_much(text: str) -> None:
    began = time.process_time()
    Path("bomb.yaml").write_text(text)
    mistakes_in(Path("bomb.yaml"))
    assert time.process_time() - began < 4
