"""A Setting is one file: its id, file, test and docs entry have one name, and nothing else lists it."""

import runpy
import sys
from pathlib import Path

import pytest

from brctl.node.request import Wanted
from brctl.node.tune import Setting, engine, manual, settings

CODE = Path(settings.__file__).parent
TESTS = Path(__file__).parent / "settings"
DOCS = Path(__file__).parents[3] / "docs"

every_setting = pytest.mark.parametrize("setting", engine.registry(), ids=lambda setting: setting.id)


def test_every_file_is_a_setting_and_every_setting_has_a_test() -> None:
    files = sorted(path.stem for path in CODE.glob("[!_]*.py"))
    assert sorted(setting.id.replace("-", "_") for setting in engine.registry()) == files
    assert sorted(path.stem for path in TESTS.glob("test_*.py")) == ["test_" + name for name in files]


@every_setting
def test_a_setting_is_named_after_its_file_and_says_what_it_is(setting: Setting) -> None:
    module = sys.modules[setting.plan.__module__]
    assert module.__name__.rpartition(".")[2].replace("_", "-") == setting.id
    doc = module.__doc__ or ""
    assert "\nWhen not to: " in doc, "its page says when not to use it"
    assert setting.title[0].isupper()
    assert setting.title[-1].isalpha()
    assert setting.keys or setting.id == "comm-env"  # which follows from the section comm


def test_they_are_made_in_a_fixed_order_and_each_key_by_one() -> None:
    orders = [(setting.order, setting.id) for setting in engine.registry()]
    assert orders == sorted(orders)
    keys = [key for setting in engine.registry() for key in setting.keys]
    assert len(keys) == len(set(keys))
    names = [setting.id for setting in engine.registry()]
    assert names.index("gpu-persistence") < names.index("gpu-power-limit") < names.index("gpu-clocks")


def test_all_that_can_be_wanted_is_set_by_one() -> None:
    keys = {key.rpartition(".")[2] for setting in engine.registry() for key in setting.keys}
    renamed = {"sysctls": "sysctl", "power_limits": "power_limit", "interfaces": "mtu"}
    assert {renamed.get(field, field) for field in Wanted._fields} == keys


def test_the_page_of_settings_is_current() -> None:
    page = runpy.run_path(str(DOCS / "generate.py"))["settings_md"]()
    assert (DOCS / "settings.md").read_text(encoding="utf-8") == page, "stale: run `python docs/generate.py`"
    entries = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert entries == [page.id for page in manual.pages(engine.registry())]
