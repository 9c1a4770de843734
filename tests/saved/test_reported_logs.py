"""What stood in reported cases, and what is right to say of it: the line, its cause, and no other finding."""

import io
from typing import Any, List, Tuple

import pytest

from brctl.node.diagnose import engine
from brctl.node.report import Finding, Status
from brctl.saved import read
from brctl.saved.stream import Source

BOOT = "[    0.000000] Linux version 6.8.0\n"
CRIT, WARN, INFO = Status.CRIT, Status.WARN, Status.INFO
AER_THEN_LOST = """\
[91231.110402] pcieport 0000:4d:01.0: AER: Uncorrected (Fatal) error received: 0000:4d:01.0
[91231.110418] pcieport 0000:4d:01.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer
[91231.110421] pcieport 0000:4d:01.0:    [ 5] SDES                   (First)
[91231.402377] NVRM: Xid (PCI:0000:4e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
[91231.402381] NVRM: GPU 0000:4e:00.0: GPU has fallen off the bus.
"""
WITHOUT_AN_XID = """\
[  412.730011] NVRM: The NVIDIA GPU 0000:9b:00.0
[  412.730011] NVRM: (PCI ID: 10de:2330) installed in this system has
[  412.730011] NVRM: fallen off the bus and is not responding to commands.
"""
GSP = """\
[1200.100000] NVRM: Xid (PCI:0000:3b:00): 119, pid=20417, name=nvidia-smi, Timeout waiting for RPC from GPU1 GSP!
[1245.160000] NVRM: Xid (PCI:0000:3b:00): 119, pid=20533, name=nvidia-smi, Timeout waiting for RPC from GPU1 GSP!
"""
APPLICATION = """\
[77.001000] NVRM: Xid (PCI:0000:5d:00): 13, pid=8802, name=python3, Graphics SM Warp Exception on (GPC 1, TPC 4, SM 0)
[77.001200] NVRM: Xid (PCI:0000:5d:00): 13, pid=8802, name=python3, Graphics Exception: ESR 0x50ca30=0x102000e
[79.330000] NVRM: Xid (PCI:0000:5d:00): 109, pid=8802, name=python3, Ch 00000010, errorString CTX SWITCH TIMEOUT
[79.900000] nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing
"""
MEMORY = """\
[{0}.0] NVRM: Xid (PCI:0000:cb:00): 48, pid='<unknown>', name=<unknown>, DBE (double bit error) ECC error
[{0}.1] NVRM: Xid (PCI:0000:cb:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping
[{0}.2] NVRM: Xid (PCI:0000:cb:00): 94, pid=31007, name=python3, Contained: SM (0x1). RST: No, D-RST: No
[{0}.3] NVRM: Xid (PCI:0000:cb:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)
"""
RLW = "[{}.0] NVRM: Xid (PCI:0000:{}:00): 145, pid=1, name=x, RLW_SRC_TRACK {} XC1 i1 Link 03 (0x1)\n"
NETIR = "[10.0] NVRM: Xid (PCI:0000:1b:00): 149, pid=1, name=x, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x1)\n"
CLEANED = "".join(
    "[10.{}] NVRM: Xid (PCI:0000:{}:00): 45, pid=77, name=python3, Ch 00000008\n".format(n, bus)
    for n, bus in enumerate(("2b", "3b", "4b", "5b"), 1)
)
SXIDS = """\
[5.0] nvidia-nvswitch0: SXid (PCI:0000:84:00.0): 19084, Non-fatal, Link 30 AN1 Heartbeat Timeout Error (First)
[5.1] nvidia-nvswitch0: SXid (PCI:0000:84:00.0): 20034, Fatal, Link 30 LTSSM Fault Up
"""
PRIV = (
    "[5.0] nvidia-nvswitch2: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)\n"
)


def told(text: str) -> Tuple[Finding, ...]:
    """What calls for somebody or is noted, without what follows from it."""
    one = read(Source(io.BufferedReader(io.BytesIO(text.encode()))), "log")  # type: ignore[arg-type]
    chosen = [check for check in engine.registry() if one.tells(check)]
    found = engine.run(one.seen, one.expected, (), chosen)
    return tuple(each for each in found if each.status in (CRIT, WARN, INFO) and each.cause is None)


