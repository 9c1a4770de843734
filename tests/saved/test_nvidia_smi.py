from pathlib import Path
from typing import Any

import pytest

from brctl.node.facts import GpuFabric, GpuFault
from brctl.saved.nvidia_smi import address, parse
from brctl.saved.stream import UnreadableError

TEXT = """\
==============NVSMI LOG==============

Timestamp                                 : Fri Jul  3 22:10:45 2026
Driver Version                            : 590.48.01
CUDA Version                              : 13.1

Attached GPUs                             : 1
GPU 00000000:83:00.0
    Product Name                          : NVIDIA H200
    MIG Mode
        Current                           : Disabled
        Pending                           : Enabled
    GPU UUID                              : GPU-1
    GPU Recovery Action                   : Drain and Reset
    PCI
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 1
            Link Width
                Max                       : 16x
                Current                   : 4x
        Replays Since Reset               : 9
    Performance State                     : P8
    Clocks Event Reasons
        Idle                              : Not Active
        HW Slowdown                       : Active
        HW Power Brake Slowdown           : Active
    FB Memory Usage
        Total                             : 143771 MiB
        Used                              : 12 MiB
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 1
            SRAM Uncorrectable Parity     : 2
            SRAM Uncorrectable SEC-DED    : 3
            DRAM Correctable              : 4
            DRAM Uncorrectable            : 5
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 4
        Pending                           : Yes
        Remapping Failure Occurred        : No
    Temperature
        GPU Current Temp                  : 41 C
        GPU T.Limit Temp                  : 46 C
        GPU Slowdown T.Limit Temp         : -2 C
    GPU Power Readings
        Average Power Draw                : N/A
        Instantaneous Power Draw          : 69.62 W
        Current Power Limit               : 150.00 W
    Module Power Readings
        Current Power Limit               : 999.00 W
    Fabric
        State                             : In Progress
        Status                            : N/A
    Processes                             : None

something else
    Product Name                          : not this
"""
XML = """\
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">
<nvidia_smi_log>
  <driver_version>590.48.01</driver_version>
  <gpu id="00000000:83:00.0">
    <product_name>NVIDIA H200</product_name>
    <uuid>GPU-1</uuid>
    <gpu_recovery_action>None</gpu_recovery_action>
    <remapped_rows><remapped_row_unc>2</remapped_row_unc><remapped_row_pending>No</remapped_row_pending>
      <remapped_row_failure>Yes</remapped_row_failure></remapped_rows>
    <retired_pages><double_bit_retirement><retired_count>3</retired_count></double_bit_retirement></retired_pages>
    <ecc_errors><volatile><double_bit><total>7</total></double_bit></volatile></ecc_errors>
    <fabric><state>Completed</state><status>Success</status>
      <health><summary>Degraded</summary><bandwidth>Degraded</bandwidth><route_unhealthy>True</route_unhealthy></health>
    </fabric>
  </gpu>
</nvidia_smi_log>
"""


def gpu(text: str) -> Any:
    (one,) = parse(text.encode()).gpus or ()
    return one


def test_text() -> None:
    one = gpu("# a header\n" + TEXT)
    assert (one.uuid, one.pci, one.identity.name) == ("GPU-1", "0000:83:00.0", "NVIDIA H200")
    assert (one.identity.mig_enabled, one.health.mig_pending, one.health.ecc_pending) == (False, True, True)
    assert (one.identity.memory_bytes, one.telemetry.memory_used_bytes) == (143771 << 20, 12 << 20)
    assert one.errors.recovery_action == "drain-and-reset"
    assert (one.pcie.generation, one.pcie.width, one.pcie.max_width, one.pcie.replay_counter) == (1, 4, 16, 9)
    assert one.telemetry.performance_state == 8
    assert one.telemetry.clocks_event_reasons == ("hw_slowdown", "hw_power_brake_slowdown")
    assert (one.errors.volatile_corrected, one.errors.volatile_uncorrected) == (5, 10)
    assert (one.errors.sram_volatile_parity, one.errors.sram_volatile_secded) == (2, 3)
    assert one.errors.aggregate_corrected is None
    assert (one.errors.remapped_rows_uncorrectable, one.errors.remap_pending, one.errors.remap_failure) == (
        4,
        True,
        False,
    )
    assert (one.telemetry.temperature_celsius, one.telemetry.temperature_margin_celsius) == (41, 46)
    assert one.limits.slowdown_margin_celsius == -2
    assert (one.telemetry.power_watts, one.limits.enforced_power_limit_watts) == (69.62, 150.0)
    assert one.fabric == GpuFabric("in-progress", None, None, None, None)


