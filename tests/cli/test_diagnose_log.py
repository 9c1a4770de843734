import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

Brctl = Callable[..., Any]  # the fixture of conftest.py

BOOT = "[    0.000000] Linux version 6.8.0\n"
XID = "[    5.000000] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
IBSTAT = "CA 'mlx5_3'\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: {}\n\t\tRate: 10\n\t\tLink layer: InfiniBand\n"


@pytest.fixture(autouse=True)
def _files(brctl: Brctl, tmp_path: Path) -> None:  # the fixture brctl changes into tmp_path
    (tmp_path / "clean.log").write_text(BOOT)
    (tmp_path / "lost.log").write_text(BOOT + XID)
    (tmp_path / "part.log").write_text("[    5.000000] eth0: up\n")


def test_a_clean_log(brctl: Brctl) -> None:
    result = brctl("diagnose", "log", "clean.log")
    assert (result.code, result.out, result.err) == (0, "clean.log: OK  6 checks pass\n", "")
    assert brctl("diagnose", "log", "-q", "clean.log") == (0, "", "")


def test_a_lost_gpu(brctl: Brctl) -> None:
    result = brctl("diagnose", "log", "lost.log")
    assert result.code == 1
    first, *_ = result.out.splitlines()
    assert first == (
        "lost.log: CRIT  GPU 0000:3b:00.0: Xid 79: the GPU does not answer on PCIe: fallen off the bus (at 5.000000 s)"
    )
    assert brctl("diagnose", "log", "lost.log", "-o", "nagios").code == 2
    assert brctl("diagnose", "log", "lost.log", "-o", "markdown").out.startswith("## lost.log: CRIT\n")


def test_a_part_of_a_log_is_never_clean(brctl: Brctl) -> None:
    result = brctl("diagnose", "log", "part.log")
    assert result.code == 0
    assert "so also kernel-hung-task, kernel-oom, nic-firmware-error, nvswitch-sxid, pcie-aer" in result.out
    assert brctl("diagnose", "log", "part.log", "--strict").code == 3


def test_for_programs(brctl: Brctl) -> None:
    plain = json.loads(brctl("diagnose", "log", "lost.log", "-o", "json").out)
    assert (plain["command"], plain["schema_version"]) == ("diagnose log", 1)
    (report,) = plain["reports"]
    assert report["node"] == "lost.log"
    (event,) = report["inventory"]["kernel_log"]["events"]
    assert (event["number"], event["pci"], event["occurrences"]) == (79, "0000:3b:00.0", 1)


def test_stdin(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = SimpleNamespace(buffer=io.BufferedReader(io.BytesIO((BOOT + XID).encode())))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stdin", pipe)
    assert brctl("diagnose", "log", "-").out.startswith("stdin: CRIT  GPU 0000:3b:00.0: Xid 79")


@pytest.mark.parametrize(("state", "code"), [("Polling", 1), ("Disabled", 0)])
def test_ibstat(brctl: Brctl, tmp_path: Path, state: str, code: int) -> None:
    (tmp_path / "ib.txt").write_text(IBSTAT.format(state))
    result = brctl("diagnose", "log", "ib.txt")
    assert result.code == code
    assert ("mlx5_3: no link (DOWN, Polling)" in result.out) is (code == 1)


def test_ethtool(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "ens1np0.txt").write_text("NIC statistics:\n     rx_discards_phy: 12\n     rx_packets: 7\n")
    result = brctl("diagnose", "log", "ens1np0.txt")
    assert result.code == 0
    assert "one look is no verdict; since the driver was loaded: rx_discards_phy 12" in result.out


def test_what_a_config_says_holds(brctl: Brctl, tmp_path: Path) -> None:
    checks = "checks: {pcie-aer: {corrected_per_minute: 5}}"
    text = "version: 1\ncluster: {name: c, nodes: gpu001}\ndiagnose: {fail_on: crit, " + checks + "}\n"
    (tmp_path / "c.yaml").write_text(text)
    line = "[{}.0] pcieport 0000:85:01.0: PCIe Bus Error: severity=Corrected, type=Physical Layer\n"
    (tmp_path / "aer.log").write_text(BOOT + "".join(map(line.format, range(1, 12))))
    assert brctl("diagnose", "log", "aer.log").out.startswith("aer.log: OK")
    warned = brctl("diagnose", "log", "aer.log", "-c", "c.yaml", "--as", "gpu001")
    assert (warned.code, warned.out[:12]) == (0, "gpu001: WARN")
    assert brctl("diagnose", "log", "aer.log", "-c", "c.yaml", "--fail-on", "warn").code == 1
    assert brctl("diagnose", "log", "aer.log", "-c", "c.yaml", "--as", "gpu9").code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("log", "none.log"), 2, "error: cannot read none.log: No such file or directory\n"),
        (("log", "."), 2, "error: cannot read .: Is a directory\n"),
        (("log", "binary"), 2, "error: binary is no text: it has NUL bytes\n"),
        (("log", "words"), 2, "error: words is no output that brctl knows\nhint: known are kernel logs"),
        (("log", "clean.log", "-w", "gpu001"), 2, "error: --nodes: `diagnose log` judges a file\n"),
        (("explain", "gpu-xdi"), 2, "error: no such check: gpu-xdi\nhint: did you mean gpu-xid?"),
        (("explain", "xid"), 2, "error: explain xid: the number of an Xid is missing\n"),
        (("explain", "xid", "79", "80"), 2, "error: explain xid 79 80: one Xid at a time\n"),
        (("explain", "xid", "\N{ARABIC-INDIC DIGIT THREE}"), 2, "error: explain xid \N{ARABIC-INDIC DIGIT THREE}: the"),
        (("explain", "\N{SUPERSCRIPT TWO}"), 2, "error: no such check: \N{SUPERSCRIPT TWO}\n"),
        (("explain", "790000"), 2, "error: explain 790000: the number of an Xid is missing\n"),
        (("explain", "xid", "many"), 2, "error: explain xid many: the number of an Xid is missing\n"),
    ],
)
def test_errors(brctl: Brctl, tmp_path: Path, arguments: Any, code: int, error: str) -> None:
    (tmp_path / "binary").write_bytes(b"\x7fELF\0")
    (tmp_path / "words").write_text("hello\n")
    result = brctl("diagnose", *arguments)
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith(error)


