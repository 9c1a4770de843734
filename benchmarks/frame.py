"""What a tick and a frame of the live view cost: `python benchmarks/frame.py [NODES...]`.

Samples are those of the mock dgx-h100, eight GPUs each. Best and median of 15, CPU time of this process.
"""

import io
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from statistics import median

from rich.console import Console

from brctl.mock.machines import load
from brctl.node.monitor.sampler import Sampler
from brctl.node.report import Report
from brctl.node.samples import Group, Samples, places
from brctl.render.live.frame import Frame, frame
from brctl.render.live.ink import Ink, ink
from brctl.render.live.view import View
from brctl.render.live.watch import Watch
from brctl.render.prometheus import Exposition, Health

RUNS = 15
SIZE = (120, 40)


def main() -> None:
    host = load("dgx-h100+busy")
    sampler = Sampler(host)
    sampler.tick(first=True)
    time.sleep(0.2)
    blocks = sampler.tick(first=False).blocks
    layouts = [places(name for name, _ in block.slots) for block in blocks]
    pen = ink(Console(file=io.StringIO(), force_terminal=True, color_system="truecolor"), "utf-8")
    print(f"{sum(len(block.values) for block in blocks)} samples a node, each read anew in every tick; "
          f"milliseconds of CPU, best / median of {RUNS}")  # fmt: skip
    for count in [int(text) for text in sys.argv[1:]] or [1, 128, 1024]:
        two = []
        for _ in range(2):
            samples = Samples(Group(block.samples, at) for block, at in zip(blocks, layouts, strict=True))
            head = Report("", 0.0, 0.0, host.mock, series=sampler.series, samples=samples)
            two.append([head._replace(node=f"gpu{number:04}") for number in range(1, count + 1)])
        ticks, watch, page = cycle(two), Watch(1.0), Exposition()
        healths = [Health(report.node, True, 0.0) for report in two[0]]
        watch.take(next(ticks), 0.0)
        _tell(f"{count} nodes: take a tick", lambda watch=watch, ticks=ticks: watch.take(next(ticks), 0.0))
        _tell(f"{count} nodes: a frame", lambda watch=watch: _frame(watch, pen))
        if count <= 128:
            page.write(next(ticks), healths, 0.0)
            _tell(f"{count} nodes: /metrics", partial(_write, page, ticks, healths))


def _write(page: Exposition, ticks: Iterator[list[Report]], healths: list[Health]) -> bytes:
    return page.write(next(ticks), healths, 0.0)


def _frame(watch: Watch, pen: Ink) -> Frame:
    return frame(watch.scene(View(), pen, 0.0), View(), *SIZE, pen)


def _tell(what: str, work: Callable[[], object]) -> None:
    spent = []
    for _ in range(RUNS):
        began = time.process_time()
        work()
        spent.append((time.process_time() - began) * 1000)
    print(f"{what:32} {min(spent):8.2f} / {median(spent):8.2f}")


if __name__ == "__main__":
    main()
