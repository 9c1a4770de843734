"""A check is one file: its id, file, test and docs entry have one name, and nothing else lists it."""

import runpy
from pathlib import Path

import pytest

from brctl.node.diagnose import Check, checks, engine
from brctl.node.facts import Inventory

CODE = Path(checks.__file__).parent
TESTS = Path(__file__).parent / "checks"
DOCS = Path(__file__).parents[3] / "docs"

every_check = pytest.mark.parametrize("check", engine.registry(), ids=lambda check: check.id)


def test_every_file_is_a_check_and_every_check_has_a_test() -> None:
    files = sorted(path.stem for path in CODE.glob("[!_]*.py"))
    assert [check.id.replace("-", "_") for check in engine.registry()] == files
    assert sorted(path.stem for path in TESTS.glob("test_*.py")) == ["test_" + name for name in files]


@every_check
def test_a_check_is_named_after_its_file_and_says_what_it_is(check: Check) -> None:
    module = check.run.__module__
    assert module.rpartition(".")[2].replace("_", "-") == check.id
    doc = __import__(module, fromlist=["CHECK"]).__doc__
    assert doc.strip()
    assert check.title[0].isupper()
    assert check.title[-1].isalpha()
    assert check.tags


@every_check
def test_what_a_check_declares(check: Check) -> None:
    parts = check.needs + check.reads
    assert set(parts) <= set(Inventory._fields) - {"problems"}
    assert len(parts) == len(set(parts))
    names = [threshold.name for threshold in check.thresholds]
    assert len(names) == len(set(names))
    for threshold in check.thresholds:
        assert threshold.name.isidentifier()
        assert threshold.default > 0
        assert threshold.unit
        assert threshold.source


def test_the_page_of_checks_is_current() -> None:
    page = runpy.run_path(str(DOCS / "generate.py"))["checks_md"]()
    assert (DOCS / "checks.md").read_text(encoding="utf-8") == page, "stale: run `python docs/generate.py`"
    entries = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert entries == [check.id for check in engine.registry()]
