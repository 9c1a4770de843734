import re

import pytest

from brctl.node.diagnose import xid
from brctl.node.report import Status


@pytest.mark.parametrize("number", sorted(xid.table()))
def test_every_row(number: int) -> None:
    row = xid.of(number)
    assert row.number == number
    assert re.fullmatch(r"[A-Z0-9_]+", row.name)
    assert row.why
    assert {tool for tool, _ in row.others} <= set(xid.SOURCES)
    if row.status in (Status.WARN, Status.CRIT):
        text = xid.remedy(number, "GPU-1") or ""
        assert "{" not in text


def test_one_that_nobody_knows() -> None:
    assert xid.of(9999)[:3] == (9999, "unnamed", "unused")
    assert xid.of(9999).status is Status.WARN
    assert xid.remedy(9999, "GPU-1") is None


def test_where_tools_disagree() -> None:
    disputed = [number for number in xid.table() if xid.of(number).is_disputed]
    assert {63, 92, 94, 109, 145, 154} <= set(disputed)
    assert not {13, 31, 43, 48, 74, 79, 95, 119, 120, 140} & set(disputed)


def test_the_drivers_own_word_goes_before() -> None:
    assert xid.remedy(48, "GPU-1", "drain-and-reset") == (
        "let the work end and take no more (drain), then `nvidia-smi --gpu-reset -i GPU-1`"
    )
    assert xid.remedy(48, "GPU-1", "42") == xid.remedy(48, "GPU-1") == xid.SAYS["gpu-reset"].format("GPU-1")


def test_causes_come_before_consequences() -> None:
    ranks = [xid.of(number).rank for number in (54, 79, 48, 63, 119, 149, 13, 109, 43, 45, 154)]
    assert ranks == sorted(ranks)
