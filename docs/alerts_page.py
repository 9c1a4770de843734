"""The page alerts.md of generate.py."""

from brctl.node.monitor.alert_readings import duration
from brctl.node.monitor.alert_rules import DEFAULTS
from brctl.render.rules import RECORDS, alert_name, expression

_HEAD = """\
# Alerts

Made from the rules themselves by `python docs/generate.py`.

`brctl monitor alerts` takes a few samples, prints every rule with its state, and exits 1 where one fires.
`brctl monitor`, in every form, evaluates them as long as it runs: what fires stands in the live view and is exported as
`brctl_alert_firing{alert, severity, part}`. `brctl monitor rules` prints the same rules for Prometheus' `rule_files`:

    brctl monitor rules --runbooks https://docs.example.org/brctl/alerts.md > brctl.rules.yaml

where `--runbooks` says where this page can be read: each alert then links to its place here (`runbook_url`), and to
`brctl diagnose explain` (`runbook`). `brctl monitor dashboard` prints a Grafana dashboard of all series. Thresholds are
judgements: each says whose.

## How an alert goes

An alert is `pending` from when its condition holds, fires after `for` (and `min_samples` values in a row), is
`clearing` from when its value is beyond `clear`, and ends after `clear_for`. Between threshold and `clear` it stays as
it is. A value that is missing neither fires an alert nor ends one; after a minute that is said, and what was pending
begins anew; after a day an alert without values ends. Nor is a value one that no such part can have: no GPU is at 0 C,
-256 or 4294967295. A value that was not read again counts once, however many ticks show it; of ticks that
come faster, two a second are looked at. How alerts stand outlives a restart.

Prometheus evaluates the same conditions; what it cannot say is left to `brctl monitor`: `min_samples`, and that a value
that is missing ends nothing (it ends at once there, `keep_firing_for` apart). What `overrides` of the config say of
some nodes is there a rule of its own, with these as its label `nodes`.

## In the config

    alerting:
      gpu_temperature: {threshold: 85, action: throttle}
      network_loss: {threshold: 1%, action: reroute}
      gpu_hot: {action: none}
      hungry: {metric: brctl_gpu_power_watts, threshold: 690W, for: 30s, action: exec, command: [/usr/local/bin/page]}

A name of those below, with underscores for dashes, changes that rule: it then has a `for` of 0 s unless one is given.
Any other name is a rule of one's own, of the series `metric` (docs/metrics.md). All keys: docs/config.md, `alerting`.

## What is done

Nothing is done without `brctl monitor --act`: without it, the history says what would be. Each action is on record with
its evidence, what came of it, and when it was undone: `brctl monitor alerts history`.

- **log** writes it into the history.
- **exec** runs `command` here, without a shell: 10 s, three tries. Its environment has `BRCTL_ALERT`, `BRCTL_STATUS`
  (firing, resolved), `BRCTL_NODE`, `BRCTL_SEVERITY`, `BRCTL_VALUE`, `BRCTL_LABEL_GPU`, ...; its stdin has the same as
  JSON. It is run again when the alert is over.
- **webhook** posts that JSON to `url`, likewise; redirects are not followed.
- **throttle** lowers the power limit of the GPU that the alert is about: by a tenth of the default, again every 30 s
  while it fires, down to half of the default. When the alert is over, and a minute after the last step, it is as it
  was. The node does that by itself, as root; see below.
- **reroute** leaves the rail that the alert is about out of what `tune env` and the setting comm-env render, on all
  nodes of the config at once, for jobs that start later; jobs that run, and routes, are not touched. Each place where
  it is left out says why. It is in again when the alert is over: a rail that nobody uses has no loss to measure, so
  that takes a day, or `action: none` and one more `monitor --act`. It is refused, and draining the node proposed, on a
  rail-only fabric, while another rail is out, for the last rail, where nodes differ in their rails, and for one node
  alone: with HCA sets that differ NCCL hangs.
- **drain** takes the node from the scheduler, where alerts hold fewer than `--max-nodes` drained. It is not given back
  by itself: `brctl node-manager resume`.

### Who gives a power limit back

A throttled GPU is a transaction of `tune`: journalled before each write, listed by `tune history`, and taken back by
`tune rollback`. While it is open `tune apply` is refused. It is given back

| when | by whom, and how soon |
|---|---|
| the alert is over | the node, a minute after the last step at the earliest |
| `brctl monitor` ends, or its connection | the agent on the node, at once |
| the one who asked is silent: stopped, or cut off | the agent, 20 s after it last heard of him |
| the agent is killed | the guard, a process of its own, at once |
| the agent hangs | the guard, 20 s after it last heard of it |

Where the limit is not what we wrote last, somebody else sets it: that is said, and it is left to him until the alert is
over. The 20 s are three intervals and 5 s where `--interval` is longer than 5 s. Two who throttle one node are
refused; so is a node where nothing would outlive the agent (a pod, a step of Slurm).

What a program prints, what a webhook answers, and of argv and URL all but program and host are kept nowhere: they may
be secrets. A silence (`brctl monitor alerts silence`) holds back actions, exit code and export, but no
throttling, which nodes do by themselves; evaluation goes on.
"""
_ALERT = """\
## {it.id}

{name}, {it.severity.value}, {hold}:

    {expr}

{default.why}

What to do: {default.do}{explained}
"""
_RECORDS = """\
## Recorded

| series | is | worked out as |
|---|---|---|
"""


def _alert(default):
    it = default.rule
    hold = f"after {duration(it.hold_s)}" if it.hold_s else "at once"
    explained = f"\n\nMore: `brctl diagnose explain {default.explained}`." if default.explained else ""
    return _ALERT.format(
        it=it, default=default, name=alert_name(it), hold=hold, expr=expression(it), explained=explained
    )


def page() -> str:
    """All of it."""
    rows = [f"| `{it.name}` | {it.says} | `{it.expr}` |\n" for it in RECORDS]
    return "\n".join([_HEAD, *map(_alert, DEFAULTS), _RECORDS]) + "".join(rows)
