"""The GPUs that the sampler watches: a lane for each, and one for each vendor's library.

A GPU is known by its UUID and keeps the index that it had first. One that does not answer is opened anew from time to
time, and so is the library when it says that there is no driver.
"""

import math
import time
from typing import Callable, List, Optional, Sequence, Tuple

from ..accel import Accelerator, AcceleratorError, Library
from ..deadline import Crew, Lane
from ..host import Host
from . import Readings, WatchedGpu
from .previous import Previous
from .unit import Unit

RETRY_S = 5.0
"""Between two attempts to open what did not answer, and between two looks at how many GPUs there are."""
ABSENT_RETRY_S = 60.0
"""Likewise, of a vendor who has nothing here, where a program is started to see that."""
_WHOLE = ("lost", "reset-required", "no-driver", "no-library", "version-mismatch")
"""Kinds of AcceleratorError after which nothing else is asked of a GPU, and its handle is of no use any more."""


class ReleasedError(Exception):
    """Somebody asked for the GPUs to be let go."""


MakeUnits = Callable[[Tuple[str, str]], List[Unit]]


class GpuLane:
    """One GPU."""

    def __init__(self, host: Host, library: Library, index: int, crew: Crew, make: MakeUnits) -> None:
        """`make` makes its units, once its labels are known."""
        self.index = index
        self.uuid = ""
        """Empty until it has answered once."""
        self.error: Optional[Exception] = None
        """Why it does not answer; None while it does."""
        self.units: List[Unit] = []
        self.driver = ""
        self.lane = Lane(crew)
        self._host, self._library, self._make = host, library, make
        self._watched: Optional[WatchedGpu] = None
        self._retry_s = 0.0
        self._told: Optional[Tuple[float, bool]] = None
        """When the last work that has ended was begun, and whether it was answered; one tuple, written by its lane."""
        self._hung_s = -math.inf
        """When the last work that hung was begun."""

    @property
    def labels(self) -> Tuple[str, str]:
        return str(self.index), self.uuid

    @property
    def up(self) -> Optional[bool]:
        """Whether it answers: not while a call has not returned within its own limit, however slowly others do. Until
        its work has ended it is what it was before; None: that is not known."""
        if self.lane.late:
            self._hung_s = self.lane.since_s
        began_s, answered = self._told or (-math.inf, None)
        return answered if began_s >= self._hung_s else False

    def due(self, now_s: float) -> bool:
        """Whether there is anything to do for its lane, which must not be busy."""
        if self._watched is None:
            return now_s >= self._retry_s
        return any(unit.due_s <= now_s for unit in self.units)

    def start(self, now_s: float) -> None:
        """Open it if need be, and run what is due."""
        chosen = [unit for unit in self.units if unit.due_s <= now_s]
        for unit in chosen:
            unit.put_off(now_s)
        self.lane.start(lambda: self._work(chosen))

    def let_go(self) -> None:
        """Drop the handle; the lane must not be busy."""
        if self._watched is not None:
            self._watched, self._retry_s, self._told = None, 0.0, None
            for unit in self.units:
                unit.fail(ReleasedError("all handles were let go"))

    def _work(self, units: Sequence[Unit]) -> None:
        try:
            watched = self._open()
            if not units:  # its first work: until now nobody knew what to ask
                units = self.units
                for unit in units:
                    unit.put_off(time.monotonic())
            for unit in units:
                unit.run(_collecting(unit, watched))
                error = unit.answer.error if unit.answer else None
                if isinstance(error, AcceleratorError) and error.kind in _WHOLE:
                    raise error
            self._told = self.lane.since_s, True
        except Exception as error:
            self._told = self.lane.since_s, False
            self.error, self._watched, self._retry_s = error, None, time.monotonic() + RETRY_S
            for unit in self.units:
                unit.fail(error)

    def _open(self) -> WatchedGpu:
        """Raises AcceleratorError."""
        if self._watched is None or self._library.told_at_once:
            part = self._library.open(self.index)
            uuid = part.uuid() or part.pci() or ""
            if self.uuid and uuid != self.uuid:
                part = self._find()
            self._watched = WatchedGpu(self._host, part, part.meter(), self.driver)
            self.uuid = self.uuid or uuid
        self.units = self.units or self._make(self.labels)
        self.error = None
        return self._watched

    def _find(self) -> Accelerator:
        """Indices may change when the driver is loaded anew."""
        for index in range(self._library.count()):
            part = self._library.open(index)
            if (part.uuid() or part.pci()) == self.uuid:
                return part
        raise AcceleratorError("lost", self._library.count_call, "no GPU has the UUID {} any more".format(self.uuid))


def _collecting(unit: Unit, watched: WatchedGpu) -> Callable[[Previous], Readings]:
    collect = unit.collector.of_gpu
    assert collect is not None  # noqa: S101  # of_host is another lane's
    return lambda previous: collect(watched, previous)


class LibraryLane:
    """One vendor's library."""

    def __init__(self, host: Host, library: Library, crew: Crew, make: MakeUnits) -> None:
        self.error: Optional[Exception] = None
        self.visible: Optional[int] = None
        """How many GPUs it lists now; None where it does not answer."""
        self.gpus: Tuple[GpuLane, ...] = ()
        """All that it ever listed."""
        self.lane = Lane(crew)
        self._host, self._library, self._crew, self._make = host, library, crew, make
        self._due_s = 0.0
        self._loaded = False
        self._version = ""

    @property
    def vendor(self) -> str:
        return self._library.vendor

    @property
    def absent(self) -> bool:
        """This vendor has nothing here: no news."""
        kind = self.error.kind if isinstance(self.error, AcceleratorError) else ""
        return not self.gpus and kind in ("no-library", "no-driver")

    def due(self, now_s: float) -> bool:
        return now_s >= self._due_s

    def start(self, now_s: float) -> None:
        self._due_s = now_s + (ABSENT_RETRY_S if self.absent and self._library.told_at_once else RETRY_S)
        self.lane.start(self._look)

    def let_go(self) -> None:
        """Drop every handle, and the library with them. What is in a call keeps it: nothing ends that."""
        for gpu in self.gpus:
            if not gpu.lane.busy:
                gpu.let_go()
        if self._loaded and not self.lane.busy and not any(gpu.lane.busy for gpu in self.gpus):
            self._loaded, self.visible, self._due_s = False, None, 0.0
            self.lane.start(self._close)

    def _look(self) -> None:
        try:
            if not self._loaded or self._library.told_at_once:
                driver = self._library.driver()
                self._version = driver.version if driver else ""
            self._loaded = True
            self.visible = self._library.count()
            self.error = None
        except Exception as error:
            self.error, self.visible = error, None
            if not any(gpu.lane.busy for gpu in self.gpus):
                self._close()
            return
        known = {gpu.index for gpu in self.gpus}
        new = [index for index in range(self.visible) if index not in known]
        made = [GpuLane(self._host, self._library, index, self._crew, self._make) for index in new]
        self.gpus += tuple(made)
        for gpu in self.gpus:
            gpu.driver = self._version

    def _close(self) -> None:
        self._loaded = False
        try:
            self._library.close()
        except Exception as error:
            self.error = error
