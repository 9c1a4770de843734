"""The composed machines against the recordings of real ones that their figures come from.

All that both have is equal: NVML's values as the mock holds them, and what brctl reads by them. Aside are identifiers
(the recordings' are scrubbed, ours are our own), counters, and what is the host's choice.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from brctl.mock import machines
from brctl.mock.machines import load
from brctl.node.facts import Inventory
from brctl.node.probe import inventory

MIB = 1 << 20

RECORDED = {
    "dgx-a100": "nvidia-smi-xml/a100.xml",
    "dgx-h100": "nvidia-smi-xml/h100.xml",
    "h100-mig": "nvidia-smi-text/linux-x86_64__nvidia-h100-mig__590.48.01.txt",
    "hgx-b200": "nvidia-smi-xml/b200.xml",
    "hgx-h200": "nvidia-smi-text/linux-x86_64__nvidia-h200__590.48.01.txt",
    "l40s-pcie": "nvidia-smi-xml/l40s.xml",
    "sixteen-gpus": "nvidia-smi-xml/a100.xml",
}

IDENTIFIERS = "uuid serial minor_number pci_bus_id board_part_number fabric_cluster_uuid"
COUNTERS = """
    energy_joules hw_power_brake_slowdown_ns hw_thermal_slowdown_ns nvlink_crc_errors nvlink_recovery_errors
    nvlink_replay_errors nvlink_rx_kib nvlink_tx_kib pcie_replay_counter pcie_rx_bytes pcie_rx_kbytes_per_s
    pcie_tx_bytes pcie_tx_kbytes_per_s sw_power_cap_ns sw_thermal_slowdown_ns sync_boost_ns
"""
OF_THE_HOST = "virtualization_mode persistence_mode"
"""A guest's GPU is passed through, ours are in a bare server. The B200 were recorded with persistence mode off."""
UNRECORDED = "compute_capability device_max_pcie_generation inforom_valid max_mig_devices nvlink_version processes"
ASIDE = f"{IDENTIFIERS} {COUNTERS} {OF_THE_HOST} {UNRECORDED}".split()

