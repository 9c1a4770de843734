"""Biren by the text of its command, as the query of its vendor's own scripts prints it."""

from typing import Optional, Sequence

import pytest

from brctl.node.accel import AcceleratorError
from brctl.node.accel.biren import Biren, parse_query
from brctl.node.facts import GpuIdentity
from brctl.node.host import Completed

TEXT = "0, BR166M, 512, 64512\n1, BR166M, 0, 65024\n"


def test_what_brsmi_tells() -> None:
    asked = []

    def run(argv: Sequence[str]) -> Optional[Completed]:
        asked.append(" ".join(argv))
        return Completed(0, TEXT, "")

    library = Biren(run)
    assert library.driver() is None  # it tells no version
    assert library.count() == 2
    gpu = library.open(0)
    assert asked == ["brsmi gpu --query-gpu=index,name,memory.used,memory.free --format=csv,noheader,nounits"]
    assert gpu.identity() == GpuIdentity("BR166M", None, None, 65024 << 20, None, None)
    telemetry = gpu.telemetry()
    assert (telemetry.memory_used_bytes, telemetry.memory_free_bytes) == (512 << 20, 64512 << 20)
    assert (telemetry.temperature_celsius, telemetry.power_watts, telemetry.gpu_utilization_percent) == (None,) * 3
    assert (gpu.index, gpu.uuid(), gpu.pci(), gpu.processes(), gpu.unsupported) == (0, None, None, None, ())
    assert (set(gpu.errors()), set(gpu.limits()), set(gpu.pcie())) == ({None}, {None}, {None})
    assert library.open(1).index == 1


def test_a_value_that_is_not_told() -> None:
    (told,) = parse_query("3, BR104P, [N/A], 32000\n\n")
    assert (told.gpu_index, told.identity.memory_bytes, told.telemetry.memory_free_bytes) == (3, None, 32000 << 20)
    assert told.unsupported == ("memory.used",)


@pytest.mark.parametrize("text", ["0, BR104P\n", "No devices were found\n", "x, BR104P, 1, 2\n"])
def test_what_is_no_answer(text: str) -> None:
    with pytest.raises(AcceleratorError, match="no answer to this query") as caught:
        parse_query(text)
    assert caught.value.kind == "error"


def test_a_machine_without_it() -> None:
    with pytest.raises(AcceleratorError) as caught:
        Biren(lambda _: None).driver()
    assert (caught.value.kind, caught.value.message) == ("no-library", "brsmi is not installed")