def shown(text: str) -> List[Any]:
    return [(one.check, one.status, one.subject.name) for one in told(text)]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        pytest.param(AER_THEN_LOST, [("pcie-aer", CRIT, "0000:4d:01.0")], id="aer-then-lost"),
        pytest.param(WITHOUT_AN_XID, [("gpu-xid", CRIT, "GPU 0000:9b:00.0")], id="off-the-bus-without-xid"),
        pytest.param(GSP, [("gpu-xid", CRIT, "GPU 0000:3b:00.0")], id="gsp-hung"),
        pytest.param(APPLICATION, [("gpu-xid", WARN, "GPU 0000:5d:00.0"), ("gpu-xid", INFO, "host")], id="application"),
        pytest.param(MEMORY.format(5100), [("gpu-xid", CRIT, "GPU 0000:cb:00.0")], id="memory"),
        pytest.param(RLW.format(5, "1b", "Nonfatal"), [("gpu-xid", WARN, "GPU 0000:1b:00.0")], id="nonfatal"),
        pytest.param(NETIR + CLEANED, [("gpu-xid", CRIT, "GPU 0000:1b:00.0")], id="cleaned-up"),
        pytest.param(MEMORY.format(1).splitlines()[2] + "\n", [("gpu-xid", WARN, "GPU 0000:cb:00.0")], id="contained"),
        pytest.param(
            "[300.0] INFO: task nvidia-smi:4411 blocked for more than 120 seconds.\n",
            [("kernel-hung-task", CRIT, "host")],
            id="hung-task",
        ),
        pytest.param(
            RLW.format(5, "1b", "") + RLW.format(6, "2b", ""),
            [("gpu-xid", CRIT, "GPU 0000:1b:00.0"), ("gpu-xid", CRIT, "GPU 0000:2b:00.0")],
            id="both-ends",
        ),
        pytest.param(
            "[5.0] NVRM: API mismatch: the client has the version 535.1, but\n",
            [("gpu-xid", CRIT, "host")],
            id="mismatch",
        ),
        pytest.param(
            "[5.0] NVRM: RmInitAdapter failed! (0x62:0x55:2477)\n", [("gpu-xid", CRIT, "host")], id="not-started"
        ),
        pytest.param(SXIDS, [("nvswitch-sxid", CRIT, "0000:84:00.0")], id="no-handle-or-fatal-sxid"),
        pytest.param(PRIV, [("nvswitch-sxid", WARN, "0000:c1:00.0")], id="mild-sxid"),
    ],
)
def test_kernel_logs(text: str, right: Any) -> None:
    assert shown(BOOT + text) == right


def test_what_comes_back_after_a_reboot_is_replaced() -> None:
    (found,) = told(BOOT + MEMORY.format(5100) + BOOT + MEMORY.format(120))
    assert found.status is CRIT
    assert "RMA" in (found.remedy or "")
    (found,) = told(BOOT + MEMORY.format(5100))
    assert (found.remedy or "").startswith("let the work end and take no more (drain)")


IBSTAT = """\
CA 'mlx5_3'
\tCA type: MT4129
\tPort 1:
\t\tState: Down
\t\tPhysical state: Polling
\t\tRate: 10
\t\tLink layer: InfiniBand
"""
INACTIVE = """\
GPU 3: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-1111-2222-3333-444444444444)
NVML: Unable to retrieve NVLink information as all links are inActive
"""
PEERS = "".join(
    "GPU {}: NVIDIA H100 80GB HBM3 (UUID: GPU-{})\n".format(gpu, gpu)
    + "".join("\t Link {}: 26.562 GB/s\n".format(link) for link in range(18))
    for gpu in range(3)
)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        pytest.param(PEERS + INACTIVE, [("gpu-links", CRIT, "GPU 3")], id="all-links-inactive"),
        pytest.param(PEERS, [], id="all-links"),
        pytest.param(
            "Failed to initialize NVML: Driver/library version mismatch\n",
            [("gpu-driver", CRIT, "host")],
            id="mismatch",
        ),
        pytest.param("No devices were found\n", [("gpu-driver", CRIT, "host")], id="not-started"),
        pytest.param(
            "Unable to determine the device handle for GPU0000:84:00.0: Unknown Error\n",
            [("gpu-responding", CRIT, "GPU 0000:84:00.0")],
            id="no-handle-or-fatal-sxid",
        ),
        pytest.param(IBSTAT, [("nic-speed", CRIT, "mlx5_3")], id="polling"),
    ],
)
def test_what_tools_printed(text: str, right: Any) -> None:
    assert shown(text) == right
