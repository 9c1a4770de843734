"""brctl against hosts with real sshd, in network namespaces: whom it reaches, and what it leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.root
Cluster = Any  # of conftest.py

ALL = "gpu[1-32]"
NAMES = {f"gpu{i}" for i in range(1, 33)}
CACHE = "/var/cache/brctl"
COPY = ["__pycache__", "brctl", "psutil", "pynvml.py", "seal"]


def _until(found: Callable[[], bool], limit_s: float = 10) -> None:
    end = time.monotonic() + limit_s
    while not found():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)


def _all_ended(cluster: Cluster) -> None:
    """Nothing of ours runs, here or on any node; a process may need a moment to end."""
    end = time.monotonic() + 3
    while (left := cluster.processes() + cluster.local()) and time.monotonic() < end:
        time.sleep(0.05)
    assert left == []


def _script(cluster: Cluster, name: str, text: str) -> str:
    """A program that stands in for a node's Python; its path."""
    path = Path(cluster.folder, name)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


HANG = """\
mkdir -p /run/net/eth9/device; cd /run/net/eth9; echo 1500 >mtu; echo up >operstate; echo 1 >type
mount --bind /run/net /sys/class/net
printf '#!/bin/sh\\nsleep 77 & sleep 77\\n' >/usr/local/bin/ethtool; chmod 755 /usr/local/bin/ethtool
"""


@pytest.fixture
def hang(cluster: Cluster) -> Iterator[None]:
    """ethtool hangs on gpu1 to gpu8, and a NIC of theirs makes the agent call it."""
    for i in range(1, 9):
        cluster.on(i, "sh", "-ec", HANG)
    yield
    for i in range(1, 9):
        cluster.on(i, "sh", "-c", "umount /sys/class/net; rm /usr/local/bin/ethtool")


def test_every_node_answers_and_keeps_the_agent(cluster: Cluster) -> None:
    first = cluster.brctl(ALL)
    assert (first.code, set(first.kinds.values()), set(first.kinds)) == (0, {"ok"}, NAMES)
    assert {node: report["inventory"]["kernel"]["hostname"] for node, report in first.reports.items()} == {
        name: name for name in NAMES
    }
    kept = cluster.on(7, "find", CACHE, "-maxdepth", "1", "-printf", "%f %m %u\n").split()
    again = cluster.brctl(ALL)
    assert again.code == 0
    assert kept == cluster.on(7, "find", CACHE, "-maxdepth", "1", "-printf", "%f %m %u\n").split()
    assert [kept[0], kept[1], kept[2], len(kept[3]), *kept[4:]] == ["brctl", "700", "root", 64, "700", "root"]
    _all_ended(cluster)


def test_nodes_tell_tick_after_tick_and_nothing_is_left_behind(cluster: Cluster) -> None:
    config = cluster.config("")
    stream = ["-c", str(config), "-w", "gpu[1-4]", "monitor", "--interval", "500ms", "-o", "jsonl"]
    with cluster.popen(sys.executable, "-m", "brctl", *stream) as child:
        heard: set[str] = set()
        for line in map(json.loads, child.stdout):
            heard |= {line["node"]} if line["samples"] else set()
            if len(heard) == 4:
                break
        child.terminate()
        child.stdout.read()
        assert child.wait(10) == 0
    _all_ended(cluster)


def test_what_cannot_be_reached_is_told_apart(cluster: Cluster) -> None:
    cluster.forget()
    known = Path(cluster.folder, "known_hosts").read_text()
    run = cluster.brctl("gpu3,refused,nowhere.invalid,changed,unknown,stranger,silent,dropped,unrouted")
    assert run.code == 3
    assert run.kinds == {
        "gpu3": "ok",
        "refused": "refused",
        "nowhere.invalid": "dns",
        "changed": "host-key-changed",
        "unknown": "host-key-unknown",
        "stranger": "permission",
        "silent": "no-banner",
        "dropped": "timeout",
        "unrouted": "no-route",
    }
    assert all(report["errors"][0]["hint"] for node, report in run.reports.items() if node != "gpu3")
    assert run.seconds < 12  # connect_timeout is 4 s
    assert Path(cluster.folder, "known_hosts").read_text() == known
    _all_ended(cluster)


