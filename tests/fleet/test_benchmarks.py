"""Logs of benchmarks: what is read of them, fitted and judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from brctl.fleet.benchmarks import Collective, Row, described, findings, fit, parse
from brctl.node.report import Status

HEAD = """# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824
#   Rank  0 Group  0 Pid 1 on n1 device  0 [0x18] NVIDIA H100 80GB HBM3
#   Rank  1 Group  0 Pid 2 on n2 device  0 [0x18] NVIDIA H100 80GB HBM3
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
"""
LINE = "{size} {count} float sum -1 {time} 1.0 {busbw} {wrong} {time} 1.0 {busbw} {wrong}\n"


def a_log(*rows: tuple[int, float, float, int], tail: str = "# Out of bounds values : 0 OK\n") -> str:
    lines = (LINE.format(size=s, count=s // 4, time=t, busbw=b, wrong=w) for s, t, b, w in rows)
    return HEAD + "".join(lines) + tail


def judged(text: str, link: float | None = None) -> list[tuple[str, Status]]:
    log = parse(text)
    assert log is not None
    return [(finding.check, finding.status) for finding in findings(log, "x.log", link)]


def test_a_fit_finds_what_made_the_curve() -> None:
    rows = [Row(size, 40e-6 + size / 100e9, 1.0, 0) for size in (8, 1 << 10, 1 << 20, 1 << 25, 1 << 30)]
    found = fit(rows)
    assert found is not None
    assert found.alpha_s == pytest.approx(40e-6)
    assert found.beta == pytest.approx(100)
    assert found.worst_residual < 1e-9


def test_the_published_curve_of_four_nodes() -> None:
    """stas00/ml-engineering, 4 x 8 B200, busbw by size: alpha 409 us and 366 GB/s were fitted to it."""
    mib = {0.125: 0.45, 0.25: 1.33, 0.5: 2.84, 1: 5.37, 2: 10.38, 4: 18.90, 8: 35.12, 16: 64.43, 32: 91.19, 64: 156.74}
    mib |= {
        128: 197.94,
        256: 229.09,
        512: 326.90,
        1024: 361.99,
        2048: 372.42,
        4096: 377.34,
        8192: 380.39,
        16384: 381.80,
    }
    factor = 2 * 31 / 32
    rows = [Row(int(s * 2**20), s * 2**20 * factor / (busbw * 1e9), busbw, None) for s, busbw in mib.items()]
    found = fit(rows)
    assert found is not None
    assert found.alpha_s == pytest.approx(409e-6, rel=0.05)
    assert found.beta * factor == pytest.approx(366, rel=0.03)
    collective = Collective(32, 4, "NVIDIA B200", tuple(rows), 0)
    assert collective.wire == pytest.approx(381.8 * 3 / 31)


def test_too_few_sizes_are_not_fitted() -> None:
    assert fit([Row(8, 1.0, 1.0, 0), Row(16, 2.0, 1.0, 0)]) is None


def test_wrong_values_are_critical() -> None:
    text = a_log((1 << 30, 5000.0, 400.0, 3), tail="# Out of bounds values : 3 FAILED\n")
    assert ("comm-corruption", Status.CRIT) in judged(text)


def test_a_log_that_was_cut_short() -> None:
    assert judged(a_log((1 << 30, 5000.0, 400.0, 0), tail="")) == [("comm-log", Status.WARN)]


def test_wrong_values_in_a_log_that_was_cut_short_have_no_evidence_of_its_end() -> None:
    log = parse(a_log((1 << 30, 5000.0, 400.0, 3), tail=""))
    assert log is not None
    corruption, cut = findings(log, "x.log", None)
    assert (corruption.check, cut.check) == ("comm-corruption", "comm-log")
    assert [(one.what, one.value) for one in corruption.evidence] == [("1073741824 bytes", "3 wrong values")]


def test_rows_that_measure_nothing_are_left_out() -> None:
    sizes = [(8 << place, 30.0 + place, 1.0, 0) for place in range(4)]
    good = parse(a_log(*sizes))
    assert good is not None
    lines = ("8 2 float sum -1 0.00 inf inf 0 0.00 inf inf 0\n", "8 2 float sum -1 5.00 nan nan 0 5.00 nan nan 0\n")
    odd = parse(a_log(*sizes, tail="".join(lines) + LINE.format(size="²", count="²", time=1.0, busbw=1.0, wrong=0)))
    assert odd is not None
    assert good.collective is not None
    assert odd.collective is not None
    assert odd.collective.rows == good.collective.rows
    assert described(odd) == described(good)
    zero = parse(a_log((8, 0.0, 0.0, 0), (16, 0.0, 0.0, 0), (32, 0.0, 0.0, 0)))
    assert zero is not None
    assert described(zero) == {"kind": "nccl-tests", "ranks": "2 on 2 hosts", "GPU": "NVIDIA H100 80GB HBM3"}
    assert [found.check for found in findings(zero, "x.log", 50.0)] == ["comm-log"], "nothing measured is not slow"


def test_a_sum_that_is_no_number() -> None:
    log = parse(
        "nvbandwidth Version: v0.8\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\nSUM a 1.2.3\nSUM b 2.5\n"
    )
    assert log is not None
    assert [(copy.name, copy.sum) for copy in log.copies] == [("b", 2.5)]


def test_failures_that_it_reports() -> None:
    text = a_log((1 << 30, 5000.0, 48.0, 0)) + "n1: Test NCCL failure common.cu:958 'unhandled system error'\n"
    assert judged(text, 50.0) == [("comm-log", Status.WARN)]


def test_what_crosses_hosts_is_held_against_the_port() -> None:
    slow, quick = a_log((1 << 30, 5000.0, 20.0, 0)), a_log((1 << 30, 5000.0, 47.0, 0))
    assert judged(slow, 50.0) == [("comm-slow", Status.WARN)]
    assert judged(quick, 50.0) == [("comm-log", Status.PASS)]
    assert judged(slow) == [("comm-log", Status.PASS)]  # nobody said what the port can


def test_within_a_host_nvlink_is_what_it_is_held_against() -> None:
    one = a_log((1 << 30, 5000.0, 200.0, 0)).replace("on n2", "on n1")
    assert judged(one) == [("comm-slow", Status.WARN)]
    assert judged(one.replace("200.0", "370.0")) == [("comm-log", Status.PASS)]


def test_perftest_in_both_units() -> None:
    head = "  RDMA_Write BW Test\n #bytes  #iterations  BW peak[{0}]  BW average[{0}]  MsgRate[Mpps]\n"
    old = parse(head.format("MB/sec") + " 65536 5000 46000.00 45776.37 0.7\n")
    new = parse(head.format("Gb/sec") + " 65536 5000 390.00 384.00 0.7\n")
    assert old is not None
    assert new is not None
    assert [round(link.average, 2) for link in (*old.links, *new.links)] == [48.0, 48.0]


def test_another_text_is_none() -> None:
    assert parse("hello\n") is None
    assert parse("") is None


def test_figures(recordings: Path) -> None:
    found = {path.name: parse(path.read_text()) for path in sorted((recordings / "benchmarks").iterdir())}
    assert all(found.values())
    allreduce = found["nccl_allreduce.log"]
    assert allreduce is not None
    assert described(allreduce) == {
        "kind": "nccl-tests",
        "ranks": "8 on 1 host",
        "GPU": "A100-SXM4-40GB",
        "alpha": "37.6 us",
        "beta": "120.2 GB/s of the algorithm",
        "residuals": "mean 12%, worst 41% at 2097152 bytes",
        "bus bandwidth": "235.3 GB/s at its best",
    }
    copies = found["nvbandwidth_results.log"]
    assert copies is not None
    assert described(copies)["host_device_latency_sm"] == "772.58 ns"


def test_recordings_give_no_alarm(recordings: Path) -> None:
    for path in (recordings / "benchmarks").iterdir():
        log = parse(path.read_text())
        assert log is not None
        assert [finding.status for finding in findings(log, path.name, 25.0)] == [Status.PASS], path.name


PERFTEST = "  RDMA_Write BW Test\n #bytes  #iterations  BW peak[Gb/sec]  BW average[Gb/sec]  MsgRate[Mpps]\n"
NVBANDWIDTH = "nvbandwidth Version: v0.8\n\nRunning host_to_device_memcpy_ce.\n"
UNCORRECTABLE = (
    "[CUDA_ERROR_ECC_UNCORRECTABLE] uncorrectable ECC error encountered in expression cuMemAlloc(&p, n) in "
    "virtual void HostToDeviceCE::run() : testcases_ce.cpp:27"
)


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (PERFTEST, "no result is in it: nothing was measured"),
        (PERFTEST + " 65536 5000 nan nan nan\n", "no result is in it: nothing was measured"),
        (a_log(), "no result is in it: nothing was measured"),
        (a_log() + "8 2 float sum -1 1.00 inf inf 0 1.00 N/A N/A 0\n", "no result is in it: nothing was measured"),
        ("nvbandwidth Version: v0.8\n", "no result is in it: nothing was measured"),
        (NVBANDWIDTH + "Waived:\n", "no result is in it: nothing was measured"),
        (
            NVBANDWIDTH + "memcpy CE bandwidth (GB/s)\nSUM host_to_device_memcpy_ce 0.00\n",
            "no result is in it: nothing was measured",
        ),
        (NVBANDWIDTH, "host_to_device_memcpy_ce has no result: the test did not come to its end"),
        (
            NVBANDWIDTH + "SUM host_to_device_memcpy_ce nan\n",
            "host_to_device_memcpy_ce has no result: the test did not come to its end",
        ),
        (
            NVBANDWIDTH + "SUM host_to_device_memcpy_ce 55.1\n\nRunning b.\n",
            "b has no result: the test did not come to its end",
        ),
        ("nvbandwidth\nRunning ", "no result is in it: nothing was measured"),
    ],
)
def test_a_log_that_measured_nothing_is_never_well(text: str, summary: str) -> None:
    log = parse(text)
    assert log is not None
    assert [(found.status, found.summary) for found in findings(log, "x", 50.0)] == [(Status.WARN, summary)]


def test_what_nvbandwidth_says_of_an_error_is_told() -> None:
    log = parse(NVBANDWIDTH + UNCORRECTABLE + "\n")
    assert log is not None
    unfinished, failed = findings(log, "x", None)
    assert (failed.status, failed.summary) == (Status.WARN, "it reports failures")
    assert [one.value for one in failed.evidence] == [UNCORRECTABLE]
    assert unfinished.status is Status.WARN
    for line in ("NVML_ERROR: [Unknown Error] in expression x() in f() : a.cpp:1", "ASSERT in expression x in f() : 1"):
        other = parse(NVBANDWIDTH + "SUM a 1.0\n" + line + "\n")
        assert other is not None
        assert other.complaints == (line,)
