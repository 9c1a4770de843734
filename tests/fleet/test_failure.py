import pytest

from brctl.fleet.failure import HINTS, died, fail, plain, unreachable
from brctl.node.report import NodeError

CHANGED = """\
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\r
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\r
Offending ED25519 key in /root/.ssh/known_hosts:3\r
Host key for gpu001 has changed and you have requested strict checking.\r
Host key verification failed.\r
"""


UNKNOWN = """\
No ED25519 host key is known for gpu001 and you have requested strict checking.\r
Host key verification failed.\r
"""
CROWD = """\
kex_exchange_identification: Connection closed by remote host\r
Connection closed by 10.77.0.1 port 22\r
"""
BEHIND_A_JUMP_HOST = """\
channel 0: open failed: connect failed: Connection refused\r
stdio forwarding failed\r
kex_exchange_identification: Connection closed by remote host\r
"""


@pytest.mark.parametrize(
    ("complaint", "kind", "message"),
    [
        (
            "ssh: connect to host gpu001 port 22: Connection refused\r\n",
            "refused",
            "ssh: connect to host gpu001 port 22: Connection refused",
        ),
        (
            "ssh: Could not resolve hostname gpu001: Name or service not known",
            "dns",
            "ssh: Could not resolve hostname gpu001: Name or service not known",
        ),
        (
            "ssh: connect to host gpu001 port 22: No route to host",
            "no-route",
            "ssh: connect to host gpu001 port 22: No route to host",
        ),
        (
            "ssh: connect to host gpu001 port 22: Connection timed out",
            "timeout",
            "ssh: connect to host gpu001 port 22: Connection timed out",
        ),
        (
            "Connection timed out during banner exchange\r\nConnection to 10.77.0.254 port 22 timed out\r\n",
            "no-banner",
            "Connection timed out during banner exchange",
        ),
        (
            "kex_exchange_identification: banner line contains invalid characters",
            "no-banner",
            "kex_exchange_identification: banner line contains invalid characters",
        ),
        (CHANGED, "host-key-changed", "Host key for gpu001 has changed and you have requested strict checking."),
        (
            UNKNOWN,
            "host-key-unknown",
            "No ED25519 host key is known for gpu001 and you have requested strict checking.",
        ),
        (
            "Authorized users only.\nroot@gpu001: Permission denied (publickey).\r\n",
            "permission",
            "root@gpu001: Permission denied (publickey).",
        ),
        ("This account is currently not available.\n", "permission", "This account is currently not available."),
        (CROWD, "overloaded", "kex_exchange_identification: Connection closed by remote host"),
        (BEHIND_A_JUMP_HOST, "refused", "channel 0: open failed: connect failed: Connection refused"),
        ("something new\n", "unreachable", "something new"),
        ("", "unreachable", "no message, exit status 255"),
    ],
)
def test_a_connection_that_fails_is_told_by_its_kind(complaint: str, kind: str, message: str) -> None:
    assert unreachable(complaint, 255) == NodeError(kind, message, HINTS[kind])


@pytest.mark.parametrize(
    ("complaint", "status", "answered", "kind", "message"),
    [
        ("", 127, False, "no-python", "the node has no such Python"),
        ("sudo: python3: command not found", 1, False, "no-python", "the node has no such Python"),
        ("3.6.15", 38, False, "python-too-old", "the node's Python is 3.6.15"),
        ("Unknown option: -I\nusage: python", 2, False, "python-too-old", "the node's Python is older than 3.4"),
        ("sudo: a password is required", 1, False, "permission", "sudo: a password is required"),
        (
            "Traceback\nImportError: no zlib\n",
            1,
            False,
            "agent-died",
            "the agent ended without an answer, with exit status 1: ImportError: no zlib",
        ),
        (
            "",
            255,
            True,
            "agent-died",
            "the agent ended without an answer, by a signal, or the connection broke: no message",
        ),
        (
            "",
            -9,
            True,
            "agent-died",
            "the agent ended without an answer, by a signal, or the connection broke: no message",
        ),
        (
            "sudo: a word of the agent's own",
            127,
            True,
            "agent-died",
            "the agent ended without an answer, with exit status 127: sudo: a word of the agent's own",
        ),
    ],
)
def test_an_agent_that_ends_is_told_by_its_kind(
    complaint: str, status: int, answered: bool, kind: str, message: str
) -> None:
    error = died(complaint, status, answered)
    assert (error.kind, error.message) == (kind, message)
    assert error.hint


def test_sudo_has_a_hint_of_its_own() -> None:
    assert died("sudo: a password is required", 1, False).hint == HINTS["sudo"]
    assert fail("timeout", "x", "slow answer").hint == "raise --timeout"


def test_the_words_of_a_node_are_short_and_harmless() -> None:
    strange = "\N{REPLACEMENT CHARACTER}"
    assert plain("a\x1b[31m\r\u202eb") == f"a{strange}[31m{strange}{strange}b"
    assert plain("x" * 301) == "x" * 300 + "..."
