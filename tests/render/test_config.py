"""`config show` where the terminal is narrow, and the host's part of `node-manager show`."""

import pytest

from brctl.config.reference import Value
from brctl.render.config import values_table
from brctl.render.inventory import _many
from brctl.render.terminal import Terminal

VALUES = (
    Value(("tune", "network", "mtu"), 9000, "/etc/brctl/cluster-config.yaml:12"),
    Value(("alerting", "gpu_ecc_uncorrected", "threshold"), 1, "override at /etc/brctl/cluster-config.yaml:345"),
    Value(("comm", "env", "X"), "one two three four five six seven", "default"),
)


def lines(columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    values_table(Terminal(), [("gpu1", VALUES)])
    return capsys.readouterr().out.splitlines()


def test_80_columns_keep_where_values_come_from(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines(80, monkeypatch, capsys) == [
        "gpu1",
        "Key                            Value                          From",
        "tune.network.mtu               9000                           line 12",
        "alerting.gpu_ecc_uncorrected.",
        "  threshold                    1                              override, line 345",
        "comm.env.X                     one two three four five six    default",
        "                               seven",
        "lines of /etc/brctl/cluster-config.yaml",
    ]


def test_a_wide_terminal_shows_them_whole(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shown = lines(140, monkeypatch, capsys)
    assert len(shown) == 5
    assert shown[3].split() == [VALUES[1].key, "1", *VALUES[1].origin.split()]


def test_plurals() -> None:
    assert [_many(number, "core") for number in (0, 1, 2)] == ["0 cores", "1 core", "2 cores"]
