"""Reports of mocked machines; and 32 hosts in network namespaces, each with its own sshd, host name and home."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from brctl.mock.machines import load
from brctl.node.agent import answer
from brctl.node.report import Report
from brctl.node.request import Request

Look = Callable[..., Report]

NODES = 32
TOOLS = ("ip", "nft", "unshare", "nsenter", "ssh", "ssh-keygen", "/usr/sbin/sshd")
_SSHD = """\
Port 22
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub /run/keys
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin yes
PasswordAuthentication no
PidFile none
"""
_JUMP = _SSHD.replace("Port 22", "Port 2222") + "MaxStartups 5:60:20\n"
_NODE = """\
hostname gpu{i}
for folder in /run /var/cache /var/lib /var/tmp /usr/local/bin; do mount -t tmpfs tmpfs $folder; done
chmod 1777 /var/tmp
mkdir -p /run/sshd /run/pyenv
cp {folder}/user_key.pub /run/keys
[ -d /root/.pyenv ] && mount --bind /root/.pyenv /run/pyenv
mount -t tmpfs tmpfs /root
mkdir /root/.pyenv && mount --bind /run/pyenv /root/.pyenv
[ {i} = 1 ] && /usr/sbin/sshd -f {folder}/jump.conf -E {folder}/jump.log
exec /usr/sbin/sshd -D -f {folder}/sshd.conf -E {folder}/gpu{i}.log
"""
_CLIENT = """\
Host *
  IdentityFile {folder}/user_key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile /dev/null
  KexAlgorithms curve25519-sha256
Host jump
  HostName 10.77.0.1
  Port 2222
Host refused
  HostName 10.77.0.2
  Port 9
Host changed
  HostName 10.77.0.2
  HostKeyAlias changed
Host unknown
  HostName 10.77.0.2
  HostKeyAlias unknown
Host stranger
  HostName 10.77.0.2
  User nobody-here
Host silent
  HostName 10.77.255.254
  Port 2222
Host dropped
  HostName 10.77.255.200
Host unrouted
  HostName 10.78.0.1
"""
_CONFIG = """\
version: 1
cluster: {{name: test, nodes: "gpu[1-{nodes}],{others}"}}
transport: {{ssh_config: {folder}/ssh_config, connect_timeout: 4s, {more}}}
"""
OTHERS = "refused,nowhere.invalid,changed,unknown,stranger,silent,dropped,unrouted"
_WAIT = """\
import socket, sys, time
end = time.monotonic() + 20
nodes = range(1, int(sys.argv[1]) + 1)
for address, port in [("10.77.%d.%d" % divmod(i, 256), 22) for i in nodes] + [("10.77.0.1", 2222)]:
    while True:
        try:
            socket.create_connection((address, port), 1).close()
            break
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
"""
_SILENT = """\
import socket, time
listener = socket.create_server(("10.77.255.254", 2222))
kept = []
while True:
    kept.append(listener.accept())
