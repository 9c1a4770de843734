"""Whatever a file holds, it is told what it is, or one error comes; and what was read can be passed on."""

import io

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from brctl.node.codec import dumps, loads
from brctl.node.diagnose import engine
from brctl.node.report import Report
from brctl.saved import read
from brctl.saved.stream import Source, UnreadableError

MANY = "9" * 400
PIECES = (
    "[5.0] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, gone\n",
    "6,0,5,-;", "[", "] ", ".", "Feb 31 25:61:61 h kernel: ", "0000-13-40T99:99:99Z h kernel: ", "<4>[  1.5] ",
    "NVRM: Xid (PCI:ffffffff:ff:ff): ", "99999, pid=", MANY, ", name=", "NVRM: The NVIDIA GPU 0000:9b:00.0\n",
    "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): ", ", Fatal, ", "x 0000:00:00.0: PCIe Bus Error: severity=Corrected",
    "INFO: task a:", " blocked for more than 120 seconds", "Out of memory: Killed process ", " (x)",
    '{"MESSAGE": "NVRM: ", "_TRANSPORT": "kernel", "__MONOTONIC_TIMESTAMP": "' + MANY + '"}', "[1]", "\\ud800",
    "=NVSMI LOG=\n", "GPU 00000000:83:00.0\n", "    Product Name : ", "    ECC Errors\n", "  : \n", "%s %d {}",
    "<nvidia_smi_log>", '<gpu id="', '">', "</gpu>", "</nvidia_smi_log>", "<uuid>", "&amp;", "&x;", "<!--", "]]>",
    "CA 'mlx5_0'\n", "\tPort 1:\n", "\t\tState: Active\n", "\t\tRate: " + MANY + "\n", "NIC statistics:\n",
    "     rx_discards_phy: " + MANY + "\n", "     rx_discards_phy: \u00b2\n", "GPU 0: x (UUID: y)\n\t Link 0: ",
    "\r\n", "\n",
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=12))
@example(["4,1," + MANY + ",-;NVRM: x\n"])
@example(["[" + MANY + ".5] NVRM: Xid (PCI:0000:3b:00): 79, x\n"])
def test_any_text(pieces: "list[str]") -> None:
    data = "".join(pieces).encode("utf-8", "surrogatepass")
    try:
        one = read(Source(io.BufferedReader(io.BytesIO(data))), "file")  # type: ignore[arg-type]
    except UnreadableError:
        return
    chosen = [check for check in engine.registry() if one.tells(check)]
    found = engine.run(one.seen, one.expected, (), chosen)
    assert not [finding.summary for finding in found if "itself failed" in finding.summary]
    report = Report("file", 0.0, 0.0, inventory=one.seen, findings=found)
    assert loads(Report, dumps(report)) == report


@pytest.mark.parametrize("times", [1, 3])
def test_the_worst_lines_of_each_form(times: int) -> None:
    for piece in PIECES:
        test_any_text.hypothesis.inner_test([piece] * times)  # type: ignore[attr-defined]
