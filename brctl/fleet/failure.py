"""Why a node gave no Report: one of few kinds, told from what ssh and the node wrote to stderr, each with a hint."""

from __future__ import annotations

import re

from ..node.report import NodeError
from .launch import NO_PYTHON, OLD_PYTHON

_KEPT = 300
"""Characters of a node's own words in a message."""

HINTS = {
    "refused": "the node is up and nothing listens there: is its sshd running, is transport.port right?",
    "dns": "name the node as DNS or /etc/hosts does, or give it a HostName in your ssh config",
    "no-route": "the node is off, or its network is: look at its power and its link",
    "no-banner": "something accepts the connection and is no working sshd: look at the node's console",
    "timeout": "the node is off, or something drops its packets; transport.connect_timeout says how long to wait",
    "mtu": "large packets vanish on the way: compare the MTU of both ends and of every switch between (`ip link`)",
    "overloaded": "lower --fanout, or raise MaxStartups in the sshd_config of the node or of the jump host",
    "host-key-changed": "if the node was reinstalled, remove its old key: ssh-keygen -R NODE; else beware",
    "host-key-unknown": "add the node's key to known_hosts, once you know that it is the right one: ssh-keyscan NODE",
    "permission": "can you log in by hand? look at transport.user, your key, and the node's authorized_keys",
    "sudo": "sudo never asks here: give transport.user a NOPASSWD rule, or log in as root",
    "unreachable": "try it by hand; -v as an option of ssh says more",
    "no-python": "install python3, 3.8 or later, or say in transport.python where it is",
    "python-too-old": "install Python 3.8 or later beside it, and say in transport.python where it is",
    "agent-died": "if it was killed, the node's kernel log says whether memory ran out",
    "slow start": "the node is overloaded, or its disk hangs",
    "slow answer": "raise --timeout",
    "missing": "it is not installed on this host, or transport.template names it wrong",
    "here": "if this host has no more processes or open files: lower --fanout",
    "invalid-report": "somebody else may speak for the node, or its brctl is another one",
    "too-much-output": "what the node's login prints drowns the answer; or it is not the node that it should be",
}
"""By kind of NodeError; some kinds have finer reasons (`sudo`, `slow start`, ...) with hints of their own."""

_CONNECTING = (
    ("host-key-changed", r"[Hh]ost key for \S+ has changed|REVOKED HOST KEY"),
    ("host-key-unknown", r"No \S+ host key is known|Host key verification failed"),
    ("dns", r"Could not resolve hostname|Name or service not known|Temporary failure in name resolution"),
    ("no-banner", r"during banner exchange|banner line|protocol version|Protocol major versions differ"),
    ("permission", r"Permission denied|Too many authentication|administratively prohibited|account is .*not available"),
    ("refused", r"Connection refused"),
    ("no-route", r"No route to host|Network is unreachable"),
    ("timeout", r"timed out"),
    # After the others: it is also what ssh says when its jump host could not reach the node.
    ("overloaded", r"(?:kex|ssh)_exchange_identification|Not allowed at this time"),
)


def unreachable(complaint: str, status: int) -> NodeError:
    """Of a connection that ended before there was a shell; what was started ended with `status`."""
    for kind, pattern in _CONNECTING:
        if re.search(pattern, complaint):
            line = next((line for line in complaint.splitlines() if re.search(pattern, line)), "")
            return fail(kind, plain(line))
    return fail("unreachable", plain(complaint.strip().rpartition("\n")[2]) or f"no message, exit status {status}")


def died(complaint: str, status: int, answered: bool) -> NodeError:
    """Of an agent that ended without an answer, after there was a shell. `answered`: it had said that it is ready."""
    last = plain(complaint.strip().rpartition("\n")[2]) or "no message"
    if not answered:
        if status == NO_PYTHON or "command not found" in last:
            return fail("no-python", "the node has no such Python")
        if status == OLD_PYTHON:
            return fail("python-too-old", f"the node's Python is {last}")
        if "Unknown option: -I" in complaint:
            return fail("python-too-old", "the node's Python is older than 3.4")
        if "sudo:" in complaint:
            return fail("permission", last, "sudo")
    signalled = status < 0 or status == 255  # the latter is ssh's word for it, and for a connection that broke
    how = "by a signal, or the connection broke" if signalled else f"with exit status {status}"
    return fail("agent-died", f"the agent ended without an answer, {how}: {last}")


def fail(kind: str, message: str, reason: str = "") -> NodeError:
    """A NodeError with the hint of its kind, or of a finer reason."""
    return NodeError(kind, message, HINTS[reason or kind])


def plain(text: str) -> str:
    """A node's own words, short and without what a terminal would obey."""
    printable = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[:_KEPT])
    return printable + ("..." if len(text) > _KEPT else "")
