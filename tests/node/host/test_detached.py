"""A process that outlives its starter: where it can be had, and how the two hear of each other."""

import os
import threading
from pathlib import Path
from typing import Any, Dict, Sequence

import pytest

from brctl.node.deadline import HungError
from brctl.node.host import Completed, detached
from brctl.node.host.machine import Machine

SYSTEMD = {"/run/systemd/system/x": "", "/proc/1/comm": "systemd\n"}


def make(files: Dict[str, Any], real: bool = True) -> Machine:
    host = Machine({"name": "m", "recorded": False, "sources": [], "files": files}, "m", lambda: None)
    if real:
        host.mock = None
    return host


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ("0::/user.slice/user-0.slice/session-4.scope\n", None),
        ("", None),
        (
            "0::/system.slice/slurmstepd.scope/job_7/step_0/user\n",
            "it runs in a step of Slurm, which ends all that is in it",
        ),
        ("4:memory:/slurm/uid_0/job_7/step_0\n", "it runs in a step of Slurm, which ends all that is in it"),
        ("0::/kubepods.slice/kubepods-pod1.slice/cri-x.scope\n", "it runs in a pod, which ends all that is in it"),
    ],
)
def test_where_it_would_die_with_us(groups: str, reason: str) -> None:
    files = {"/proc/self/cgroup": groups}
    assert detached.dies_with_us(make(files)) == reason
    assert detached.dies_with_us(make(dict(files, **SYSTEMD))) is None  # systemd puts it elsewhere
    assert detached.dies_with_us(make(dict(files, **dict(SYSTEMD, **{"/proc/1/comm": "bash\n"})))) == reason
    assert detached.dies_with_us(make(files, real=False)) is None


def test_a_control_group_may_be_hidden() -> None:
    hidden = {"/proc/self/cgroup": "0::/\n"}
    slurm, pod = "LANG=C\0SLURM_STEP_ID=0\0", "KUBERNETES_SERVICE_HOST=10.96.0.1\0"
    step, of_pod = (detached.dies_with_us(make(dict(hidden, **{"/proc/self/environ": text}))) for text in (slurm, pod))
    assert step == "it runs in a step of Slurm, which ends all that is in it"
    assert of_pod == "it runs in a pod, which ends all that is in it"


def test_what_is_heard(tmp_path: Path) -> None:
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    ours = detached.opened(path)
    assert detached.heard(ours, 0.01) is None  # nobody has opened the other end
    pipe = detached.Pipe(detached._opened(path))
    assert detached.heard(ours, 0.01) is None
    pipe.say("wait 120.0")
    assert detached.heard(ours, 1) == "wait 120.0\n"
    pipe.close()
    assert detached.heard(ours, 1) == ""
    os.close(ours)


def test_the_other_one_is_gone(tmp_path: Path) -> None:
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    ours = detached.opened(path)
    pipe = detached.Pipe(detached._opened(path))
    os.close(ours)
    with pytest.raises(BrokenPipeError):
        pipe.say("done")
    pipe.close()


def test_by_systemd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As a unit of its own; a bundle that is in no file is named so that another process finds it."""
    host, ran = make(SYSTEMD), []
    monkeypatch.setattr(detached.sys, "path", ["", "/proc/self/fd/5", "/usr/lib/python3"])
    monkeypatch.setattr(detached.tempfile, "mkdtemp", lambda prefix: _folder(tmp_path, prefix))

    def run(argv: Sequence[str]) -> Completed:
        ran.append(list(argv))
        threading.Thread(target=detached.opened, args=(argv[-2],)).start()
        return Completed(0, "", "")

    monkeypatch.setattr(host, "run", run)
    detached.start(host, "brctl.node.tune.guard", ["x"]).close()
    (argv,) = ran
    assert argv[:5] == ["systemd-run", "--quiet", "--collect", "--property=OOMScoreAdjust=-500", "--"]
    assert argv[6:9] == ["-I", "-S", "-c"]
    assert argv[10:] == ["/proc/{}/fd/5:/usr/lib/python3".format(os.getpid()), str(tmp_path / "brctl-1/pipe"), "x"]
    assert list(tmp_path.iterdir()) == []


def _folder(where: Path, prefix: str) -> str:
    folder = where / (prefix + "1")
    folder.mkdir()
    return str(folder)


@pytest.mark.parametrize(
    ("answer", "why"),
    [(None, "systemd-run: it is not installed"), (Completed(1, "", "no bus\n"), "systemd-run: no bus")],
)
def test_systemd_does_not_start_it(monkeypatch: pytest.MonkeyPatch, answer: Any, why: str) -> None:
    host = make(SYSTEMD)
    monkeypatch.setattr(host, "run", lambda _: answer)
    with pytest.raises(detached.NotStartedError) as caught:
        detached.start(host, "brctl.node.tune.guard", [])
    assert str(caught.value) == why


def test_systemd_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(_: Any) -> None:
        raise HungError("systemd-run --quiet", 10)

    host = make(SYSTEMD)
    monkeypatch.setattr(host, "run", hang)
    with pytest.raises(detached.NotStartedError, match=r"^systemd-run --quiet did not return within 10 s$"):
        detached.start(host, "brctl.node.tune.guard", [])


def test_no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise FileNotFoundError(2, "No such file or directory", "/gone/python3")

    monkeypatch.setattr(detached.subprocess, "Popen", fail)
    with pytest.raises(detached.NotStartedError) as caught:
        detached.start(make({}), "brctl.node.tune.guard", [])
    assert str(caught.value) == "/gone/python3: No such file or directory"