def test_a_path_that_swallows_large_packets_is_named(cluster: Cluster) -> None:
    if not shutil.which("ping"):
        pytest.skip("there is no ping")
    cluster.forget()
    swallow = "add table inet mtu; add chain inet mtu in { type filter hook input priority 0; }"
    cluster.on(7, "nft", f"{swallow}; add rule inet mtu in meta length > 600 drop")
    try:
        run = cluster.brctl("gpu[7-8]", more="command_timeout: 5s")
    finally:
        cluster.on(7, "nft", "delete table inet mtu")
    assert (run.code, run.kinds) == (3, {"gpu7": "mtu", "gpu8": "ok"})
    (error,) = run.reports["gpu7"]["errors"]
    assert error["message"] == "a ping of 1472 bytes that may not be fragmented is lost, one of 56 comes back"
    assert "compare the MTU of both ends" in error["hint"]
    assert cluster.brctl("gpu7").kinds == {"gpu7": "ok"}
    _all_ended(cluster)


def test_the_odd_mtu_is_named_and_the_node_answers(cluster: Cluster) -> None:
    cluster.on(5, "ip", "link", "set", "eth0", "mtu", "9000")
    try:
        run = cluster.brctl("gpu[1-8]")
    finally:
        cluster.on(5, "ip", "link", "set", "eth0", "mtu", "1500")
    assert (run.code, set(run.kinds.values())) == (1, {"ok"})
    odd = {
        node: [each["summary"] for each in report["findings"] if each["status"] == "warn"]
        for node, report in run.reports.items()
    }
    assert odd.pop("gpu5") == ["eth0: MTU 9000; 7 of 8 nodes of gpu*: MTU 1500"]
    assert set(map(tuple, odd.values())) == {()}


def test_a_node_that_is_only_slow_is_not_blamed_on_its_network(cluster: Cluster, hang: None) -> None:
    run = cluster.brctl("gpu[1,9]", "--timeout", "1s")
    assert run.kinds["gpu1"] == "timeout"


@pytest.mark.parametrize("death", ["exit 255", "kill -9 $$"])
def test_an_agent_that_dies_is_not_called_unreachable(cluster: Cluster, death: str) -> None:
    python = _script(cluster, "dying", f"#!/bin/sh\n{death}\n")
    run = cluster.brctl("gpu[1-2]", more=f"python: {python}")
    assert (run.code, set(run.kinds.values())) == (3, {"agent-died"})
    assert "by a signal, or the connection broke" in run.err


def test_an_agent_that_is_killed_is_not_called_unreachable(cluster: Cluster, hang: None) -> None:
    child = cluster.popen(*cluster.command("gpu1"))
    _until(lambda: any("sleep 77" in line for line in cluster.processes()))
    cluster.on(1, "pkill", "-9", "python3")
    out, _ = child.communicate(timeout=20)
    assert (child.returncode, b'"agent-died"' in out) == (3, True)
    cluster.on(1, "pkill", "sleep")  # nobody was left to end it
    _all_ended(cluster)


def test_a_time_out_leaves_nothing_behind(cluster: Cluster, hang: None) -> None:
    run = cluster.brctl("gpu[1-12]", "--timeout", "1s")
    assert run.code == 3
    late = {node for node, kind in run.kinds.items() if kind == "timeout"}
    assert late >= {f"gpu{i}" for i in range(1, 9)}
    assert run.reports["gpu1"]["errors"][0]["message"] == "the agent did not answer within 1 s"
    _all_ended(cluster)


def test_a_command_that_hangs_costs_its_own_limit_and_no_more(cluster: Cluster, hang: None) -> None:
    run = cluster.brctl("gpu[1,9]")
    assert set(run.kinds.values()) == {"ok"}
    (problem,) = (each for each in run.reports["gpu1"]["inventory"]["problems"] if each["part"] == "nics")
    assert (problem["reason"], problem["subject"]) == ("hung", "eth9")
    assert problem["message"] == "ethtool -i eth9 did not return within 3 s"
    _all_ended(cluster)


def test_ctrl_c_keeps_what_there_is_and_leaves_nothing_behind(cluster: Cluster, hang: None) -> None:
    child = cluster.popen(*cluster.command("gpu[1-12]", "--fanout", "4"))
    _until(lambda: any("sleep 77" in line for line in cluster.processes()))
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=10)
    kinds = cluster.parse(out)
    assert (child.returncode, b"Traceback" in err) == (130, False)
    assert set(kinds) == {f"gpu{i}" for i in range(1, 13)}
    assert {"interrupted", "not-asked"} <= set(kinds.values()) <= {"interrupted", "not-asked", "ok"}
    _all_ended(cluster)


