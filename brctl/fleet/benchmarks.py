"""Logs of benchmarks that others ran: nccl-tests, nvbandwidth and perftest's ib_*; what their figures say.

A collective's time is fitted by T = alpha + size / beta. Below some 256 MiB no bandwidth alone explains it, so both are
given, with what the fit leaves unexplained.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import NamedTuple

from ..node.report import Evidence, Finding, Status, Subject

NVLINK_GB_PER_S = {"A100-SXM": 300, "H100 80GB HBM3": 450, "H200": 450, "B200": 900, "V100-SXM": 150}
"""Of a GPU in each direction, GB/s, by a part of its name: NVIDIA's data sheets, half of what they give for both."""
LEAST_OF_NVLINK = 0.7
"""Of the links' rate, for large messages in one node: A100 reaches 78 %, H200 by rings 82 % (nccl-tests#212)."""
LEAST_OF_LINK = 0.9
"""Of the port's rate, for large messages: NDR400 gives 46 to 48 of 50 GB/s (nccl-tests#290)."""
LARGE_BYTES = 256 << 20


class Row(NamedTuple):
    size_bytes: int
    time_s: float
    busbw: float
    """GB/s"""
    wrong: int | None
    """Values that came out wrong; None: not looked at."""


class Fit(NamedTuple):
    """T = alpha + size / beta, by least squares of the relative errors."""

    alpha_s: float
    beta: float
    """GB/s of the algorithm."""
    mean_residual: float
    """Of the time, as a share; this and the next."""
    worst_residual: float
    worst_at_bytes: int


class Collective(NamedTuple):
    """One table of nccl-tests."""

    ranks: int
    hosts: int
    gpu: str
    rows: tuple[Row, ...]
    out_of_bounds: int | None
    """As its last lines say; None: they are missing, and so may be the end of the table."""

    @property
    def peak(self) -> float:
        """Bus bandwidth of the large messages, GB/s."""
        large = [row.busbw for row in self.rows if row.size_bytes >= LARGE_BYTES]
        return max(large or [row.busbw for row in self.rows], default=0.0)

    @property
    def wire(self) -> float | None:
        """What each GPU sends to other hosts, GB/s: busbw (k - 1) / (n - 1) of k hosts; None within one, or where
        nothing was measured."""
        return self.peak * (self.hosts - 1) / (self.ranks - 1) if self.hosts > 1 and self.rows else None


class Copy(NamedTuple):
    """One test of nvbandwidth."""

    name: str
    sum: float
    unit: str


class Link(NamedTuple):
    """One line of perftest's ib_*_bw."""

    size_bytes: int
    average: float
    """GB/s"""


class Log(NamedTuple):
    """What was found in a file; of all but one kind nothing."""

    kind: str
    """`nccl-tests`, `nvbandwidth` or `perftest`."""
    collective: Collective | None = None
    copies: tuple[Copy, ...] = ()
    links: tuple[Link, ...] = ()
    complaints: tuple[str, ...] = ()
    """Lines that say that something failed."""
    unfinished: str = ""
    """The test that had begun when the log ends."""

    @property
    def measured(self) -> bool:
        """Whether there is a result in it at all."""
        return bool((self.collective and self.collective.rows) or any(copy.sum for copy in self.copies) or self.links)


def parse(text: str) -> Log | None:
    """None: it is none of these logs."""
    complaints = tuple(dict.fromkeys(line.strip() for line in text.splitlines() if _COMPLAINT.search(line)))[:5]
    if "Out of bounds values" in text or re.search(r"^#\s+size\s+count\s+type", text, re.M):
        return Log("nccl-tests", _collective(text), complaints=complaints)
    if text.startswith("nvbandwidth") or "nvbandwidth Version" in text:
        return Log("nvbandwidth", copies=tuple(_copies(text)), complaints=complaints, unfinished=_unfinished(text))
    if re.search(r"RDMA_(Write|Read)|Send BW Test|#bytes\s+#iterations", text):
        return Log("perftest", links=tuple(_links(text)), complaints=complaints)
    return None


