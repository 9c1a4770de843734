"""RoCE traffic is on a priority that priority flow control protects.

Compared is what each priority carried with what RDMA carried between two looks. Where the priorities with flow control
are not told, the usual one is taken: 3. A packet that leaves the lossless class is dropped where others wait, and RDMA
resends all that followed it.
"""

from typing import Dict, List, Optional, Sequence

from ...probe.port_counters import DATA_WORD_BYTES, of_priority
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold
from ..port_looks import Look, judge
from ..verdicts import WELL, Verdict

_WORDS = ("counters/port_xmit_data", "counters/port_rcv_data")
_USUAL = (3,)
"""NVIDIA's, Broadcom's and Arista's guides to RoCE have it on priority 3 (DSCP 26)."""
_REMEDY = (
    "give RDMA the switch's lossless class: NCCL_IB_TC is four times its DSCP (`brctl tune env`), the port must trust "
    "DSCP (`mlnx_qos -i PORT --trust dscp`) and have PFC on its priority"
)


def run(case: Case) -> Sequence[Finding]:
    well = "RDMA on a lossless priority"
    return judge(CHECK, case, lambda look: _look(look, case), well, "on which priority its RDMA traffic is")


def _look(look: Look, case: Case) -> Optional[Verdict]:
    words = look.amount(*_WORDS)
    carried = _carried(look)
    if look.port.kind != "roce" or words is None or not carried:
        return None
    if words * DATA_WORD_BYTES < case.thresholds["least"] * 1e6:
        return None
    configured = [one.lossless for one in case.seen.link_settings or () if one.interface == look.port.subject.name]
    lossless = next((each for each in configured if each is not None), None)
    protected = sum(carried.get(priority, 0) for priority in (_USUAL if lossless is None else lossless))
    if protected * 2 >= min(words * DATA_WORD_BYTES, sum(carried.values())):
        return WELL
    most = max(carried, key=lambda priority: carried[priority])
    names = [name for name in look.grown if of_priority(name) is not None and look.amount(name)]
    evidence = (*look.evidence(*_WORDS), *look.evidence(*names), _flow_control(look, lossless))
    text = "RoCE traffic is not on the PFC priority, but on priority {}".format(most)
    return Verdict(Status.WARN, text, evidence, _REMEDY)


def _carried(look: Look) -> Dict[int, float]:
    """Bytes by priority."""
    found: Dict[int, List[float]] = {}
    for name, growth in look.grown.items():
        priority = of_priority(name)
        if priority is not None:
            found.setdefault(priority, []).append(growth.amount)
    return {priority: sum(amounts) for priority, amounts in found.items()}


def _flow_control(look: Look, lossless: Optional[Sequence[int]]) -> Evidence:
    if lossless is None:
        return Evidence("PFC", "not told; 3 is usual", "mlnx_qos, dcb")
    told = ", ".join(map(str, lossless)) or "on no priority"
    return Evidence("PFC", told, "mlnx_qos -i {0}, dcb pfc show dev {0}".format(look.port.subject.name))


CHECK = Check(
    id="nic-lossless",
    title="RoCE traffic is on a lossless priority",
    tags=("health", "counter"),
    needs=("port_counters",),
    run=run,
    thresholds=(
        Threshold("least", 1, "MB of RDMA traffic", "Below that, what else is on the port may be more than RDMA."),
    ),
    reads=("nics", "rdma", "link_settings"),
    group="network",
    after=("nic-priority",),
)
