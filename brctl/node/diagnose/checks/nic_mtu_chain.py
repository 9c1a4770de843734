"""No interface has a larger MTU than what it stands on, and no bridge a larger one than its ports.

A VLAN fits into its parent's MTU; a VXLAN needs 50 bytes less (70 over IPv6) than what carries it; a bridge passes
frames of its own MTU to ports that would drop them. Ports of a bond are for nic-mtu.
"""

from typing import Iterator, List, Tuple

from ...facts import Nic
from ...report import Evidence, Finding, Status, Subject
from .. import Case, Check

_HEADERS = {"vlan": 0, "vxlan": 50}
"""What each adds to a frame: the tag is not counted in an MTU (802.1Q); IPv4, UDP, VXLAN and Ethernet 20 + 8 + 8 + 14
(RFC 7348)."""
_LOWERED = "lower the MTU of {1}, or raise that of {0}: `ip link set mtu`, and in the network configuration"


def run(case: Case) -> Iterator[Finding]:
    nics = {nic.name: nic for nic in case.seen.nics or ()}
    pairs: List[Tuple[Nic, Nic, int]] = []
    for nic in nics.values():
        if nic.kind in _HEADERS:
            pairs += [(nics[name], nic, _HEADERS[nic.kind]) for name in nic.lower if name in nics]
        elif nic.master in nics and nics[nic.master].kind == "bridge":
            pairs.append((nic, nics[nic.master], 0))
    if not pairs:
        yield CHECK.finding(Status.NA, "no VLAN, VXLAN or bridge")
        return
    bad = [pair for pair in pairs if pair[1].mtu + pair[2] > pair[0].mtu]
    yield from (_finding(*pair) for pair in bad)
    if not bad:
        yield CHECK.finding(
            Status.PASS, "{} of {} interfaces fit into what they stand on".format(len(pairs), len(pairs))
        )


def _finding(below: Nic, above: Nic, headers: int) -> Finding:
    more = " and {} bytes of headers".format(headers) if headers else ""
    form = "{}: MTU {}{}, and {} under it only {}: larger frames are lost"
    summary = form.format(above.name, above.mtu, more, below.name, below.mtu)
    path = "/sys/class/net/{}/mtu"
    evidence = tuple(Evidence(one.name, "MTU {}".format(one.mtu), path.format(one.name)) for one in (above, below))
    remedy = _LOWERED.format(below.name, above.name)
    return CHECK.finding(Status.WARN, summary, Subject("nic", above.name, above.name), evidence, remedy)


CHECK = Check(
    id="nic-mtu-chain",
    title="No interface has a larger MTU than what it stands on",
    tags=("health",),
    needs=("nics",),
    run=run,
    group="network",
)
