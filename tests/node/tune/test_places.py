"""What is at a Place, what counts as the same there, and why it cannot be written."""

import errno
from typing import Any, Callable, Optional

import pytest

from brctl.node import deadline
from brctl.node.accel import AcceleratorError
from brctl.node.deadline import HungError
from brctl.node.host.machine import Machine
from brctl.node.tune import Place, file_value
from brctl.node.tune.places import Places, WriteError, chosen, half_written, in_words, same
from brctl.node.tune.words import shown

KNOB, FILE = Place("knob", "/sys/a"), Place("file", "/etc/a")
POWER, CLOCKS = Place("gpu", "GPU-x", "power_limit"), Place("gpu", "GPU-x", "locked_clocks")
Load = Callable[[str], Machine]  # the fixture of conftest.py


@pytest.fixture
def places(memory: Any) -> Places:
    files = {"/sys/a": "1\t2\n", "/sys/choice": "always [madvise] never\n", "/sys/bad": {"errno": "EIO"}}
    return Places(Machine({"name": "m", "recorded": False, "sources": [], "files": files}, "m", lambda: None, memory))


def test_a_knob(places: Places) -> None:
    assert places.read(KNOB) == "1\t2"
    places.write(KNOB, "3 4")
    assert places.read(KNOB) == "3 4"
    assert places.read(KNOB._replace(name="/sys/choice")) == "madvise"
    assert places.read(KNOB._replace(name="/sys/none")) is None
    with pytest.raises(WriteError, match=r"^/sys/a cannot be taken away$"):
        places.write(KNOB, None)
    with pytest.raises(WriteError, match=r"^there is no such setting here$"):
        places.write(KNOB._replace(name="/sys/none"), "1")
    with pytest.raises(WriteError, match=r"^Input/output error$"):
        places.read(KNOB._replace(name="/sys/bad"))


def test_a_file(places: Places) -> None:
    assert places.read(FILE) is None
    places.write(FILE, file_value("ä\n"))
    assert places.read(FILE) == "\xc3\xa4\n"
    places.write(FILE, None)
    assert places.read(FILE) is None


def test_a_gpu_that_is_not_there(load: Load) -> None:
    places = Places(load("dgx-h100+gpu3-lost"))
    for place in (POWER, POWER._replace(item="persistence_mode")):
        with pytest.raises(WriteError, match=r"^GPU GPU-x does not answer$"):
            places.read(place)
        with pytest.raises(WriteError, match=r"^GPU GPU-x does not answer$"):
            places.write(place, "1")


def test_a_gpu_that_hangs_holds_up_no_other(load: Load, h100: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (nvml, *_) = load(h100).accelerators()
    nvml.driver()
    uuids = [nvml.open(index).uuid() or "" for index in range(2)]
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.3)
    places = Places(load(h100 + "+gpu0-hang"))
    assert places.read(POWER._replace(name=uuids[1])) == "700"
    places.write(POWER._replace(name=uuids[1]), "650")
    with pytest.raises(WriteError, match="^GPU {} does not answer$".format(uuids[0])) as caught:
        places.write(POWER._replace(name=uuids[0]), "650")
    assert not caught.value.hung  # nothing was begun


def test_a_gpu_that_has_no_such_thing(load: Load) -> None:
    machine = load("vgpu-guest")
    (nvml, *_) = machine.accelerators()
    nvml.driver()
    uuid = nvml.open(0).uuid() or ""
    places = Places(machine)
    assert places.read(Place("gpu", uuid, "power_limit")) is None
    with pytest.raises(WriteError, match=r"^there is no value to set$"):
        places.write(Place("gpu", uuid, "power_limit"), None)
    with pytest.raises(WriteError, match=r"^nvmlDeviceSetPowerManagementLimit: Not Supported$"):
        places.write(Place("gpu", uuid, "power_limit"), "300")


def test_a_gpu_of_a_vendor_that_is_only_read(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    class Told:
        def setters(self) -> None:
            return None

    places._gpus["GPU-x"] = Told()  # type: ignore[assignment]
    with pytest.raises(WriteError, match="brctl sets nothing of this vendor's GPUs"):
        places.write(POWER, "300")


@pytest.mark.parametrize(
    ("place", "one", "other", "alike"),
    [
        (KNOB, "1\t2", "1 2\n", True),
        (KNOB, "1 2", "1 3", False),
        (KNOB, None, None, True),
        (KNOB, None, "0", False),
        (FILE, "a b", "a  b", False),
        (POWER, "650", "650.0", True),
        (POWER, "650", "650.5", False),
        (CLOCKS, "1 2", "1 2", True),
    ],
)
def test_same(place: Place, one: Optional[str], other: Optional[str], alike: bool) -> None:
    assert same(place, one, other) is alike


@pytest.mark.parametrize(
    ("place", "live", "half"),
    [
        (KNOB, "9 2 3", True),
        (KNOB, "9 8 3", True),
        (KNOB, "9 5 3", False),
        (KNOB, "9 8", False),
        (KNOB, None, False),
        (FILE, "9 2 3", False),
    ],
)
def test_half_written(place: Place, live: Optional[str], half: bool) -> None:
    assert half_written(place, live, "1 2 3", "9 8 7") is half


def test_chosen() -> None:
    assert [chosen(text) for text in ("a [b] c\n", "[one]\n", "1 2\n", "[a] [b]\n")] == ["b", "[one]", "1 2", "[a] [b]"]


@pytest.mark.parametrize(
    ("place", "value", "text"),
    [
        (KNOB, "1\t2", "1 2"),
        (KNOB, None, "absent"),
        (CLOCKS, None, "not locked"),
        (CLOCKS, "1200 1980", "1200 to 1980 MHz"),
        (POWER, "650", "650 W"),
        (POWER._replace(item="persistence_mode"), "1", "on"),
        (POWER._replace(item="persistence_mode"), "0", "off"),
        (FILE, "a = 1\n", "6 bytes"),
        (FILE, "sha256:0123456789abcdef", "sha256:01234567"),
        (KNOB, "x" * 61, "61 bytes"),
    ],
)
def test_shown(place: Place, value: Optional[str], text: str) -> None:
    assert shown(place, value) == text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.ERANGE, "x"), "out of range (ERANGE)"),
        (OSError(errno.EIO, "Input/output error", "/a"), "Input/output error"),
        (OSError("odd"), "odd"),
        (HungError("nvmlX", 3.0), "nvmlX did not return within 3 s"),
        (AcceleratorError("error", "nvmlX", "Unknown Error"), "nvmlX: Unknown Error"),
        (
            AcceleratorError("permission", "nvmlX", "Insufficient Permissions"),
            "no permission (nvmlX): run as root; a container also needs CAP_SYS_ADMIN",
        ),
    ],
)
def test_in_words(error: Exception, text: str) -> None:
    assert in_words(error) == text
