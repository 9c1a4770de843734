"""The processes on each GPU: their memory there, and whose they are.

User, name, container and Slurm job come from /proc. A process that is not to be seen from here (it ended just now, or
is in another PID namespace) keeps its memory and has `?` for the rest; one whose memory the driver does not know has
none.
"""

import re
from typing import Dict, NamedTuple, Optional

from ...host import Host
from .. import GPU_LABELS, Collector, Kind, Reading, Readings, WatchedGpu
from ..previous import Previous

UNKNOWN = "?"
_LIST = "nvmlDeviceGetComputeRunningProcesses"
_made = Kind("processes", GPU_LABELS)
_MEMORY = _made.gauge(
    "gpu_process_memory_bytes", "bytes", "Memory of the GPU that a process has.", _LIST,
    "pid", "name", "user", "container", "slurm_job", "kind", "gpu_instance",
)  # fmt: skip
_COUNT = _made.gauge("gpu_processes", "", "Processes on the GPU.", _LIST)
_UID = re.compile(r"^Uid:\s+(\d+)", re.MULTILINE)
_USER = re.compile(r"^([^:\n]*):[^:\n]*:(\d+):", re.MULTILINE)
_CONTAINER = re.compile(r"([0-9a-f]{12})[0-9a-f]{52}")
"""Docker, containerd, CRI-O and podman name a cgroup by the container's id; its first twelve digits are shown."""
_JOB = re.compile(r"/job_(\d+)")
_JOB_VARIABLE = re.compile(r"(?:^|\0)SLURM_JOB_ID=(\d+)")


class Owner(NamedTuple):
    name: str
    user: str
    container: str
    job: str


_NOBODY = Owner(UNKNOWN, UNKNOWN, "", "")


def run(gpu: WatchedGpu, _: Previous) -> Readings:
    processes = gpu.part.processes()
    yield Reading(_COUNT, None if processes is None else len(processes))
    users: Dict[str, str] = {}
    for process in processes or ():
        owner = find_owner(gpu.host, process.pid, users)
        instance = "" if process.gpu_instance_id is None else str(process.gpu_instance_id)
        yield Reading(_MEMORY, process.memory_bytes, (str(process.pid), *owner, process.kind, instance))


def find_owner(host: Host, pid: int, users: Dict[str, str]) -> Owner:
    """`users` are names by their number; it is filled when first needed."""
    folder = "/proc/{}/".format(pid)
    status = _read(host, folder + "status")
    if status is None:
        return _NOBODY
    uid = _UID.search(status)
    if not users:
        users.update((number, name) for name, number in _USER.findall(_read(host, "/etc/passwd") or ""))
    cgroup = _read(host, folder + "cgroup") or ""
    container, job = _CONTAINER.search(cgroup), _JOB.search(cgroup)
    job = job or _JOB_VARIABLE.search(_read(host, folder + "environ") or "")
    return Owner(
        name=(_read(host, folder + "comm") or UNKNOWN).strip(),
        user=users.get(uid.group(1), uid.group(1)) if uid else UNKNOWN,
        container=container.group(1) if container else "",
        job=job.group(1) if job else "",
    )


def _read(host: Host, path: str) -> Optional[str]:
    """Another user's environment is refused to who is not root; /proc may be mounted with hidepid."""
    try:
        return host.read(path)
    except OSError:
        return None


COLLECTOR = Collector(id="processes", title="Processes on GPUs", every_s=10.0, series=tuple(_made.all), of_gpu=run)
