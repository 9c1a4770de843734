"""The machines that brctl brings along, and those in files: `--mock NAME|FILE[+FAULT[@N]...]`."""

import json
import os
import zlib
from typing import Any, Dict, Tuple

from ..node.host.machine import InvalidMachineError, Machine, check
from . import MockError, nvml
from .faults import Fault, UnknownFaultError, idle, parse
from .overlay import Overlay

_FOLDER = os.path.join(os.path.dirname(__file__), "machines")
_SUFFIX = ".json"
_HOSTNAME = "/proc/sys/kernel/hostname"
_DRIVERS = ("/drivers/nvidia", "/drivers/nvidia-nvswitch")


def names() -> Tuple[str, ...]:
    """Those that brctl brings along, sorted."""
    return tuple(sorted(name[: -len(_SUFFIX)] for name in os.listdir(_FOLDER) if name.endswith(_SUFFIX)))


def load(spec: str, node: str = "") -> Machine:
    """The machine that `spec` names, with its faults, as writes have left it. Raises MockError.

    As the node `node` it has that host name, and keeps writes of its own.
    """
    path, plain, faults = _parse(spec)
    if any(fault.name == "no-driver" for fault in faults):
        _unload_driver(plain["files"])
    if node and _HOSTNAME in plain["files"]:
        plain["files"][_HOSTNAME] = node + "\n"
    overlay = Overlay(_overlay_name(plain["name"], path, node))
    try:
        return Machine(plain, spec, lambda: nvml.install(plain.get("nvml"), faults), overlay)
    except InvalidMachineError as error:
        raise _no_machine(path, str(error)) from None


def idle_faults(spec: str) -> Tuple[str, ...]:
    """A line for each fault that finds nothing to act on, and so changes nothing. Raises MockError."""
    _, plain, faults = _parse(spec)
    gpus = len((plain.get("nvml") or {}).get("gpus", ()))
    line = "{} has nothing to act on: {} has {} GPUs"
    return tuple(line.format(fault.text, plain["name"], gpus) for fault in idle(faults, gpus))


def _parse(spec: str) -> Tuple[str, Any, Tuple[Fault, ...]]:
    """The path, the JSON and the faults that a spec names."""
    wanted, _, words = (spec, "", "") if os.path.isfile(spec) else spec.partition("+")
    path = _find(wanted)
    try:
        return path, _decode(path), parse(words)
    except UnknownFaultError as error:
        raise MockError(str(error), "write {}+{}".format(wanted, error.nearest)) from None


def _find(wanted: str) -> str:
    """The path of a machine. One of brctl's own goes before a file of that name: a stray file changes nothing."""
    if wanted in names():
        return os.path.join(_FOLDER, wanted + _SUFFIX)
    if wanted.endswith(_SUFFIX) or os.path.isfile(wanted):
        return wanted
    import difflib  # costs more than all the rest, and is seldom needed

    nearest = difflib.get_close_matches(wanted, names(), n=1, cutoff=0)[0]
    there = "nearest: {}; there are {}, or give the FILE of one".format(nearest, ", ".join(names()))
    raise MockError("no machine is called {!r}".format(wanted), there)


def _decode(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            plain = json.loads(file.read())
        check(plain)
        if plain.get("nvml") is not None:
            nvml.check(plain["nvml"])
    except OSError as error:
        raise MockError("cannot read {}: {}".format(path, error.strerror), "name a machine or its FILE") from None
    except json.JSONDecodeError as error:
        raise _no_machine("{}:{}:{}".format(path, error.lineno, error.colno), error.msg) from None
    except ValueError as error:
        raise _no_machine(path, str(error)) from None
    return plain


def _no_machine(place: str, reason: str) -> MockError:
    example = os.path.join(_FOLDER, "cpu-only" + _SUFFIX)
    return MockError("{}: no machine: {}".format(place, reason), "{} is a small one".format(example))


def _unload_driver(files: Dict[str, Any]) -> None:
    """What the NVIDIA kernel module shows goes with it."""
    for path, entry in list(files.items()):
        bound = isinstance(entry, dict) and str(entry.get("link")).endswith(_DRIVERS)
        if bound or path.startswith("/proc/driver/nvidia/"):
            del files[path]


def _overlay_name(name: str, path: str, node: str) -> str:
    """Faults don't count: the machine is the same. A file may use a name that another machine has."""
    if os.path.dirname(path) != _FOLDER:
        name = "{}-{:08x}".format(name, zlib.crc32(os.path.realpath(path).encode()))
    return name + "@" + node if node else name