FIELDS = """\
name product_name Product Name
display_active display_active Display Active
display_mode display_mode Display Mode
mig_enabled mig_mode/current_mig MIG Mode/Current
mig_pending mig_mode/pending_mig MIG Mode/Pending
vbios_version vbios_version VBIOS Version
inforom_image_version inforom_version/img_version Inforom Version/Image Version
gsp_firmware_version gsp_firmware_version GSP Firmware Version
recovery_action gpu_recovery_action GPU Recovery Action
pci_device_id pci/pci_device_id PCI/Device Id
pci_subsystem_id pci/pci_sub_system_id PCI/Sub System Id
max_pcie_generation pci/pci_gpu_link_info/pcie_gen/max_link_gen PCI/GPU Link Info/PCIe Generation/Max
pcie_generation pci/pci_gpu_link_info/pcie_gen/current_link_gen PCI/GPU Link Info/PCIe Generation/Current
max_pcie_width pci/pci_gpu_link_info/link_widths/max_link_width PCI/GPU Link Info/Link Width/Max
pcie_width pci/pci_gpu_link_info/link_widths/current_link_width PCI/GPU Link Info/Link Width/Current
performance_state performance_state Performance State
compute_mode compute_mode Compute Mode
memory_total_bytes fb_memory_usage/total FB Memory Usage/Total
memory_reserved_bytes fb_memory_usage/reserved FB Memory Usage/Reserved
memory_used_bytes fb_memory_usage/used FB Memory Usage/Used
bar1_total_bytes bar1_memory_usage/total BAR1 Memory Usage/Total
bar1_used_bytes bar1_memory_usage/used BAR1 Memory Usage/Used
gpu_utilization_percent utilization/gpu_util Utilization/GPU
memory_utilization_percent utilization/memory_util Utilization/Memory
encoder_utilization_percent utilization/encoder_util Utilization/Encoder
decoder_utilization_percent utilization/decoder_util Utilization/Decoder
ecc_enabled ecc_mode/current_ecc ECC Mode/Current
ecc_pending ecc_mode/pending_ecc ECC Mode/Pending
ecc_volatile_corrected ecc_errors/volatile/dram_correctable ECC Errors/Volatile/DRAM Correctable
ecc_volatile_uncorrected ecc_errors/volatile/dram_uncorrectable ECC Errors/Volatile/DRAM Uncorrectable
ecc_aggregate_corrected ecc_errors/aggregate/dram_correctable ECC Errors/Aggregate/DRAM Correctable
ecc_aggregate_uncorrected ecc_errors/aggregate/dram_uncorrectable ECC Errors/Aggregate/DRAM Uncorrectable
sram_volatile_corrected ecc_errors/volatile/sram_correctable ECC Errors/Volatile/SRAM Correctable
sram_volatile_parity ecc_errors/volatile/sram_uncorrectable_parity ECC Errors/Volatile/SRAM Uncorrectable Parity
sram_volatile_secded ecc_errors/volatile/sram_uncorrectable_secded ECC Errors/Volatile/SRAM Uncorrectable SEC-DED
sram_aggregate_corrected ecc_errors/aggregate/sram_correctable ECC Errors/Aggregate/SRAM Correctable
sram_aggregate_parity ecc_errors/aggregate/sram_uncorrectable_parity ECC Errors/Aggregate/SRAM Uncorrectable Parity
sram_aggregate_secded ecc_errors/aggregate/sram_uncorrectable_secded ECC Errors/Aggregate/SRAM Uncorrectable SEC-DED
sram_threshold_exceeded ecc_errors/aggregate/sram_threshold_exceeded ECC Errors/Aggregate/SRAM Threshold Exceeded
retired_pages_sbe retired_pages/multiple_single_bit_retirement/retired_count Retired Pages/Single Bit ECC
retired_pages_dbe retired_pages/double_bit_retirement/retired_count Retired Pages/Double Bit ECC
retired_pages_pending retired_pages/pending_retirement Retired Pages/Pending Page Blacklist
remapped_rows_correctable remapped_rows/remapped_row_corr Remapped Rows/Correctable Error
remapped_rows_uncorrectable remapped_rows/remapped_row_unc Remapped Rows/Uncorrectable Error
remap_pending remapped_rows/remapped_row_pending Remapped Rows/Pending
remap_failure remapped_rows/remapped_row_failure Remapped Rows/Remapping Failure Occurred
temperature_celsius temperature/gpu_temp Temperature/GPU Current Temp
temperature_margin_celsius temperature/gpu_temp_tlimit Temperature/GPU T.Limit Temp
memory_temperature_celsius temperature/memory_temp Temperature/Memory Current Temp
shutdown_tlimit_celsius temperature/gpu_temp_max_tlimit_threshold Temperature/GPU Shutdown T.Limit Temp
slowdown_tlimit_celsius temperature/gpu_temp_slow_tlimit_threshold Temperature/GPU Slowdown T.Limit Temp
gpu_max_tlimit_celsius temperature/gpu_temp_max_gpu_tlimit_threshold Temperature/GPU Max Operating T.Limit Temp
memory_max_tlimit_celsius temperature/gpu_temp_max_mem_tlimit_threshold Temperature/Memory Max Operating T.Limit Temp
shutdown_threshold_celsius temperature/gpu_temp_max_threshold Temperature/GPU Shutdown Temp
slowdown_threshold_celsius temperature/gpu_temp_slow_threshold Temperature/GPU Slowdown Temp
gpu_max_threshold_celsius temperature/gpu_temp_max_gpu_threshold Temperature/GPU Max Operating Temp
memory_max_threshold_celsius temperature/gpu_temp_max_mem_threshold Temperature/Memory Max Operating Temp
power_average_watts gpu_power_readings/average_power_draw GPU Power Readings/Average Power Draw
power_instant_watts gpu_power_readings/instant_power_draw GPU Power Readings/Instantaneous Power Draw
enforced_power_limit_watts gpu_power_readings/current_power_limit GPU Power Readings/Current Power Limit
power_limit_watts gpu_power_readings/requested_power_limit GPU Power Readings/Requested Power Limit
default_power_limit_watts gpu_power_readings/default_power_limit GPU Power Readings/Default Power Limit
min_power_limit_watts gpu_power_readings/min_power_limit GPU Power Readings/Min Power Limit
max_power_limit_watts gpu_power_readings/max_power_limit GPU Power Readings/Max Power Limit
graphics_clock_mhz clocks/graphics_clock Clocks/Graphics
sm_clock_mhz clocks/sm_clock Clocks/SM
memory_clock_mhz clocks/mem_clock Clocks/Memory
video_clock_mhz clocks/video_clock Clocks/Video
max_graphics_clock_mhz max_clocks/graphics_clock Max Clocks/Graphics
max_sm_clock_mhz max_clocks/sm_clock Max Clocks/SM
max_memory_clock_mhz max_clocks/mem_clock Max Clocks/Memory
max_video_clock_mhz max_clocks/video_clock Max Clocks/Video
fabric_state fabric/state Fabric/State
fabric_status fabric/status Fabric/Status
fabric_clique_id fabric/cliqueId Fabric/CliqueId
fabric_health fabric/health/summary Fabric/Health/Summary
"""
"""Of each key of the mock the path in the XML, and in the text below `GPU 00000000:...`."""


