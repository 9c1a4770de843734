"""When the kernel gives memory in huge pages without being asked: `always`, `madvise` (to who asks) or `never`.

`always` is what tuned's hpc-compute sets: large arrays need fewer TLB entries. `never` is for those who count
microseconds (tuned, network-latency), as pages are put together while a thread waits; databases ask for it too.

When not to: `madvise`, the default of most distributions, suits a node of both kinds, and libraries that gain by huge
pages ask for them.

Live through /sys/kernel/mm/transparent_hugepage/enabled, which running processes see with the next memory that they
take. At boot the kernel's command line has the first word (`transparent_hugepage=`), then systemd-tmpfiles, for which
--persist writes /etc/tmpfiles.d/zz-brctl-transparent-hugepage.conf. A profile of tuned comes after both.

By hand: `echo madvise >/sys/kernel/mm/transparent_hugepage/enabled`.
"""

from typing import Iterator, Optional

from ...report import HOST, Change, Outcome
from .. import Place, Scene, Setting, Step, Write, cmdline, refused, tmpfiles, tuned
from ..places import chosen

PATH = "/sys/kernel/mm/transparent_hugepage/enabled"
OURS = "/etc/tmpfiles.d/zz-brctl-transparent-hugepage.conf"

_PATTERN = "/sys/kernel/mm/transparent_hugepage/enable[d]"
"""Unlike what others write."""

_SOURCES = {"always": "tuned, hpc-compute", "never": "tuned, network-latency"}
_OPTIONS = ("transparent_hugepages", "transparent_hugepage")
"""As tuned's plugin `vm` calls it, and called it."""


def plan(scene: Scene) -> Iterator[Step]:
    want = scene.want.transparent_hugepage
    if want is None:
        return
    text = scene.host.read(PATH)
    change = Change("transparent-hugepage", HOST, "transparent_hugepage", Outcome.OK, want, source=_SOURCES.get(want))
    if text is None:
        outcome = Outcome.NA if want == "never" else Outcome.REFUSED
        yield Step(change._replace(outcome=outcome, reason="this kernel has none (CONFIG_TRANSPARENT_HUGEPAGE)"))
        return
    change = change._replace(live=chosen(text), effects=tuned.also_sets(scene.host, "vm", _OPTIONS, want))
    refusal = _refusal(scene, text, want)
    if refusal:
        yield refused(change, refusal)
        return
    live = (Write(Place("knob", PATH), want),) if chosen(text) != want else ()
    kernel = cmdline.value(scene.host, "transparent_hugepage")
    yield tmpfiles.lasting(scene, Step(change, live), tmpfiles.Wish(OURS, _PATTERN, (PATH,), kernel))


def _refusal(scene: Scene, text: str, want: str) -> Optional[str]:
    if chosen(text) == want:
        return None
    offered = [word.strip("[]") for word in text.split()]
    if want not in offered:
        return "the kernel offers {}".format(", ".join(offered))
    return "not settable here: set it on the host" if scene.host.denies(PATH) else None


SETTING = Setting(
    id="transparent-hugepage",
    title="Transparent huge pages",
    order=30,
    keys=("transparent_hugepage",),
    plan=plan,
)
