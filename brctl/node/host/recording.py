"""Recording: a Host that keeps what another one was asked and what it answered, to be read again by Machine.

Only what was asked for is kept, and nothing of it leaves before it is masked.
"""

import contextlib
import errno
import itertools
import json
import re
import time
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    ContextManager,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
    TypeVar,
)

from ... import __version__
from .. import deadline
from ..accel import Library, libraries
from ..mask import Mask
from ..report import PairSeen
from . import COMMAND_LIMIT_S, Completed, Host, Space
from .tree import NotRecordedError, follow

if TYPE_CHECKING:
    from ..accel.nvml_record import Record

T = TypeVar("T")

_NEVER = re.compile(
    r"/proc/[^/]+/(?:environ|cmdline)\Z"  # of processes
    r"|/proc/(?:[^/]+/)?net/(?:route|ipv6_route|if_inet6|(?:tcp|udp|raw)6?)\Z"  # addresses that no mask would find
)
_IS_FOLDER = {"errno": "EISDIR"}


class Recording:
    def __init__(self, host: Host) -> None:
        self.mock, self.again = host.mock, host.again
        self._host = host
        self._files: Dict[str, Any] = {}
        self._links: Dict[str, Optional[str]] = {}
        self._commands: Dict[str, Any] = {}
        self._waiting: Dict[int, str] = {}
        """Paths of the calls that have not come back."""
        self._numbers = itertools.count()
        self._libraries: Tuple[Library, ...] = ()
        self._nvml: Optional["Record"] = None

    def read(self, path: str) -> Optional[str]:
        return self._ask(path, self._host.read, lambda text: text)

    def reread(self, path: str) -> Optional[str]:
        return self.read(path)

    def space(self, path: str) -> Optional[Space]:
        return self._host.space(path)

    def ethtool_statistics(self, interface: str) -> Optional[Mapping[str, int]]:
        found = self._host.ethtool_statistics(interface)
        said = (
            {"stdout": "".join("     {}: {}\n".format(*each) for each in found.items())} if found else {"returncode": 1}
        )
        self._commands["ethtool -S " + interface] = said
        return found

    def round_trip(self, address: str, port: int, limit_s: float) -> Optional[float]:
        return self._host.round_trip(address, port, limit_s)

    def echo(self, address: str, port: int, nonce: bytes, limit_s: float) -> bool:
        return self._host.echo(address, port, nonce, limit_s)

    def echo_from(self, own: str, peer: str, port: int, nonce: bytes, mtu: int, limit_s: float) -> PairSeen:
        return self._host.echo_from(own, peer, port, nonce, mtu, limit_s)

    def listdir(self, path: str) -> Optional[Tuple[str, ...]]:
        return self._ask(path, self._host.listdir, lambda names: None if names is None else {"names": list(names)})

    def readlink(self, path: str) -> Optional[str]:
        return self._ask(path, self._host.readlink, lambda _: None, follow_last=False)

    def write(self, path: str, text: str) -> None:
        self._host.write(path, text)

    def denies(self, path: str) -> Optional[int]:
        return self._host.denies(path)

    def read_bytes(self, path: str) -> Optional[bytes]:
        return self._host.read_bytes(path)

    def replace(self, path: str, data: bytes, mode: int = 0o644) -> None:
        self._host.replace(path, data, mode)

    def remove(self, path: str) -> None:
        self._host.remove(path)

    def append(self, path: str, data: bytes) -> None:
        self._host.append(path, data)

    def lock(self, path: str, holder: str) -> ContextManager[None]:
        return self._host.lock(path, holder)

    def run(self, argv: Sequence[str], limit_s: float = COMMAND_LIMIT_S) -> Optional[Completed]:
        name = " ".join(argv)
        try:
            answer = self._host.run(argv, limit_s)
        except NotRecordedError:
            raise
        except (OSError, deadline.HungError) as error:
            self._commands[name] = _failure(error)
            raise
        self._commands[name] = answer and {key: value for key, value in answer._asdict().items() if value}
        return answer

    def accelerators(self) -> Tuple[Library, ...]:
        """Those of the host, anew: nothing was refused yet, and what they ask passes through here."""
        if not self._libraries:
            from ..accel.nvml import Nvml
            from ..accel.nvml_record import LIBRARY, Record, RecordedCalls

            self._host.accelerators()  # a mock is put under pynvml now
            self._nvml = Record()
            nvml = Nvml(partial(RecordedCalls, self._nvml, LIBRARY))
            others = (library for library in libraries(self.run) if library.vendor != nvml.vendor)
            self._libraries = (nvml, *others)
        return self._libraries

    def bundle(self) -> str:
        """All that was asked for until now, masked, as the JSON text of a machine."""
        plain = {"files": self._tree(), "commands": dict(self._commands), "nvml": None, "nvml_calls": {}}
        if self._nvml:
            from ..accel.nvml_values import nvml

            plain.update(nvml=nvml(self._nvml), nvml_calls=self._nvml.plain())
        mask = Mask()
        masked = _masked_machine(mask, plain)
        of = "this machine" if self.mock is None else "the mock " + self.mock.machine
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        head = {
            "name": "recording",
            "recorded": self.mock is None,
            "partial": True,
            "sources": [
                "brctl {} recorded what it read of {} at {}".format(__version__, of, when),
                "masked: {}".format(", ".join(mask.counts()) or "nothing"),
            ],
        }
        return json.dumps(dict(head, **masked), indent=1, allow_nan=False) + "\n"

    def _ask(self, path: str, call: Callable[[str], T], entry: Callable[[Any], Any], follow_last: bool = True) -> T:
        number = next(self._numbers)
        self._waiting[number] = path
        try:
            answer = call(path)
            self._keep(path, entry(answer), follow_last)
        except NotRecordedError:
            raise
        except (OSError, deadline.HungError) as error:
            self._keep(path, _failure(error), follow_last)
            raise
        finally:
            del self._waiting[number]
        return answer

    def _keep(self, path: str, entry: Any, follow_last: bool) -> None:
        """Under the path without links, which are kept as they are met on it.

        That there is nothing, or not of this kind, does not replace what there is.
        """
        folder, _, name = path.rstrip("/").rpartition("/")
        with contextlib.suppress(OSError):  # links that lead to themselves need no more
            real = follow(folder, path, self._link_at) + "/" + name
            if self._link_at(real) is not None:
                if not follow_last:
                    return
                real = follow(path, path, self._link_at)
            known = self._files.get(real)
            if name and not _NEVER.search(real) and (known is None or entry not in (None, _IS_FOLDER)):
                self._files[real] = entry

    def _link_at(self, entry: str) -> Optional[str]:
        if entry not in self._links:
            try:
                self._links[entry] = self._host.readlink(entry)
            except (OSError, deadline.HungError):  # the call on the whole path says why
                self._links[entry] = None
        return self._links[entry]

    def _tree(self) -> Dict[str, Any]:
        """The files, put together so that they are a tree: some came and went while they were read."""
        files = dict(self._files)
        for path in list(self._waiting.values()):
            with contextlib.suppress(OSError):
                files[follow(path, path, self._links.get)] = {"hung": deadline.CALL_LIMIT_S}
        files.update((path, {"link": target}) for path, target in dict(self._links).items() if target is not None)
        answered = _folders(path for path, entry in files.items() if entry is not None and not _failed(entry))
        refused: List[str] = []
        for path in sorted(path for path, entry in files.items() if _failed(entry) and path not in answered):
            if any(path.startswith(folder + "/") for folder in refused):
                del files[path]  # what is in a folder that nobody may enter is refused with it
            else:
                refused.append(path)
        for folder, names in _folders(path for path, entry in files.items() if entry is not None).items():
            entry = files.pop(folder, None)
            if isinstance(entry, dict) and "names" in entry:
                files[folder] = {"names": sorted(names.union(entry["names"]))}
        return files