def test_the_driver() -> None:
    driver = parse(TEXT.encode()).accelerator_driver
    assert driver
    assert (driver.vendor, driver.version, driver.runtime_version) == ("nvidia", "590.48.01", "13.1")


def test_xml() -> None:
    one = gpu(XML)
    assert (one.uuid, one.pci, one.errors.recovery_action) == ("GPU-1", "0000:83:00.0", "none")
    assert (one.errors.remapped_rows_uncorrectable, one.errors.remap_pending, one.errors.remap_failure) == (
        2,
        False,
        True,
    )
    assert (one.errors.retired_pages_dbe, one.errors.volatile_uncorrected) == (3, 7)
    assert one.telemetry.clocks_event_reasons is None
    assert one.fabric.unhealthy == ("degraded-bandwidth", "route-unhealthy")


def test_the_last_of_several_queries() -> None:
    assert gpu(TEXT + TEXT.replace("NVIDIA H200", "NVIDIA B200")).identity.name == "NVIDIA B200"


def test_what_a_gpu_does_not_tell() -> None:
    one = gpu(
        "=NVSMI LOG=\nGPU 00000000:83:00.0\n    Product Name : N/A\n    Temperature\n        GPU Current Temp : ERR!\n"
    )
    assert one.identity.name == "unnamed"
    assert one.telemetry.temperature_celsius is None
    assert (one.fabric, one.errors.recovery_action, one.pcie.width) == (None, None, None)


@pytest.mark.parametrize("state", ["N/A", "Not Supported"])
def test_no_fabric(state: str) -> None:
    assert gpu(TEXT.replace("In Progress", state)).fabric is None


@pytest.mark.parametrize(("why", "kind"), [("Unknown Error", "error"), ("GPU is lost.  Reboot the system", "lost")])
def test_a_gpu_that_does_not_answer(why: str, kind: str) -> None:
    one = gpu("Unable to determine the device handle for GPU0000:84:00.0: {}\n".format(why))
    assert one.pci == "0000:84:00.0"
    assert one.fault == GpuFault(kind, "nvmlDeviceGetHandleByPciBusId_v2", why)


@pytest.mark.parametrize(
    ("text", "reason", "message"),
    [
        (
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95\n",
            "version-mismatch",
            "Failed to initialize NVML: Driver/library version mismatch",
        ),
        ("Failed to initialize NVML: Unknown Error\n", "error", "Failed to initialize NVML: Unknown Error"),
        ("No devices were found\n", "error", "nvidia-smi: No devices were found"),
    ],
)
def test_a_driver_that_does_not_answer(text: str, reason: str, message: str) -> None:
    (problem,) = parse(text.encode()).problems
    assert problem[:3] == ("accelerator_driver", reason, message)


def test_addresses() -> None:
    assert address("00000000:0A:00.0") == "0000:0a:00.0"
    assert address("00010000:0A:00.0") == "10000:0a:00.0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=NVSMI LOG=\nAttached GPUs : 1\n", "has no GPU: it is cut off"),
        ("<nvidia_smi_log></nvidia_smi_log>", "has no GPU: it is cut off"),
        (XML[:300], "is broken XML: line "),
        (XML.replace("</gpu>", "</gpo>"), "is broken XML: line "),
        ("<nvidia_smi_log>" + "<a>" * 40, "nested more than 32 deep"),
        (
            '<!DOCTYPE nvidia_smi_log [<!ENTITY a "aaaa">]><nvidia_smi_log>&a;</nvidia_smi_log>',
            "declares the entity 'a'",
        ),
        (
            '<!DOCTYPE nvidia_smi_log [<!ENTITY a SYSTEM "file:///etc/passwd">]><nvidia_smi_log>&a;</nvidia_smi_log>',
            "declares the entity 'a'",
        ),
    ],
)
def test_broken_and_hostile(text: str, message: str) -> None:
    with pytest.raises(UnreadableError, match=message):
        parse(text.encode())


def test_one_huge_value_is_cut() -> None:
    one = gpu(XML.replace("NVIDIA H200", "x" * 100_000))
    assert len(one.identity.name) <= 2000


def test_recorded_forms_agree(recordings: Path) -> None:
    xml = parse((recordings / "nvidia-smi-xml" / "h100.xml").read_bytes())
    assert len(xml.gpus or ()) == 8
    one = (xml.gpus or ())[0]
    assert one.limits
    assert one.limits.max_sm_clock_mhz == 1980
    name = "linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt"
    text = gpu((recordings / "nvidia-smi-text" / name).read_text())
    for part in ("telemetry", "errors", "limits", "pcie", "fabric"):
        ours = [field for field, value in getattr(one, part)._asdict().items() if value is None]
        theirs = [field for field, value in getattr(text, part)._asdict().items() if value is None]
        assert ours == theirs, part
