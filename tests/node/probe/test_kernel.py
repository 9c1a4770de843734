import os
import time
from typing import Any

import pytest

from brctl.node.facts import Kernel, Problem
from brctl.node.host.local import Local
from brctl.node.probe.kernel import parse_os_release, parse_uptime, read

FILES = {
    "/proc/sys/kernel/hostname": "node1\n",
    "/proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
    "/proc/uptime": "93.25 180.00\n",
}


def test_parse_uptime() -> None:
    assert parse_uptime("1814400.52 400000000.00\n") == 1814400.52


@pytest.mark.parametrize("text", ["9" * 6000 + " 1.0\n", "nan 1.0\n"])
def test_an_uptime_that_is_no_number_of_seconds(text: str) -> None:
    with pytest.raises(ValueError, match=r"^.{3,20} is no number$"):
        parse_uptime(text.strip())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('ID=ubuntu\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n', "Ubuntu 22.04.5 LTS"),
        ("PRETTY_NAME='Debian \"12\"'\n", 'Debian "12"'),
        ('PRETTY_NAME="A \\"B\\" C"\n', 'A "B" C'),
        ("PRETTY_NAME=Alpine\n", "Alpine"),
        ('PRETTY_NAME=""\n', None),
        ("ID=arch\n", None),
    ],
)
def test_parse_os_release(text: str, name: Any) -> None:
    assert parse_os_release(text) == name


def test_dgx(dgx: Any) -> None:
    kernel = read(dgx).facts
    assert kernel is not None
    assert kernel._replace(boot_id=None) == Kernel(
        "gpu001", "5.15.0-1063-nvidia", "x86_64", "Ubuntu 22.04.5 LTS", None, 1814400.0, "NVIDIA DGXH100", False
    )
    assert len(kernel.boot_id or "") == 36


def test_a_bare_kernel(machine: Any) -> None:
    assert read(machine(FILES)).facts == Kernel("node1", "6.8.0-45-generic", "unknown", None, None, 93.25, None)


def test_newer_kernels_know_their_architecture(machine: Any) -> None:
    kernel = read(machine(dict(FILES, **{"/proc/sys/kernel/arch": "aarch64\n"}))).facts
    assert kernel is not None
    assert kernel.architecture == "aarch64"


def test_the_vendors_os_release_and_half_a_product(machine: Any) -> None:
    more = {
        "/usr/lib/os-release": "PRETTY_NAME=Fedora\n",
        "/sys/class/dmi/id/sys_vendor": " \n",
        "/sys/class/dmi/id/product_name": "PowerEdge XE9680\n",
    }
    kernel = read(machine(dict(FILES, **more))).facts
    assert kernel is not None
    assert (kernel.distribution, kernel.product) == ("Fedora", "PowerEdge XE9680")


@pytest.mark.parametrize(
    ("path", "trouble", "field", "message"),
    [
        (
            "/etc/os-release",
            "ID=bob\nPRETTY_NAME=Bob's Linux\n",
            "distribution",
            "os-release: PRETTY_NAME=Bob's Linux: No closing quotation",
        ),
        (
            "/sys/class/dmi/id/product_name",
            {"errno": "EIO"},
            "product",
            "/sys/class/dmi/id/product_name: Input/output error",
        ),
        (
            "/proc/sys/kernel/random/boot_id",
            {"errno": "EACCES"},
            "boot_id",
            "/proc/sys/kernel/random/boot_id: Permission denied",
        ),
    ],
)
def test_what_cannot_be_read_costs_itself_alone(
    machine: Any, path: str, trouble: Any, field: str, message: str
) -> None:
    files = {"/etc/os-release": "PRETTY_NAME=Fedora\n", "/sys/class/dmi/id/sys_vendor": "Dell Inc.\n", path: trouble}
    reading = read(machine(dict(FILES, **files), {"uname -m": {"stdout": "x86_64\n"}}))
    whole = Kernel("node1", "6.8.0-45-generic", "x86_64", "Fedora", None, 93.25, "Dell Inc.")
    assert reading.facts == whole._replace(**{field: None})
    (problem,) = reading.problems
    assert (problem.part, problem.field, problem.message) == ("kernel", field, message)


def test_the_architecture_is_unknown_where_uname_hangs(machine: Any) -> None:
    reading = read(machine(FILES, {"uname -m": {"hung": 3}}))
    assert (reading.facts.architecture, reading.facts.hostname) == ("unknown", "node1")
    assert reading.problems == (Problem("kernel", "hung", "uname -m did not return within 3 s"),)


@pytest.mark.parametrize("missing", sorted(FILES))
def test_no_proc(machine: Any, missing: str) -> None:
    assert read(machine({path: text for path, text in FILES.items() if path != missing})) is None


@pytest.mark.real
def test_against_uname() -> None:
    kernel, uname = read(Local()).facts, os.uname()
    assert kernel is not None
    assert (kernel.hostname, kernel.release, kernel.architecture) == (uname.nodename, uname.release, uname.machine)
    assert abs(kernel.uptime_s - time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", 7))) < 5