_COMPLAINT = re.compile(
    r"\bFAILED\b|Test (NCCL|CUDA) failure|NCCL WARN|CUDA error|Couldn't|Failed to|Completion with error|ERROR:"
    r"|^\[(CUDA_ERROR_|cudaError)\w+\]|^Error: |\bin expression\b"  # nvbandwidth's error_handling.h, json_output.h
)
_AGAIN = "look at the end of the log, and run it again"
_RANK = re.compile(r"#\s+Rank\s+(\d+).*? on\s+(\S+)\s+device\s+\S+\s+\[\S+\]\s+(.+?)\s*$", re.M)
_BOUNDS = re.compile(r"# Out of bounds values\s*:\s*(\d+)")


def _collective(text: str) -> Collective:
    ranks = _RANK.findall(text)
    bounds = _BOUNDS.search(text)
    return Collective(
        max(len(ranks), 1),
        max(len({host for _, host, _ in ranks}), 1),
        ranks[0][2] if ranks else "",
        tuple(_rows(text)),
        int(bounds.group(1)) if bounds else None,
    )


def _rows(text: str) -> Iterator[Row]:
    """Size, count, type, operation, perhaps root; then time, algbw, busbw and errors, out of place and in place."""
    for line in text.splitlines():
        words = line.split()
        if len(words) < 11 or not words[0].isdecimal() or not words[1].isdecimal():
            continue
        time_us, _, busbw, wrong = words[-8:-4]
        measured = _number(time_us) and _number(busbw) and float(time_us)  # 0.00 is shorter than what it can tell
        if measured and int(words[0]):
            yield Row(int(words[0]), float(time_us) / 1e6, float(busbw), int(float(wrong)) if _number(wrong) else None)


def _copies(text: str) -> Iterator[Copy]:
    unit = ""
    for line in text.splitlines():
        found = re.search(r"\((GB/s|ns|us)\)\s*$", line)
        unit = found.group(1) if found else unit
        total = re.match(r"SUM (\S+) (\d+(?:\.\d+)?)\s*$", line)
        if total:
            yield Copy(total.group(1), float(total.group(2)), unit)


def _unfinished(text: str) -> str:
    """nvbandwidth names a test when it begins, and its sum, or that it is waived, when it ends."""
    _, *runs = re.split(r"^Running ", text, flags=re.M)
    if not runs or not runs[-1] or re.search(r"^(SUM \S+ \d|Waived)", runs[-1], re.M | re.I):
        return ""
    return runs[-1].splitlines()[0].rstrip(".")


def _links(text: str) -> Iterator[Link]:
    scale = 1 / 8 if "Gb/sec" in text else 1.048576e-3  # perftest's MB is 2^20 bytes
    for line in text.splitlines():
        words = line.split()
        if len(words) in (4, 5) and words[0].isdecimal() and words[1].isdecimal() and all(map(_number, words[2:])):
            yield Link(int(words[0]), float(words[3]) * scale)


