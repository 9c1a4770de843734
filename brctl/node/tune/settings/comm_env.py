"""The communication environment in /etc/nccl.conf, which NCCL reads in every job that starts from then on: RDMA
devices, socket interface, GID, traffic class, as `brctl tune env` renders and explains them.

Only a block of our own is written, in the form that NCCL reads letter by letter: no blanks, no quotes. The operator's
lines stay as they are, and a name that stands in them is left out of the block, as NCCL takes the first line of a name.
The environment of a job goes before $NCCL_CONF_FILE or ~/.nccl.conf, and those before /etc/nccl.conf.

A rail that `monitor --act` has taken out (`action: reroute`) is left out here too, on all nodes at once.

A node for which there is no right environment (a rail without a link) is refused: with other devices than its peers
have, NCCL hangs. Containers see the file only where it is mounted. CUDA's variables are no business of the file.

When not to: where a job scheduler's prolog sets the same variables.
"""

from typing import Iterator

from ...comm.formats import managed
from ...comm.rendering import render
from ...comm.sources import CONF
from ...comm.variables import SOURCE
from ...probe.route import default_route
from ...report import Change, Outcome, Subject
from .. import Place, Scene, Setting, Step, Write, file_value, refused

_ID, _KEY = "comm-env", "block of brctl"


def plan(scene: Scene) -> Iterator[Step]:
    if not scene.comm.declared or not scene.seen.gpus:
        return
    subject = Subject("file", CONF, "nccl.conf")
    change = Change(_ID, subject, _KEY, Outcome.OK, source=SOURCE)
    found = render(scene.seen, scene.expected, scene.comm, default_route(scene.host))
    if found.refused:
        yield refused(change, found.refused)
        return
    held = scene.host.read_bytes(CONF)
    old = "" if held is None else held.decode("latin-1")
    variables = [each._replace(value=each.value and file_value(each.value)) for each in found.variables]
    new, kept = managed(old, variables)
    names = [each.name for each in found.variables if each.value is not None and each.name.startswith("NCCL_")]
    ours = [name for name in names if name not in kept]
    told = (("written", ours), ("left as the operator wrote it", kept))
    effects = tuple("{}: {}".format(what, ", ".join(these)) for what, these in told if these)
    effects = (found.out, *effects) if found.out else effects
    wanted = "{} variable{}".format(len(ours), "" if len(ours) == 1 else "s")
    state = "as wanted" if new == old else "other" if held is not None else "no file"
    change = change._replace(wanted=wanted, live=state, boot=state, boot_source=CONF, effects=effects)
    yield Step(change, () if new == old else (Write(Place("file", CONF), new),))


SETTING = Setting(_ID, "Communication environment of jobs", 90, (), plan)
