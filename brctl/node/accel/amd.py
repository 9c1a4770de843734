"""AMD's GPUs by its command amd-smi, or the older rocm-smi where that is not installed; both print JSON.

The forms are those of public captures: amd-smi of ROCm 6 and 7 (a list, or the list in `gpu_data`; a value alone, as
text, or as {"value", "unit"}; `N/A` for what the part has not; limits by themselves or under `ppt0`), and rocm-smi of
ROCm 6 (a flat object for each card, all values texts). amd-smi writes MB and means MiB.
"""

import json
import re
from typing import Any, List, Optional, Set, Tuple

from ..facts import AcceleratorDriver, GpuErrors, GpuIdentity, GpuLimits, GpuPcie, GpuProcess, GpuTelemetry, blank
from . import AcceleratorError, Pci, Run
from .told import Told, ToldGpu, ask

_ROCM_SHOWS = ("id", "productname", "uniqueid", "serial", "bus", "vbios", "driverversion", "use", "temp", "power")
_ROCM = ("rocm-smi", *("--show" + what for what in _ROCM_SHOWS), "--showmeminfo", "vram", "--json")
_CARD = re.compile(r"card(\d+)\Z")
_GENERATIONS = {2.5: 1, 5: 2, 8: 3, 16: 4, 32: 5, 64: 6}
"""PCI Express, by GT/s of a lane."""
_UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "B": 1}
_NONE = ("N/A", "")
_TOO_MUCH = 1e15
"""What no part has of anything: a petabyte, in the smallest unit."""


class Amd:
    vendor = "amd"
    source = "amd-smi or rocm-smi"
    tested_on_hardware = False
    count_call = "amd-smi static"
    told_at_once = True
    pci: Optional[Pci] = Pci("1002", ("0380", "1200"), "amdgpu")  # accelerators; 0300 may be what drives a display

    def __init__(self, run: Run) -> None:
        self._run = run
        self._static: List[Any] = []
        self._rocm: Tuple[Told, ...] = ()

    def driver(self) -> Optional[AcceleratorDriver]:
        try:
            self._static = _gpus(ask(self._run, "amd-smi", "static", "--json"), "amd-smi static --json")
        except AcceleratorError as error:
            if error.kind != "no-library":
                raise
            return self._ask_rocm()
        versions = [_Values(gpu).text("driver", "version") for gpu in self._static]
        return _driver(versions[0] if versions else None)

    def close(self) -> None:
        """A command holds nothing."""

    def count(self) -> int:
        return len(self._static or self._rocm)

    def open(self, index: int) -> ToldGpu:
        if self._rocm:
            return ToldGpu(self._rocm[index])
        static = self._static[index]
        number = str(_Values(static).whole("gpu"))
        asked = [("amd-smi", command, "--gpu", number, "--json") for command in ("metric", "process")]
        metric, process = ((_gpus(ask(self._run, *argv), " ".join(argv)) or [{}])[0] for argv in asked)
        return ToldGpu(parse_amd_smi(index, static, metric, process))

    def _ask_rocm(self) -> Optional[AcceleratorDriver]:
        try:
            cards = _decode(ask(self._run, *_ROCM), "rocm-smi")
        except AcceleratorError as error:
            if error.kind != "no-library":
                raise
            missing = "neither amd-smi nor rocm-smi is installed"
            raise AcceleratorError("no-library", "amd-smi", missing) from None
        if not isinstance(cards, dict):
            raise AcceleratorError("error", "rocm-smi", "an object is expected")
        numbers = {int(match.group(1)): name for name, match in ((name, _CARD.match(name)) for name in cards) if match}
        self._rocm = tuple(parse_rocm_smi(number, cards[numbers[number]]) for number in sorted(numbers))
        return _driver(_Values(cards).text("system", "Driver version"))


class _Values:
    """Finds values in decoded JSON, whatever form they have, and notes those that are not there."""

    def __init__(self, *plain: Any) -> None:
        self._plain = plain
        self.missing: Set[str] = set()

    def text(self, *path: str) -> Optional[str]:
        value = self._find(path)
        return None if value is None or isinstance(value, (dict, list)) else str(value).strip()

    def number(self, *path: str) -> Optional[float]:
        value = self._find(path)
        if isinstance(value, dict):
            value = value.get("value")
        words = str(value).split()
        try:
            number = float(words[0]) if words and not isinstance(value, bool) else None
        except ValueError:
            number = None
        if number is None or not abs(number) < _TOO_MUCH:
            self.missing.add(".".join(path))
            return None
        return number

    def whole(self, *path: str) -> Optional[int]:
        number = self.number(*path)
        return None if number is None else int(number)

    def size(self, *path: str) -> Optional[int]:
        number, value = self.number(*path), self._find(path)
        unit = value.get("unit", "MB") if isinstance(value, dict) else "MB"
        return None if number is None else int(number * _UNITS.get(unit, 1))

    def first(self, *paths: Tuple[str, ...]) -> Optional[float]:
        """Of several places that a value has had, by version."""
        found = next((number for number in map(self._quiet, paths) if number is not None), None)
        if found is None:
            self.missing.add(".".join(paths[0]))
        return found

    def _quiet(self, path: Tuple[str, ...]) -> Optional[float]:
        return _Values(*self._plain).number(*path)

    def _find(self, path: Tuple[str, ...]) -> Any:
        for plain in self._plain:
            for name in path:
                plain = plain.get(name) if isinstance(plain, dict) else None
            if plain is not None and plain not in _NONE:
                return plain
        self.missing.add(".".join(path))
        return None


