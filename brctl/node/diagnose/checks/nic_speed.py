"""Every port that the config names has a link, of the speed that it declares.

No link is critical, and so is a slower one; a faster one is a warning. Where no speed is declared, ports on one type of
card are compared, those of each bond apart, and one that differs is a warning. Ports that no pattern names may be down:
nobody may have meant them to be used. Within the first minutes after boot a link that is still coming up is only noted.
"""

from typing import Iterator

from ... import ports
from ...ports import Port
from ...report import Evidence, Finding, Status
from ...request import ExpectedNics
from ...siblings import Part
from ...units import rate
from .. import Case, Check
from ..hosts import BOOT_GRACE, is_booting
from ..parts import amount, judge_each

_REMEDY = (
    "see `ethtool` and `ethtool -m` for what was negotiated and the module's state; clean or swap cable and module, "
    "then look at the switch port"
)
_NO_LINK = "see `ethtool -m` for light and module; swap cable or module, then look at the switch port"
_DOWN = "`ip link set up`, and see why the network configuration did not; or take it out of hardware.nics.interfaces"


def run(case: Case) -> Iterator[Finding]:
    want = case.want.nics or ExpectedNics()
    found = ports.expected(case.seen, case.want)
    faults = [_no_link(case, port, port.fault) for port in found if port.fault] if want.interfaces else []
    yield from faults
    declared = None
    if want.speed_mbps is not None:
        declared = amount("hardware.nics.speed", want.speed_mbps, rate(want.speed_mbps))
    for finding in judge_each(CHECK, "NICs", [_part(port) for port in found], declared, _REMEDY):
        if not faults or finding.status not in (Status.PASS, Status.NA):
            yield finding


def _part(port: Port) -> Part:
    source = port.path("speed", "rate")
    if port.fault:
        return port.part(None, port.fault, source)
    speed = port.speed_mbps
    unread = port.unread("rdma", "state", "rate_gbps") if port.judged else port.unread("nics", "carrier", "speed_mbps")
    kin = (port.card, port.nic.master if port.nic else None)
    return port.part(speed, "no speed" if speed is None else rate(speed), source, kin, unread)


def _no_link(case: Case, port: Port, fault: str) -> Finding:
    wanted = case.want.nics.speed_mbps if case.want.nics else None
    booting = is_booting(case)
    down = fault == ports.DOWN
    summary = "{}: {}{}".format(port.subject.name, fault, ", expected {}".format(rate(wanted)) if wanted else "")
    return CHECK.finding(
        Status.INFO if booting and not down else Status.CRIT,
        summary,
        port.subject,
        (Evidence("link", fault, port.path("carrier", "state")),),
        _DOWN if down else _NO_LINK,
    )


CHECK = Check(
    id="nic-speed",
    title="Every declared NIC has a link of the declared speed",
    tags=("inventory",),
    needs=("nics",),
    run=run,
    thresholds=(BOOT_GRACE,),
    reads=("rdma",),
    group="network",
)