def test_kill_9_leaves_nothing_behind(cluster: Cluster, hang: None) -> None:
    child = cluster.popen(*cluster.command("gpu[1-12]"))
    _until(lambda: sum(line == "sleep 77" for line in cluster.processes()) >= 8)
    child.kill()
    child.communicate(timeout=10)
    _all_ended(cluster)


def test_sshd_that_refuses_a_crowd_is_tried_again(cluster: Cluster) -> None:
    """MaxStartups 5:60:20 at the jump host is harsher than the usual 10:30:60, which lets half of 64 through."""
    cluster.forget()
    run = cluster.brctl(ALL, more="proxy_jump: jump")
    assert (run.code, set(run.kinds.values()), set(run.kinds)) == (0, {"ok"}, NAMES)
    retried = [report["notes"] for report in run.reports.values() if report["notes"]]
    assert retried
    assert all(notes[0].endswith("before it asked who we are, and was tried again") for notes in retried)
    assert not cluster.processes()


def _logins(cluster: Cluster) -> dict[str, set[str]]:
    """Node -> from which addresses sshd accepted logins there."""
    found = {}
    for i in cluster.nodes:
        lines = Path(cluster.folder, f"gpu{i}.log").read_text().splitlines()
        found[f"gpu{i}"] = {line.split(" from ")[1].split()[0] for line in lines if "Accepted" in line}
        Path(cluster.folder, f"gpu{i}.log").write_text("")
    return found


def test_many_nodes_are_reached_through_gateways(cluster: Cluster) -> None:
    tree = 'user: root, port: 22, tree: {gateways: "gpu[1-2]", above: 8}'
    cluster.forget()
    _logins(cluster)
    run = cluster.brctl(ALL, more=tree)
    assert (run.code, set(run.kinds.values()), set(run.kinds), run.err) == (0, {"ok"}, NAMES, "")
    logins = _logins(cluster)
    assert logins.pop("gpu1") == logins.pop("gpu2") == {"10.77.255.254"}
    assert {tuple(each) for each in logins.values()} == {("10.77.0.1",), ("10.77.0.2",)}
    assert sum(each == {"10.77.0.1"} for each in logins.values()) == 15
    cluster.forget()
    assert cluster.brctl("gpu[1-8]", more=tree).code == 0
    assert set().union(*_logins(cluster).values()) == {"10.77.255.254"}
    _all_ended(cluster)


def test_a_gateway_that_does_not_answer_is_done_without(cluster: Cluster) -> None:
    cluster.forget()
    _logins(cluster)
    run = cluster.brctl("gpu[3-6]", more='tree: {gateways: "gpu1,refused", above: 3}')
    assert (run.code, set(run.kinds.values())) == (0, {"ok"})
    assert run.err.startswith("warning: gpu[4,6]: reached through another gateway: refused does not answer: refused: ")
    assert len(run.err.splitlines()) == 1
    logins = _logins(cluster)
    assert logins["gpu3"] == logins["gpu4"] == {"10.77.0.1"}
    cluster.forget()
    run = cluster.brctl("gpu[3-6]", more="tree: {gateways: refused, above: 3}")
    assert (run.code, set(run.kinds.values()), len(run.err.splitlines())) == (0, {"ok"}, 1)
    assert run.err.startswith("warning: gpu[3-6]: reached through no gateway: ")
    assert _logins(cluster)["gpu3"] == {"10.77.255.254"}
    _all_ended(cluster)


def test_what_a_login_prints_is_noise(cluster: Cluster) -> None:
    cluster.on(2, "sh", "-c", "echo 'echo Welcome to $(hostname); echo mind the gap >&2' >/root/.bashrc")
    run = cluster.brctl("gpu[2-3]")
    cluster.on(2, "rm", "/root/.bashrc")
    assert (run.code, set(run.kinds.values())) == (0, {"ok"})
    assert run.reports["gpu2"]["notes"] == ["the login prints: Welcome to gpu2"]
    assert run.err == "warning: gpu2: the login prints: Welcome to gpu2\n"
    assert run.reports["gpu3"]["notes"] == []


