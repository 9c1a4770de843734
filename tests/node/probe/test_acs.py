import errno
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Optional

import pytest

from brctl.node.facts import AcsPort
from brctl.node.probe.acs import COMMAND, parse, read

TEXT = """\
0000:4d:01.0 PCI bridge: PLX Technology, Inc. Device c030 (rev b0)
\tCapabilities: [f24 v1] Access Control Services
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl+ DirectTrans+
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-

0000:4d:02.0 PCI bridge: PLX Technology, Inc. Device c030 (rev b0)
\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
"""
GPU = {"/sys/bus/pci/devices/0000:1a:00.0/class": "0x030200\n"}


def reading(machine: Any, files: Dict[str, str], answer: Optional[Dict[str, Any]]) -> Any:
    return read(machine(files, commands={" ".join(COMMAND): answer}))


def test_ports(machine: Any) -> None:
    assert reading(machine, GPU, {"stdout": TEXT}) == (
        AcsPort("0000:4d:01.0", ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")),
        AcsPort("0000:4d:02.0", ()),
    )


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"/sys/bus/pci/devices/0000:1a:00.0/class": "0x020000\n"},
        {
            "/sys/bus/pci/devices/0000:1a:00.0/class": "0x030000\n",
            "/sys/bus/pci/devices/0000:1a:00.0/vendor": "0x1a03\n",
        },
        {**GPU, "/sys/class/dmi/id/sys_vendor": "QEMU\n"},
    ],
)
def test_where_it_does_not_matter(machine: Any, files: Dict[str, str]) -> None:
    assert reading(machine, files, {"stdout": TEXT}) is None


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        (None, errno.ENOENT, "is not installed (pciutils)"),
        ({"returncode": 1, "stderr": "lspci: Cannot open\nmore\n"}, errno.EIO, "lspci: Cannot open"),
        ({"returncode": 1}, errno.EIO, "failed"),
        ({"stdout": "\tCapabilities: <access denied>\n"}, errno.EACCES, "Permission denied"),
    ],
)
def test_what_cannot_be_seen(machine: Any, answer: Any, code: int, text: str) -> None:
    files = {**GPU, "/sys/bus/pci/devices/0000:1b:00.0/class": "0x030000\n"}
    with pytest.raises(OSError, match="lspci") as raised:
        reading(machine, files, answer)
    assert (raised.value.errno, raised.value.strerror) == (code, text)


def test_recorded(recordings: Path) -> None:
    text = (recordings / "h100-node" / "lspci-vvv.txt").read_text()
    found = parse("".join("0000:" + line if line[:1].isalnum() else line for line in text.splitlines(True)))
    assert Counter(port.enabled for port in found) == {
        (): 49,
        ("SrcValid",): 2,
        ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd"): 4,
    }
