"""A real Slurm: munged, slurmctld and three slurmd on loopback, with GPUs that are device files and no more."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from brctl.cli import discover, run
from brctl.cli.common import Common
from brctl.config.load import load
from brctl.fleet import engine
from brctl.fleet.slurm import Slurm
from brctl.node.report import Report

NODES = ("gpu001", "gpu002", "gpu003")
_NEEDED = ("/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/bin/scontrol")
_MISSING = [path for path in _NEEDED if not os.path.exists(path)]
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(bool(_MISSING), reason=f"no {_MISSING} (Debian: munge slurmctld slurmd slurm-client)"),
]
Look = Callable[..., Report]

_SLURM_CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=1
SlurmdTimeout=15
KillWait=1
MpiDefault=none
GresTypes=gpu
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
"""
_CONFIG = """\
version: 1
cluster: {name: c, nodes: "gpu[001-002,009]", sources: [config, slurm]}
scheduler: {kind: slurm}
"""


def _ports(count: int) -> "list[int]":
    """Ports that are free now."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[dict[str, subprocess.Popen[bytes]]]":
    """The daemons by name: `munged`, `slurmctld`, and each node's slurmd by the node's."""
    folder = tmp_path_factory.mktemp("slurm")
    host, (port, *ports) = socket.gethostname(), _ports(1 + len(NODES))
    (folder / "state").mkdir()
    for i in range(8):
        os.mknod(folder / f"gpu{i}", 0o020600, os.makedev(1, 3))
    lines = [_SLURM_CONF.format(host=host, port=port, folder=folder)]
    for node, its_port in zip(NODES, ports, strict=True):
        lines.append(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={its_port} CPUs=8 Gres=gpu:8\n")
    lines.append(f"PartitionName=all Nodes={','.join(NODES)} Default=YES State=UP\n")
    (folder / "slurm.conf").write_text("".join(lines))
    (folder / "gres.conf").write_text(f"AutoDetect=off\nName=gpu File={folder}/gpu[0-7]\n")
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    patch = pytest.MonkeyPatch()
    patch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
    daemons = {"munged": _munged(folder)}
    try:
        _until(lambda: (folder / "munge.socket").exists())
        daemons["slurmctld"] = _start("/usr/sbin/slurmctld", "-D", "-c")
        for node in NODES:
            daemons[node] = _start("/usr/sbin/slurmd", "-D", "-N", node)
        _until(lambda: _words() == dict.fromkeys(NODES, "idle"))
        yield daemons
    finally:
        for daemon in reversed(daemons.values()):
            daemon.terminate()
        for daemon in daemons.values():
            daemon.wait(20)
        patch.undo()


def _munged(folder: Path) -> "subprocess.Popen[bytes]":
    names = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid", "log-file": "munged.log"}
    options = [f"--{option}={folder / name}" for option, name in {**names, "seed-file": "munged.seed"}.items()]
    return _start("/usr/sbin/munged", "--force", "--foreground", *options)


def _start(*argv: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _until(true: Callable[[], bool], limit_s: float = 60) -> None:
    end = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.1)


def _words() -> "dict[str, str]":
    shown = subprocess.run(["sinfo", "-h", "-N", "-o", "%N %T"], capture_output=True, text=True, check=False).stdout
    return dict(line.split() for line in shown.splitlines())


def _scontrol(*words: str) -> None:
    subprocess.run(["scontrol", *words], check=True)


def _reason(node: str) -> "str | None":
    return Slurm().states()[node].reason


@pytest.fixture
def brctl(
    cluster: "dict[str, subprocess.Popen[bytes]]",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> "Iterator[Callable[..., tuple[int, str]]]":
    """`brctl node-manager ...` with a config of gpu001, gpu002 and gpu009, which Slurm does not know."""
    (tmp_path / "cluster-config.yaml").write_text(_CONFIG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def call(nodes: str, *argv: str) -> "tuple[int, str]":
        code = run(["-c", "cluster-config.yaml", "-w", nodes, "node-manager", *argv])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    yield call
    for node in [node for node, state in Slurm().states().items() if state.closed]:
        _scontrol("update", f"nodename={node}", "state=resume")
    _until(lambda: all(state.responding or cluster[node].poll() for node, state in Slurm().states().items()))


Brctl = Callable[..., "tuple[int, str]"]
DRAIN = ("drain", "--reason", "bad link")


def test_drained_twice_and_resumed_twice(brctl: Brctl) -> None:
    assert brctl("gpu001", *DRAIN) == (0, "DRAINED    gpu001  empty, and takes no new jobs\n")
    assert (_words()["gpu001"], _reason("gpu001")) == ("drained", "brctl: bad link")
    assert brctl("gpu001", *DRAIN) == (0, "UNCHANGED  gpu001  drained before: brctl: bad link\n")
    assert brctl("gpu001", "resume") == (0, "RESUMED    gpu001  takes jobs again\n")
    assert _reason("gpu001") is None
    code, out = brctl("gpu001", "resume")
    assert (code, out.split("  ")[0]) == (0, "UNCHANGED")


def test_what_another_drained_stays_as_it_is(brctl: Brctl) -> None:
    _scontrol("update", "nodename=gpu001", "state=drain", "reason=first")
    assert brctl("gpu001", *DRAIN) == (
        3,
        "REFUSED    gpu001  drained by root, not by brctl: first\n"
        + " " * 19
        + "do: leave it to them, or --force replaces their reason\n",
    )
    code, out = brctl("gpu001", "resume")
    assert (code, out.splitlines()[0]) == (3, "REFUSED    gpu001  drained by root, not by brctl: first")
    assert (_words()["gpu001"], _reason("gpu001")) == ("drained", "first")
    assert brctl("gpu001", *DRAIN, "--force")[0] == 0
    assert _reason("gpu001") == "brctl: bad link"


def test_any_reason_comes_back_as_it_was_given(brctl: Brctl) -> None:
    odd = "a \"b\" 'c' $d [e] f@g ü, h=i; j"
    assert brctl("gpu001", "drain", "--reason", odd) == (0, "DRAINED    gpu001  empty, and takes no new jobs\n")
    assert _reason("gpu001") == f"brctl: {odd}"


def test_a_drain_waits_for_the_job_when_it_is_told_to(brctl: Brctl, tmp_path: Path) -> None:
    submitted = subprocess.run(
        ["sbatch", "--parsable", "-w", "gpu002", "--gres=gpu:8", "-o", "/dev/null", "--wrap", "sleep 60"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    _until(lambda: _words()["gpu002"] == "mixed")
    assert brctl("gpu002", *DRAIN) == (
        0,
        "DRAINING   gpu002  draining: jobs still run\n" + " " * 19 + "do: --wait TIME waits for their end\n",
    )
    assert _words()["gpu002"] == "draining"
    began = time.monotonic()
    assert brctl("gpu002", *DRAIN, "--wait", "1s")[0] == 3
    assert time.monotonic() - began < 10
    _scontrol("show", "nodes")  # slurmctld is well all the while
    subprocess.run(["scancel", submitted.stdout.strip()], check=True)
    assert brctl("gpu002", *DRAIN, "--wait", "60s") == (0, "UNCHANGED  gpu002  drained before: brctl: bad link\n")
    assert _words()["gpu002"] == "drained"


def test_an_unknown_node_is_named_and_the_others_are_drained(brctl: Brctl) -> None:
    code, out = brctl("gpu[001,009]", *DRAIN)
    assert code == 3
    assert "FAILED     gpu009  Slurm has no such node\n" in out
    assert "DRAINED    gpu001" in out


@pytest.mark.parametrize("nodes", ["@nogroup", "", "gpu[5-1]", "n[1-1000000000]", "gpu001!gpu001", "gpu007"])
def test_a_typo_drains_nobody(brctl: Brctl, nodes: str) -> None:
    code, out = brctl(nodes, *DRAIN)
    assert (code, out[:7]) == (2, "error: ")
    assert set(_words().values()) <= {"idle", "idle*"}


def test_a_critical_verdict_drains_that_node_alone(brctl: Brctl, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = (look("gpu001", "dgx-h100+gpu3-lost"), look("gpu002"))
    monkeypatch.setattr(engine, "ask_all", lambda *_, **__: reports)
    code, out = brctl("gpu[001-002]", "check", "--act")
    assert code == 1
    assert "DRAINING   gpu001  takes no new jobs: brctl: gpu-responding: GPU 3\n" in out
    assert (_reason("gpu001"), _reason("gpu002")) == ("brctl: gpu-responding: GPU 3", None)
    code, out = brctl("gpu[001-002]", "check", "--act", "-o", "json")
    assert '"result": "unchanged"' in out


def test_what_discover_hears(brctl: Brctl) -> None:
    (_, said) = discover.ask(Common(), load(Path("cluster-config.yaml")))
    assert (said.error, said.missing, said.unexpected) == (None, ("gpu009",), ("gpu003",))


def test_without_scontrol_it_says_so(brctl: Brctl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        assert brctl("gpu001", *DRAIN) == (
            3,
            "error: scontrol is not installed here\nhint: run brctl where scontrol is, or put it into PATH\n",
        )
    assert shutil.which("scontrol")


def test_a_dead_slurmd_is_healthy_to_nobody(brctl: Brctl, cluster: "dict[str, subprocess.Popen[bytes]]") -> None:
    """The last test: its node stays dead."""
    assert brctl("gpu002", *DRAIN)[0] == 0
    cluster["gpu002"].kill()
    cluster["gpu002"].wait(10)
    _until(lambda: _words()["gpu002"].endswith("*"))
    state = Slurm().states()["gpu002"]
    assert (state.word, state.responding) in [("drained*", False), ("down+drain*", False)]
    code, out = brctl("gpu002", *DRAIN, "--wait", "1s")
    assert code == 3
    assert out.startswith(f"DRAINING   gpu002  {state.word}: slurmd does not respond\n")
    code, out = brctl("gpu002", "resume")
    assert code == 3
    assert out.startswith(f"REFUSED    gpu002  {state.word}: Slurm does not reach it\n")