@pytest.mark.parametrize("version", ["3.8", "3.9", "newest"])
def test_the_agent_runs_under_this_python(cluster: Cluster, version: str) -> None:
    there = sorted(Path("/root/.pyenv/versions").glob("3.*"), key=lambda path: [int(n) for n in path.name.split(".")])
    wanted = there[-1:] if version == "newest" else [path for path in there if path.name.startswith(f"{version}.")]
    if not wanted:
        pytest.skip(f"there is no Python {version} in pyenv")
    for _ in ("the bundle comes", "the bundle is there"):
        run = cluster.brctl("gpu4", more=f"python: {wanted[0]}/bin/python")
        assert (run.code, run.kinds) == (0, {"gpu4": "ok"})
        assert run.reports["gpu4"]["findings"]
        assert run.reports["gpu4"]["notes"] == []


def test_without_a_fit_python_that_is_said(cluster: Cluster) -> None:
    run = cluster.brctl("gpu4", more="python: /opt/python")
    assert (run.code, run.kinds) == (3, {"gpu4": "no-python"})
    for old in sorted(Path("/root/.pyenv/versions").glob("[23].[67].*")):
        run = cluster.brctl("gpu4", more=f"python: {old}/bin/python")
        assert (run.code, run.kinds) == (3, {"gpu4": "python-too-old"})


def test_a_copy_that_was_tampered_with_is_replaced(cluster: Cluster) -> None:
    cluster.brctl("gpu5")
    agent = f"$(echo {CACHE}/*)/brctl/node/agent.py"
    edit = "touch -r $file /run/before; sed -i 's/import os/import xx/' $file; touch -r /run/before $file"
    cluster.on(5, "sh", "-c", f"file={agent}; {edit}")  # neither its size nor its modification time tells
    assert "import xx" in cluster.on(5, "sh", "-c", f"cat {agent}")
    run = cluster.brctl("gpu5")
    assert (run.code, run.reports["gpu5"]["notes"]) == (0, [])
    assert "import xx" not in cluster.on(5, "sh", "-c", f"cat {agent}")
    for change in (
        "rm -r $(echo {}/*)/psutil",
        "ln -s /tmp $(echo {}/*)/json",
        "echo 'raise SystemExit' >$(echo {}/*)/os.py",
    ):
        cluster.on(5, "sh", "-c", change.format(CACHE))
        assert cluster.brctl("gpu5").code == 0
        assert cluster.on(5, "sh", "-c", f"ls $(echo {CACHE}/*)").split() == COPY


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("mkdir /run/else; ln -s /run/else /var/cache/brctl", "Not a folder of this user alone"),
        ("mkdir -m 700 /var/cache/brctl; chown 65534 /var/cache/brctl", "Not a folder of this user alone"),
        ("mkdir -m 777 /var/cache/brctl", "Not a folder of this user alone"),
        ("mount -o remount,ro /var/cache", "Read-only file system"),
        ("mkdir -m 700 /var/cache/brctl; mount -t tmpfs -o size=100k,mode=700 tmpfs /var/cache/brctl", "No space left"),
    ],
)
def test_a_cache_that_cannot_be_used_is_not_used(cluster: Cluster, before: str, words: str) -> None:
    cluster.brctl("gpu6", action="clean")
    cluster.on(6, "sh", "-c", before)
    run = cluster.brctl("gpu6")
    clean = (
        "umount /var/cache/brctl; mount -o remount,rw /var/cache; ls -A /run/else; rm -rf /var/cache/brctl /run/else"
    )
    left = cluster.on(6, "sh", "-c", f"{{ {clean}; }} 2>/dev/null")
    assert (run.code, run.kinds, left) == (0, {"gpu6": "ok"}, "")
    (note,) = run.reports["gpu6"]["notes"]
    assert note.startswith("the bundle is not cached: ")
    assert words in note