class Recorded(NamedTuple):
    driver: str
    cuda: str
    gpus: list[dict[str, Any]]
    """By the mock's keys; None is `N/A`."""


def recorded(path: Path) -> Recorded:
    return _from_xml(path) if path.suffix == ".xml" else _from_text(path)


def fields() -> Iterator[tuple[str, str, str]]:
    for line in FIELDS.splitlines():
        key, xml, *words = line.split()
        yield key, xml, " ".join(words)


def _from_xml(path: Path) -> Recorded:
    root = ElementTree.parse(path).getroot()
    gpus = []
    for gpu in root.findall("gpu"):
        values = {key: value(key, gpu.findtext(xml)) for key, xml, _ in fields()}
        reasons = gpu.find("clocks_event_reasons") or []
        active = [reason.tag.removeprefix("clocks_event_reason_") for reason in reasons if reason.text == "Active"]
        gpus.append({**values, "clocks_event_reasons": active})
    return Recorded(root.findtext("driver_version") or "", root.findtext("cuda_version") or "", gpus)


def _from_text(path: Path) -> Recorded:
    capture = path.read_text(errors="replace")
    query = capture.partition("# idle :: query (-q)")[2].partition("\n\n\n####")[0]
    texts = _sections(query)
    values = {key: value(key, texts.get(words)) for key, _, words in fields()}
    active = [path for path, text in texts.items() if path.startswith("Clocks Event Reasons/") and text == "Active"]
    assert active == ["Clocks Event Reasons/Idle"]
    return Recorded(
        re.findall(r"Driver Version +: (\S+)", query)[0],
        re.findall(r"CUDA Version +: (\S+)", query)[0],
        [{**values, "clocks_event_reasons": ["gpu_idle"], "mig_devices": _mig_devices(query, capture)}],
    )


def _sections(query: str) -> dict[str, str]:
    """`nvidia-smi -q` by path; indentation makes the sections."""
    texts: dict[str, str] = {}
    way: list[tuple[int, str]] = []
    for line in query.partition("\nGPU ")[2].splitlines()[1:]:
        name, _, text = line.strip().partition(" : ")
        indent = len(line) - len(line.lstrip())
        way = [(depth, section) for depth, section in way if depth < indent] + [(indent, name.strip())]
        texts["/".join(section for _, section in way)] = text.strip()
    return texts


def _mig_devices(query: str, capture: str) -> list[dict[str, Any]] | None:
    profiles = re.findall(r"^  MIG (\S+) +Device", capture, re.MULTILINE)
    blocks = query.partition("    Accounting Mode")[0].split("    MIG Device\n")[1:]
    found = []
    for block, profile in zip(blocks, profiles, strict=True):
        numbers = [int(number) for number in re.findall(r": (\d+)", block)]
        _, gpu_instance, compute_instance, processors, *_, total, reserved, used, _, bar1, bar1_used, _ = numbers
        sizes = {"memory_total_bytes": total, "memory_used_bytes": used, "memory_reserved_bytes": reserved}
        sizes |= {"bar1_total_bytes": bar1, "bar1_used_bytes": bar1_used}
        ids = {"gpu_instance_id": gpu_instance, "compute_instance_id": compute_instance, "profile": profile}
        found.append({**ids, **{key: size * MIB for key, size in sizes.items()}, "multiprocessors": processors})
    return found or None