def parse_amd_smi(index: int, static: Any, metric: Any, process: Any) -> Told:
    """One GPU by its objects of `amd-smi static`, `metric` and `process`."""
    values = _Values(static, metric)
    return Told(
        gpu_index=index,
        uuid=None,
        pci=_address(values.text("bus", "bdf")),
        identity=GpuIdentity(
            name=values.text("asic", "market_name") or "AMD GPU",
            serial=values.text("board", "product_serial"),
            vbios=values.text("vbios", "version") or values.text("vbios", "name"),
            memory_bytes=values.size("vram", "size"),
            mig_enabled=None,
            persistence_mode=None,
        ),
        telemetry=_telemetry(values),
        pcie=GpuPcie(
            generation=_generation(values.number("pcie", "speed")),
            width=values.whole("pcie", "width"),
            max_generation=_generation(values.number("bus", "max_pcie_speed")),
            max_width=values.whole("bus", "max_pcie_width"),
            replay_counter=values.whole("pcie", "replay_count"),
        ),
        errors=blank(GpuErrors)._replace(
            volatile_corrected=values.whole("ecc", "total_correctable_count"),
            volatile_uncorrected=values.whole("ecc", "total_uncorrectable_count"),
        ),
        limits=_limits(values),
        processes=_processes(process),
        unsupported=tuple(sorted(values.missing)),
    )


def _telemetry(values: _Values) -> GpuTelemetry:
    return blank(GpuTelemetry)._replace(
        gpu_utilization_percent=values.whole("usage", "gfx_activity"),
        memory_utilization_percent=values.whole("usage", "umc_activity"),
        memory_used_bytes=values.size("mem_usage", "used_vram"),
        memory_free_bytes=values.size("mem_usage", "free_vram"),
        temperature_celsius=_round(values.first(("temperature", "hotspot"), ("temperature", "edge"))),
        memory_temperature_celsius=values.whole("temperature", "mem"),
        power_watts=values.first(("power", "socket_power"), ("power", "average_socket_power")),
        sm_clock_mhz=values.whole("clock", "gfx_0", "clk"),
        memory_clock_mhz=values.whole("clock", "mem_0", "clk"),
    )


def _limits(values: _Values) -> GpuLimits:
    limit = values.first(("limit", "ppt0", "socket_power_limit"), ("limit", "socket_power"))
    return blank(GpuLimits)._replace(
        power_limit_watts=limit,
        enforced_power_limit_watts=limit,
        min_power_limit_watts=values.first(("limit", "ppt0", "min_power_limit"), ("limit", "min_power")),
        max_power_limit_watts=values.first(("limit", "ppt0", "max_power_limit"), ("limit", "max_power")),
        slowdown_celsius=values.whole("limit", "slowdown_hotspot_temperature"),
        shutdown_celsius=values.whole("limit", "shutdown_hotspot_temperature"),
    )


def _processes(plain: Any) -> Optional[Tuple[GpuProcess, ...]]:
    listed = plain.get("process_list") if isinstance(plain, dict) else None
    if not isinstance(listed, list):
        return None
    found = {}
    for values in map(_Values, listed):
        pid = values.whole("process_info", "pid")
        if pid:
            found[pid] = GpuProcess(pid, "compute", values.size("process_info", "memory_usage", "vram_mem"))
    return tuple(found[pid] for pid in sorted(found))


def parse_rocm_smi(index: int, card: Any) -> Told:
    """One GPU by its object of `rocm-smi --json`. Names differ between releases."""
    values = _Values(card)
    junction, edge = ("Temperature (Sensor junction) (C)",), ("Temperature (Sensor edge) (C)",)
    average, current = ("Average Graphics Package Power (W)",), ("Current Socket Graphics Package Power (W)",)
    total, used = values.whole("VRAM Total Memory (B)"), values.whole("VRAM Total Used Memory (B)")
    return Told(
        gpu_index=index,
        uuid=None,
        pci=_address(values.text("PCI Bus")),
        identity=GpuIdentity(
            name=values.text("Device Name") or values.text("Card Series") or "AMD GPU",
            serial=values.text("Serial Number"),
            vbios=values.text("VBIOS version"),
            memory_bytes=total,
            mig_enabled=None,
            persistence_mode=None,
        ),
        telemetry=blank(GpuTelemetry)._replace(
            gpu_utilization_percent=values.whole("GPU use (%)"),
            memory_used_bytes=used,
            memory_free_bytes=None if total is None or used is None else total - used,
            temperature_celsius=_round(values.first(junction, edge)),
            memory_temperature_celsius=values.whole("Temperature (Sensor memory) (C)"),
            power_watts=values.first(current, average),
        ),
        pcie=blank(GpuPcie),
        errors=blank(GpuErrors),
        limits=blank(GpuLimits),
        processes=None,
        unsupported=tuple(sorted(values.missing)),
    )


def _driver(version: Optional[str]) -> Optional[AcceleratorDriver]:
    return None if version is None else AcceleratorDriver(Amd.vendor, version, None, None)


def _gpus(text: str, call: str) -> List[Any]:
    plain = _decode(text, call)
    listed = plain.get("gpu_data") if isinstance(plain, dict) else plain
    if not isinstance(listed, list):
        raise AcceleratorError("error", call, "a list of GPUs is expected")
    return listed


def _decode(text: str, call: str) -> Any:
    """JSON, behind the warnings that both commands print to the same place."""
    starts = [start for start in map(text.find, "[{") if start >= 0]
    try:
        return json.loads(text[min(starts, default=0) :])
    except ValueError as error:
        raise AcceleratorError("error", call, "not JSON: {}".format(error)) from None


def _address(text: Optional[str]) -> Optional[str]:
    return text.lower() if text else None


def _generation(gts: Optional[float]) -> Optional[int]:
    return None if gts is None else _GENERATIONS.get(gts)


def _round(number: Optional[float]) -> Optional[int]:
    return None if number is None else round(number)
