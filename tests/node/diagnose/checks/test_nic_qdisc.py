from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory, LinkSettings
from brctl.node.report import Status

WELL = LinkSettings("", qdisc="mq")
Settings = Callable[..., Inventory]


@pytest.mark.parametrize("kind", ["mq", "fq_codel", "noqueue", "pfifo_fast"])
def test_what_sends_when_it_can(with_settings: Settings, examine: Callable[..., Any], kind: str) -> None:
    (found,) = examine(with_settings(WELL, 2, qdisc=kind))
    assert (found.status, found.summary) == (
        Status.PASS,
        "8 ports: " + ", ".join(sorted({"mq", kind})),
    )


@pytest.mark.parametrize(
    ("kind", "words"), [("tbf", "limits what it sends"), ("netem", "delays and drops packets on purpose")]
)
def test_what_holds_back(with_settings: Settings, examine: Callable[..., Any], kind: str, words: str) -> None:
    (found,) = examine(with_settings(WELL, 2, qdisc=kind))
    assert (found.status, found.subject.name) == (Status.WARN, "ens3np0")
    assert found.summary == "ens3np0: its queueing discipline {} {}".format(kind, words)
    assert "tc qdisc del dev ens3np0 root" in found.remedy


def test_without_tc(with_settings: Settings, examine: Callable[..., Any]) -> None:
    assert examine(with_settings(LinkSettings("")))[0].status is Status.NA
