"""A collector is one file: its id, file, test and docs entry have one name, and nothing else lists it."""

import re
import sys
from pathlib import Path
from typing import Set

import pytest

from brctl.node.monitor import GPU_LABELS, Collector, collectors, own, registry

CODE = Path(collectors.__file__).parent
TESTS = Path(__file__).parent / "collectors"
DOCS = Path(__file__).parents[3] / "docs"
UNITS = ("bytes", "celsius", "hertz", "joules", "watts", "seconds", "ratio", "rpm", "per_second")

every_collector = pytest.mark.parametrize("collector", registry(), ids=lambda collector: collector.id)


def test_every_file_is_a_collector_and_every_collector_has_a_test() -> None:
    files = sorted(path.stem for path in CODE.glob("[!_]*.py"))
    assert [collector.id.replace("-", "_") for collector in registry()] == files
    assert sorted(path.stem for path in TESTS.glob("test_*.py")) == ["test_" + name for name in files]


@every_collector
def test_a_collector_is_named_after_its_file_and_says_what_it_is(collector: Collector) -> None:
    work = collector.of_host or collector.of_gpu or collector.of_peers
    assert work is not None
    assert sum(map(bool, (collector.of_host, collector.of_gpu, collector.of_peers))) == 1
    assert work.__module__.rpartition(".")[2].replace("_", "-") == collector.id
    assert (sys.modules[work.__module__].__doc__ or "").strip()
    assert collector.title[-1].isalpha()
    assert collector.every_s >= 0.1


@every_collector
def test_series_are_named_as_prometheus_wants_them(collector: Collector) -> None:
    assert collector.series
    for series in collector.series:
        assert re.fullmatch("brctl_[a-z][a-z0-9_]*", series.name)
        assert series.kind in ("gauge", "counter")
        assert series.name.endswith("_total") == (series.kind == "counter")
        assert series.collector == collector.id
        assert series.help[0].isupper() or series.help[0].isdigit()
        assert series.help.endswith(".")
        assert series.source
        bare = series.name[: -len("_total")] if series.kind == "counter" else series.name
        unit = next((unit for unit in UNITS if bare.endswith("_" + unit)), "")
        assert bool(series.unit) == bool(unit), (series.name, series.unit)
        assert (series.labels[: len(GPU_LABELS)] == GPU_LABELS) == bool(collector.of_gpu)
        assert len(set(series.labels)) == len(series.labels)


def test_no_series_is_declared_twice() -> None:
    names = [series.name for collector in registry() for series in collector.series]
    names += [series.name for series in own.SERIES]
    assert len(names) == len(set(names))
    taken: Set[str] = {"node", "le", "quantile", "job", "instance"}  # which others put on
    assert not taken & {label for collector in registry() for series in collector.series for label in series.labels}


def test_the_page_of_metrics_has_them_all() -> None:
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")  # that it is current is tests/test_docs.py's business
    entries = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert entries == [*(collector.id for collector in registry()), own.SAMPLER, "alerts"]
