"""AMD by the text of its commands. The forms are those of public captures of ROCm 6 and 7 (amd-smi static, metric and
process; rocm-smi --json), with figures and identifiers of our own."""

import json
from typing import Any, Dict, Optional, Sequence

import pytest

from brctl.node.accel import AcceleratorError, libraries
from brctl.node.accel.amd import Amd
from brctl.node.facts import AcceleratorDriver, GpuProcess
from brctl.node.host import Completed

MIB = 1 << 20


def amount(value: Any, unit: str) -> Dict[str, Any]:
    return {"value": value, "unit": unit}


STATIC: Dict[str, Any] = {
    "gpu": 0,
    "asic": {"market_name": "AMD Instinct MI300X", "vendor_id": "0x1002", "asic_serial": "0x1", "oam_id": 3},
    "bus": {"bdf": "0000:1B:00.0", "max_pcie_width": 16, "max_pcie_speed": amount(32, "GT/s"), "slot_type": "OAM"},
    "vbios": {"name": "AMD MI300X_HW_SRIOV", "part_number": "113-M3000100", "version": "022.040.003.042.000001"},
    "limit": {
        "ppt0": {
            "max_power_limit": amount(750, "W"),
            "min_power_limit": amount(0, "W"),
            "socket_power_limit": amount(600, "W"),
        },
        "ppt1": {"max_power_limit": "N/A", "min_power_limit": "N/A", "socket_power_limit": "N/A"},
        "slowdown_edge_temperature": "N/A",
        "slowdown_hotspot_temperature": amount(100, "C"),
        "shutdown_hotspot_temperature": amount(105, "C"),
    },
    "driver": {"name": "amdgpu", "version": "6.12.12"},
    "board": {"model_number": "102-G30211-0C", "product_serial": "692300000001"},
    "vram": {"type": "HBM", "vendor": "HYNIX", "size": amount(196592, "MB")},
}
METRIC: Dict[str, Any] = {
    "gpu": 0,
    "usage": {"gfx_activity": amount(87, "%"), "umc_activity": amount(41, "%"), "mm_activity": "N/A"},
    "power": {"socket_power": amount(542, "W"), "gfx_voltage": "N/A", "throttle_status": "N/A"},
    "clock": {
        "gfx_0": {"clk": amount(2100, "MHz"), "max_clk": amount(2100, "MHz")},
        "mem_0": {"clk": amount(1300, "MHz")},
    },
    "temperature": {"edge": "N/A", "hotspot": amount(71, "C"), "mem": amount(52, "C")},
    "pcie": {"width": 16, "speed": amount(32, "GT/s"), "replay_count": 3},
    "ecc": {"total_correctable_count": 5, "total_uncorrectable_count": 0, "total_deferred_count": 1},
    "mem_usage": {
        "total_vram": amount(196592, "MB"),
        "used_vram": amount(121344, "MB"),
        "free_vram": amount(75248, "MB"),
    },
}
PROCESS: Dict[str, Any] = {
    "gpu": 0,
    "process_list": [
        {"process_info": {"name": "python3", "pid": 4243, "memory_usage": {"vram_mem": amount(2147483648, "B")}}},
        {"process_info": {"name": "python3", "pid": 4242, "memory_usage": {"vram_mem": "N/A"}}},
    ],
}
ROCM: Dict[str, Any] = {
    "card1": {
        "Device Name": "Navi 32 [Radeon RX 7700 XT / 7800 XT]",
        "Unique ID": "0x1",
        "VBIOS version": "113-D7120601-4",
        "Temperature (Sensor edge) (C)": "45.0",
        "Temperature (Sensor junction) (C)": "51.0",
        "Temperature (Sensor memory) (C)": "62.0",
        "Average Graphics Package Power (W)": "53.0",
        "GPU use (%)": "100",
        "Serial Number": "N/A",
        "PCI Bus": "0000:03:00.0",
        "VRAM Total Memory (B)": "17163091968",
        "VRAM Total Used Memory (B)": "11615076352",
        "Card Series": "Navi 32",
    },
    "card0": {"Card Series": "AMD Instinct MI300X", "Current Socket Graphics Package Power (W)": "140.0"},
    "system": {"Driver version": "6.7.0"},
}


