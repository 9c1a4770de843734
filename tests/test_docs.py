"""Generated pages are current, and what they promise is what is printed."""

import json
import re
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from brctl.fleet.discover import Discovery, Said
from brctl.fleet.drain import Outcome, Result
from brctl.fleet.listing import Row
from brctl.mock.machines import load
from brctl.node import agent
from brctl.node.codec import encode
from brctl.node.request import Request
from brctl.render.data import dump, reports

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def pages() -> Iterator[dict[str, Callable[[], str]]]:
    path = list(sys.path)
    yield runpy.run_path(str(DOCS / "generate.py"))["PAGES"]
    sys.path[:] = path


@pytest.mark.process
def test_every_page_is_current(pages: dict[str, Callable[[], str]]) -> None:
    stale = [
        name for name, page in pages.items() if _words(name, (DOCS / name).read_text("utf-8")) != _words(name, page())
    ]
    assert not stale, "run `python docs/generate.py`"


def _words(name: str, text: str) -> str:
    """Of a picture the text alone: how it is drawn is the business of the library that draws it."""
    return re.sub(r"<[^>]*>", "\n", text[text.index("</style>") :]) if name.endswith(".svg") else text


@pytest.mark.parametrize("spec", ["dgx-h100", "dgx-h100+gpu3-lost", "dgx-h100+no-library", "cpu-only"])
def test_what_is_printed_fits_the_schema(spec: str) -> None:
    schema = json.loads((DOCS / "report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    report = agent.answer(load(spec), Request("gpu001", "check"))
    jsonschema.validate(json.loads(dump(reports("node-manager check", [report]), "json")), schema)


@pytest.mark.parametrize(
    "more",
    [
        {"nodes": [Row("n", "up", None, None, None, None, None, "ok", None)]},
        {"nodes": [Outcome("n", Result.REFUSED, "no", "ask")]},
        {"reports": [], "drained": [Outcome("n", Result.DRAINING, "it does")]},
        {"discovery": Discovery((Said("slurm", ("n",), (), ("n",), error="no"),), (), (), ("n",), ("+n",))},
    ],
    ids=["list", "drain", "check", "discover"],
)
def test_what_is_printed_of_nodes_fits_the_schema(more: dict[str, Any]) -> None:
    schema = json.loads((DOCS / "report.schema.json").read_text())
    plain = {
        key: [encode(item) for item in value] if isinstance(value, list) else encode(value)
        for key, value in more.items()
    }
    jsonschema.validate(json.loads(dump({"command": "node-manager", **plain}, "json")), schema)


def test_every_field_of_the_output_is_explained() -> None:
    """A field whose name says it all needs no words; one with a unit or a choice of words does."""
    page = (DOCS / "json.md").read_text()
    for field in ("kind", "reason", "recovery_action", "nearest_nic_path", "fold"):
        assert f"| `{field}` | string |  |" not in page, field
