"""The page of the communication environment."""

from brctl.node.comm.variables import DEBUGGING, MEANINGS, SOURCE, VARIABLES

_HEAD = """\
# The communication environment

Made from `brctl/node/comm` by `python docs/generate.py`.

`brctl tune env` prints what jobs on a node should have, with a reason and a source for each line, and says what is
better left unset. `--lint FILE`, `-` or a PID judges an environment, `--compare -w SET` names the nodes that differ,
and `brctl tune apply --only comm-env` writes it to /etc/nccl.conf.

NCCL takes the environment first, then `$NCCL_CONF_FILE` or else `~/.nccl.conf`, then `/etc/nccl.conf`. Its files are
read letter by letter: no blank and no quote is removed, and the first line of a name holds. Its numbers are read by
`strtoll`, which knows no units: `1G` is 1.

## What is judged

| finding | is about |
|---|---|
| `comm-file` | blanks and quotes in nccl.conf, and variables that are read before it |
| `comm-twice` | a variable that is set twice to different values |
| `comm-name` | names that nobody reads, with the nearest one |
| `comm-computed` | values that a script computes when it runs, and so are not judged |
| `comm-number` | units, and values out of range |
| `comm-debugging` | knobs that look for a fault and cost speed where they stay |
| `comm-buffer` | NCCL_BUFFSIZE with its cost of GPU memory; sizes with which LL128 hangs |
| `comm-framework` | CUDA_DEVICE_MAX_CONNECTIONS against the framework |
| `comm-hca` | devices that miss a rail, are none of the compute fabric's, or fit a prefix by chance |
| `comm-gid` | a GID that is not one of RoCE v2 |
| `comm-traffic-class` | a traffic class that is not four times the switch's DSCP |
| `comm-interface` | interfaces that are not there, or fit a prefix by chance |
| `comm-cross-nic` | rings that change rails on a fabric of rails alone |
| `comm-equal` | nodes that differ (`--compare`); with HCA sets that differ NCCL hangs |
"""

_TABLE = """
## Variables that matter, as of {}

| variable | default | range | meaning |
|---|---|---|---|"""

_KNOBS = """
## Knobs that look for a fault

| variable | left on |
|---|---|"""


def page() -> str:
    """Markdown."""
    rows = [_row(name) for name in sorted(MEANINGS)]
    knobs = [f"| `{name}` | {DEBUGGING[name]} |" for name in sorted(DEBUGGING)]
    return "\n".join([_HEAD + _TABLE.format(SOURCE), *rows, _KNOBS, *knobs, ""])


def _row(name: str) -> str:
    meaning, default = MEANINGS[name], VARIABLES[name].default
    high = "" if meaning.high is None else f" to {meaning.high}"
    limits = "" if meaning.low is None else f"{meaning.low}{high or ' or more'}"
    return f"| `{name}` | {'' if default is None else default} | {limits} | {meaning.text} |"