class Commands:
    """What an installed tool prints, by its sub-command."""

    def __init__(self, **texts: Any) -> None:
        self.texts = texts
        self.asked: "list[str]" = []

    def __call__(self, argv: Sequence[str]) -> Optional[Completed]:
        self.asked.append(" ".join(argv))
        answer = self.texts.get("rocm" if argv[0] == "rocm-smi" else argv[1])
        if isinstance(answer, (OSError, Completed)):
            if isinstance(answer, OSError):
                raise answer
            return answer
        return None if answer is None else Completed(0, answer if isinstance(answer, str) else json.dumps(answer), "")


def amd_smi(**changes: Any) -> Commands:
    return Commands(**{"static": {"gpu_data": [STATIC]}, "metric": [METRIC], "process": [PROCESS], **changes})


def opened(commands: Commands, index: int = 0) -> Any:
    library = Amd(commands)
    library.driver()
    return library.open(index)


def test_what_amd_smi_tells() -> None:
    commands = amd_smi()
    library = Amd(commands)
    assert library.driver() == AcceleratorDriver("amd", "6.12.12", None, None)
    assert library.count() == 1
    gpu = library.open(0)
    assert commands.asked == [
        "amd-smi static --json", "amd-smi metric --gpu 0 --json", "amd-smi process --gpu 0 --json"
    ]  # fmt: skip
    assert (gpu.index, gpu.uuid(), gpu.pci()) == (0, None, "0000:1b:00.0")
    identity = gpu.identity()
    assert (identity.name, identity.serial) == ("AMD Instinct MI300X", "692300000001")
    assert (identity.vbios, identity.memory_bytes) == ("022.040.003.042.000001", 196592 * MIB)
    telemetry = gpu.telemetry()
    assert (telemetry.gpu_utilization_percent, telemetry.memory_utilization_percent) == (87, 41)
    assert (telemetry.memory_used_bytes, telemetry.memory_free_bytes) == (121344 * MIB, 75248 * MIB)
    assert (telemetry.temperature_celsius, telemetry.memory_temperature_celsius) == (71, 52)
    assert (telemetry.power_watts, telemetry.sm_clock_mhz, telemetry.memory_clock_mhz) == (542.0, 2100, 1300)
    assert (telemetry.performance_state, telemetry.clocks_event_reasons) == (None, None)
    assert gpu.pcie()[:5] == (5, 16, 5, 16, 3)
    errors = gpu.errors()
    assert (errors.volatile_corrected, errors.volatile_uncorrected, errors.aggregate_corrected) == (5, 0, None)
    limits = gpu.limits()
    assert (limits.power_limit_watts, limits.min_power_limit_watts, limits.max_power_limit_watts) == (600.0, 0.0, 750.0)
    assert (limits.slowdown_celsius, limits.shutdown_celsius) == (100, 105)
    assert gpu.processes() == (GpuProcess(4242, "compute", None), GpuProcess(4243, "compute", 2 << 30))
    assert (gpu.links(), gpu.fabric(), gpu.instances(), gpu.failures, gpu.unsupported) == (None, None, None, (), ())


def test_other_releases_and_parts_without_a_value() -> None:
    static = dict(
        STATIC,
        limit={"max_power": amount(300, "W"), "min_power": amount(0, "W"), "socket_power": amount(290, "W")},
        board={"product_serial": "N/A"},
        vbios={"name": "Mi200 pcie"},
        bus={"max_pcie_width": 16, "max_pcie_speed": amount(16, "GT/s")},
    )
    metric = {
        "usage": {"gfx_activity": "3 %"},
        "temperature": {"edge": amount(45.6, "C"), "hotspot": "N/A"},
        "power": {"average_socket_power": 90},
        "ecc": {"total_correctable_count": "N/A", "total_uncorrectable_count": "none"},
        "pcie": {"speed": amount(2.5, "GT/s"), "width": "N/A"},
    }
    listed = [{"process_list": [{"process_info": "No running processes detected"}]}]
    warned = "WARNING: User is missing the following required groups: render\n" + json.dumps([static])
    gpu = opened(amd_smi(static=warned, metric={"gpu_data": [metric]}, process=listed))
    assert (gpu.pci(), gpu.identity().serial, gpu.identity().vbios) == (None, None, "Mi200 pcie")
    assert (gpu.limits().power_limit_watts, gpu.limits().max_power_limit_watts) == (290.0, 300.0)
    telemetry = gpu.telemetry()
    assert (telemetry.gpu_utilization_percent, telemetry.temperature_celsius, telemetry.power_watts) == (3, 46, 90.0)
    assert (telemetry.memory_used_bytes, gpu.errors().volatile_corrected) == (None, None)
    assert gpu.pcie()[:4] == (1, None, 4, 16)
    assert gpu.processes() == ()
    assert {"ecc.total_correctable_count", "ecc.total_uncorrectable_count", "pcie.width", "bus.bdf"} <= set(
        gpu.unsupported
    )
    assert "power.socket_power" not in gpu.unsupported