def test_the_newest_two_are_kept_and_clean_removes_them(cluster: Cluster) -> None:
    cluster.brctl("gpu8", action="clean")
    for age in (8, 9, 10):
        cluster.on(8, "mkdir", "-pm", "700", CACHE, f"{CACHE}/{age:064}")
        cluster.on(8, "touch", "-d", f"{age} days ago", f"{CACHE}/{age:064}")
    cluster.on(8, "mkdir", f"{CACHE}/.new-killed")
    cluster.on(8, "touch", "-d", "2 hours ago", f"{CACHE}/.new-killed")
    assert cluster.brctl("gpu8").code == 0
    left = cluster.on(8, "ls", "-A", CACHE).split()
    assert (len(left), f"{8:064}" in left) == (2, True)
    run = cluster.brctl("gpu8", action="clean")
    assert (run.code, run.reports["gpu8"]["notes"]) == (0, [f"removed {CACHE}"])
    assert cluster.on(8, "ls", "/var/cache") == ""
    assert cluster.brctl("gpu8", action="clean").reports["gpu8"]["notes"] == [f"nothing was left: there is no {CACHE}"]


def test_clean_waits_for_the_end_of_a_transaction(cluster: Cluster) -> None:
    cluster.brctl("gpu8")
    cluster.on(8, "sh", "-ec", "mount -t tmpfs tmpfs /var/lib; mkdir -p /var/lib/brctl/tune; >/var/lib/brctl/tune/open")
    run = cluster.brctl("gpu[8-9]", action="clean")
    assert (run.code, run.kinds) == (3, {"gpu8": "busy", "gpu9": "ok"})
    assert cluster.on(8, "ls", "/var/cache") == "brctl\n"
    forced = cluster.brctl("gpu8", "--force", action="clean")
    cluster.on(8, "umount", "/var/lib")
    assert (forced.code, forced.reports["gpu8"]["notes"]) == (0, [f"removed {CACHE}"])


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash", "/usr/bin/tcsh", "/usr/bin/fish"])
def test_another_user_with_another_shell(cluster: Cluster, shell: str) -> None:
    if not os.access(shell, os.X_OK):
        pytest.skip(f"there is no {shell}")
    _user(cluster, 9, shell)
    run = cluster.brctl("gpu9", more="user: op")
    kept = cluster.on(9, "stat", "-c", "%U %a", "/var/tmp/brctl-4242")
    clean = cluster.brctl("gpu9", more="user: op", action="clean")
    cluster.on(9, "umount", "/etc/passwd")
    assert (run.code, run.kinds, kept) == (0, {"gpu9": "ok"}, "op 700\n")
    assert clean.reports["gpu9"]["notes"] == ["removed /var/tmp/brctl-4242"]


def test_sudo_never_asks(cluster: Cluster) -> None:
    if not shutil.which("sudo"):
        pytest.skip("there is no sudo")
    _user(cluster, 9, "/bin/sh")
    refused = cluster.brctl("gpu9", more="user: op, sudo: true")
    cluster.on(9, "sh", "-c", "echo 'op ALL=(root) NOPASSWD: ALL' >/run/op && mount --bind /run/op /etc/sudoers")
    allowed = cluster.brctl("gpu9", more="user: op, sudo: true")
    cluster.on(9, "umount", "/etc/passwd", "/etc/sudoers")
    assert (refused.code, refused.kinds) == (3, {"gpu9": "permission"})
    assert refused.reports["gpu9"]["errors"][0]["message"] == "sudo: a password is required"
    assert (allowed.code, allowed.kinds) == (0, {"gpu9": "ok"})
    assert len(cluster.on(9, "ls", CACHE).split()) == 1
    _all_ended(cluster)


def _user(cluster: Cluster, node: int, shell: str) -> None:
    line = f"op:*:4242:4242::/run/op-home:{shell}"
    script = f"mkdir -p /run/op-home; chown 4242 /run/op-home; (cat /etc/passwd; echo '{line}') >/run/passwd"
    cluster.on(node, "sh", "-c", f"{script}; mount --bind /run/passwd /etc/passwd")