"""


class Run(NamedTuple):
    code: int
    out: str
    err: str
    seconds: float

    @property
    def reports(self) -> dict[str, Any]:
        """By node."""
        return {report["node"]: report for report in json.loads(self.out)["reports"]}

    @property
    def kinds(self) -> dict[str, str]:
        """Node -> the kind of its error; `ok` where it has none."""
        return _kinds(self.out)


def _kinds(out: str) -> dict[str, str]:
    reports = json.loads(out)["reports"]
    return {report["node"]: (report["errors"] or [{"kind": "ok"}])[0]["kind"] for report in reports}


class Cluster:
    def __init__(self, folder: Path, number: int = NODES) -> None:
        self.folder, self.nodes = folder, range(1, number + 1)
        self.switch = f"brctl{os.getpid()}"
        self.runtime = tempfile.mkdtemp(prefix="b", dir="/tmp")
        self._spaces: list[subprocess.Popen[bytes]] = []
        self._helpers: list[subprocess.Popen[bytes]] = []

    # The hosts.

    def start(self) -> None:
        for key in ("host_key", "user_key", "other_key"):
            _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / key))
        self._write("sshd.conf", _SSHD)
        self._write("jump.conf", _JUMP)
        hosts = "".join(f"Host gpu{i}\n  HostName {_address(i)}\n" for i in self.nodes)
        self._write("ssh_config", _CLIENT + hosts)
        host, other = ((self.folder / f"{key}.pub").read_text() for key in ("host_key", "other_key"))
        self._write("known_hosts", f"10.77.*,[10.77.*]:2222 {host}changed {other}")
        self._network()
        for i in self.nodes:
            self._host(i)
        self.popen(sys.executable, "-c", _SILENT)
        self.run(sys.executable, "-c", _WAIT, str(len(self.nodes)))

    def _network(self) -> None:
        switch = ["ip", "-n", self.switch]
        _run("ip", "netns", "add", self.switch)
        _run(*switch, "link", "add", "br0", "type", "bridge")
        for device in ("br0", "lo"):
            _run(*switch, "link", "set", device, "up")
        _run(*switch, "addr", "add", "10.77.255.254/16", "dev", "br0")
        rules = ["add table inet t", "add chain inet t out { type filter hook output priority 0; }"]
        for rule in (*rules, "add rule inet t out ip daddr 10.77.255.200 drop"):
            _run("ip", "netns", "exec", self.switch, "nft", rule)

    def _host(self, i: int) -> None:
        space = f"{self.switch}-{i}"
        _run("ip", "netns", "add", space)
        _run("ip", "link", "add", f"p{i}", "netns", self.switch, "type", "veth", "peer", "name", "eth0", "netns", space)
        _run("ip", "-n", self.switch, "link", "set", f"p{i}", "master", "br0", "up")
        _run("ip", "-n", space, "addr", "add", f"{_address(i)}/16", "dev", "eth0")
        for device in ("eth0", "lo"):
            _run("ip", "-n", space, "link", "set", device, "up")
        unshare = ["unshare", "--uts", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
        script = _NODE.format(i=i, folder=self.folder)
        command = ["ip", "netns", "exec", space, *unshare, "sh", "-c", script]
        self._spaces.append(subprocess.Popen(command, start_new_session=True))

    def stop(self) -> None:
        for process in (*self._helpers, *self._spaces):
            process.kill()
            process.communicate()
        for pid in _run("ip", "netns", "pids", self.switch).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        for space in (self.switch, *(f"{self.switch}-{i}" for i in self.nodes)):
            _run("ip", "netns", "del", space)
        shutil.rmtree(self.runtime)

    # What is done on the admin host.

    def config(self, more: str = "") -> Path:
        """A config, with more keys of `transport`."""
        return self._write(
            f"config-{abs(hash(more))}.yaml",
            _CONFIG.format(nodes=len(self.nodes), others=OTHERS, folder=self.folder, more=more),
        )

    def brctl(self, nodes: str, *argv: str, more: str = "", action: str = "check", limit_s: float = 100) -> Run:
        """Run `node-manager ACTION` on the nodes, with JSON as its output."""
        return self.run(*self.command(nodes, *argv, more=more, action=action), limit_s=limit_s)

    def command(self, nodes: str, *argv: str, more: str = "", action: str = "check") -> list[str]:
        common = ["-c", str(self.config(more)), "-w", nodes, "-o", "json"]
        return [sys.executable, "-m", "brctl", *common, "node-manager", action, *argv]

    def run(self, *command: str, limit_s: float = 100) -> Run:
        began = time.monotonic()
        child = self.popen(*command)
        out, err = child.communicate(timeout=limit_s)
        return Run(child.returncode, out.decode(), err.decode(), time.monotonic() - began)

    def popen(self, *command: str) -> subprocess.Popen[bytes]:
        """Start something on the admin host."""
        environment = {**os.environ, "XDG_RUNTIME_DIR": self.runtime, "PYTHONPATH": str(Path(__file__).parents[2])}
        child = subprocess.Popen(
            ["ip", "netns", "exec", self.switch, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        if command[1:2] == ("-c",) and command[2] == _SILENT:
            self._helpers.append(child)
        return child

    def parse(self, out: bytes) -> dict[str, str]:
        """Node -> the kind of its error, from JSON output."""
        return _kinds(out.decode())

    def local(self) -> list[str]:
        """The command lines of what runs on the admin host, but for the kept connections of ssh."""
        found = [_command_line(pid) for pid in _run("ip", "netns", "pids", self.switch).split()]
        kept = ("[mux]", " -W [", "create_server")  # the connections, those through the jump host, and a helper
        return sorted(line for line in found if line and not any(word in line for word in kept))

    def pids(self, name: str) -> list[int]:
        """Of what runs on the admin host by that name."""
        every = map(int, _run("ip", "netns", "pids", self.switch).split())
        return [pid for pid in every if Path(f"/proc/{pid}/comm").read_text().strip() == name]

    # What is done on a node.

    def on(self, node: int, *command: str) -> str:
        """Run something on a node, as its console would."""
        return _run("nsenter", "-t", str(self.init(node)), "--mount", "--uts", "--pid", "--net", *command)

    def init(self, node: int) -> int:
        """The first process of the node."""
        unshare = self._spaces[node - 1].pid
        return int(Path(f"/proc/{unshare}/task/{unshare}/children").read_text().split()[0])

    def processes(self) -> list[str]:
        """The command lines of what runs on all nodes, but for sshd."""
        spaces = {os.readlink(f"/proc/{self.init(i)}/ns/pid") for i in self.nodes}
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/ns/pid") in spaces:
                    found.append(_command_line(pid))
        return sorted(line for line in found if line and not line.startswith(("sshd:", "/usr/sbin/sshd")))

    def forget(self) -> None:
        """Close the kept connections."""
        for path in Path(self.runtime, "brctl").glob("*"):
            if path.is_socket():
                subprocess.run(["ssh", "-O", "exit", "-S", str(path), "x"], capture_output=True, check=False)

    def _write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text.replace("{folder}", str(self.folder)))
        return path


def _address(i: int) -> str:
    return "10.77.{}.{}".format(*divmod(i, 256))


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _command_line(pid: str) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    hosts = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        hosts.start()
        yield hosts
    finally:
        hosts.stop()


@lru_cache(maxsize=None)
def _look(spec: str) -> Report:
    return answer(load(spec, "gpu001"), Request("gpu001", "check"))


@pytest.fixture
def look() -> Look:
    """`look("gpu007", "dgx-h100+gpu3-lost")`: what a node's check of that machine gives."""

    def report(node: str, spec: str = "dgx-h100") -> Report:
        return _look(spec)._replace(node=node)

    return report
