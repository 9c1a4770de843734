"""The page alerts.md of generate.py."""

from brctl.render.rules import ALERTS, RECORDS

_HEAD = """\
# Alerts

Made from the rules themselves by `python docs/generate.py`. They are printed, for Prometheus' `rule_files`, by

    brctl monitor rules --runbooks https://docs.example.org/brctl/alerts.md > brctl.rules.yaml

where `--runbooks` says where this page can be read: each alert then links to its place here (`runbook_url`).
`brctl monitor dashboard` prints a Grafana dashboard of all series. Thresholds are judgements: each says whose.
"""
_ALERT = """\
## {it.id}

{it.name}, {it.severity}, {hold}:

    {it.expr}

{it.why}

What to do: {it.do}
"""
_RECORDS = """\
## Recorded

| series | is | worked out as |
|---|---|---|
"""


def page() -> str:
    """All of it."""
    alerts = [_ALERT.format(it=it, hold="at once" if it.hold == "0m" else f"after {it.hold}") for it in ALERTS]
    rows = [f"| `{it.name}` | {it.says} | `{it.expr}` |\n" for it in RECORDS]
    return "\n".join([_HEAD, *alerts, _RECORDS]) + "".join(rows)
