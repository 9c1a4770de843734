"""brctl-boot.service: sets again, after a boot, what the driver forgets. Installed by --persist alone.

/etc/brctl/boot.json says what and of which GPUs; /usr/local/lib/brctl/brctl.zip is this program, which runs the same
Settings. The service is wanted by a drop-in of multi-user.target, so that all of it are files, which rollback takes
away. It waits for every GPU by its UUID: on some systems they come long after the driver (leptonai/gpud#431).
"""

import sys
import time
from typing import Callable, NamedTuple, Optional, Sequence, Tuple

from ..codec import InvalidReportError, dumps, loads
from ..deadline import run_all
from ..host import BusyError, Host, itself
from ..report import Outcome
from ..request import Request, Tuning, Wanted
from . import Place, Scene, Write, file_value, places
from .undo import BOOT

JSON = "/etc/brctl/boot.json"
ARCHIVE = "/usr/local/lib/brctl/brctl.zip"
UNIT = "/etc/systemd/system/" + BOOT
DROP_IN = "/etc/systemd/system/multi-user.target.d/50-brctl-boot.conf"
RELOAD = ("systemctl", "daemon-reload")

WAIT_S = 120.0
"""For all GPUs. Eight without persistence mode take about 15 s; a driver that is built at boot takes a minute."""
_STEP_S = 2.0

_MAIN = "from brctl.node.tune.boot import main\n\nmain()\n"
_UNIT_TEXT = """\
# Written by brctl: `brctl tune rollback` takes it away.
[Unit]
Description=GPU limits and clocks of {json}
Documentation=man:nvidia-smi(1)
Wants=nvidia-persistenced.service
After=nvidia-persistenced.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart="{python}" -I -S {archive}
TimeoutStartSec={limit:.0f}
"""
_DROP_IN_TEXT = "# Written by brctl: `brctl tune rollback` takes it away.\n[Unit]\nWants={}\n".format(BOOT)


class Boot(NamedTuple):
    """What boot.json holds."""

    gpus: Tuple[str, ...]
    """UUIDs of those that are waited for."""
    request: Request


def read(host: Host) -> Optional[Boot]:
    """What is set at boot; None where nothing is, or the file is none of ours. Raises OSError."""
    text = host.read(JSON)
    try:
        return None if text is None else loads(Boot, text)
    except InvalidReportError:
        return None


def lasting(scene: Scene, setting: str, wanted: Callable[[Wanted], Wanted]) -> Tuple[Write, ...]:
    """The writes that make `setting` run at boot too, with what `wanted` makes of that which boot.json has so far."""
    held = read(scene.host) or Boot((), Request("", "tune-apply", tune=Tuning(who=BOOT)))
    tune = held.request.tune
    settings = tuple(sorted({*tune.settings, setting}))
    tune = tune._replace(wanted=wanted(tune.wanted), settings=settings)
    gpus = tuple(gpu.uuid for gpu in scene.seen.gpus or () if gpu.uuid)
    boot = Boot(gpus, held.request._replace(tune=tune))
    unit = _UNIT_TEXT.format(json=JSON, python=sys.executable, archive=ARCHIVE, limit=2 * WAIT_S)
    return (
        Write(Place("file", ARCHIVE), itself.archive(_MAIN).decode("latin-1")),
        Write(Place("file", JSON), file_value(dumps(boot) + "\n")),
        Write(Place("file", UNIT), file_value(unit)),
        Write(Place("file", DROP_IN), file_value(_DROP_IN_TEXT)),
    )


def missing(host: Host, gpus: Sequence[str]) -> Tuple[str, ...]:
    """Those of these UUIDs that no library answers for now."""
    (there,) = run_all([lambda: places.gpus(host)])
    return tuple(uuid for uuid in gpus if isinstance(there, Exception) or uuid not in there)


def run(host: Host, boot: Boot, wait_s: float = WAIT_S, sleep: Callable[[float], None] = time.sleep) -> Tuple[str, ...]:
    """Wait for the GPUs, set what is wanted of those that are there, and give what went wrong, a line each."""
    from .actions import answer

    left = wait_s
    absent = missing(host, boot.gpus)
    while absent and left > 0:
        sleep(_STEP_S)
        left -= _STEP_S
        absent = missing(host, boot.gpus)
    said = ["GPU {} did not answer within {:g} s".format(uuid, wait_s) for uuid in absent]
    try:
        report = answer(host, boot.request)
    except BusyError as error:
        return (*said, "another brctl is at work: {}".format(error))
    said += [error.message for error in report.errors]
    good = (Outcome.OK, Outcome.CHANGED, Outcome.NA)
    for change in report.changes:
        if change.outcome not in good:
            name = "{} of {}".format(change.key, change.subject.name)
            said.append("{}: {}: {}".format(name, change.outcome.value, change.reason or "no reason"))
    return tuple(said)


def main() -> None:
    """The service's own process; what went wrong stands in its journal, and makes it fail."""
    from ..host.local import Local

    host = Local()
    boot = read(host)
    said = ("{} is not there, or cannot be read".format(JSON),) if boot is None else run(host, boot)
    for line in said:
        sys.stderr.write(line + "\n")
    sys.exit(1 if said else 0)