def latency_s(text: str) -> float | None:
    """The typical time of ib_write_lat: of the smallest message, one way."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 6 and all(map(_number, words[:5])) and words[0].isdecimal():
            return float(words[4]) / 1e6
    return None


def bits_per_s(text: str) -> float | None:
    """The best average of ib_write_bw."""
    found = list(_links(text))
    return max(each.average for each in found) * 8e9 if found else None


def _number(text: str) -> bool:
    return bool(re.fullmatch(r"\d+(\.\d+)?", text))


def fit(rows: Sequence[Row]) -> Fit | None:
    """None: fewer than three sizes."""
    if len({row.size_bytes for row in rows}) < 3:
        return None
    # Each equation is divided by its time, so that small messages count as much as large ones.
    a = [(1 / row.time_s, row.size_bytes / row.time_s) for row in rows]
    s11, s12, s22 = sum(x * x for x, _ in a), sum(x * y for x, y in a), sum(y * y for _, y in a)
    b1, b2 = sum(x for x, _ in a), sum(y for _, y in a)
    determinant = s11 * s22 - s12 * s12
    if determinant <= 0:
        return None
    alpha, slope = (b1 * s22 - b2 * s12) / determinant, (s11 * b2 - s12 * b1) / determinant
    if slope <= 0:
        return None
    residuals = [(abs((alpha + slope * row.size_bytes) / row.time_s - 1), row.size_bytes) for row in rows]
    worst, at = max(residuals)
    return Fit(alpha, 1 / slope / 1e9, mean(each for each, _ in residuals), worst, at)


def findings(log: Log, where: str, link_gb_per_s: float | None) -> tuple[Finding, ...]:
    """What is wrong, or that nothing is; `link_gb_per_s`: the rate of a port, for perftest and for what crosses
    hosts."""
    subject = Subject("file", where, where)
    found = [*_wrong(log, subject, where), *_slow(log, subject, link_gb_per_s)]
    return tuple(found) or (Finding("comm-log", Status.PASS, subject, _summary(log)),)


def _wrong(log: Log, subject: Subject, where: str) -> Iterator[Finding]:
    bad = log.collective.out_of_bounds if log.collective else None
    wrong = [row for row in log.collective.rows if row.wrong] if log.collective else []
    if bad or wrong:
        evidence = [Evidence("Out of bounds values", str(bad), where)] if bad is not None else []
        evidence += [Evidence(f"{row.size_bytes} bytes", f"{row.wrong} wrong values", where) for row in wrong[:3]]
        text = "results are wrong: data was corrupted on the way or in memory"
        remedy = "take these nodes out of service, then find the one: brctl diagnose run --level full"
        yield Finding("comm-corruption", Status.CRIT, subject, text, tuple(evidence), remedy)
    if log.collective and log.collective.out_of_bounds is None:
        text = "its last lines are missing: the test did not come to its end"
        yield Finding("comm-log", Status.WARN, subject, text, remedy=_AGAIN)
    elif log.unfinished:
        text = f"{log.unfinished} has no result: the test did not come to its end"
        yield Finding("comm-log", Status.WARN, subject, text, remedy=_AGAIN)
    elif not log.measured:
        text = "no result is in it: nothing was measured"
        yield Finding("comm-log", Status.WARN, subject, text, remedy=_AGAIN)
    if log.complaints:
        evidence = [Evidence("line", line, where) for line in log.complaints]
        yield Finding("comm-log", Status.WARN, subject, "it reports failures", tuple(evidence), "see these lines")


def _slow(log: Log, subject: Subject, link: float | None) -> Iterator[Finding]:
    for what, value, rate, least in _shares(log, link):
        if value < least * rate:
            text = f"{what} reaches {value:.3g} GB/s, {value / rate:.0%} of {rate:g} GB/s"
            remedy = "look at links, PCIe width, ACS and the environment: brctl diagnose run; brctl tune env --lint"
            evidence = (Evidence("usual", f"at least {least:.0%}", "see docs/comm.md"),)
            yield Finding("comm-slow", Status.WARN, subject, text, evidence, remedy)


def _shares(log: Log, link: float | None) -> Iterator[tuple[str, float, float, float]]:
    """What, its GB/s, the rate that it could have, and the least share of that."""
    found = log.collective
    nvlink = next((rate for name, rate in NVLINK_GB_PER_S.items() if found and name in found.gpu), None)
    if found and found.wire is not None and link:
        yield "what a GPU sends to other hosts", found.wire, link, LEAST_OF_LINK
    elif found and found.hosts == 1 and found.ranks > 1 and nvlink and found.rows:
        yield "the bus of a large message", found.peak, nvlink, LEAST_OF_NVLINK
    if log.links and link:
        yield "the port", max(each.average for each in log.links), link, LEAST_OF_LINK


def _summary(log: Log) -> str:
    return f"{log.kind}: nothing wrong"


def described(log: Log) -> Mapping[str, str]:
    """Its figures, for people and for programs."""
    told = {"kind": log.kind}
    if log.collective:
        told |= _of_collective(log.collective)
    for copy in log.copies:
        told[copy.name] = f"{copy.sum:g} {copy.unit}"
    if log.links:
        best = max(log.links, key=lambda each: each.average)
        told |= {"peak": f"{best.average:.3g} GB/s at {best.size_bytes} bytes", "sizes": str(len(log.links))}
    return told


def _of_collective(found: Collective) -> dict[str, str]:
    told = {"ranks": f"{found.ranks} on {found.hosts} host{'' if found.hosts == 1 else 's'}", "GPU": found.gpu}
    curve = fit(found.rows)
    if curve:
        told["alpha"] = f"{curve.alpha_s * 1e6:.3g} us"
        told["beta"] = f"{curve.beta:.4g} GB/s of the algorithm"
        told["residuals"] = (
            f"mean {curve.mean_residual:.0%}, worst {curve.worst_residual:.0%} at {curve.worst_at_bytes} bytes"
        )
    if found.rows:
        told["bus bandwidth"] = f"{found.peak:.4g} GB/s at its best"
    if found.wire is not None:
        told["between hosts"] = f"{found.wire:.3g} GB/s a GPU"
    return told
