"""`nvidia-smi -q`, as text or as XML (-x) -> GPUs.

Both forms have the same tree with names of their own: `FB Memory Usage / Total` and `fb_memory_usage/total`. They are
read into paths of lower-case words, and each value is looked for under all the names that drivers gave it.
"""

from __future__ import annotations

import re

from ..node.facts import (
    AcceleratorDriver,
    Gpu,
    GpuErrors,
    GpuFabric,
    GpuFault,
    GpuHealth,
    GpuIdentity,
    GpuLimits,
    GpuPcie,
    GpuTelemetry,
    Inventory,
    Problem,
)
from .smi_tree import Tree, of_text, of_xml
from .stream import UnreadableError

_MIB = 1 << 20
_LOST = re.compile(r"Unable to determine the device handle for (?:GPU|gpu)\d* ?([0-9A-Fa-f:.]+): (.+)")
_MISMATCH = re.compile(r"Failed to initialize NVML: (.+)")
_REASONS = (
    ("gpu_idle", "idle"),
    ("applications_clocks_setting",),
    ("sw_power_cap",),
    ("hw_slowdown",),
    ("sync_boost",),
    ("sw_thermal_slowdown",),
    ("hw_thermal_slowdown",),
    ("hw_power_brake_slowdown",),
    ("display_clock_setting", "display_clocks_setting"),
)
"""NVML's name first, then what nvidia-smi calls it."""
_ACTIONS = {
    "none": "none",
    "reset": "gpu-reset",
    "gpu_reset": "gpu-reset",
    "reboot": "node-reboot",
    "node_reboot": "node-reboot",
    "drain_p2p": "drain-p2p",
    "drain_and_reset": "drain-and-reset",
    "recover_imex_domain": "recover-imex-domain",
    "bus_reset": "bus-reset",
    "system_reboot": "system-reboot",
}


def parse(data: bytes) -> Inventory:
    """Of the last query in it, where there are several. Raises UnreadableError."""
    text = data.decode("utf-8", "replace")
    is_xml = "<nvidia_smi_log>" in text
    trees = of_xml(data) if is_xml else of_text(text)
    gpus = tuple(_gpu(tree, index) for index, tree in enumerate(trees.gpus))
    lost = tuple(_lost(found.group(1), found.group(2)) for found in _LOST.finditer(text))
    problems = tuple(_problem(found.group(1)) for found in _MISMATCH.finditer(text))[:1]
    if not (gpus or lost or problems) and "No devices were found" in text:
        problems = (Problem("accelerator_driver", "error", "nvidia-smi: No devices were found"),)
    if problems:
        return Inventory(problems=problems)
    if not (gpus or lost):
        raise UnreadableError("has no GPU: it is cut off, or of another query than -q")
    version = trees.driver
    driver = AcceleratorDriver("nvidia", version, None, trees.cuda) if version else None
    return Inventory(accelerator_driver=driver, gpus=(*gpus, *lost))


def address(text: str) -> str:
    """`00000000:53:00.0` is `0000:53:00.0`."""
    domain, _, rest = text.strip().lower().partition(":")
    return "{:0>4}:{}".format(domain.lstrip("0"), rest)


def _lost(pci: str, why: str) -> Gpu:
    fault = GpuFault("lost" if "lost" in why.lower() else "error", "nvmlDeviceGetHandleByPciBusId_v2", why.strip())
    return Gpu(None, None, address(pci), None, None, None, fault=fault, vendor="nvidia")


def _problem(why: str) -> Problem:
    reason = "version-mismatch" if "mismatch" in why else "error"
    return Problem("accelerator_driver", reason, f"Failed to initialize NVML: {why.strip()}")


def _gpu(tree: Tree, index: int) -> Gpu:
    return Gpu(
        gpu_index=index,
        uuid=tree.word("gpu_uuid", "uuid"),
        pci=address(tree.id),
        numa_node=None,
        nearest_nic=None,
        nearest_nic_path=None,
        identity=_identity(tree),
        telemetry=_telemetry(tree),
        pcie=_pcie(tree),
        errors=_errors(tree),
        limits=_limits(tree),
        vendor="nvidia",
        fabric=_fabric(tree),
        health=GpuHealth(
            0.0,
            ecc_pending=tree.switch("ecc_mode/pending", "ecc_mode/pending_ecc"),
            mig_pending=tree.switch("mig_mode/pending", "mig_mode/pending_mig"),
            gsp_firmware_version=tree.word("gsp_firmware_version"),
        ),
    )


