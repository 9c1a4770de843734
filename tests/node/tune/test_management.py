"""By which interfaces this host is reached."""

import json
from typing import Any, Callable, Dict

import pytest

from brctl.node.host.machine import Machine
from brctl.node.tune.links import Link, Stack
from brctl.node.tune.management import Path, came_by, connection, find

Make = Callable[..., Machine]
ROUTES = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
ROUTE = "{}\t{}\t0100000A\t{}\t0\t0\t0\t{}\t0\t0\t0\n"
TCP = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
SOCKET = "   0: {}:0016 0700000A:C823 {} 00000000:00000000 02:000000 00000000     0        0 {} 4 0 20 4 33 10 -1\n"
ADDRESSES = [
    {"ifname": "lo", "addr_info": [{"local": "127.0.0.1"}, {"local": "::1"}]},
    {"ifname": "e0"},
    {"ifname": "e1", "addr_info": [{"local": "10.0.0.1"}, {"local": "2001:db8::1"}]},
    {"ifname": "br0", "addr_info": [{"local": "10.1.0.1"}]},
]
IP = {"ip -j addr": {"stdout": json.dumps(ADDRESSES)}}
V6 = "B80D0120000000000000000001000000"


def _link(name: str, **more: Any) -> Link:
    return Link(name, 1, "", 1500, 68, 9000, "", more.get("master"), None, 0)


STACK = Stack([_link("e0", master="br0"), _link("br0"), _link("e1")])


def process(pid: int, parent: int, environment: str = "", comm: str = "a) (b") -> Dict[str, Any]:
    folder = "/proc/{}/".format(pid)
    return {
        folder + "environ": environment,
        folder + "stat": "{} ({}) S {} 1 1 0\n".format(pid, comm, parent),
        folder + "comm": comm + "\n",
    }


def path_of(machine: Make, files: Dict[str, Any], commands: Any = IP) -> Path:
    return find(machine([], dict({"/proc/net/route": ROUTES}, **files), commands), STACK)


def test_nothing_is(machine: Make) -> None:
    path = path_of(machine, {})
    assert path == Path(frozenset(), ())
    assert not path.has("e0")


def test_default_routes(machine: Make) -> None:
    """Not one that is down, nor one to somewhere; with what the interface stands on."""
    routes = ROUTE.format("e1", "0000000A", "0003", "00FFFFFF") + ROUTE.format("e1", "00000000", "0002", "00000000")
    path = path_of(machine, {"/proc/net/route": ROUTES + routes + ROUTE.format("br0", "0" * 8, "0003", "0" * 8)})
    assert path == Path(frozenset({"br0", "e0"}), (("br0", "default route"),))
    assert path.warning("br0") == "this host is reached by it (default route): needs --allow-mgmt"
    text = "this host is reached by it (br0, which stands on it: default route): needs --allow-mgmt"
    assert path.warning("e0") == text


def test_default_routes_of_ipv6(machine: Make) -> None:
    zeros, row = "0" * 32, "{0} 00 {0} 00 {0} 00000400 00000001 00000000 00000003       {1}\n"
    text = row.format(zeros, "e1") + row.format(zeros, "lo") + row.format("f" + zeros[1:], "br0")
    assert path_of(machine, {"/proc/net/ipv6_route": text}).interfaces == {"e1"}


@pytest.mark.parametrize(
    ("session", "name"),
    [
        ("10.0.0.7 51234 10.1.0.1 22", "br0"),
        ("fe80::7%e1 9 2001:db8:0::1 22", "e1"),
        ("::1 9 ::ffff:10.0.0.1 22", "e1"),
    ],
)
def test_the_connection_that_brought_us(machine: Make, session: str, name: str) -> None:
    """sudo has taken it out of our environment, but not out of that of the shell above."""
    files = dict({"/proc/self": {"link": "70"}}, **process(70, 60, "LANG=C\0"))
    files.update(process(60, 50, "HOME=/\0SSH_CONNECTION=" + session + "\0X=1", comm="sudo"))
    path = path_of(machine, files)
    assert path.reasons == ((name, "ssh from " + session.split()[0]),)
    assert came_by(machine([], files)) == session


def test_no_connection_brought_us(machine: Make) -> None:
    """The first process is asked for nothing: root may not read it everywhere."""
    files = dict({"/proc/self": {"link": "70"}}, **process(70, 1))
    files["/proc/1/environ"] = {"errno": "EACCES"}
    assert connection(machine([], files)) is None
    assert came_by(machine([], {})) is None
    files["/proc/70/environ"] = {"errno": "EACCES"}
    with pytest.raises(PermissionError):
        connection(machine([], files))
    assert came_by(machine([], files)) is None
    assert path_of(machine, files).unknown == "/proc/70/environ: Permission denied"


def sshd(local: str, state: str = "01", file: str = "tcp", comm: str = "sshd") -> Dict[str, Any]:
    files = process(9, 1, comm=comm)
    files["/proc/net/" + file] = TCP + SOCKET.format(local, state, 777)
    files["/proc/9/fd/3"] = {"link": "socket:[777]"}
    files["/proc/9/fd/4"] = {"link": "/dev/null"}
    return files


def test_connections_of_sshd(machine: Make) -> None:
    assert path_of(machine, sshd("0100000A")).reasons == (("e1", "ssh"),)
    assert path_of(machine, sshd("0100010A", comm="sshd-session")).interfaces == {"br0", "e0"}
    assert path_of(machine, sshd(V6, file="tcp6")).interfaces == {"e1"}
    mapped = "0000000000000000FFFF00000100000A"
    assert path_of(machine, sshd(mapped, file="tcp6")).interfaces == {"e1"}


def test_other_connections_do_not_count(machine: Make) -> None:
    assert path_of(machine, sshd("0100000A", comm="nginx")).interfaces == frozenset()
    assert path_of(machine, sshd("0100000A", state="0A")).interfaces == frozenset()


@pytest.mark.parametrize(
    ("files", "commands", "why"),
    [
        ({"/proc/net/route": None}, IP, "there is no /proc/net/route"),
        ({"/proc/net/route": {"errno": "EACCES"}}, IP, "/proc/net/route: Permission denied"),
        ({"/proc/net/route": "Iface\ne0\n"}, IP, "list index out of range"),
        (sshd("0100000A"), {"ip -j addr": None}, "ip does not tell which interface has which address"),
        (sshd("0100000A"), {"ip -j addr": {"returncode": 1}}, "ip does not tell which interface has which address"),
        (sshd("0900000A"), IP, "no interface has the address 10.0.0.9, to which an ssh connection came"),
    ],
)
def test_what_cannot_be_told_may_be_any(machine: Make, files: Any, commands: Any, why: str) -> None:
    path = path_of(machine, files, commands)
    assert (path.unknown, path.has("e1"), path.has("anything")) == (why, True, True)
    assert path.warning("e1") == "it may be what this host is reached by ({}): needs --allow-mgmt".format(why)
