"""The page of Xids: xid.md of generate.py."""

from brctl.node.diagnose import xid


def page() -> str:
    """docs/xid.md: every Xid of the table, a row each, and where each word was read."""
    rows = [_row(xid.of(number)) for number in sorted(xid.table())]
    sources = [f"- {tool}: {where}" for tool, where in xid.SOURCES.items()]
    return _PAGE.format(rows="\n".join(rows), sources="\n".join(sources))


def _row(row: xid.Xid) -> str:
    others = ", ".join(f"{tool} {word}" for tool, word in row.others)
    mark = "**disagree:** " if row.is_disputed and len(row.others) > 1 else ""
    means = f"{row.means}; " if row.means else ""
    return f"| {row.number} | `{row.name}` | `{row.action}` | {row.status.value} | {means}{row.why} | {mark}{others} |"


_PAGE = """\
# Xids

Made from brctl/node/diagnose/xid.py by `python docs/generate.py`; `brctl diagnose explain xid N` prints a row.

NVIDIA's driver writes an Xid into the kernel log when it notices an error of a GPU. What follows from one is no matter
of agreement: here is what NVIDIA's catalogue says to do, what brctl makes of it and why, and what others do. Before the
table comes what the line itself says (Fatal, Nonfatal, of 144 to 150), and the recovery action that the driver names in
Xid 154 or in NVML. An Xid that is not here is a warning. A fault of hardware that comes back after a reset or reboot is
critical whatever its number: the GPU is to be replaced.

An SXid is the same of an NVSwitch, and says in its line whether it is fatal: fatal is critical, the rest a warning.

| Xid | name | NVIDIA says | brctl | because | others |
|---|---|---|---|---|---|
{rows}

GCM is critical of every Xid that it does not list. Read at:

{sources}
"""