@pytest.mark.parametrize("words", [("xid", "79"), ("Xid79",), ("79",)])
def test_explain_an_xid(brctl: Brctl, words: Any) -> None:
    result = brctl("diagnose", "explain", *words)
    assert result.code == 0
    assert result.out.startswith("Xid 79  GPU_HAS_FALLEN_OFF_THE_BUS\n  the GPU does not answer on PCIe")
    assert "NVIDIA  RESTART_BM" in result.out


def test_explain_where_tools_disagree(brctl: Brctl) -> None:
    assert "They disagree whether" in brctl("diagnose", "explain", "xid", "94").out
    assert "They disagree whether" not in brctl("diagnose", "explain", "xid", "79").out
    assert brctl("diagnose", "explain", "9999").out.startswith("Xid 9999, unused in NVIDIA's catalogue\n")
    plain = json.loads(brctl("diagnose", "explain", "xid", "94", "-o", "json").out)
    assert (plain["xid"]["number"], plain["xid"]["status"], plain["xid"]["disputed"]) == (94, "warn", True)
    assert plain["xid"]["says"][0]["word"] == "RESTART_APP"


def test_explain_a_check(brctl: Brctl) -> None:
    result = brctl("diagnose", "explain", "pcie-aer")
    assert result.out.startswith("pcie-aer  The kernel has told of no PCIe error.\n")
    assert "corrected_per_minute: 31 errors per minute." in result.out
    plain = json.loads(brctl("diagnose", "explain", "pcie-aer", "-o", "json").out)
    assert plain["check"]["thresholds"][0]["name"] == "corrected_per_minute"


def test_list(brctl: Brctl) -> None:
    lines = brctl("diagnose", "list").out.splitlines()
    assert lines[0].split() == ["Check", "Group", "True", "when", "it", "passes"]
    assert [line.split()[1] for line in lines if line.startswith("gpu-xid ")] == ["log"]
    plain = json.loads(brctl("diagnose", "list", "-o", "json").out)
    listed = {line.partition(" ")[0] for line in lines}
    assert {check["id"] for check in plain["checks"]} <= listed


NIC = "NIC statistics:\n     rx_packets_phy: {}\n     link_down_events_phy: {}\n"


def test_two_files_one_after_the_other(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(NIC.format(1, 1))
    (tmp_path / "b.txt").write_text(NIC.format(900, 9))
    assert brctl("diagnose", "log", "b.txt").code == 0
    result = brctl("diagnose", "log", "b.txt", "--baseline", "a.txt", "--apart", "10m")
    assert (result.code, result.err) == (1, "")
    assert result.out.startswith("b.txt: WARN  b.txt: its link was lost 8 times since a.txt\n")
    assert "link_down_events_phy: +8 in 10 min, since a.txt  (b.txt)" in result.out
    plain = json.loads(brctl("diagnose", "log", "b.txt", "--baseline", "a.txt", "--apart", "10m", "-o", "json").out)
    assert plain["reports"][0]["inventory"]["nics"] is None
    swapped = brctl("diagnose", "log", "a.txt", "--baseline", "b.txt", "--apart", "10m")
    less = "1 counter is less than in b.txt, and not judged: the driver was loaded anew, or FILE is the earlier one"
    assert (swapped.code, swapped.err) == (0, f"warning: {less}\n")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("clean.log", "--baseline", "lost.log"), 2, "--baseline and --apart belong together"),
        (("clean.log", "--apart", "1m"), 2, "--baseline and --apart belong together"),
        (("clean.log", "--baseline", "lost.log", "--apart", "5"), 2, "--apart 5: "),
        (("clean.log", "--baseline", "lost.log", "--apart", "1m"), 2, "--baseline lost.log is kernel log, without"),
        (("clean.log", "--baseline", "no.log", "--apart", "1m"), 2, "cannot read no.log"),
    ],
)
def test_what_cannot_be_compared(brctl: Brctl, arguments: "tuple[str, ...]", code: int, says: str) -> None:
    result = brctl("diagnose", "log", *arguments)
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith(f"error: {says}")