HOSTILE = """\
#!/usr/bin/python3 -IS
import json, os, sys, time, zlib

def frame(name, payload, length=None, checksum=None):
    body = zlib.compress(payload) if payload else b""
    head = "\\x1ebrctl1 %s %s %s\\n" % (name, length or len(body), checksum or zlib.crc32(body))
    os.write(1, head.encode() + body)

def forever(fd, text):
    while True:
        os.write(fd, text)

def answer(payload, **lies):
    frame("ready", b"")
    frame("1", payload, **lies)

error = {"kind": "\\x1b[31m", "message": "\\x1b]0;title\\x07\\u202e"}
report = {"node": "gpu1", "time": 0, "elapsed_s": 0, "errors": [error]}
{
    "gpu1": lambda: forever(1, b"y" * 65536),
    "gpu2": lambda: forever(2, b"y" * 65536),
    "gpu3": lambda: (answer(json.dumps(report).encode(), length=10**6), time.sleep(60)),
    "gpu4": lambda: answer(json.dumps(report).encode(), checksum=1),
    "gpu5": lambda: answer(b"[" * 10**6 + b"]" * 10**6),
    "gpu6": lambda: (answer(b" " * 10**8), time.sleep(60)),
    "gpu7": lambda: answer(json.dumps(report).encode()),
    "gpu8": lambda: time.sleep(60),
    "gpu9": lambda: [frame("absent", b"") for _ in range(9)] and time.sleep(60),
    "gpu10": lambda: answer(b'{"node": "gpu11", "time": 1e999, "elapsed_s": 0}'),
    "gpu11": lambda: (frame("1", b"{}", length=10**12), time.sleep(60)),
}.get(os.uname().nodename, lambda: os.execvp("python3", ["python3"] + sys.argv[1:]))()
"""


def test_a_hostile_node_harms_nobody_else(cluster: Cluster) -> None:
    """Endless output on stdout and stderr, false lengths and checksums, deep and swollen JSON, escapes, silence."""
    python = _script(cluster, "hostile", HOSTILE)
    run = cluster.brctl("gpu[1-14]", "--timeout", "5s", more=f"python: {python}")
    assert run.kinds == {
        "gpu1": "too-much-output",
        "gpu2": "too-much-output",
        "gpu3": "timeout",
        "gpu4": "invalid-report",
        "gpu5": "invalid-report",
        "gpu6": "too-much-output",
        "gpu7": "\x1b[31m",
        "gpu8": "timeout",
        "gpu9": "invalid-report",
        "gpu10": "invalid-report",
        "gpu11": "too-much-output",
        "gpu12": "ok",
        "gpu13": "ok",
        "gpu14": "ok",
    }
    assert (run.code, set(run.reports)) == (3, set(run.kinds))
    assert "\x1b" not in run.out + run.err
    assert "\u202e" not in run.out + run.err
    assert "error: gpu7: \ufffd[31m: \ufffd]0;title\ufffd\ufffd\n" in run.err
    for i in range(1, 12):
        cluster.on(i, "sh", "-c", "pkill -f [h]ostile || true")  # they do not heed the end of their stdin
    _all_ended(cluster)


def test_one_node_is_recorded_and_written_down_from_here(cluster: Cluster) -> None:
    file = Path(cluster.folder, "gpu4.json")
    argv = [sys.executable, "-m", "brctl", "-c", str(cluster.config()), "-w", "gpu4"]
    run = cluster.run(*argv, "diagnose", "bundle", str(file))
    assert (run.code, run.out) == (0, "")
    assert '"hostname": "gpu4"' not in file.read_text()  # it is masked
    shown = cluster.run(sys.executable, "-m", "brctl", "--mock", str(file), "node-manager", "show", "-o", "json")
    (report,) = json.loads(shown.out)["reports"]
    assert [nic["name"] for nic in report["inventory"]["nics"]] == ["eth0", "lo"]
    init = cluster.run(*argv, "config", "init")
    assert (init.code, 'nodes: "gpu4"' in init.out, init.err) == (0, True, "")
    _all_ended(cluster)


def test_exec_reaches_nodes_by_a_command(cluster: Cluster) -> None:
    pids = {i: cluster.init(i) for i in (10, 11)}
    cases = " ".join(f"gpu{i}) pid={pid};;" for i, pid in pids.items())
    text = f'case $1 in {cases} esac; shift; exec nsenter -t $pid -m -u -p -n -- "$@"'
    enter = _script(cluster, "enter", f"#!/bin/sh\n{text}\n")
    run = cluster.brctl("gpu[10-11]", more=f"kind: exec, template: {enter} %host")
    assert (run.code, set(run.kinds.values())) == (0, {"ok"})
    assert run.reports["gpu10"]["inventory"]["kernel"]["hostname"] == "gpu10"
    _all_ended(cluster)