def test_no_process_list() -> None:
    assert opened(amd_smi(process=[{"gpu": 0}])).processes() is None
    assert opened(amd_smi(process=[])).processes() is None


def test_rocm_smi_where_amd_smi_is_not_installed() -> None:
    library = Amd(Commands(rocm="\n\nWARNING: AMD GPU device(s) is/are in a low-power state.\n" + json.dumps(ROCM)))
    assert library.driver() == AcceleratorDriver("amd", "6.7.0", None, None)
    assert library.count() == 2
    first, second = library.open(0), library.open(1)
    assert (first.identity().name, first.telemetry().power_watts) == ("AMD Instinct MI300X", 140.0)
    assert first.telemetry().memory_free_bytes is None
    assert (second.index, second.pci(), second.identity().serial) == (1, "0000:03:00.0", None)
    assert second.identity().memory_bytes == 17163091968
    telemetry = second.telemetry()
    assert (telemetry.gpu_utilization_percent, telemetry.power_watts, telemetry.temperature_celsius) == (100, 53.0, 51)
    assert telemetry.memory_used_bytes == 11615076352
    assert telemetry.memory_free_bytes == 17163091968 - 11615076352
    assert "Serial Number" in second.unsupported


def refusal(commands: Commands) -> AcceleratorError:
    with pytest.raises(AcceleratorError) as caught:
        Amd(commands).driver()
    return caught.value


def test_what_is_not_there_or_refuses() -> None:
    error = refusal(Commands())
    assert (error.kind, error.message) == ("no-library", "neither amd-smi nor rocm-smi is installed")
    error = refusal(Commands(static=Completed(255, "", "x\nERROR:root:Driver not initialized (amdgpu not found)\n")))
    assert (error.kind, error.call) == ("no-driver", "amd-smi static --json")
    assert error.message == "ERROR:root:Driver not initialized (amdgpu not found)"
    assert refusal(Commands(static=Completed(4, "", ""))).message == "exit status 4"
    assert refusal(Commands(static=OSError(61, "No data available"))).message.startswith("neither")
    assert refusal(Commands(rocm=Completed(2, "no", ""))).kind == "no-driver"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"static": "no GPUs"}, "amd-smi static --json: not JSON: Expecting value: line 1 column 1 (char 0)"),
        ({"static": '{"gpu_data": 1}'}, "amd-smi static --json: a list of GPUs is expected"),
        ({"rocm": "[1]"}, "rocm-smi: an object is expected"),
    ],
)
def test_what_is_no_answer(texts: Dict[str, str], message: str) -> None:
    assert str(refusal(Commands(**texts))) == message


def test_no_gpu_and_no_driver_version() -> None:
    library = Amd(amd_smi(static=[]))
    assert (library.driver(), library.count()) == (None, 0)
    library = Amd(Commands(rocm="{}"))
    assert (library.driver(), library.count()) == (None, 0)


def test_all_vendors_are_known_and_none_is_loaded_yet() -> None:
    commands = Commands()
    found = libraries(commands)
    assert [library.vendor for library in found] == ["nvidia", "amd", "biren"]
    assert [library.source for library in found] == ["libnvidia-ml.so.1", "amd-smi or rocm-smi", "brsmi"]
    assert not any(library.tested_on_hardware for library in found)
    assert commands.asked == []


@pytest.mark.parametrize("value", ["nan", "inf", 1e300, True, "", [], "many"])
def test_numbers_that_are_none(value: Any) -> None:
    metric = dict(METRIC, power={"socket_power": value}, mem_usage={"used_vram": amount(value, "GB")})
    gpu = opened(amd_smi(metric=[metric]))
    assert (gpu.telemetry().power_watts, gpu.telemetry().memory_used_bytes) == (None, None)
    assert {"power.socket_power", "mem_usage.used_vram"} <= set(gpu.unsupported)
