"""No queueing discipline limits, delays or drops what a port that carries jobs sends.

A shaper (tbf, htb, hfsc, cbq) or an emulator (netem) at the root is mostly left over from a test. RDMA passes by it, so
that such a port is slow for TCP alone.
"""

from typing import Iterator

from ...report import Evidence, Finding, Status
from .. import Case, Check
from ..link_parts import settings_of

_SHAPERS = ("tbf", "htb", "hfsc", "cbq", "netem", "plug", "cake")
"""Those of tc(8) that hold packets back at the root; mq, fq, fq_codel, pfifo_fast and their like send when they can."""


def run(case: Case) -> Iterator[Finding]:
    known = [(port, one) for port, one in settings_of(case) if one.qdisc]
    if not known:
        yield CHECK.finding(Status.NA, "no port tells its queueing discipline")
        return
    bad = [(port, one) for port, one in known if one.qdisc in _SHAPERS]
    for port, one in bad:
        what = "delays and drops packets on purpose" if one.qdisc == "netem" else "limits what it sends"
        source = "tc qdisc show dev {} root".format(one.interface)
        evidence = (Evidence("qdisc", one.qdisc or "", source),)
        summary = "{}: its queueing discipline {} {}".format(one.interface, one.qdisc, what)
        remedy = "`tc qdisc del dev {} root`, if nobody means it".format(one.interface)
        yield CHECK.finding(Status.WARN, summary, port.subject, evidence, remedy)
    if not bad:
        yield CHECK.finding(
            Status.PASS, "{} ports: {}".format(len(known), ", ".join(sorted({one.qdisc or "" for _, one in known})))
        )


CHECK = Check(
    id="nic-qdisc",
    title="No queueing discipline slows a port down",
    tags=("health",),
    needs=("link_settings",),
    run=run,
    reads=("nics", "rdma", "pci"),
    group="network",
)
