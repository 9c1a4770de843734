"""What faults make of one machine: its JSON is changed beforehand, or it is told what to change as it is read."""

import re
from typing import Any, Dict, Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ..node.host.tree import follow
from .faults import BUSY, KERNEL_LOG, UNSUPPORTED, Change, Fault

_DRIVERS = ("/drivers/nvidia", "/drivers/nvidia-nvswitch")
_NET, _RDMA = "/sys/class/net/", "/sys/class/infiniband/"
_XID = re.compile(r"Xid \(PCI:[^)]*\): (\d+)")
"""What the kernel log tells, the driver tells as an event too."""
_FIRST_PID = 31000
_EMPTY = {"nvlinks_down": (), "latency_ms": 0, "fever_s": 0}
"""Keys that a GPU need not have where there is nothing to say."""


class FileChange(NamedTuple):
    path: str
    """Without links."""
    after: int
    """So many reads of it are answered as before."""
    new: Union[str, int]
    """A text, or an errno."""
    appended: bool = False
    per_second: int = 0
    """Where it is not 0: the number that stands there grows by so much, and `new` means nothing."""


class Growth(NamedTuple):
    """Counters in a command's output that grow."""

    argv: str
    after: int
    per_second: Mapping[str, int]


class Harm(NamedTuple):
    changes: Tuple[Change, ...]
    files: Tuple[FileChange, ...]
    growths: Tuple[Growth, ...]
    idle: Tuple[str, ...]
    """A line for each fault that finds nothing to act on, and so changes nothing."""
    busy: bool = False
    """Its counters grow (busy.py)."""


class Rail(NamedTuple):
    nic: str
    rdma: str
    pci: str


def inflict(faults: Sequence[Fault], plain: Any) -> Harm:
    """Change `plain`, a machine's JSON, and tell what else there is to do while it is read."""
    harms = [_Harm(fault, plain) for fault in faults]
    active = [harm for harm in harms if not harm.idle]
    for harm in active:
        harm.change_json()
    return Harm(
        tuple(change for harm in active for change in harm.changes()),
        tuple(change for harm in active for change in harm.files()),
        tuple(growth for harm in active for growth in harm.growths()),
        tuple(
            "{} has nothing to act on: {} {}".format(harm.fault.text, plain["name"], harm.idle)
            for harm in harms
            if harm.idle
        ),
        any(harm.fault.kind is BUSY for harm in active),
    )


def rails(files: Mapping[str, Any]) -> Tuple[Rail, ...]:
    """The NICs of the fastest kind that have RDMA and a link, in the order of their PCI addresses."""
    found = []
    nics = {real(files, path): path[len(_NET) :] for path in files if path.startswith(_NET)}
    for path in files:
        if not path.startswith(_RDMA) or path.count("/") != _RDMA.count("/"):
            continue
        device = real(files, path).rpartition("/infiniband/")[0]
        port = real(files, path) + "/ports/1/"
        names = [name for folder, name in nics.items() if folder.startswith(device + "/net/")]
        rate = re.match(r"[0-9.]+", str(files.get(port + "rate")))
        if names and rate and files.get(port + "state") == "4: ACTIVE\n":
            found.append((float(rate.group()), Rail(names[0], path[len(_RDMA) :], device.rpartition("/")[2])))
    fastest = max((rate for rate, _ in found), default=0.0)
    return tuple(sorted((rail for rate, rail in found if rate == fastest), key=lambda rail: rail.pci))


def real(files: Mapping[str, Any], path: str) -> str:
    """The path without links."""

    def link_at(entry: str) -> Optional[str]:
        target = files[entry].get("link") if isinstance(files.get(entry), dict) else None
        return target if isinstance(target, str) else None

    try:
        return follow(path, path, link_at)
    except OSError:  # links in a circle
        return path


