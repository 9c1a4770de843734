"""No port receives damaged packets at a high rate, nor has to recover its link.

Judged by growth between two looks; totals since the driver was loaded say nothing. Damage is the cable's, the module's
or the port's at either end. What is dropped or repeated is for nic-drops.
"""

from typing import Sequence

from ...report import Finding
from .. import Case, Check, Threshold
from ..port_rates import Loss, judged

_CABLE = "clean and reseat cable and module, see `mlxlink -m -c` for its bit error rate; then swap it"
_LOSSES = (
    Loss(
        "damaged",
        "packets arrive damaged",
        ("rx_crc_errors_phy", "rx_symbol_err_phy", "rx_fcs_err_frames", "statistics/rx_crc_errors",
         "counters/symbol_error", "counters/port_rcv_errors"),
        _CABLE,
    ),
    Loss(
        "retrained",
        "the link had to recover",
        ("counters/link_error_recovery", "counters/local_link_integrity_errors",
         "counters/excessive_buffer_overrun_errors"),
        _CABLE,
        least_s=60,
    ),
)  # fmt: skip


def run(case: Case) -> Sequence[Finding]:
    return judged(CHECK, case, _LOSSES, "no damaged packets at a rate that counts", "of damaged packets")


CHECK = Check(
    id="nic-errors",
    title="No port receives damaged packets at a high rate",
    tags=("health", "counter"),
    needs=("port_counters",),
    run=run,
    thresholds=(
        Threshold("damaged", 10, "a second", "NVSentinel's NIC monitor: symbol_error, port_rcv_errors above 10/s"),
        Threshold("retrained", 0.08, "a second", "NVSentinel's NIC monitor: link_error_recovery above 5 a minute"),
    ),
    reads=("nics", "rdma"),
    group="network",
    after=("nic-firmware-error", "pcie-aer", "nic-flaps"),
)
