"""brctl monitor alerts, list, silence, history, test; and what --act does, on mocked machines."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from brctl.cli import monitor_alerts
from brctl.cli.alerting import Alerts
from brctl.cli.common import Common
from brctl.fleet.alert_store import Store
from brctl.node.monitor import own
from brctl.node.monitor.alert_rules import DEFAULTS
from brctl.node.report import Report, Sample, State

Brctl = Callable[..., Any]
UP = next(series for series in own.SERIES if series.name == "brctl_gpu_up")
LOST = ("--mock", "dgx-h100+gpu3-lost")
CONFIG = """\
version: 1
cluster: {name: c, nodes: "gpu[001-002]"}
alerting:
  gpu_temperature: {threshold: 20, action: exec, command: [/bin/false, secret], min_samples: 2}
  gpu_down: {action: webhook, url: "http://127.0.0.1:1/x?token=secret"}
  idle: {metric: brctl_gpu_power_watts, threshold: 690W, fires: up-to, action: drain, for: 1h}
overrides:
  - {nodes: gpu002, alerting: {gpu_temperature: {threshold: 30}}}
"""


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor_alerts, "_INTERVAL_S", 0.1)
    monkeypatch.setattr(monitor_alerts, "_LONGEST_S", 0.2)


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "cluster-config.yaml"
    path.write_text(CONFIG)
    return str(path)


APART = "of mocked machines, of which there is a record of its own\n"


def test_a_healthy_machine(brctl: Brctl) -> None:
    result = brctl("--mock", "dgx-h100", "monitor", "alerts")
    assert (result.code, result.err) == (0, "")
    mock, *lines = result.out.splitlines()
    assert mock == "gpu001:  mock machine dgx-h100, composed"
    assert lines[0].split() == ["Alert", "State", "Severity", "Fires", "For", "Clear", "Action"]
    assert len(lines) == 1 + len(DEFAULTS)
    assert lines[2].split() == ["gpu-down", "ok", "8", "critical", "gpu", "up", "<", "1", "0s", "0s", "log"]
    assert brctl("--mock", "dgx-h100", "monitor", "alerts", "-q").out == ""


def test_a_lost_gpu(brctl: Brctl) -> None:
    result = brctl(*LOST, "monitor", "alerts")
    assert result.code == 1
    assert result.out.splitlines()[1] == "FIRING    gpu-down: GPU 3 of gpu001 does not answer"
    assert "firing 1 of 8" in result.out
    quiet = brctl(*LOST, "monitor", "alerts", "-q")
    assert (quiet.code, quiet.out) == (1, "FIRING    gpu-down: GPU 3 of gpu001 does not answer\n")


def test_for_programs(brctl: Brctl) -> None:
    result = brctl(*LOST, "monitor", "alerts", "-o", "json")
    plain = json.loads(result.out)
    assert (result.code, plain["command"], plain["schema_version"]) == (1, "monitor alerts", 1)
    assert [rule["id"] for rule in plain["rules"][0]["rules"]] == [default.rule.id for default in DEFAULTS]
    (firing,) = [alert for alert in plain["alerts"] if alert["phase"] == "firing"]
    assert (firing["rule"], firing["node"], firing["silenced"]) == ("gpu-down", "gpu001", False)
    assert firing["labels"][0] == {"name": "gpu", "value": "3"}
    listed = yaml.safe_load(brctl("monitor", "alerts", "list", "-o", "yaml").out)
    assert listed["rules"][0]["rules"] == plain["rules"][0]["rules"]


def test_a_node_that_does_not_answer(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    from brctl.node.report import NodeError, Report

    broken = Report("gpu001", 1.0, 0.0, errors=(NodeError("agent-died", "it died", "why?"),))
    monkeypatch.setattr("brctl.cli.session.LocalAgent.ticks", lambda *_: iter([broken]))
    result = brctl("--mock", "dgx-h100", "monitor", "alerts", "-q")
    assert result.code == 3
    assert result.err == "error: gpu001: it died\nhint: why?\n"
    monkeypatch.setattr("brctl.cli.session.LocalAgent.ticks", lambda *_: iter([]))
    assert brctl("--mock", "dgx-h100", "monitor", "alerts").err == "error: no sample came\n"


def test_rules_of_two_nodes_that_differ(brctl: Brctl, config: str) -> None:
    result = brctl("-c", config, "-w", "gpu[001-002]", "monitor", "alerts", "list")
    assert result.code == 0
    blocks = result.out.split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == ["gpu001", "gpu002"]
    assert "gpu temperature >= 20 C" in blocks[0]
    assert "gpu temperature >= 30 C" in blocks[1]
    assert "gpu power <= 690 W" in blocks[0]
    verbose = brctl("-c", config, "--as", "gpu002", "monitor", "alerts", "list", "-v").out
    assert "brctl_gpu_xid_last_seen_timestamp_seconds within 10m (xid not 13, 31, 43, 45, 68, 109)" in " ".join(
        verbose.split()
    )


def test_a_silence_from_beginning_to_end(brctl: Brctl) -> None:
    given = brctl(
        *LOST, "monitor", "alerts", "silence", "gpu_down", "gpu=3", "--for", "2h", "--comment", "board is ordered"
    )
    assert given.code == 0, given.err
    id_, alert, of, left, _, *comment = given.out.splitlines()[2].split()
    assert (alert, of, left, comment) == ("gpu-down", "gpu=3", "2h", ["board", "is", "ordered"])
    silenced = brctl(*LOST, "monitor", "alerts", "-q")
    assert (silenced.code, silenced.out) == (0, "SILENCED  gpu-down: GPU 3 of gpu001 does not answer\n")
    (told,) = json.loads(brctl(*LOST, "monitor", "alerts", "silence", "-o", "json").out)["silences"]
    assert (told["id"], told["rule"], told["nodes"]) == (id_, "gpu-down", [])
    assert brctl(*LOST, "monitor", "alerts", "silence", "--remove", id_).out == APART + "nothing is silenced\n"
    assert brctl(*LOST, "monitor", "alerts", "-q").code == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["gpu-down"], "a silence needs --for and --comment"),
        (["gpu-down", "--for", "31d", "--comment", "x"], "--for 31d: 30d at most"),
        (["gpu-up", "--for", "1h", "--comment", "x"], "no alert is called gpu-up"),
        (["a", "b", "--for", "1h", "--comment", "x"], "a and b: one alert at a time"),
        (["--for", "1h"], "what is to be silenced?"),
        (["gpu=", "--for", "1h", "--comment", "x"], "gpu= names nothing"),
        (["gpu-hot", "gpu= ", "--for", "1h", "--comment", "x"], "gpu= names nothing"),
        (["gpu-down", "gpuu=1", "--for", "1h", "--comment", "x"], "no such alert has a label gpuu"),
        (["node-silent", "gpu=1", "--for", "1h", "--comment", "x"], "no such alert has a label gpu"),
        (["node=gpu001", "--for", "1h", "--comment", "x"], "no such alert has a label node"),
        (["=1", "--for", "1h", "--comment", "x"], "no such alert has a label "),
        (["--remove", "x"], "no silence is called x"),
    ],
)
def test_no_silence(brctl: Brctl, given: "list[str]", said: str) -> None:
    result = brctl("monitor", "alerts", "silence", *given)
    assert result.code == 2
    assert result.err.startswith(f"error: {said}\nhint: ")
    assert brctl("monitor", "alerts", "silence").out == "nothing is silenced\n"


def test_a_label_of_an_alert_of_ones_own_can_be_silenced(brctl: Brctl, config: str) -> None:
    words = ("monitor", "alerts", "silence", "--for", "1h", "--comment", "x")
    for matchers in (("idle", "gpu=3"), ("gpu-straggler", "uuid=GPU-*"), ("gpu=[0-3]",)):
        assert brctl("-c", config, *words, *matchers).code == 0, matchers


def test_without_act_it_is_said_what_would_be_done(brctl: Brctl, config: str) -> None:
    result = brctl(
        "-c", config, "--as", "gpu001", *LOST, "monitor", "-o", "jsonl", "--interval", "100ms", "--for", "350ms"
    )
    assert result.code == 0
    assert "alert gpu-down of gpu001 fired: brctl_gpu_up" in result.err
    assert "webhook for gpu-down of gpu001: proposed: tell http://127.0.0.1:1; --act was not given" in result.err
    assert "secret" not in result.err
    firing = [one["labels"] for one in json.loads(result.out.splitlines()[-1])["samples"]
              if one["series"] == "brctl_alert_firing"]  # fmt: skip
    assert {"alert": "gpu-down", "severity": "critical", "part": "gpu 3"} in firing
    history = brctl("-c", config, *LOST, "monitor", "alerts", "history")
    assert history.out == APART + "nothing was done: only `brctl monitor --act` does anything\n"


def test_what_a_mock_does_with_act_is_on_record_and_stays_within_it(brctl: Brctl, config: str) -> None:
    act = ("monitor", "--act", "-o", "jsonl", "--interval", "100ms", "--for", "150ms", "-q")
    assert brctl("-c", config, "--as", "gpu001", *LOST, *act).code == 0
    told = brctl("-c", config, *LOST, "monitor", "alerts", "history")
    apart, *lines = told.out.splitlines()
    assert apart + "\n" == APART
    assert lines[0].split()[2:] == ["gpu001", "gpu-down", "webhook", "proposed"]
    assert lines[1] == "  tell http://127.0.0.1:1: a mock acts on nothing outside"
    assert lines[2].startswith('  why: brctl_gpu_up{gpu="3"')
    assert "secret" not in told.out
    (record,) = json.loads(brctl("-c", config, *LOST, "monitor", "alerts", "history", "--last", "1", "-o", "json").out)[
        "actions"
    ]
    assert (record["outcome"], record["undone_at"]) == ("proposed", None)
    assert brctl("-c", config, "-w", "gpu002", *LOST, "monitor", "alerts", "history").out.startswith(APART + "nothing")
    assert brctl(*LOST, "monitor", "--once", "--act").code == 2


def test_one_acts_at_a_time(brctl: Brctl, config: str) -> None:
    act = ("monitor", "--act", "-o", "jsonl", "--interval", "100ms", "--for", "150ms", "-q")
    with Store(Path(config), mocked=True).holding():
        result = brctl("-c", config, "--as", "gpu001", *LOST, *act)
    assert result.code == 3
    assert result.err.startswith("error: another brctl monitor acts on these alerts (process ")
    assert result.err.endswith("\nhint: end it, or leave out --act\n")


def test_in_the_live_view_what_happens_is_among_the_notes(config: str) -> None:
    given = Common(config=config, mock="dgx-h100")
    alert = Report("gpu001", 5.0, 0.0, series=(UP,), samples=(Sample(UP.name, ("3", "G"), 0.0, State.MEASURED, 5.0),))
    quiet = alert._replace(node="gpu002", samples=())
    with Alerts(given, None, ["gpu001"], act=False, most=1, aloud=False) as alerts:
        followed = alerts.followed([[alert, quiet], [alert, quiet]])
        first, second = next(followed), next(followed)
    assert first[0].notes == ('alert gpu-down of gpu001 fired: brctl_gpu_up{gpu="3",uuid="G"} was 0, < 1',)
    assert (first[1].notes, second[0].notes) == ((), ())
    assert list(alerts.followed([[alert]])) == [], "nothing is begun after the end"


def test_recorded_samples(brctl: Brctl, tmp_path: Path) -> None:
    recorded = brctl(*LOST, "monitor", "-o", "jsonl", "--interval", "100ms", "--for", "150ms", "-q").out
    (tmp_path / "r.jsonl").write_text(recorded)
    tried = brctl("monitor", "alerts", "test", str(tmp_path / "r.jsonl"))
    assert tried.code == 1
    assert tried.out.splitlines()[0].split()[2:] == ["fired", "gpu001", "gpu-down", "gpu", "3"]
    (event,) = json.loads(brctl("monitor", "alerts", "test", str(tmp_path / "r.jsonl"), "-o", "json").out)["events"]
    assert (event["what"], event["alert"]["rule"], event["alert"]["points"]) == ("fired", "gpu-down", [])
    (tmp_path / "r.jsonl").write_text(recorded + recorded[:-9])
    cut = brctl("monitor", "alerts", "test", str(tmp_path / "r.jsonl"))
    number = 2 * recorded.count("\n")
    assert (cut.code, cut.out) == (1, tried.out)
    assert cut.err == f"warning: {tmp_path}/r.jsonl: the last line, {number}, is cut short, and was left out\n"
    (tmp_path / "r.jsonl").write_text("")
    empty = brctl("monitor", "alerts", "test", str(tmp_path / "r.jsonl"))
    assert (empty.code, empty.out) == (2, "")
    assert "r.jsonl: no sample is in it\nhint: record it with `brctl monitor -o jsonl > FILE`" in empty.err
    well = brctl("--mock", "dgx-h100", "monitor", "-o", "jsonl", "--interval", "100ms", "--for", "150ms", "-q").out
    (tmp_path / "r.jsonl").write_text(well)
    assert brctl("monitor", "alerts", "test", str(tmp_path / "r.jsonl")).out == "nothing would have fired\n"
    (tmp_path / "r.jsonl").write_text("gpu,temperature\n")
    broken = brctl("monitor", "alerts", "test", str(tmp_path / "r.jsonl"))
    assert broken.code == 2
    assert "r.jsonl: line 1 is no tick" in broken.err


def test_rules_of_the_config_for_prometheus(brctl: Brctl, config: str) -> None:
    result = brctl("-c", config, "monitor", "rules")
    assert result.err == ""
    rules = yaml.safe_load(result.out)["groups"][1]["rules"]
    heats = [rule for rule in rules if rule["alert"] == "BrctlGpuTemperature"]
    assert [rule["labels"].get("nodes") for rule in heats] == [None, "gpu002"]
    usual, other = (rule["expr"].partition(" or ")[0] for rule in heats)
    assert usual == '(brctl_gpu_temperature_celsius{node!~"gpu002"} >= 20)'
    assert other == '(brctl_gpu_temperature_celsius{node=~"gpu002"} >= 30)'
    found = {rule["alert"]: rule for rule in yaml.safe_load(result.out)["groups"][1]["rules"]}
    assert found["BrctlIdle"]["expr"].startswith("(brctl_gpu_power_watts <= 690) or ((brctl_gpu_power_watts <= 759)")
    assert found["BrctlIdle"]["annotations"] == {
        "summary": "brctl_gpu_power_watts of {{ $labels.node }} is {{ $value }} W"
    }


def test_what_is_kept_and_damaged_is_told_and_not_written_over(brctl: Brctl, tmp_path: Path) -> None:
    def alerts(*words: str) -> Any:
        return brctl(*LOST, "monitor", "alerts", *words)

    again = ("silence", "gpu-hot", "--for", "1h", "--comment", "x")
    assert alerts(*again).code == 0
    (folder,) = (tmp_path / "state" / "alerts").iterdir()
    silences, history = folder / "silences.json", folder / "history.jsonl"
    silences.write_text(cut := silences.read_text()[:-3])
    listed = alerts("silence")
    said = "damaged, or of another version; it is begun anew where it is moved away"
    assert (listed.code, listed.out, listed.err) == (3, "", f"error: {silences}: {said}\n")
    added = alerts(*again)
    assert (added.code, added.out.count("gpu-hot")) == (3, 1)
    (aside,) = folder.glob("silences.json.damaged-*")
    hint = f"hint: it is damaged, and kept in {aside}\n"
    assert added.err == f"warning: what was silenced before could not be read\n{hint}"
    assert aside.read_text() == cut
    assert alerts("silence").code == 0
    history.write_bytes(b"\0\xff\n")
    done = alerts("history")
    assert (done.code, done.out) == (3, "")
    assert done.err == "error: the history is damaged: no line of it can be read\n"
    (folder / "alerts.json").write_text("{")
    acting = brctl(*LOST, "monitor", "--act", "--for", "1s", "-o", "jsonl")
    assert (acting.code, acting.err) == (3, f"error: {folder / 'alerts.json'}: {said}\n")
