"""Writes this folder's generated pages, and ../completions: `python docs/generate.py`. A test holds them current."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]


def checks_md() -> str:
    """Every check: its title, what its module says, and the thresholds that the config can set."""
    from brctl.fleet.traits import TRAITS
    from brctl.node.diagnose import engine

    return "\n".join(
        [_CHECKS_HEAD, *(_check(check) for check in engine.registry()), _FLEET_HEAD, *map(_trait, TRAITS), ""]
    )


_CHECKS_HEAD = """\
# Checks

Made from the checks' own files by `python docs/generate.py`.

A check finds `pass`, `info`, `warn` or `crit`; `n/a` where the machine has no such thing, or nothing is declared and
nothing can be compared; `unknown` where something could not be read, with the reason `hung`, `permission` or `error`.
A threshold is set in the config under `diagnose.checks`.
"""


_FLEET_HEAD = """\
# Node against fleet

Where `node-manager check` looks at several nodes, those that should be alike are compared: nodes of the same declared
hardware, else of the same role, else of names that differ in their numbers alone. What a strict majority has is usual,
and a node that differs is a `warn`; a `crit` where an interface has no link, but not just after a boot; an `info` where
the config declares a range or a pattern that it fits, or where it has a link that most others lack. What the config
declares exactly, and what a node's own check already found, is not told twice. Without a majority the difference is an
`info` on all. Interfaces are compared by name.

| check | is true when it passes | read from |
|---|---|---|"""


def _trait(trait):
    return f"| `{trait.check}` | {trait.title} | {trait.source} |"


def _check(check):
    doc = sys.modules[check.run.__module__].__doc__.strip()
    tags = ", ".join("`" + tag + "`" for tag in check.tags)
    return _CHECK.format(check, doc, tags) + (_THRESHOLDS + _rows(check) if check.thresholds else "")


_CHECK = """\
## {0.id}

{0.title}.

{1}

Tags: {2}.
"""

_THRESHOLDS = """
| threshold | default | unit | why |
|---|---|---|---|
"""


def _rows(check):
    row = "| `{0.name}` | {0.default:g} | {0.unit} | {0.source} |\n"
    return "".join(row.format(threshold) for threshold in check.thresholds)


def settings_md() -> str:
    """Every page of `tune explain`: title, keys, and what is to be known."""
    from brctl.node.tune import engine, manual

    return "\n".join([_SETTINGS_HEAD, *map(_setting, manual.pages(engine.registry()))])


_SETTINGS_HEAD = """\
# Settings

Made from the settings' own files by `python docs/generate.py`; `brctl tune explain SETTING` prints the same.

They are made in this order. Each value is journalled before it is written, read back after, and taken back by
`brctl tune rollback` where the machine still holds it. With `--persist` it also holds after the next boot. What stands
last, by hand, brctl does not write, as it could not take it back.
"""


def _setting(page):
    keys = ", ".join("`tune." + key + "`" for key in page.keys)
    return f"## {page.id}\n\n{page.title}{': ' if keys else ''}{keys}.\n\n{page.text.strip()}\n"


def config_md() -> str:
    """Every key of the config."""
    import config_keys

    return config_keys.page()


def config_schema() -> str:
    """The JSON Schema of the config, for editors."""
    from brctl.config.reference import schema

    return json.dumps(schema(), indent=1) + "\n"


def json_md() -> str:
    """What `--output json` prints."""
    import json_output

    return json_output.page()


def report_schema() -> str:
    """The same as a JSON Schema."""
    import json_output

    return json.dumps(json_output.schema(), indent=1) + "\n"


def comm_md() -> str:
    """The communication environment: variables and findings."""
    import comm_variables

    return comm_variables.page()


def metrics_md() -> str:
    """What the collectors of monitor measure."""
    import metrics_page

    return metrics_page.page()


def mock_md() -> str:
    """The machines and faults of --mock."""
    import mock_machines

    return mock_machines.page()


def manual_md() -> str:
    """What causes each symptom."""
    import manual

    return manual.page()


def xid_md() -> str:
    """What each Xid means, and who says what."""
    import xids

    return xids.page()


def completion(shell):
    """The script that makes a shell complete."""
    from brctl.cli.shells import SHELLS

    return SHELLS[shell].source_template + "\n"


def check_svg() -> str:
    """The README's picture: a lost GPU is found."""
    import pictures

    return pictures.draw("--mock dgx-h100+gpu3-lost node-manager check")


def show_svg() -> str:
    """The README's other picture: what a node is."""
    import pictures

    return pictures.draw("--mock dgx-h100 node-manager show")


def alerts_md() -> str:
    """Alerts for Prometheus, and what to do."""
    import alerts_page

    return alerts_page.page()


def monitor_svg() -> str:
    """The live view of one node."""
    import monitor_pictures

    return monitor_pictures.monitor()


def fleet_svg() -> str:
    """The live view of many."""
    import monitor_pictures

    return monitor_pictures.fleet()


PAGES = {
    "check.svg": check_svg,
    "fleet.svg": fleet_svg,
    "monitor.svg": monitor_svg,
    "show.svg": show_svg,
    "alerts.md": alerts_md,
    "checks.md": checks_md,
    "comm.md": comm_md,
    "settings.md": settings_md,
    "config.md": config_md,
    "config.schema.json": config_schema,
    "json.md": json_md,
    "metrics.md": metrics_md,
    "manual.md": manual_md,
    "mock.md": mock_md,
    "report.schema.json": report_schema,
    "xid.md": xid_md,
    "../completions/brctl.bash": lambda: completion("bash"),
    "../completions/_brctl": lambda: completion("zsh"),
    "../completions/brctl.fish": lambda: completion("fish"),
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
