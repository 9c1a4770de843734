"""How physical ports are set, as parts that are compared: those that carry jobs, each with its like."""

from typing import Any, Callable, Sequence, Tuple

from .. import ports
from ..facts import LinkSettings
from ..ports import Port
from ..report import Finding
from ..siblings import Part
from . import Case, Check
from .parts import judge_each

Told = Tuple[Port, LinkSettings]


def settings_of(case: Case) -> Sequence[Told]:
    """Of the ports that the config names, else of those with RDMA; the settings of each that has an interface."""
    known = {one.interface: one for one in case.seen.link_settings or ()}
    found = [(port, known.get(port.nic.name)) for port in ports.expected(case.seen, case.want) if port.nic]
    return [(port, one) for port, one in found if one]


def compared(
    check: Check,
    case: Case,
    value: Callable[[LinkSettings], Any],
    text: Callable[[LinkSettings], str],
    source: str,
    remedy: str,
    kinds: Sequence[str] = (),
) -> Tuple[Finding, ...]:
    """Ports on one type of card, of one speed and one bond are alike; a port without a link is not in use. `kinds`:
    only of these kinds of port."""
    chosen = [(port, one) for port, one in settings_of(case) if not port.fault and (not kinds or port.kind in kinds)]
    found = [_part(case, port, one, value, text, source) for port, one in chosen]
    return judge_each(check, "NICs", found, None, remedy)


def _part(
    case: Case,
    port: Port,
    one: LinkSettings,
    value: Callable[[LinkSettings], Any],
    text: Callable[[LinkSettings], str],
    source: str,
) -> Part:
    seen = value(one)
    kin = (port.card, port.speed_mbps, port.nic.master if port.nic else None)
    problems = [each for each in case.seen.problems if (each.part, each.subject) == ("link_settings", one.interface)]
    told = text(one) if seen is not None else "not told"
    return port.part(seen, told, source.format(one.interface), kin, problems[0] if problems else None)
