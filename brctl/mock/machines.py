"""The machines that brctl brings along, and those in files: `--mock NAME|FILE[+FAULT[@N]...]`.

The form of a file is described in node/host/machine.py. Here `files` may also have the files of one folder in an object
of their own, so that its path is not written with each: `"/a/b/": {"c": "1\\n"}` is `"/a/b/c": "1\\n"`.
"""

import json
import math
import os
import zlib
from typing import Any, Dict, NamedTuple, Tuple

from ..node.deadline import HungError
from ..node.host.machine import InvalidMachineError, Machine, check
from . import MockError, nvml
from .faults import UnknownFaultError, parse
from .harm import Harm, inflict
from .harmed import HarmedFiles, HarmedMachine
from .overlay import Overlay
from .regular import read_regular

_FOLDER = os.path.join(os.path.dirname(__file__), "machines")
_SUFFIX = ".json"
_HOSTNAME = "/proc/sys/kernel/hostname"
_HOSTNAME_LIMIT = 253  # characters, of a name in the DNS (RFC 1035 has 255 octets with lengths)


class _Given(NamedTuple):
    path: str
    plain: Any
    harm: Harm


def names() -> Tuple[str, ...]:
    """Those that brctl brings along, sorted."""
    return tuple(sorted(name[: -len(_SUFFIX)] for name in os.listdir(_FOLDER) if name.endswith(_SUFFIX)))


def load(spec: str, node: str = "") -> HarmedMachine:
    """The machine that `spec` names, with its faults, as writes have left it. Raises MockError.

    As the node `node` it has that host name, and keeps writes of its own.
    """
    return _machine(_parse(spec), spec, node)


def _machine(given: _Given, spec: str, node: str) -> HarmedMachine:
    path, plain, harm = given
    if node and _HOSTNAME in plain["files"]:
        plain["files"][_HOSTNAME] = node + "\n"
    overlay = Overlay(_overlay_name(plain["name"], path, node))
    files = HarmedFiles(overlay, plain["files"], harm.files, harm.busy)
    install = lambda: nvml.install(plain.get("nvml"), harm.changes, overlay)  # noqa: E731
    try:
        machine = HarmedMachine(plain, spec, install, files, harm)
    except InvalidMachineError as error:
        raise _no_machine(path, str(error)) from None
    machine.again = ("brctl.mock.machines:load", os.path.realpath(spec) if os.path.isfile(spec) else spec, node)
    return machine


def hostname(machine: Machine) -> str:
    """What it is called, in at most 253 characters; "localhost" where it does not tell. Never raises."""
    try:
        text = machine.read(_HOSTNAME) or ""
    except (OSError, ValueError, HungError):  # the report will tell
        text = ""
    return text.strip()[:_HOSTNAME_LIMIT] or "localhost"


def idle_faults(spec: str) -> Tuple[str, ...]:
    """A line for each fault that finds nothing to act on, and so changes nothing. Raises MockError."""
    return _parse(spec).harm.idle


def _parse(spec: str) -> _Given:
    """What a spec names."""
    wanted, _, words = (spec, "", "") if os.path.isfile(spec) else spec.partition("+")
    path = _find(wanted)
    try:
        plain, faults = _decode(path), parse(words)
    except UnknownFaultError as error:
        near = ", or ".join("{}+{}".format(wanted, name) for name in error.near)
        hint = "write {}; docs/mock.md lists all faults, and TAB completes them".format(near)
        raise MockError(str(error), hint) from None
    return _Given(path, plain, inflict(faults, plain))


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
        plain = json.loads(read_regular(path), parse_float=_finite, parse_constant=_finite)
        if isinstance(plain, dict) and isinstance(plain.get("files"), dict):
            plain["files"] = _unfolded(plain["files"])
        check(plain)
        if plain.get("nvml") is not None:
            nvml.check(plain["nvml"])
    except OSError as error:
        raise MockError("cannot read {}: {}".format(path, error.strerror), "name a machine or its FILE") from None
    except json.JSONDecodeError as error:
        raise _no_machine("{}:{}:{}".format(path, error.lineno, error.colno), error.msg) from None
    except ValueError as error:
        raise _no_machine(path, str(error)) from None
    except RecursionError:
        raise _no_machine(path, "it is nested too deep") from None
    return plain


def _finite(word: str) -> float:
    """No report can hold another number. Raises ValueError."""
    number = float(word)
    if not math.isfinite(number):
        raise ValueError("{:.20} is no finite number".format(word))
    return number


def _unfolded(files: Dict[str, Any]) -> Dict[str, Any]:
    """With each file by its whole path."""
    flat: Dict[str, Any] = {}
    for path, entry in files.items():
        if path.endswith("/") and isinstance(entry, dict):
            flat.update((path + name, item) for name, item in entry.items())
        else:
            flat[path] = entry
    return flat


def _no_machine(place: str, reason: str) -> MockError:
    example = os.path.join(_FOLDER, "cpu-only" + _SUFFIX)
    return MockError("{}: no machine: {}".format(place, reason), "{} is a small one".format(example))


def _overlay_name(name: str, path: str, node: str) -> str:
    """Faults don't count: the machine is the same. A file may use a name that another machine has."""
    if os.path.dirname(path) != _FOLDER:
        name = "{}-{:08x}".format(name, zlib.crc32(os.fsencode(os.path.realpath(path))))
    return name + "@" + node if node else name