def _identity(tree: Tree) -> GpuIdentity:
    mib = tree.number("fb_memory_usage/total")
    return GpuIdentity(
        name=tree.word("product_name") or "unnamed",
        serial=tree.word("serial_number", "serial"),
        vbios=tree.word("vbios_version"),
        memory_bytes=None if mib is None else int(mib) * _MIB,
        mig_enabled=tree.switch("mig_mode/current", "mig_mode/current_mig"),
        persistence_mode=tree.switch("persistence_mode"),
        inforom_version=tree.word("inforom_version/image_version", "inforom_version/img_version"),
    )


def _telemetry(tree: Tree) -> GpuTelemetry:
    used, reserved, free = (tree.bytes(f"fb_memory_usage/{name}") for name in ("used", "reserved", "free"))
    state = tree.word("performance_state") or ""
    return GpuTelemetry(
        gpu_utilization_percent=tree.integer("utilization/gpu", "utilization/gpu_util"),
        memory_utilization_percent=tree.integer("utilization/memory", "utilization/memory_util"),
        memory_used_bytes=used,
        memory_reserved_bytes=reserved,
        memory_free_bytes=free,
        temperature_celsius=tree.integer("temperature/gpu_current_temp", "temperature/gpu_temp"),
        memory_temperature_celsius=tree.integer("temperature/memory_current_temp", "temperature/memory_temp"),
        power_watts=tree.power("average_power_draw", "instant_power_draw", "instantaneous_power_draw", "power_draw"),
        sm_clock_mhz=tree.integer("clocks/sm", "clocks/sm_clock"),
        memory_clock_mhz=tree.integer("clocks/memory", "clocks/mem_clock"),
        performance_state=int(state[1:]) if re.fullmatch(r"P\d{1,2}", state) else None,
        clocks_event_reasons=_reasons(tree),
        temperature_margin_celsius=tree.integer("temperature/gpu_t_limit_temp", "temperature/gpu_temp_tlimit"),
    )


def _reasons(tree: Tree) -> tuple[str, ...] | None:
    """None where nothing is told."""
    told = []
    for name, *others in _REASONS:
        names = (name, *others)
        paths = [f"{group}/{one}" for group in ("clocks_event_reasons", "clocks_throttle_reasons") for one in names]
        paths += [f"clocks_event_reasons/clocks_event_reason_{one}" for one in names]
        paths += [f"clocks_throttle_reasons/clocks_throttle_reason_{one}" for one in names]
        told.append((name, tree.word(*paths)))
    if all(word is None for _, word in told):
        return None
    return tuple(name for name, word in told if word == "Active")


def _pcie(tree: Tree) -> GpuPcie:
    link = "pci/gpu_link_info/"
    xml = "pci/pci_gpu_link_info/"
    return GpuPcie(
        generation=tree.integer(link + "pcie_generation/current", xml + "pcie_gen/current_link_gen"),
        width=tree.integer(link + "link_width/current", xml + "link_widths/current_link_width"),
        max_generation=tree.integer(link + "pcie_generation/max", xml + "pcie_gen/max_link_gen"),
        max_width=tree.integer(link + "link_width/max", xml + "link_widths/max_link_width"),
        replay_counter=tree.integer("pci/replays_since_reset", "pci/replay_counter"),
        device_max_generation=tree.integer(link + "pcie_generation/device_max", xml + "pcie_gen/max_device_link_gen"),
    )


