"""Ports that carry jobs have the offloads that a core cannot do at their speed, and are set alike.

Checksums, TCP segmentation and receive merging are looked at; what a driver cannot do does not count. RDMA needs none
of them: where they are off on all ports alike, that is only noted.
"""

from typing import Sequence

from ...facts import LinkSettings
from ...report import Evidence, Finding, Status
from .. import Case, Check
from ..link_parts import compared, settings_of

_REMEDY = "`ethtool -K PORT tso on gro on tx on rx on`, and see what turns them off at boot"


def run(case: Case) -> Sequence[Finding]:
    known = [one for _, one in settings_of(case) if one.features_off is not None]
    if known and all(one.features_off for one in known):
        evidence = tuple(Evidence(one.interface, _text(one), "ethtool -k " + one.interface) for one in known)
        return (CHECK.finding(Status.INFO, "{} ports: {}".format(len(known), _text(known[0])), evidence=evidence),)
    return compared(CHECK, case, lambda one: one.features_off, _text, "ethtool -k {}", _REMEDY)


def _text(one: LinkSettings) -> str:
    return "{} off".format(", ".join(one.features_off)) if one.features_off else "offloads on"


CHECK = Check(
    id="nic-offloads",
    title="Ports that carry jobs have their offloads on",
    tags=("health",),
    needs=("link_settings",),
    run=run,
    reads=("nics", "rdma", "pci"),
    group="network",
)
