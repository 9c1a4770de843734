"""brctl-boot.service: what is installed, and what it does."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Callable, List

import pytest

from brctl.node import deadline
from brctl.node.host import itself
from brctl.node.host.local import Local
from brctl.node.report import Outcome, Report
from brctl.node.request import Clocks, PowerLimit, Request, Tuning
from brctl.node.tune import boot, journal

Ask = Callable[..., Report]  # the fixtures of conftest.py
Load = Callable[[str], Any]
WANTED: Any = {"power_limits": (PowerLimit(None, 650.0),), "locked_clocks": Clocks(1200, 1980), "persist": True}


def rebooted(machine: Any) -> Any:
    """The driver has forgotten all of it."""
    changed = machine._overlay.changed()
    for path in [path for path in changed if path.startswith("nvml:")]:
        del changed[path]
    machine.write("/proc/sys/kernel/random/boot_id", "22222222-0000-4000-8000-000000000000\n")
    return machine


def test_after_a_boot_it_is_as_it_was_set(ask: Ask, load: Load) -> None:
    ask("h100-mig", "tune-apply", **WANTED)
    machine = rebooted(load("h100-mig"))
    lost = ask("h100-mig", "tune-plan", **WANTED).changes
    assert {change.outcome for change in lost} == {Outcome.PENDING}
    held = boot.read(machine)
    assert held is not None
    assert held.request.tune.settings == ("gpu-clocks", "gpu-power-limit")
    assert boot.run(machine, held) == ()
    assert {change.outcome for change in ask("h100-mig", "tune-plan", **WANTED).changes} == {Outcome.OK}
    newest, *_ = ask("h100-mig", "tune-history").transactions
    assert newest.who == "brctl-boot.service"
    back = ask("h100-mig", "tune-rollback")  # means what the operator did
    assert {change.outcome for change in back.changes} == {Outcome.RESTORED}
    for path in (boot.ARCHIVE, boot.JSON, boot.UNIT, boot.DROP_IN):
        assert load("h100-mig").read_bytes(path) is None


def test_it_waits_for_each_gpu_and_names_what_does_not_come(ask: Ask, load: Load) -> None:
    ask("dgx-h100", "tune-apply", **WANTED)
    lost = rebooted(load("dgx-h100+gpu3-lost"))
    held = boot.read(lost)
    assert held is not None
    slept: List[float] = []
    said = boot.run(lost, held, wait_s=5.0, sleep=slept.append)
    assert slept == [2.0, 2.0, 2.0]
    assert said[0] == "GPU {} did not answer within 5 s".format(held.gpus[3])
    assert "power limit of GPU 3: refused: lost: nvmlDeviceGetHandleByIndex_v2: GPU is lost" in said
    none = rebooted(load("dgx-h100+no-driver"))
    assert boot.missing(none, held.gpus) == held.gpus


def test_a_second_brctl_is_waited_for_by_nobody(ask: Ask, load: Load) -> None:
    ask("dgx-h100", "tune-apply", **WANTED)
    machine = load("dgx-h100")
    held = boot.read(machine)
    assert held is not None
    machine.replace(journal.MARKER, b"none\n")
    (line,) = boot.run(machine, held)
    assert line.startswith("/var/lib/brctl/tune/open says that one has not ended, and there is no transaction none")


@pytest.mark.parametrize(
    ("action", "state", "ended"),
    [
        (journal.THROTTLE, "open", True),
        ("tune-apply", "unconfirmed", True),
        ("tune-apply", "open", False),  # the operator's own change was cut short
    ],
)
def test_what_was_to_end_by_itself_ends_with_its_boot(
    ask: Ask, load: Load, h100: str, action: str, state: str, ended: bool
) -> None:
    """A node that crashed while it was throttled, or waited for a confirmation."""
    ask(h100, "tune-apply", **WANTED)
    record = journal.begin(load(h100), Request("n", action, tune=Tuning(who="op")))
    record.end(state, "op", ())
    held = boot.read(load(h100))
    assert held is not None
    said = boot.run(load(h100), held, 0)
    assert len(said) == 1  # of this boot: somebody is there to end it
    assert said[0].startswith(record.id + " by op ")
    said = boot.run(rebooted(load(h100)), held, 0)
    if ended:
        assert said == ()
        assert {change.outcome for change in ask(h100, "tune-plan", **WANTED).changes} == {Outcome.OK}
        log = journal.load(load(h100), record.id)
        assert (log.state, log.end and log.end.who) == ("rolled back", "brctl-boot.service")
    else:
        assert said == (record.id + " by op was cut short: `tune rollback` takes back what it did",)


def test_a_gpu_that_hangs_holds_up_no_other(ask: Ask, load: Load, h100: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(h100, "tune-apply", **WANTED)
    held = boot.read(load(h100))
    assert held is not None
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.3)
    assert boot.missing(load(h100 + "+gpu0-hang"), held.gpus) == held.gpus[:1]


def test_what_is_no_boot_json_is_none_of_ours(load: Load, memory: Any) -> None:
    machine = load("dgx-h100")
    assert boot.read(machine) is None
    machine.replace(boot.JSON, b"{}")
    assert boot.read(machine) is None


def test_the_unit_starts_the_zip(ask: Ask, load: Load) -> None:
    ask("h100-mig", "tune-apply", **WANTED)
    unit = load("h100-mig").read(boot.UNIT)
    assert 'ExecStart="{}" -I -S /usr/local/lib/brctl/brctl.zip\n'.format(sys.executable) in unit
    assert "After=nvidia-persistenced.service\n" in unit
    assert load("h100-mig").read(boot.DROP_IN).endswith("[Unit]\nWants=brctl-boot.service\n")
    data = load("h100-mig").read_bytes(boot.ARCHIVE)
    names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    assert {"__main__.py", "brctl/__init__.py", "brctl/node/__init__.py", "pynvml.py"} <= set(names)
    assert "brctl/node/tune/settings/gpu_clocks.py" in names
    assert not [name for name in names if name.startswith(("brctl/cli", "brctl/mock"))]


@pytest.mark.process
def test_the_zip_runs_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "brctl.zip"
    path.write_bytes(itself.archive("from brctl.node.tune import boot, engine\n"
                                    "print(len(engine.registry()), boot.__file__)\n"))  # fmt: skip
    command = [sys.executable, "-I", "-S", str(path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert printed[1].startswith(str(path))
    assert int(printed[0]) >= 8


@pytest.mark.parametrize(
    ("held", "said", "code"),
    [(None, ("/etc/brctl/boot.json is not there, or cannot be read",), 1), (1, ("a",), 1), (1, (), 0)],
)
def test_the_service_says_what_went_wrong(
    held: Any, said: Any, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(boot, "read", lambda host: held if isinstance(host, Local) else None)
    monkeypatch.setattr(boot, "run", lambda *_: said)
    with pytest.raises(SystemExit) as end:
        boot.main()
    assert (end.value.code, capsys.readouterr().err) == (code, "".join(line + "\n" for line in said))