def _errors(tree: Tree) -> GpuErrors:
    action = (tree.word("gpu_recovery_action") or "").lower().replace(" ", "_")
    rows, row = "remapped_rows/", "remapped_rows/remapped_row_"
    pages = "retired_pages/"
    return GpuErrors(
        ecc_enabled=tree.switch("ecc_mode/current", "ecc_mode/current_ecc"),
        volatile_corrected=_sum(tree, "volatile", "correctable", "single_bit"),
        volatile_uncorrected=_sum(tree, "volatile", "uncorrectable", "double_bit"),
        aggregate_corrected=_sum(tree, "aggregate", "correctable", "single_bit"),
        aggregate_uncorrected=_sum(tree, "aggregate", "uncorrectable", "double_bit"),
        remapped_rows_correctable=tree.integer(rows + "correctable_error", row + "corr"),
        remapped_rows_uncorrectable=tree.integer(rows + "uncorrectable_error", row + "unc"),
        remap_pending=tree.yes(rows + "pending", row + "pending"),
        remap_failure=tree.yes(rows + "remapping_failure_occurred", row + "failure"),
        retired_pages_sbe=tree.integer(
            pages + "single_bit_ecc", pages + "multiple_single_bit_retirement/retired_count"
        ),
        retired_pages_dbe=tree.integer(pages + "double_bit_ecc", pages + "double_bit_retirement/retired_count"),
        recovery_action=_ACTIONS.get(action, action.replace("_", "-")) if action else None,
        retired_pages_pending=tree.yes(pages + "pending_page_blacklist", pages + "pending_blacklist"),
        sram_volatile_parity=tree.integer("ecc_errors/volatile/sram_uncorrectable_parity"),
        sram_volatile_secded=tree.integer(*_secded("volatile")),
        sram_aggregate_parity=tree.integer("ecc_errors/aggregate/sram_uncorrectable_parity"),
        sram_aggregate_secded=tree.integer(*_secded("aggregate")),
        sram_threshold_exceeded=tree.yes("ecc_errors/aggregate/sram_threshold_exceeded"),
    )


def _secded(scope: str) -> tuple[str, ...]:
    return tuple(f"ecc_errors/{scope}/sram_uncorrectable_{word}" for word in ("sec_ded", "secded"))


def _sum(tree: Tree, scope: str, kind: str, older: str) -> int | None:
    """Of DRAM and SRAM; before Ampere there was one total."""
    parts = [f"dram_{kind}", f"sram_{kind}"]
    parts += ["sram_uncorrectable_parity", "sram_uncorrectable_sec_ded", "sram_uncorrectable_secded"] * (
        kind == "uncorrectable"
    )
    found = [tree.integer(f"ecc_errors/{scope}/{part}") for part in parts]
    told = [number for number in found if number is not None]
    return sum(told) if told else tree.integer(f"ecc_errors/{scope}/{older}/total")


def _limits(tree: Tree) -> GpuLimits:
    heat = "temperature/"
    return GpuLimits(
        power_limit_watts=tree.power("requested_power_limit", "power_limit"),
        enforced_power_limit_watts=tree.power("current_power_limit", "enforced_power_limit"),
        default_power_limit_watts=tree.power("default_power_limit"),
        min_power_limit_watts=tree.power("min_power_limit"),
        max_power_limit_watts=tree.power("max_power_limit"),
        max_sm_clock_mhz=tree.integer("max_clocks/sm", "max_clocks/sm_clock"),
        max_memory_clock_mhz=tree.integer("max_clocks/memory", "max_clocks/mem_clock"),
        slowdown_celsius=tree.integer(heat + "gpu_slowdown_temp", heat + "gpu_temp_slow_threshold"),
        shutdown_celsius=tree.integer(heat + "gpu_shutdown_temp", heat + "gpu_temp_max_threshold"),
        slowdown_margin_celsius=tree.integer(
            heat + "gpu_slowdown_t_limit_temp", heat + "gpu_temp_slow_tlimit_threshold"
        ),
        shutdown_margin_celsius=tree.integer(
            heat + "gpu_shutdown_t_limit_temp", heat + "gpu_temp_max_tlimit_threshold"
        ),
    )


def _fabric(tree: Tree) -> GpuFabric | None:
    state = tree.word("fabric/state")
    if state is None or state == "Not Supported":
        return None
    flags = {
        "degraded-bandwidth": ("fabric/health/bandwidth", "Degraded"),
        "route-recovery": ("fabric/health/route_recovery_in_progress", "True"),
        "route-unhealthy": ("fabric/health/route_unhealthy", "True"),
        "access-timeout-recovery": ("fabric/health/access_timeout_recovery", "True"),
    }
    words = {name: tree.word(path) for name, (path, _) in flags.items()}
    wrong = tuple(name for name, (_, bad) in flags.items() if words[name] == bad)
    told = any(words.values()) or tree.word("fabric/health/summary")
    return GpuFabric(
        state=state.lower().replace(" ", "-"),
        status=tree.word("fabric/status"),
        clique_id=tree.integer("fabric/cliqueid"),
        cluster_uuid=None,
        unhealthy=wrong if told else None,
    )