def _folders(paths: Iterable[str]) -> Dict[str, Set[str]]:
    """What is in each folder on the way to `paths`."""
    folders: Dict[str, Set[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        while name not in folders.setdefault(folder, set()):
            folders[folder].add(name)
            folder, _, name = folder.rpartition("/")
    return folders


def _failure(error: Exception) -> Dict[str, Any]:
    if isinstance(error, deadline.HungError):
        return {"hung": error.limit_s}
    code = error.errno if isinstance(error, OSError) else None
    return {"errno": errno.errorcode.get(code or 0, "EIO")}


def _failed(entry: Any) -> bool:
    return isinstance(entry, dict) and ("errno" in entry or "hung" in entry)


def _masked_machine(mask: Mask, plain: Mapping[str, Any]) -> Dict[str, Any]:
    files, commands = plain["files"], plain["commands"]
    for path, entry in files.items():
        if isinstance(entry, str):
            mask.learn(path, entry)
    nvml = plain["nvml"] or {}
    for gpu in (nvml.get("defaults", {}), *nvml.get("gpus", ())):
        mask.learn_serial(gpu.get("serial", ""))

    def nvml_text(source: str, text: str) -> str:
        # Its words have a meaning, and one of them may well be the name of a host: `compute`.
        return mask.text(source, text) if source == "/serial" else mask.path(text, folder="/sys")

    return {
        "files": {mask.path(path): _masked_file(mask, path, files[path]) for path in sorted(files)},
        "commands": {mask.text(name, name): _masked(mask.text, name, commands[name]) for name in sorted(commands)},
        "nvml": _masked(nvml_text, "", plain["nvml"]),
        "nvml_calls": _masked(mask.text, "", plain["nvml_calls"]),
    }


def _masked_file(mask: Mask, path: str, entry: Any) -> Any:
    if isinstance(entry, str):
        return mask.text(path, entry)
    if entry and "link" in entry:
        return {"link": mask.path(entry["link"], folder=path)}
    if entry and "names" in entry:
        return {"names": [mask.path(path + "/" + name).rpartition("/")[2] for name in entry["names"]]}
    return entry


def _masked(mask_text: Callable[[str, str], str], source: str, plain: Any) -> Any:
    """All texts in it; `source` is the command, the NVML call or the key that gave it."""
    if isinstance(plain, str):
        return mask_text(source, plain)
    if isinstance(plain, list):
        return [_masked(mask_text, source, item) for item in plain]
    if isinstance(plain, dict):
        answers = ("answer", "stdout", "stderr")
        return {key: _masked(mask_text, source if key in answers else "/" + key, item) for key, item in plain.items()}
    return plain
