"""The management path: the interfaces by which somebody is here, or could come.

Found in three ways, all of which count: the ssh connection that started this process, default routes, and established
connections of sshd. sudo takes SSH_CONNECTION out of the environment, but not out of its own: the processes above this
one are asked, up to the first.
"""

from contextlib import suppress
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Tuple

from ..deadline import HungError
from ..host import Host
from .links import LinksError, Stack

_ESTABLISHED = "01"  # TCP_ESTABLISHED, include/net/tcp_states.h
_RTF_UP = 0x1
_VARIABLE = "SSH_CONNECTION="
_INIT = "1"
"""Nobody logs in by it, and root may not read it everywhere."""
_SSHD = ("sshd", "sshd-session", "dropbear")


class Path(NamedTuple):
    interfaces: FrozenSet[str]
    """With all that they stand on."""
    reasons: Tuple[Tuple[str, str], ...]
    """Interface, why it is one."""
    unknown: Optional[str] = None
    """Why it cannot be told: then every interface may be one."""

    def has(self, name: str) -> bool:
        return self.unknown is not None or name in self.interfaces

    def warning(self, name: str) -> str:
        """Why a change of it needs --allow-mgmt."""
        if self.unknown is not None:
            return "it may be what this host is reached by ({}): needs --allow-mgmt".format(self.unknown)
        own = [reason for one, reason in self.reasons if one == name] or [
            "{}, which stands on it: {}".format(one, reason) for one, reason in self.reasons
        ]
        return "this host is reached by it ({}): needs --allow-mgmt".format(own[0])


def connection(host: Host) -> Optional[str]:
    """The ssh connection that this process came by: `10.0.0.7 51234 10.0.0.1 22`; None on a console. Raises OSError."""
    pid = host.readlink("/proc/self")
    while pid and pid not in ("0", _INIT):
        for word in (host.read("/proc/{}/environ".format(pid)) or "").split("\0"):
            if word.startswith(_VARIABLE):
                return word[len(_VARIABLE) :]
        pid = _parent(host.read("/proc/{}/stat".format(pid)) or "")
    return None


def came_by(host: Host) -> Optional[str]:
    """As `connection`; None too where that cannot be told."""
    with suppress(OSError):
        return connection(host)
    return None


def find(host: Host, stack: Stack) -> Path:
    """Never raises: what cannot be told is unknown."""
    try:
        reasons = tuple(dict(_found(host)).items())
    except OSError as error:
        return Path(frozenset(), (), "{}: {}".format(error.filename, error.strerror))
    except (HungError, LinksError, ValueError, IndexError) as error:
        return Path(frozenset(), (), str(error))
    return Path(stack.all_below(name for name, _ in reasons), reasons)


def _found(host: Host) -> Iterator[Tuple[str, str]]:
    """Interface, why: the strongest reason last."""
    for name in _default_routes(host):
        yield name, "default route"
    addresses = _sshd_addresses(host)
    session = connection(host)
    if not addresses and session is None:
        return
    devices = _devices(host)
    for address in addresses:
        yield _device(devices, address), "ssh"
    if session is not None:
        there, _, here = session.split()[:3]
        yield _device(devices, here), "ssh from " + there


def _device(devices: Dict[str, str], address: str) -> str:
    plain = _plain(address)
    if plain not in devices:
        raise LinksError("no interface has the address {}, to which an ssh connection came".format(address))
    return devices[plain]


def _devices(host: Host) -> Dict[str, str]:
    """Address -> interface, of `ip -j addr`."""
    import json

    answer = host.run(["ip", "-j", "addr"])
    if answer is None or answer.returncode != 0:
        raise LinksError("ip does not tell which interface has which address")
    found = {}
    for link in json.loads(answer.stdout):
        for address in link.get("addr_info") or ():
            found[_plain(address["local"])] = str(link["ifname"])
    return found


def _default_routes(host: Host) -> List[str]:
    """Interfaces of /proc/net/route and ipv6_route. Raises LinksError: there is nothing to read."""
    text = host.read("/proc/net/route")
    if text is None:
        raise LinksError("there is no /proc/net/route")
    rows = [line.split() for line in text.splitlines()[1:]]
    found = [row[0] for row in rows if row[1] == row[7] == "0" * 8 and int(row[3], 16) & _RTF_UP]
    rows = [line.split() for line in (host.read("/proc/net/ipv6_route") or "").splitlines()]
    return found + [row[9] for row in rows if row[:2] == ["0" * 32, "00"] and row[9] != "lo"]


def _sshd_addresses(host: Host) -> List[str]:
    """This host's side of each established connection that a process of sshd has."""
    sockets = {}
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        for fields in (line.split() for line in (host.read(path) or "").splitlines()[1:]):
            if fields[3] == _ESTABLISHED:
                sockets["socket:[{}]".format(fields[9])] = fields[1].partition(":")[0]
    found = []
    for pid in _sshd_pids(host) if sockets else ():
        folder = "/proc/{}/fd".format(pid)
        for number in host.listdir(folder) or ():
            target = host.readlink(folder + "/" + number)
            if target in sockets:
                found.append(_address(sockets.pop(target)))
    return found


def _sshd_pids(host: Host) -> Iterator[str]:
    for pid in host.listdir("/proc") or ():
        if pid.isdecimal() and (host.read("/proc/{}/comm".format(pid)) or "").strip() in _SSHD:
            yield pid


def _address(text: str) -> str:
    """`0100007F` is 127.0.0.1: words of 32 bits in the byte order of the machine, which here is little-endian."""
    import ipaddress

    raw = bytes.fromhex(text)
    ordered = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
    return str(ipaddress.ip_address(ordered))


def _plain(address: str) -> str:
    """The one way to write it; an IPv4 address in IPv6's clothes is one of IPv4, and a zone is left out."""
    import ipaddress

    parsed = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(parsed, "ipv4_mapped", None)
    return str(mapped or parsed)


def _parent(stat: str) -> str:
    """Of proc(5)'s stat: the second field after the name, which may hold blanks and brackets."""
    return stat.rpartition(")")[2].split()[1] if ")" in stat else ""
