"""The composed dgx-h100 against the real 8 x H100 machines that its figures come from."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from brctl.mock.machines import load
from brctl.node.facts import Gpu, Inventory
from brctl.node.probe import inventory

MIB = 1 << 20


@pytest.fixture
def composed(own_pynvml: Any) -> Inventory:
    return inventory(load("dgx-h100"))


@pytest.fixture
def smi(recordings: Path) -> ElementTree.Element:
    return ElementTree.parse(recordings / "nvidia-smi-xml" / "h100.xml").getroot()


def test_driver(composed: Inventory, smi: ElementTree.Element) -> None:
    driver = composed.accelerator_driver
    assert driver is not None
    assert driver.version == smi.findtext("driver_version")
    assert driver.runtime_version == smi.findtext("cuda_version")


def test_gpus(composed: Inventory, smi: ElementTree.Element) -> None:
    gpus = composed.gpus or ()
    assert len(gpus) == int(smi.findtext("attached_gpus") or 0) == 8
    for gpu, recorded in zip(gpus, smi.iter("gpu"), strict=True):
        assert fields_of(gpu) == fields_of_smi(recorded)


def fields_of(gpu: Gpu) -> dict[str, Any]:
    """What both have, without identifiers, counters and the values of a moment."""
    assert gpu.fault is None
    assert gpu.identity and gpu.pcie and gpu.limits and gpu.errors and gpu.telemetry  # noqa: PT018
    telemetry = gpu.telemetry
    total = [telemetry.memory_used_bytes, telemetry.memory_free_bytes, telemetry.memory_reserved_bytes]
    return {
        "name": gpu.identity.name,
        "vbios": gpu.identity.vbios,
        "memory_mib": gpu.identity.memory_bytes and gpu.identity.memory_bytes / MIB,
        "memory_adds_up": sum(filter(None, total)) == gpu.identity.memory_bytes,
        "reserved_mib": telemetry.memory_reserved_bytes and telemetry.memory_reserved_bytes / MIB,
        "mig": gpu.identity.mig_enabled,
        "persistence": gpu.identity.persistence_mode,
        "ecc": gpu.errors.ecc_enabled,
        "retired": (gpu.errors.retired_pages_sbe, gpu.errors.retired_pages_dbe),
        "remap": (gpu.errors.remap_pending, gpu.errors.remap_failure),
        "recovery_action": gpu.errors.recovery_action,
        "pcie_max": (gpu.pcie.max_generation, gpu.pcie.max_width),
        "power": (
            gpu.limits.power_limit_watts,
            gpu.limits.enforced_power_limit_watts,
            gpu.limits.default_power_limit_watts,
            gpu.limits.min_power_limit_watts,
            gpu.limits.max_power_limit_watts,
        ),
        "clocks_max": (gpu.limits.max_sm_clock_mhz, gpu.limits.max_memory_clock_mhz),
    }


def fields_of_smi(gpu: ElementTree.Element) -> dict[str, Any]:
    def text(path: str) -> str:
        return gpu.findtext(path) or ""

    def number(path: str) -> float | None:
        found = re.match(r"[0-9.]+", text(path))
        return float(found.group()) if found else None

    power, link = "gpu_power_readings/", "pci/pci_gpu_link_info/"
    return {
        "name": text("product_name"),
        "vbios": text("vbios_version"),
        "memory_mib": number("fb_memory_usage/total"),
        "memory_adds_up": True,
        "reserved_mib": number("fb_memory_usage/reserved"),
        "mig": text("mig_mode/current_mig") == "Enabled",
        "persistence": text("persistence_mode") == "Enabled",
        "ecc": text("ecc_mode/current_ecc") == "Enabled",
        "retired": (
            number("retired_pages/multiple_single_bit_retirement/retired_count"),
            number("retired_pages/double_bit_retirement/retired_count"),
        ),
        "remap": (
            text("remapped_rows/remapped_row_pending") == "Yes",
            text("remapped_rows/remapped_row_failure") == "Yes",
        ),
        "recovery_action": text("gpu_recovery_action").lower(),
        "pcie_max": (number(link + "pcie_gen/max_link_gen"), number(link + "link_widths/max_link_width")),
        "power": (
            number(power + "requested_power_limit"),
            number(power + "current_power_limit"),
            number(power + "default_power_limit"),
            number(power + "min_power_limit"),
            number(power + "max_power_limit"),
        ),
        "clocks_max": (number("max_clocks/sm_clock"), number("max_clocks/mem_clock")),
    }


def test_nvlinks(composed: Inventory, recordings: Path) -> None:
    """`nvidia-smi nvlink --status` of an H100 SXM: one line for each link, and all of them up."""
    (capture,) = (recordings / "nvidia-smi-text").glob("*nvidia-h100-80gb-hbm3*")
    status = capture.read_text(errors="replace").partition("$ nvidia-smi nvlink")[2].partition("\n# ")[0]
    links = re.findall(r"Link \d+: [\d.]+ GB/s", status)
    assert [len(gpu.links or ()) for gpu in composed.gpus or ()] == [len(links)] * 8
    assert all(link.active for gpu in composed.gpus or () for link in gpu.links or ())


def test_rails(composed: Inventory, recordings: Path) -> None:
    """Count, rate, firmware, board and type of the 400 Gb/s ports. The link layer differs: composed RoCE."""
    real = []
    for device in sorted((recordings / "h100-node/sys/class/infiniband").iterdir()):
        values = [(device / name).read_text().strip() for name in ("fw_ver", "board_id", "hca_type", "ports/1/rate")]
        if values[-1].startswith("400 "):
            real.append((*values[:-1], 400.0))
    ours = [port for port in composed.rdma or () if port.rate_gbps == 400.0]
    assert len(real) == 8
    assert [(port.firmware, port.board_id, port.hca_type, port.rate_gbps) for port in ours] == real
    rails = [nic for nic in composed.nics or () if nic.speed_mbps == 400000]
    assert [nic.firmware for nic in rails] == [firmware for firmware, *_ in real]


def test_pci(composed: Inventory, recordings: Path) -> None:
    """GPUs, NVSwitches, NICs and drives: addresses, NUMA nodes, drivers, links and the ports above them."""
    lspci = (recordings / "h100-node" / "lspci-vvv.txt").read_text(errors="replace")
    blocks = {"0000:" + block[:7]: block for block in re.split(r"\n\n+", lspci.strip())}
    kinds = ("3D controller: NVIDIA", "Bridge: NVIDIA", "Ethernet controller", "Non-Volatile memory", "VGA compatible")
    wanted = {address for address, block in blocks.items() if block[8:].startswith(kinds)}
    assert {device.address for device in composed.pci or ()} == wanted
    above = {
        re.sub(r"^", "0000:", match.group(1)): address
        for address, block in blocks.items()
        for match in re.finditer(r"secondary=(\w+),", block)
    }
    for device in composed.pci or ():
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