_NOTHING = (None, "", "N/A", "Requested functionality has been deprecated")
_WORDS: dict[str, Any] = {"Enabled": True, "Disabled": False, "Yes": True, "No": False, "Default": 0, "Success": 0}


def value(key: str, text: str | None) -> Any:
    """What the mock would hold for a text of nvidia-smi."""
    if text in _NOTHING:
        return None
    assert text is not None
    if key.startswith("pci_"):
        return text.removeprefix("0x").lower()
    if key == "fabric_health":
        return {"Healthy": []}[text]
    if text in _WORDS:
        return _WORDS[text]
    number = re.match(r"(?:P|)(-?[0-9.]+)(?: MiB| MHz| W| C| %|x|)\Z", text)
    if number and not key.endswith("version"):
        amount = float(number.group(1))
        return amount * MIB if key.endswith("_bytes") else amount
    return text.lower() if key in ("recovery_action", "fabric_state") else text


@pytest.fixture(params=RECORDED)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def real(name: str, recordings: Path) -> Recorded:
    return recorded(recordings / RECORDED[name])


@pytest.fixture
def seen(name: str, own_pynvml: Any) -> Inventory:
    return inventory(load(name))


def test_the_mock_holds_what_was_recorded(name: str, real: Recorded) -> None:
    nvml = json.loads((Path(machines.__file__).parent / "machines" / f"{name}.json").read_text())["nvml"]
    assert nvml["driver_version"] == real.driver
    gpus = [{**nvml["defaults"], **own} for own in nvml["gpus"]]
    if len(real.gpus) > 1:
        assert len(gpus) == len(real.gpus)
    for place, gpu in enumerate(gpus):
        want = real.gpus[place % len(real.gpus)]
        for device in gpu.get("mig_devices") or ():
            for key in ("uuid", "gpm_gpu_percent", "gpm_memory_percent"):
                del device[key]  # made up, as the instances are idle
        known = set(want) | set(ASIDE) | {"nvlinks"}
        assert set(gpu) <= known
        assert {key: gpu.get(key) for key in want} == want


def test_brctl_reads_what_was_recorded(real: Recorded, seen: Inventory) -> None:
    driver = seen.accelerator_driver
    assert driver is not None
    assert (driver.version, driver.runtime_version) == (real.driver, real.cuda)
    for place, gpu in enumerate(seen.gpus or ()):
        want = real.gpus[place % len(real.gpus)]
        assert gpu.fault is None
        for part in (gpu.identity, gpu.telemetry, gpu.pcie, gpu.errors, gpu.limits):
            assert part is not None
            facts = {RENAMED.get(field, field): fact for field, fact in part._asdict().items()}
            assert set(facts) <= set(want) | set(NOT_COMPARED)
            assert facts == {**facts, **{key: as_fact(want[key]) for key in facts if key in want}}
        assert gpu.telemetry is not None
        assert gpu.telemetry.power_watts == (want["power_average_watts"] or want["power_instant_watts"])


def as_fact(known: Any) -> Any:
    return tuple(known) if isinstance(known, list) else known


RENAMED = {
    "vbios": "vbios_version",
    "inforom_version": "inforom_image_version",
    "memory_bytes": "memory_total_bytes",
    "generation": "pcie_generation",
    "width": "pcie_width",
    "max_generation": "max_pcie_generation",
    "max_width": "max_pcie_width",
    "device_max_generation": "device_max_pcie_generation",
    "volatile_corrected": "ecc_volatile_corrected",
    "volatile_uncorrected": "ecc_volatile_uncorrected",
    "aggregate_corrected": "ecc_aggregate_corrected",
    "aggregate_uncorrected": "ecc_aggregate_uncorrected",
    "slowdown_celsius": "slowdown_threshold_celsius",
    "shutdown_celsius": "shutdown_threshold_celsius",
    "slowdown_margin_celsius": "slowdown_tlimit_celsius",
    "shutdown_margin_celsius": "shutdown_tlimit_celsius",
}
NOT_COMPARED = [*ASIDE, "memory_free_bytes", "power_watts", "replay_counter", "unified_memory"]


