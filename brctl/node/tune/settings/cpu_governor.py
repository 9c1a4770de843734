"""Who chooses the clock of the CPUs: the governor of every cpufreq policy (admin-guide/pm/cpufreq).

`performance` keeps clocks high, so that the thread that feeds a GPU or polls a NIC does not wait until they rise;
tuned's latency-performance and NVIDIA's guide for Grace set it.

When not to: it costs power while nodes are idle, and heat that turbo clocks of other cores could use. Under
intel_pstate `powersave` reaches full clocks too, only later.

Live through scaling_governor of every policy in /sys/devices/system/cpu/cpufreq. A virtual machine has none: there the
hypervisor decides. At boot the kernel takes what it was built with, or `cpufreq.default_governor=` of its command line;
then comes systemd-tmpfiles, for which --persist writes /etc/tmpfiles.d/zz-brctl-cpu-governor.conf. It finds only the
policies of drivers that are loaded by then. A profile of tuned comes after all of these.

By hand: `cpupower frequency-set -g performance`.
"""

from collections import Counter
from typing import Iterator, NamedTuple, Optional, Sequence, Tuple

from ...host import Host
from ...report import HOST, Change, Outcome
from .. import Place, Scene, Setting, Step, Write, cmdline, refused, tmpfiles, tuned
from ..places import in_words

FOLDER = "/sys/devices/system/cpu/cpufreq"
OURS = "/etc/tmpfiles.d/zz-brctl-cpu-governor.conf"

_ALL = FOLDER + "/policy[0-9]*/scaling_governor"
"""Unlike what others write: of two lines with one path systemd-tmpfiles takes the first."""
_ALIAS = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
_SOURCES = {"performance": "tuned, latency-performance; NVIDIA's Grace tuning guide"}


class _Policy(NamedTuple):
    name: str
    governor: str
    available: Tuple[str, ...]

    @property
    def path(self) -> str:
        return "{}/{}/scaling_governor".format(FOLDER, self.name)


def plan(scene: Scene) -> Iterator[Step]:
    want, host = scene.want.cpu_governor, scene.host
    if want is None:
        return
    change = Change("cpu-governor", HOST, "scaling_governor", Outcome.OK, want, source=_SOURCES.get(want))
    try:
        policies = _policies(host)
    except OSError as error:
        yield refused(change, in_words(error))
        return
    if not policies:
        reason = "the kernel sets no clocks here: firmware or the hypervisor does"
        yield Step(change._replace(outcome=Outcome.NA, reason=reason))
        return
    wrong = [policy for policy in policies if policy.governor != want]
    refusal = _refusal(host, wrong, want)
    change = change._replace(live=_told(policies), effects=tuned.also_sets(host, "cpu", ("governor",), want))
    if refusal:
        yield refused(change, refusal)
        return
    names = (policies[0].path, _ALIAS.format(policies[0].name[len("policy") :]))
    wish = tmpfiles.Wish(OURS, _ALL, names, cmdline.value(host, "cpufreq.default_governor"))
    yield tmpfiles.lasting(scene, Step(change, tuple(Write(Place("knob", one.path), want) for one in wrong)), wish)


def _policies(host: Host) -> Tuple[_Policy, ...]:
    """One for each group of CPUs that share a clock. Raises OSError."""
    names = [name for name in host.listdir(FOLDER) or () if name.startswith("policy")]
    return tuple(_policy(host, name) for name in names)


def _policy(host: Host, name: str) -> _Policy:
    folder = "{}/{}/".format(FOLDER, name)
    governor, available = (host.read(folder + "scaling_" + file) or "" for file in ("governor", "available_governors"))
    return _Policy(name, governor.strip(), tuple(available.split()))


def _refusal(host: Host, wrong: Sequence[_Policy], want: str) -> Optional[str]:
    for policy in wrong:
        if want not in policy.available:
            return "{} offers {}".format(policy.name, ", ".join(policy.available) or "no governor")
    if wrong and host.denies(wrong[0].path):
        return "not settable here: set it on the host"
    return None


def _told(policies: Sequence[_Policy]) -> str:
    """`performance`, or `performance (220), powersave (4)`."""
    counts = Counter(policy.governor for policy in policies).most_common()
    if len(counts) == 1:
        return counts[0][0]
    return ", ".join("{} ({})".format(governor or "none", count) for governor, count in counts)


SETTING = Setting(
    id="cpu-governor",
    title="CPU frequency governor",
    order=30,
    keys=("cpu_governor",),
    plan=plan,
)