class _Harm:
    """One fault on one machine."""

    def __init__(self, fault: Fault, plain: Any) -> None:
        self.fault = fault
        self._kind = fault.kind
        self._plain = plain
        self._names: Dict[str, str] = {}
        self.idle = self._look()
        """Why there is nothing to act on; empty where there is."""

    def change_json(self) -> None:
        """Change what is so from the start: NVML's answers and values, and what goes with the driver."""
        nvml = self._plain.get("nvml")
        if nvml and self._kind.of == "gpu":
            self._change_gpu(nvml["gpus"][self.fault.number])
        elif nvml and self._kind.of == "driver":
            nvml["errors"] = self._errors()
        if nvml and self._kind is BUSY:
            from .busy import SEED  # its patterns take long to compile

            nvml["seed"] = SEED
            _give_work(nvml, self._plain["files"])
        for argv, text in self._kind.outputs.items():
            self._plain["commands"][argv.format(**self._names)] = {"stdout": text}
        if self._kind.name == "no-library":
            self._plain["nvml"] = None
        if self._kind.name == "no-driver":
            _unload_driver(self._plain["files"])

    def changes(self) -> Iterator[Change]:
        """Of the GPU's values, while the program runs."""
        if self._kind.of != "gpu" or not self._plain["nvml"]:
            return
        values, growing = self._values()
        if values and (growing or self.fault.after):
            yield Change(self.fault.number, self.fault.after, values, growing)

    def files(self) -> Iterator[FileChange]:
        for template, new in self._kind.files.items():
            path, old = self._file(template)
            if old not in (None, new):
                yield FileChange(path, self.fault.after, new)
        for template, rate in self._kind.grows.items():
            path, old = self._file(template)
            if old is not None:
                yield FileChange(path, self.fault.after, "", per_second=rate)
        log = self._plain["files"].get(KERNEL_LOG)
        if self._kind.log and isinstance(log, str):
            records = _records(log, [line.format(**self._names) for line in self._kind.log])
            yield FileChange(KERNEL_LOG, self.fault.after, records, appended=True)

    def growths(self) -> Iterator[Growth]:
        if self._kind.statistics:
            yield Growth("ethtool -S " + self._names["nic"], self.fault.after, self._kind.statistics)

    @property
    def _gpu(self) -> Dict[str, Any]:
        """Its values, as faults before this one have left them."""
        nvml = self._plain["nvml"]
        return {**_EMPTY, **(nvml.get("defaults") or {}), **nvml["gpus"][self.fault.number]}

    def _change_gpu(self, own: Dict[str, Any]) -> None:
        errors = self._errors()
        if errors:  # the first pattern that fits decides, so these come first
            own["errors"] = dict(errors, **self._gpu.get("errors") or {})
        values, growing = self._values()
        if not (growing or self.fault.after):
            own.update(values)
        events = [{"xid": int(number), "after_s": 0} for line in self._kind.log for number in _XID.findall(line)]
        if events and not self.fault.after:
            own["xids"] = [*(self._gpu.get("xids") or ()), *events]

    def _values(self) -> Tuple[Dict[str, Any], Dict[str, int]]:
        """What becomes of the GPU's values, and how much is added to them in a second."""
        has = [key for key in self._kind.values if self._gpu.get(key) is not None]
        new = [(key, self._kind.values[key]) for key in has]
        values = {key: value(self._gpu) if callable(value) else value for key, value in new}
        return values, {key: rate for key, rate in self._kind.per_second.items() if key in has}

    def _look(self) -> str:
        """Find the GPU or NIC, and what the fault needs of it."""
        gpus = (self._plain.get("nvml") or {}).get("gpus", ())
        if self._kind.of in ("gpu", "driver"):
            if self.fault.number >= len(gpus):
                return "has {} GPUs".format(len(gpus))
            pci = self._gpu["pci_bus_id"]
            port = real(self._plain["files"], "/sys/bus/pci/devices/" + pci).split("/")[-2]
            self._names = {"pci": pci, "bus": pci.rpartition(".")[0], "uuid": self._gpu["uuid"], "port": port}
        if self._kind.of == "nic":
            found = rails(self._plain["files"])
            if self.fault.number >= len(found):
                return "has {} NICs on its RDMA network".format(len(found))
            self._names = found[self.fault.number]._asdict()
        return self._lack()

    def _lack(self) -> str:
        needs = self._kind.needs
        if any("{port}" in line for line in self._kind.log) and "." not in self._names["port"]:
            return "shows no port above GPU {}".format(self.fault.number)
        wanted = [argv.format(**self._names) for argv in self._kind.outputs]
        missing = [argv for argv in wanted if argv not in (self._plain.get("commands") or {})]
        if missing:
            return "has no {}".format(missing[0].partition(" ")[0])
        if self._kind.of == "gpu" and needs and self._gpu.get(needs) is None:
            return "has no {} of GPU {}".format(needs, self.fault.number)
        if self._kind.statistics:
            command = "ethtool -S " + self._names["nic"]
            shown = (self._plain.get("commands") or {}).get(command)
            return "" if needs in str(shown) else "shows no {} of {}".format(needs, self._names["nic"])
        if "/" in needs:
            path, old = self._file(needs)
            if old is None:
                return "has no {}".format(path)
            return "has {} so already".format(path) if old == self._kind.files.get(needs) else ""
        return ""

    def _errors(self) -> Dict[str, Any]:
        errors = self._kind.errors
        if self._kind is UNSUPPORTED:
            errors = {self.fault.function: "NVML_ERROR_NOT_SUPPORTED"}
        if not self.fault.after:
            return dict(errors)
        opening = "nvmlDeviceGetHandle"
        return {
            name: {"error": error, "after": self.fault.after}
            for name, error in errors.items()
            if not name.startswith(opening)
        }

    def _file(self, template: str) -> Tuple[str, Any]:
        path = real(self._plain["files"], template.format(**self._names))
        return path, self._plain["files"].get(path)


def _give_work(nvml: Any, files: Dict[str, Any]) -> None:
    """A process on each GPU: memory that nobody holds is a fault."""
    for number, gpu in enumerate(nvml["gpus"]):
        if {**nvml.get("defaults", {}), **gpu}.get("processes") == []:
            pid = _FIRST_PID + number
            gpu["processes"] = [{"pid": pid, "kind": "compute", "memory_bytes": None}]
            folder = "/proc/{}/".format(pid)
            files[folder + "stat"] = "{} (python3) R 1 {} {} 0 -1\n".format(pid, pid, pid)
            files[folder + "comm"], files[folder + "status"] = "python3\n", "Name:\tpython3\nUid:\t0\t0\t0\t0\n"


def _unload_driver(files: Dict[str, Any]) -> None:
    """What the NVIDIA kernel module shows goes with it."""
    for path, entry in list(files.items()):
        bound = isinstance(entry, dict) and str(entry.get("link")).endswith(_DRIVERS)
        if bound or path.startswith("/proc/driver/nvidia/"):
            del files[path]


def _records(log: str, lines: Sequence[str]) -> str:
    """In the form of /dev/kmsg, numbered and timed after the last one there: level, number, microseconds, flags."""
    known = [(int(number), int(time_us)) for number, time_us in re.findall(r"(?m)^\d+,(\d+),(\d+),", log)]
    number, time_us = max(known, default=(0, 0))
    form = "4,{},{},-;{}\n"
    return "".join(
        form.format(number + place, time_us + 90_000_000 + place, line) for place, line in enumerate(lines, 1)
    )