def test_mig_devices(recordings: Path, own_pynvml: Any) -> None:
    (gpu,) = inventory(load("h100-mig")).gpus or ()
    want = recorded(recordings / RECORDED["h100-mig"]).gpus[0]["mig_devices"]
    assert [device["profile"] for device in want] == ["3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"]
    assert gpu.links is None
    found = [instance._asdict() for instance in gpu.instances or ()]
    for place, (instance, device) in enumerate(zip(found, want, strict=True)):
        assert instance.pop("mig_index") == place
        assert instance.pop("uuid").startswith("MIG-")
        assert instance.pop("memory_bytes") == device.pop("memory_total_bytes")
        for untold in ("memory_reserved_bytes", "bar1_total_bytes", "bar1_used_bytes"):
            del device[untold]
        assert instance == device


@pytest.mark.parametrize(
    ("name", "capture"),
    [
        ("dgx-a100", "nvidia-smi-text/nvlink-status-a100.txt"),
        ("dgx-h100", "nvidia-smi-text/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt"),
        ("hgx-h200", RECORDED["hgx-h200"]),
    ],
)
def test_nvlinks(name: str, capture: str, recordings: Path, own_pynvml: Any) -> None:
    """`nvidia-smi nvlink --status`: one line for each link, and all of them up."""
    text = (recordings / capture).read_text(errors="replace")
    first = re.split(r"\nGPU 1:|\n# idle", "\n" + text)[0]
    links = re.findall(r"Link \d+: [\d.]+ GB/s", first)
    gpus = inventory(load(name)).gpus or ()
    assert [len(gpu.links or ()) for gpu in gpus] == [len(links)] * 8
    assert all(link.active for gpu in gpus for link in gpu.links or ())


@pytest.fixture
def dgx_h100(own_pynvml: Any) -> Inventory:
    return inventory(load("dgx-h100"))


def test_rails(dgx_h100: Inventory, recordings: Path) -> None:
    """Count, rate, firmware, board and type of the 400 Gb/s ports. The link layer differs: composed RoCE."""
    real = []
    for device in sorted((recordings / "h100-node/sys/class/infiniband").iterdir()):
        values = [(device / name).read_text().strip() for name in ("fw_ver", "board_id", "hca_type", "ports/1/rate")]
        if values[-1].startswith("400 "):
            real.append((*values[:-1], 400.0))
    ours = [port for port in dgx_h100.rdma or () if port.rate_gbps == 400.0]
    assert len(real) == 8
    assert [(port.firmware, port.board_id, port.hca_type, port.rate_gbps) for port in ours] == real
    rails = [nic for nic in dgx_h100.nics or () if nic.speed_mbps == 400000]
    assert [nic.firmware for nic in rails] == [firmware for firmware, *_ in real]


def test_pci(dgx_h100: Inventory, recordings: Path) -> None:
    """GPUs, NVSwitches, NICs and drives: addresses, NUMA nodes, drivers, links and the ports above them."""
    lspci = (recordings / "h100-node" / "lspci-vvv.txt").read_text(errors="replace")
    blocks = {"0000:" + block[:7]: block for block in re.split(r"\n\n+", lspci.strip())}
    kinds = ("3D controller: NVIDIA", "Bridge: NVIDIA", "Ethernet controller", "Non-Volatile memory", "VGA compatible")
    wanted = {address for address, block in blocks.items() if block[8:].startswith(kinds)}
    assert {device.address for device in dgx_h100.pci or ()} == wanted
    above = {
        re.sub(r"^", "0000:", match.group(1)): address
        for address, block in blocks.items()
        for match in re.finditer(r"secondary=(\w+),", block)
    }
    for device in dgx_h100.pci or ():
        block = blocks[device.address]
        assert "NUMA node: {}\n".format(device.numa_node) in block
        assert block.endswith("Kernel driver in use: {}".format(device.driver)) or (
            "Kernel driver in use: {}\n".format(device.driver) in block
        )
        if device.link_width:
            for name, speed, width in (
                ("LnkCap:", device.max_link_speed_gts, device.max_link_width),
                ("LnkSta:", device.link_speed_gts, device.link_width),
            ):
                assert re.search(rf"{name}.*Speed {speed:g}GT/s.* Width x{width}\b", block), (device, name)
        assert device.ancestors[1:] == tuple(ports_above(device.address, above))


def ports_above(address: str, above: dict[str, str]) -> list[str]:
    port = above.get(address[:7])
    return [*ports_above(port, above), port] if port else []
