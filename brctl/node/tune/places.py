"""What is at a Place, and how something else is put there: the only writes that tuning makes of a machine."""

import contextlib
import errno
from functools import partial
from typing import Callable, Dict, Optional, Tuple, TypeVar

from ..accel import Accelerator, AcceleratorError, Library, Setters
from ..deadline import HungError, run_all
from ..gpu_facts import GpuLimits
from ..host import Host
from . import Place, journal


class WriteError(Exception):
    """It cannot be read or written; the message says why, in words."""

    def __init__(self, message: str, hung: bool = False) -> None:
        super().__init__(message)
        self.hung = hung
        """The call did not return in time, and may be done yet, whatever the place holds now."""


class Places:
    """Those of one host, for one thread at a time."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._gpus: Dict[str, Accelerator] = {}

    def read(self, place: Place) -> Optional[str]:
        """As Write.value has it; None: absent. Raises WriteError.

        Locked clocks cannot be read back: they are what the journal says that brctl has last set since the boot.
        """
        return _in_time(partial(self._read, place))

    def write(self, place: Place, value: Optional[str]) -> None:
        """Raises WriteError; a knob may then hold a part of it."""
        _in_time(partial(self._write, place, value))

    def limits(self, uuid: str) -> GpuLimits:
        """Of a GPU. Raises WriteError."""
        return _in_time(lambda: self._gpu(uuid).limits())

    def _read(self, place: Place) -> Optional[str]:
        if place.kind == "gpu":
            return self._read_gpu(place)
        if place.kind == "file":
            data = self._host.read_bytes(place.name)
            return None if data is None else data.decode("latin-1")
        text = self._host.read(place.name)
        return None if text is None else chosen(text)

    def _write(self, place: Place, value: Optional[str]) -> None:
        if place.kind == "gpu":
            self._write_gpu(place, value)
        elif place.kind == "knob":
            if value is None:
                raise WriteError("{} cannot be taken away".format(place.name))
            self._host.write(place.name, value + "\n")
        elif value is None:
            self._host.remove(place.name)
        else:
            self._host.replace(place.name, value.encode("latin-1"))

    def _read_gpu(self, place: Place) -> Optional[str]:
        if place.item == "locked_clocks":
            return journal.locked_clocks(self._host, place)
        gpu = self._gpu(place.name)
        if place.item == "persistence_mode":
            mode = gpu.identity().persistence_mode
            return None if mode is None else str(int(mode))
        watts = gpu.limits().power_limit_watts
        return None if watts is None else "{:g}".format(watts)

    def _write_gpu(self, place: Place, value: Optional[str]) -> None:
        setters = self._setters(place.name)
        if place.item == "locked_clocks":
            if value is None:
                setters.unlock_clocks()
            else:
                least, most = value.split()
                setters.lock_clocks(int(least), int(most))
        elif value is None:
            raise WriteError("there is no value to set")
        elif place.item == "persistence_mode":
            setters.set_persistence_mode(value == "1")
        else:
            setters.set_power_limit(float(value))

    def _setters(self, uuid: str) -> Setters:
        setters = self._gpu(uuid).setters()
        if setters is None:
            raise WriteError("brctl sets nothing of this vendor's GPUs")
        return setters

    def _gpu(self, uuid: str) -> Accelerator:
        """Raises WriteError: there is no such GPU, or it does not answer."""
        if uuid not in self._gpus:
            self._gpus.update(gpus(self._host))
        if uuid not in self._gpus:
            raise WriteError("GPU {} does not answer".format(uuid))
        return self._gpus[uuid]


def gpus(host: Host) -> Dict[str, Accelerator]:
    """By UUID, those that answer: one that hangs costs its own deadline, and keeps none of the others away."""
    found: Dict[str, Accelerator] = {}
    for library in host.accelerators():
        # What fails is of another vendor, or a GPU that is lost.
        with contextlib.suppress(AcceleratorError):
            library.driver()
            for opened in run_all([partial(_opened, library, index) for index in range(library.count())]):
                if not isinstance(opened, Exception):
                    found[opened[0]] = opened[1]
    return found


def _opened(library: Library, index: int) -> Tuple[str, Accelerator]:
    gpu = library.open(index)
    return gpu.uuid() or "", gpu


T = TypeVar("T")


def _in_time(work: Callable[[], T]) -> T:
    """In a thread of its own, which may hang. Raises WriteError."""
    (outcome,) = run_all([work])
    if isinstance(outcome, (OSError, AcceleratorError, HungError)):
        raise WriteError(in_words(outcome), isinstance(outcome, HungError)) from None
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def same(place: Place, one: Optional[str], other: Optional[str]) -> bool:
    """Whether both are the same value of that place: of a knob its words, of a file its bytes."""
    if one is None or other is None or place.kind == "file":
        return one == other
    if place.kind == "gpu" and place.item == "power_limit":
        return float(one) == float(other)
    return one.split() == other.split()


def half_written(place: Place, live: Optional[str], before: Optional[str], after: Optional[str]) -> bool:
    """Whether the kernel took some of the words of `after` and kept those of `before` else: so it does with a triple
    that it refuses in the middle (kernel/sysctl.c, do_proc_dointvec)."""
    if place.kind != "knob" or live is None or before is None or after is None:
        return False
    words = (live.split(), before.split(), after.split())
    return len({len(each) for each in words}) == 1 and all(now in (old, new) for now, old, new in zip(*words))


def chosen(text: str) -> str:
    """The value of a knob: without the newline, and of a choice (`always [madvise] never`) what is chosen."""
    words = text.split()
    marked = [word[1:-1] for word in words if word.startswith("[") and word.endswith("]")]
    return marked[0] if len(marked) == 1 and len(words) > 1 else text.rstrip("\n")


_WORDS = {
    errno.EACCES: "permission denied: run as root; in a container or network namespace it is set on the host",
    errno.EPERM: "not permitted: run as root; in a container or network namespace it is set on the host",
    errno.EROFS: "read-only here: in a container it is set on the host",
    errno.EINVAL: "the kernel refuses this value (EINVAL)",
    errno.ERANGE: "out of range (ERANGE)",
    errno.ENOENT: "there is no such setting here",
    errno.EISDIR: "a folder, where a file has to be",
    errno.EBUSY: "in use (EBUSY)",
    errno.ENOSPC: "no space left on the device",
    errno.EOPNOTSUPP: "not supported here",
}


_NO_FILE = "no regular file"
"""How the host's files say of a pipe or a device that it is one."""


def in_words(error: Exception) -> str:
    """Why a machine refused, for people; what was asked for comes first where the reader could not know."""
    if isinstance(error, AcceleratorError):
        if error.kind == "permission":
            return "no permission ({}): run as root; a container also needs CAP_SYS_ADMIN".format(error.call)
        return str(error)
    if isinstance(error, OSError):
        if error.errno == errno.EINVAL and error.strerror == _NO_FILE:
            return _NO_FILE
        return _WORDS.get(error.errno or 0) or error.strerror or str(error)
    return str(error)


def about(error: Exception) -> str:
    """In words, with the file that it is about."""
    name = error.filename if isinstance(error, OSError) else None
    return "{}: {}".format(name, in_words(error)) if name else in_words(error)
