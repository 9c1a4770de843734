import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import pytest

from brctl.node import deadline
from brctl.node.accel import AcceleratorError
from brctl.node.facts import AcceleratorDriver
from brctl.node.monitor import Collector, Kind, Reading, own, unit
from brctl.node.monitor import gpus as watched_gpus
from brctl.node.monitor import sampler as sampler_module
from brctl.node.monitor.release import MOST_S, PATH, release, released_until
from brctl.node.monitor.sampler import Sampler, Tick
from brctl.node.report import Sample, State
from brctl.node.request import Cadence, Sampling


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits of a test."""
    monkeypatch.setattr(unit, "PATIENCE_S", 0.03)
    monkeypatch.setattr(watched_gpus, "RETRY_S", 0.0)


class Gpu:
    """A GPU that does as it is told."""

    def __init__(self, uuid: str) -> None:
        self.index, self.name, self.value, self.error = 0, uuid, 1.0, ""
        self.hold: Optional[threading.Event] = None
        self.calls: List[float] = []
        """So long each takes."""
        self.then: Optional[threading.Event] = None

    def uuid(self) -> str:
        return self.name

    def pci(self) -> str:
        return ""

    def meter(self) -> "Gpu":
        return self

    def measure(self) -> float:
        for call_s in self.calls:
            deadline.calling("slow")
            time.sleep(call_s)
        if self.hold:
            self.hold.wait(5)
        if self.then:
            deadline.calling("then")
            self.then.wait(5)
        if self.error:
            raise AcceleratorError(self.error, "nvmlDeviceGetX", "said no")
        return self.value


class Library:
    vendor, source, count_call, pci = "nvidia", "lib", "count", None
    tested_on_hardware = told_at_once = False

    def __init__(self, *uuids: str) -> None:
        self.gpus = [Gpu(uuid) for uuid in uuids]
        self.error = ""
        self.log: List[str] = []

    def driver(self) -> AcceleratorDriver:
        self.log.append("driver")
        if self.error:
            raise AcceleratorError(self.error, "nvmlInit", "no driver")
        return AcceleratorDriver("nvidia", "580.1", None, None)

    def count(self) -> int:
        if self.error:
            raise AcceleratorError(self.error, "count", "no driver")
        return len(self.gpus)

    def open(self, index: int) -> Gpu:
        self.log.append("open {}".format(index))
        if self.gpus[index].error:
            raise AcceleratorError(self.gpus[index].error, "nvmlDeviceGetHandleByIndex_v2", "said no")
        return self.gpus[index]

    def close(self) -> None:
        self.log.append("close")


class Host:
    mock = None

    def __init__(self, *libraries: Library) -> None:
        self.libraries = libraries
        self.files: Dict[str, str] = {}

    def accelerators(self) -> Sequence[Any]:
        return self.libraries

    def read(self, path: str) -> Optional[str]:
        return self.files.get(path)

    def replace(self, path: str, data: bytes) -> None:
        self.files[path] = data.decode()

    def remove(self, path: str) -> None:
        self.files.pop(path, None)


def of_host(name: str, work: Callable[[], float], every_s: float = 0.0) -> Collector:
    made = Kind(name)
    series = made.gauge(name, "", "", "")
    return Collector(name, name, every_s, tuple(made.all), of_host=lambda _, __: [Reading(series, work())])


def of_gpu(every_s: float = 0.0) -> Collector:
    made = Kind("g", ("gpu", "uuid"))
    series = made.gauge("g", "", "", "")
    return Collector("g", "g", every_s, tuple(made.all), of_gpu=lambda gpu, _: [Reading(series, gpu.meter.measure())])


def sampler(host: Host, *collectors: Collector, **more: Any) -> Sampler:
    return Sampler(host, collectors=collectors, **more)  # type: ignore[arg-type]


def seen(tick: Tick) -> Dict[Any, Sample]:
    """By name and labels; a single label stands for itself."""
    samples = [sample for block in tick.blocks for sample in block.samples]
    return {(sample.series[len("brctl_") :], *sample.labels): sample for sample in samples}


def value(tick: Tick, *key: str) -> Any:
    sample = seen(tick).get(key)
    return sample and (sample.value if sample.state is State.MEASURED else sample.state)


def wait_for(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 3
    while not true() and time.monotonic() < end:
        time.sleep(0.002)
    assert true()


# Collectors of the host


def test_each_collector_keeps_its_own_cadence_and_the_config_may_say_another() -> None:
    runs: Dict[str, int] = {"often": 0, "seldom": 0, "told": 0}

    def count(name: str) -> Callable[[], float]:
        def work() -> float:
            runs[name] += 1
            return float(runs[name])

        return work

    collectors = [of_host(name, count(name), every) for name, every in (("often", 0), ("seldom", 99), ("told", 99))]
    samples = sampler(Host(), *collectors, sampling=Sampling(cadences=(Cadence("told", 0.0),)))
    first = samples.tick(first=True)
    samples.tick(first=False)
    last = samples.tick(first=False)
    assert runs == {"often": 3, "seldom": 1, "told": 3}
    assert value(last, "seldom") == 1, "between two runs a value is what it was, with the time at which it was read"
    assert seen(last)["seldom",].at == seen(first)["seldom",].at


def test_what_hangs_is_timed_out_at_once_and_delays_nobody() -> None:
    hold = threading.Event()

    def work() -> float:
        if hold.is_set():
            return 2.0
        if len(ticks):
            hold.wait(5)
        return 1.0

    ticks: List[Tick] = []
    samples = sampler(Host(), of_host("hangs", work), of_host("lives", lambda: 7.0))
    ticks.append(samples.tick(first=True))
    began = time.monotonic()
    ticks += [samples.tick(first=False, most_s=0.5), samples.tick(first=False, most_s=0.5)]
    assert time.monotonic() - began < 4
    assert [value(tick, "hangs") for tick in ticks] == [1, State.TIMEOUT, State.TIMEOUT]
    assert [value(tick, "lives") for tick in ticks] == [7, 7, 7]
    timeouts = [value(tick, "monitor_collector_timeouts_total", "hangs") for tick in ticks]
    assert timeouts == [0, 1, 1], "it hangs once"
    assert [value(tick, "monitor_collector_success", "hangs") for tick in ticks] == [1, 0, 0]
    assert [value(tick, "monitor_collector_success", "lives") for tick in ticks] == [1, 1, 1]
    hold.set()
    wait_for(lambda: value(samples.tick(first=False), "hangs") == 2)


def test_what_hangs_from_its_first_run_has_no_success() -> None:
    hold = threading.Event()
    samples = sampler(Host(), of_host("hangs", lambda: float(hold.wait(5))))
    samples._start(samples._of_host)
    first, second = (samples.tick(first=False, most_s=0.1) for _ in range(2))
    assert [value(tick, "monitor_collector_success", "hangs") for tick in (first, second)] == [0, 0]
    assert value(second, "monitor_collector_duration_seconds", "hangs") is None
    hold.set()
    wait_for(lambda: value(samples.tick(first=False), "monitor_collector_success", "hangs") == 1)


def test_a_lane_that_is_given_up_is_not_waited_for_again() -> None:
    hold = threading.Event()
    samples = sampler(Host(), of_host("hangs", lambda: float(hold.wait(5))))
    samples._wait([], None)
    samples._start(samples._of_host)
    samples.tick(first=False, most_s=0.02)
    began = time.monotonic()
    for _ in range(10):
        samples.tick(first=False, most_s=1.0)
    assert time.monotonic() - began < 4
    hold.set()


def test_what_fails_is_stale_and_told_once() -> None:
    good = [True]

    def work() -> float:
        if not good[0]:
            raise OSError(5, "Input/output error", "/proc/x")
        return 1.0

    samples = sampler(Host(), of_host("reads", work))
    first = samples.tick(first=True)
    good[0] = False
    second, third = samples.tick(first=False), samples.tick(first=False)
    assert [value(tick, "reads") for tick in (first, second, third)] == [1, State.STALE, State.STALE]
    assert [tick.notes for tick in (first, second, third)] == [
        (), ("reads: [Errno 5] Input/output error: '/proc/x'",), (),
    ]  # fmt: skip
    assert value(third, "monitor_collector_success", "reads") == 0
    good[0] = True
    assert value(samples.tick(first=False), "reads") == 1


def test_a_clock_that_jumps_changes_no_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Kind("c")
    rate = made.gauge("rate", "", "", "")
    counter = iter(range(0, 1000, 100))

    def collect(_: Any, previous: Any) -> Iterator[Reading]:
        found = previous.rate("x", next(counter))
        if found is not None:
            yield Reading(rate, found)

    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    samples = sampler(Host(), Collector("c", "c", 0.0, tuple(made.all), of_host=collect))
    found = []
    for wall in (1e9, 1e9 + 86400, 5.0):
        monkeypatch.setattr(time, "time", lambda wall=wall: wall)
        samples._start(samples._of_host)
        samples._crew.look()
        lane = samples._of_host[0].lane
        while lane.busy:
            pass
        block = samples._of_host[0].unit.block(wall, clock[0], clock[0])
        found.append(block.samples if block else ())
        clock[0] += 2.0
    assert [[sample.value for sample in samples] for samples in found] == [[], [50.0], [50.0]]
    assert found[1][0].at == 1e9 + 86400, "when it was read is told by the clock as it was"


def test_ticks_keep_to_their_deadlines_and_none_is_made_up_for() -> None:
    stop = threading.Event()
    samples = sampler(Host(), of_host("x", lambda: 1.0))
    began, at = time.monotonic(), []
    for number, tick in enumerate(samples.ticks(0.2, stop)):
        at.append(time.monotonic() - began)
        if number == 1:
            time.sleep(0.52)  # whoever takes the ticks was slow: the third and fourth deadline pass
        if number == 2:
            assert value(tick, "monitor_skipped_ticks_total") >= 1
            assert value(tick, "monitor_ticks_total") == 3
        if number == 3:
            stop.set()
    assert at[2] - at[1] >= 0.52
    places = [round(moment / 0.2, 2) % 1 for moment in at]
    assert all(place < 0.5 or place > 0.95 for place in places), places


# GPUs


@pytest.mark.parametrize("hung", [0, 15])
def test_gpus_that_are_slow_or_hang_hold_up_none_of_the_others(hung: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit, "PATIENCE_S", 2.0)
    library = Library(*(str(number) for number in range(16)))
    samples = sampler(Host(library), of_gpu(0.05))
    samples.tick(first=True)
    forever = threading.Event()
    for gpu in library.gpus:
        gpu.calls = [0.2]
    for gpu in library.gpus[:hung]:
        gpu.hold = forever
    began = time.monotonic()
    time.sleep(0.05)
    tick = samples.tick(first=False, most_s=1.0)
    told = [value(tick, "g", str(number), str(number)) for number in range(16)]
    forever.set()
    assert told[hung:] == [1.0] * (16 - hung)
    assert time.monotonic() - began < 2.5, "one after the other they take 3.2 s"


def test_what_it_costs_is_told_now_and_then_and_at_once_where_something_goes_wrong() -> None:
    broken: List[int] = []
    samples = sampler(Host(), of_host("x", lambda: 1 / len([0][: 1 - len(broken)])))
    first, second = samples.tick(first=True), samples.tick(first=False)
    assert first.blocks[1] is second.blocks[1]
    assert value(second, "monitor_ticks_total") == 1
    broken.append(1)
    third = samples.tick(first=False)
    assert value(third, "monitor_collector_success", "x") == 0
    assert value(third, "monitor_ticks_total") == 3
    samples._clockwork.lateness_s, samples._clockwork.skipped = 0.25, 1
    assert value(samples.tick(first=False), "monitor_tick_lateness_seconds") == 0.25
    samples._clockwork.skipped = 2
    assert value(samples.tick(first=False), "monitor_tick_lateness_seconds") == 0, "since it was last told"


def test_a_gpu_that_hangs_costs_its_own_values(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library("A", "B")
    samples = sampler(Host(library), of_gpu(), of_host("lives", lambda: 7.0))
    assert value(samples.tick(first=True), "g", "1", "B") == 1
    library.gpus[1].hold = hold = threading.Event()
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.3)
    tick = samples.tick(first=False, most_s=0.1)
    assert value(tick, "g", "0", "A") == value(tick, "gpu_up", "0", "A") == 1
    assert value(tick, "g", "1", "B") is State.TIMEOUT
    assert value(tick, "gpu_up", "1", "B") == 1, "its call may still return in time"
    assert value(tick, "monitor_collector_success", "g") == 0
    assert value(tick, "lives") == 7
    time.sleep(0.3)
    tick = samples.tick(first=False, most_s=0.1)
    assert [value(tick, "gpu_up", *gpu) for gpu in (("0", "A"), ("1", "B"))] == [1, 0]
    assert [note[:5] for note in tick.notes] == ["GPU 1"]
    library.gpus[1].hold = None
    hold.set()
    wait_for(lambda: value(samples.tick(first=False), "gpu_up", "1", "B") == 1)


def test_a_gpu_that_only_answers_slowly_is_late_and_not_down(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library("A")
    samples = sampler(Host(library), of_gpu())
    samples.tick(first=True)
    library.gpus[0].calls = [0.1] * 8
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.6)  # its work takes longer than that, and none of its calls
    began, found = time.monotonic(), set()
    while time.monotonic() - began < 2:
        tick = samples.tick(first=False, most_s=0.02)
        found.add((value(tick, "g", "0", "A"), value(tick, "gpu_up", "0", "A")))
        time.sleep(0.02)
    assert (State.TIMEOUT, 1) in found
    assert {up for _, up in found} == {1}


def test_a_gpu_that_was_down_is_so_until_its_work_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library("A")
    samples = sampler(Host(library), of_gpu())
    samples.tick(first=True)
    library.gpus[0].calls, hold = [0.0], threading.Event()
    library.gpus[0].hold, library.gpus[0].then = hold, threading.Event()
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.2)
    samples.tick(first=False, most_s=0.02)
    wait_for(lambda: value(samples.tick(first=False, most_s=0.02), "gpu_up", "0", "A") == 0)
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 60.0)
    hold.set()
    wait_for(lambda: samples._gpus()[0].lane.call == "then")
    assert value(samples.tick(first=False, most_s=0.02), "gpu_up", "0", "A") == 0, "one call of many has returned"
    library.gpus[0].then.set()
    wait_for(lambda: value(samples.tick(first=False), "gpu_up", "0", "A") == 1)


def test_a_gpu_that_is_opened_for_the_first_time_is_neither_up_nor_down() -> None:
    library = Library("A")
    samples = sampler(Host(library), of_gpu())
    samples.tick(first=True)
    library.gpus.append(Gpu("B"))
    library.gpus[1].calls, library.gpus[1].hold = [0.0], threading.Event()
    wait_for(lambda: value(samples.tick(first=False), "gpus_visible") == 2)
    tick = samples.tick(first=False, most_s=0.02)
    assert [key for key in seen(tick) if key[0] == "gpu_up"] == [("gpu_up", "0", "A")]
    library.gpus[1].hold.set()
    wait_for(lambda: value(samples.tick(first=False), "gpu_up", "1", "B") == 1)


@pytest.mark.parametrize(("interval_s", "most_s"), [(0.1, 0.05), (1, 0.5), (5, 0.5), (20, 2.0), (60, 3.1), (3600, 3.1)])
def test_a_tick_waits_longer_where_the_next_one_is_far(interval_s: float, most_s: float) -> None:
    assert sampler_module._patience_s(interval_s) == pytest.approx(most_s)


def test_a_lost_gpu_is_down_known_by_its_uuid_and_told_once() -> None:
    library = Library("A", "B", "C")
    samples = sampler(Host(library), of_gpu())
    samples.tick(first=True)
    library.gpus[1].error = "lost"
    ticks = [samples.tick(first=False) for _ in range(4)]
    last = ticks[-1]
    assert [value(last, "gpu_up", index, uuid) for index, uuid in (("0", "A"), ("1", "B"), ("2", "C"))] == [1, 0, 1]
    assert value(last, "g", "1", "B") is State.STALE
    assert [note for tick in ticks for note in tick.notes if "GPU 1" in note][:1] == ["GPU 1: nvmlDeviceGetX: said no"]
    assert len([note for tick in ticks for note in tick.notes if "ByIndex" in note]) <= 1
    library.gpus.pop()  # the driver lists one less
    wait_for(lambda: value(samples.tick(first=False), "gpus_visible") == 2)
    tick = samples.tick(first=False)
    assert value(tick, "gpus_expected") == 3
    library.gpus[1].error = ""
    wait_for(lambda: value(samples.tick(first=False), "g", "1", "B") == 1)


def test_a_gpu_that_cannot_be_opened_has_a_row_without_a_uuid() -> None:
    library = Library("A", "B")
    library.gpus[1].error = "lost"
    tick = sampler(Host(library), of_gpu(), expected_gpus=4).tick(first=True)
    assert value(tick, "gpu_up", "1", "") == 0
    assert value(tick, "gpus_expected") == 4
    assert tick.notes == ("GPU 1: nvmlDeviceGetHandleByIndex_v2: said no",)


def test_a_sensor_that_fails_costs_its_collector_alone() -> None:
    library = Library("A")
    samples = sampler(Host(library), of_gpu())
    samples.tick(first=True)
    library.gpus[0].error = "error"
    tick = samples.tick(first=False)
    assert value(tick, "g", "0", "A") is State.STALE
    assert value(tick, "gpu_up", "0", "A") == 1
    assert tick.notes == ("GPU 0: g: nvmlDeviceGetX: said no",)


def test_a_driver_that_dies_and_comes_back_with_other_indices() -> None:
    library = Library("A", "B")
    samples = sampler(Host(library), of_gpu(), of_host("lives", lambda: 7.0))
    samples.tick(first=True)
    library.error = "no-driver"
    for gpu in library.gpus:
        gpu.error = "no-driver"
    wait_for(lambda: bool(samples.tick(first=False)) and "close" in library.log)
    tick = samples.tick(first=False)
    assert value(tick, "gpu_up", "0", "A") == value(tick, "gpu_up", "1", "B") == 0
    assert value(tick, "gpus_visible") is None, "absent, not 0"
    assert value(tick, "lives") == 7
    library.error = ""
    library.gpus.reverse()
    for gpu, number in zip(library.gpus, (20.0, 10.0)):
        gpu.error, gpu.value = "", number
    wait_for(lambda: value(samples.tick(first=False), "g", "1", "B") == 20)
    assert value(samples.tick(first=False), "g", "0", "A") == 10, "by UUID, not by index"


def test_a_gpu_whose_place_another_has_taken_is_lost() -> None:
    library = Library("A")
    samples = sampler(Host(library), of_gpu())
    samples.tick(first=True)
    samples._gpus()[0].let_go()
    library.gpus[0].name = "Z"
    tick = samples.tick(first=False)
    assert value(tick, "gpu_up", "0", "A") == 0
    assert tick.notes == ("GPU 0: count: no GPU has the UUID A any more",)


def test_no_library_is_no_news_unless_there_was_one() -> None:
    library = Library()
    library.error = "no-library"
    samples = sampler(Host(library), of_gpu(), of_host("lives", lambda: 7.0))
    tick = samples.tick(first=True)
    assert tick.notes == ()
    assert value(tick, "lives") == 7
    assert value(tick, "gpus_expected") is None


def test_values_that_were_told_at_once_are_asked_for_anew() -> None:
    library = Library("A")
    library.told_at_once = True
    samples = sampler(Host(library), of_gpu())
    samples.tick(first=True)
    samples.tick(first=False)
    wait_for(lambda: library.log.count("driver") >= 2)
    assert library.log.count("open 0") >= 2


# Letting go


def test_handles_are_let_go_for_a_while() -> None:
    library, host = Library("A"), None
    host = Host(library)
    samples = sampler(host, of_gpu(), of_host("lives", lambda: 7.0))
    samples.tick(first=True)
    release(host, 60.0)  # type: ignore[arg-type]
    samples.tick(first=False)
    wait_for(lambda: library.log[-1] == "close")
    opened = len(library.log)
    tick = samples.tick(first=False)
    assert value(tick, "monitor_released") == 1
    assert value(tick, "g", "0", "A") is State.STALE
    assert value(tick, "gpu_up", "0", "A") is None
    assert value(tick, "gpus_visible") is None
    assert value(tick, "lives") == 7
    assert len(library.log) == opened, "nothing is opened meanwhile"
    release(host, 0.0)  # type: ignore[arg-type]
    wait_for(lambda: value(samples.tick(first=False), "g", "0", "A") == 1)
    assert value(samples.tick(first=False), "monitor_released") == 0


def test_a_hung_call_keeps_the_library() -> None:
    library = Library("A")
    host = Host(library)
    samples = sampler(host, of_gpu())
    samples.tick(first=True)
    library.gpus[0].hold = hold = threading.Event()
    samples.tick(first=False, most_s=0.02)
    release(host, 60.0)  # type: ignore[arg-type]
    samples.tick(first=False, most_s=0.02)
    assert "close" not in library.log
    hold.set()
    wait_for(lambda: bool(samples.tick(first=False)) and "close" in library.log)


_BOOT_ID = "/proc/sys/kernel/random/boot_id"


@pytest.mark.parametrize("step_s", [-3600.0, 7200.0])
def test_a_release_lasts_as_long_as_it_was_asked_for_however_the_clock_is_set(
    step_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    host: Any = Host()
    host.files[_BOOT_ID] = "one\n"
    began, began_s = time.time(), time.monotonic()
    release(host, 3.0)
    for passed_s, holds in ((2.0, True), (4.0, False), (1000.0, False)):
        monkeypatch.setattr(time, "monotonic", lambda passed_s=passed_s: began_s + passed_s)
        monkeypatch.setattr(time, "time", lambda passed_s=passed_s: began + step_s + passed_s)
        assert (released_until(host) is not None) is holds


def test_a_release_ends_with_its_boot() -> None:
    host: Any = Host()
    host.files[_BOOT_ID] = "one\n"
    release(host, 3.0)
    assert released_until(host) == pytest.approx(time.time() + 3, abs=1)
    host.files[_BOOT_ID] = "two\n"
    assert released_until(host) is None


@pytest.mark.parametrize(
    "text",
    ["", "soon\n", "nan unknown\n", "1 unknown\n", "{} unknown\n".format(time.monotonic() + 2 * MOST_S), "9e9\n"],
)
def test_what_is_no_end_releases_nothing(text: str) -> None:
    host = Host()
    host.files[PATH] = text
    assert released_until(host) is None  # type: ignore[arg-type]


def test_an_end_that_is_to_come() -> None:
    for _ in range(50):  # however the end is rounded
        host = Host()
        end = release(host, 2 * MOST_S)  # type: ignore[arg-type]
        assert released_until(host) == pytest.approx(end, abs=1)  # type: ignore[arg-type]
    assert end <= time.time() + MOST_S


def test_what_the_sampler_says_of_itself_is_declared() -> None:
    tick = sampler(Host(Library("A")), of_gpu(), of_host("x", lambda: 1.0)).tick(first=True)
    declared = {series.name: series for series in own.SERIES}
    for sample in tick.blocks[0].samples:
        assert len(sample.labels) == len(declared[sample.series].labels)
    assert value(tick, "monitor_cpu_seconds_total", "agent") > 0
