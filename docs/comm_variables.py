"""The page of communication: the environment, and tests between nodes."""

from brctl.fleet.pairing import DEVIATIONS, LEAST_SAMPLES, MOST_BAD, RETESTS
from brctl.fleet.paths import RESPECTS, Respect
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
| `comm-value` | words that NCCL does not know (`NCCL_DEBUG=TRCE`), what it does instead, and the nearest one |
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


_PAIRS = """
## Tests between nodes: `brctl diagnose comm`

    brctl diagnose comm -w @compute --plan         # pairs, commands, minutes and what it disturbs; nothing is started
    brctl diagnose comm -w @compute                # seconds: round trip, path MTU, loss, of every rail
    brctl diagnose comm -w @compute --level full   # also bandwidth, RDMA and all-reduce; --rail 3: of one rail

Every node is tested with two others at least, in two rounds in which no node has two tests at once. A node counts by
its best test, so that a bad peer does not pull it down. Who stands out is tested {retests} times more, with nodes that
passed, and the median counts. Then it is said what is to blame:

- a **node** (or its NIC, where one rail alone is bad): it is bad with each of its partners;
- a **path**: it stays bad while both ends are well with others; switch or cable between them;
- a **group**, where three or more of one group of the config are bad, and nobody else: its switch;
- **one of two**: nobody is there to tell which. It says so, and which swap settles it;
- **what they have in common**, where more than {most:.0%} are bad: a setting, and no node of them alone.

With fewer than {samples} nodes it is not known what is usual, and only what does not come through at all is told.
A node that is bad in one respect is not judged in those below it, of which that may be the cause.

| finding | a value counts as bad | what to do |
|---|---|---|
{respects}
{collective}
| `comm-tool` | never: a tool that is missing is n/a, one that fails is unknown | install it, or read what it says |

A node that does not come back from all_reduce_perf is told of by `comm-tool`, and makes the exit code 3.

Round trip, path MTU and loss are measured by an echo of brctl's own over TCP and UDP, bound to the rail's address, with
a nonce, for one peer, until a deadline. Bandwidth is iperf3's, in each direction; RDMA is `ib_write_lat`'s and
`ib_write_bw`'s (perftest), where both ends have an active RDMA port and the tool. Nothing listens on after the test,
whoever is killed. Nodes whose GPUs are in use are refused without --force-busy. Transport retries, pauses and marks are
counted by the nodes themselves: `brctl diagnose run --only network -w @compute`.

`--from-log FILE` judges what nccl-tests, nvbandwidth and perftest printed: T = alpha + size / beta with what the fit
leaves unexplained, share of the links' rate (`--link-rate 400Gb/s`), what each GPU sends to other hosts, wrong values.
A log that has no result, or ends within a test, is a warning, and so is a line in it that says that something failed.

Found in a simulation of 256 and 1024 nodes with noise and transients (tests/fleet/test_pairing.py): precision and
recall of the published plan of two matchings and three confirmations, in at most 5 rounds and 1.1 tests a node.
"""


def _pairs() -> str:
    rows = [f"| `comm-{one.name}` | {_bad(one)} | {one.remedy} |" for one in RESPECTS]
    text = f"all_reduce_perf over its GPUs: {_share(0.03)}"
    collective = f"| `comm-collective` | {text} | brctl diagnose run --level full |"
    return _PAIRS.format(
        retests=RETESTS,
        most=MOST_BAD,
        samples=LEAST_SAMPLES,
        respects="\n".join(rows),
        collective=collective,
    )


def _bad(respect: Respect) -> str:
    return "it does not come through" if respect.name in ("reach", "path-mtu") else _share(respect.share)


def _share(share: float) -> str:
    return f"{DEVIATIONS} deviations below its peers, and {share * 100:.2g} % at least"


def page() -> str:
    """Markdown."""
    rows = [_row(name) for name in sorted(MEANINGS)]
    knobs = [f"| `{name}` | {DEBUGGING[name]} |" for name in sorted(DEBUGGING)]
    return "\n".join([_HEAD + _TABLE.format(SOURCE), *rows, _KNOBS, *knobs, _pairs()])


def _row(name: str) -> str:
    meaning, default = MEANINGS[name], VARIABLES[name].default
    high = "" if meaning.high is None else f" to {meaning.high}"
    limits = "" if meaning.low is None else f"{meaning.low}{high or ' or more'}"
    return f"| `{name}` | {'' if default is None else default} | {limits} | {meaning.text} |"
