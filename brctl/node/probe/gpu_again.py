"""GPUs looked at for a second time: counters, and what changes from moment to moment."""

import time
from typing import Optional, Sequence, Tuple

from ..accel import Library
from ..deadline import run_all
from ..facts import Gpu, Problem
from ..host import Host
from .gpu import failures, find_processes, timed, with_fault


def read(host: Host, gpus: Optional[Sequence[Gpu]]) -> Tuple[Optional[Tuple[Gpu, ...]], Tuple[Problem, ...]]:
    """The GPUs in their order, and the calls that failed this time. One that failed before is not asked again."""
    if gpus is None:
        return None, ()
    wanted = [gpu for gpu in gpus if gpu.health and not gpu.fault]
    libraries = {library.vendor: library for library in host.accelerators()}
    rows = [_Row(libraries[gpu.vendor or ""], gpu) for gpu in wanted]
    outcomes = run_all([row.fill for row in rows])
    again = {row.gpu.uuid: with_fault(row.gpu, outcome) for row, outcome in zip(rows, outcomes)}
    found = find_processes(host, [again.get(gpu.uuid, gpu) for gpu in gpus], states=True)
    return tuple(found), tuple(problem for row in rows for problem in row.problems)


class _Row:
    """Its thread may never come back, and then the first look is what remains."""

    def __init__(self, library: Library, gpu: Gpu) -> None:
        self.gpu = gpu
        self.problems: Tuple[Problem, ...] = ()
        self._library = library

    def fill(self) -> None:
        part = self._library.open(self.gpu.gpu_index or 0)
        began = time.monotonic()
        whole = self.gpu._replace(
            health=part.health(self.gpu.links),
            telemetry=part.telemetry(),
            pcie=part.pcie(),
            errors=part.errors(),
            processes=part.processes(),
        )
        self.problems = failures(part)
        self.gpu = timed(whole, began)
