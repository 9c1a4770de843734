from typing import Any, Callable

import pytest

from brctl.node.report import Status


@pytest.mark.parametrize(
    ("port", "name", "growth", "words"),
    [
        ("ens3np0", "rx_discards_phy", 501, "dropped for lack of buffers, 100 a second (rx_discards_phy)"),
        ("ens3np0", "rx_total_discard_pkts", 600, "dropped for lack of buffers, 120 a second (rx_total_discard_pkts)"),
        ("mlx5_2", "hw_counters/local_ack_timeout_err", 10, "acknowledgements do not come in time, 2 a second"),
        ("mlx5_2", "hw_counters/to_retransmits", 10, "acknowledgements do not come in time, 2 a second"),
        ("mlx5_2", "hw_counters/retrans_timeout_events", 10, "acknowledgements do not come in time, 2 a second"),
        ("mlx5_2", "hw_counters/packet_seq_err", 1000, "packets are missing in the sequence, 200 a second"),
        ("ens3np0", "pps_allowance_exceeded", 1000, "the cloud holds packets back"),
    ],
)
def test_each_kind_of_loss_by_every_drivers_names(
    grow: Callable[..., Any], port: str, name: str, growth: int, words: str
) -> None:
    (found,) = grow({port: {name: growth}})
    assert (found.status, found.subject.name) == (Status.WARN, "ens3np0")
    assert words in found.summary
    assert found.remedy


def test_few_are_normal(grow: Callable[..., Any]) -> None:
    counts = {"rx_discards_phy": 500, "rx_out_of_buffer": 0}
    (found,) = grow({"ens3np0": counts, "mlx5_2": {"hw_counters/local_ack_timeout_err": 5}})
    assert (found.status, found.summary) == (Status.PASS, "1 of 1 ports: no drops or repeats at a rate that counts")


def test_the_gravest_of_several_looks(counted: Any, examine: Any) -> None:
    from brctl.node.diagnose import Earlier, engine
    from brctl.node.host.members import of_ids

    (check,) = of_ids(engine.registry(), ["nic-drops"])
    name = "rx_discards_phy"
    now = counted({"ens1np0": {name: 10**6}}, 1000)
    looks = [
        Earlier(counted({"ens1np0": {name: 10**6}}, 999), "the first sample"),
        Earlier(counted({"ens1np0": {name: 0}}, 0), "the baseline"),
    ]
    (found,) = engine.examine(check, now, _expected(), (), looks)
    assert (found.status, found.evidence[0].value) == (Status.WARN, "+1e+06 in 17 min, since the baseline")


def _expected() -> Any:
    from brctl.node.request import Expected

    return Expected()
