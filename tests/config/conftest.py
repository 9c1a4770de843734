"""A config from its text."""

from collections.abc import Callable
from pathlib import Path

import pytest

from brctl.config.load import load
from brctl.config.mistake import ConfigError, Mistake
from brctl.config.resolve import Config

Load = Callable[[str], Config]
Refuse = Callable[[str], tuple[Mistake, ...]]
Said = Callable[[str], list[str]]

HEAD = """\
version: 1
cluster:
  name: test
  nodes: gpu[1-4],store1
  groups:
    compute: {nodes: "gpu[1-4]", role: compute}
    rack: {nodes: "gpu[2-3],store1"}
"""
"""Seven lines: what a test adds begins on line 8."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages then name the file without the folder of the test."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def config() -> Load:
    """Load a config whose cluster is HEAD; a text that says `version` itself stands alone."""

    def loaded(text: str) -> Config:
        Path("c.yaml").write_text(
            text if text.lstrip("\ufeff").startswith("version") else HEAD + text, encoding="utf-8"
        )
        return load(Path("c.yaml"))

    return loaded


@pytest.fixture
def refused(config: Load) -> Refuse:
    """The mistakes in a config that has some."""

    def mistakes(text: str) -> tuple[Mistake, ...]:
        with pytest.raises(ConfigError) as caught:
            config(text)
        return caught.value.mistakes

    return mistakes


@pytest.fixture
def said(refused: Refuse) -> Said:
    """Each mistake as `LINE:COLUMN KEY: message (hint)`."""

    def lines(text: str) -> list[str]:
        return [
            f"{it.place.line}:{it.place.column} {it.path}: {it.message}" + (f" ({it.hint})" if it.hint else "")
            for it in refused(text)
            if it.place
        ]

    return lines
