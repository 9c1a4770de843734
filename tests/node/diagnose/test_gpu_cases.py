"""What people reported of GPUs, with the verdict that was right in the end. Each names the threads that it is from."""

from typing import Any, Callable, Dict, Optional, Tuple

import pytest

from brctl.mock.nvml import install
from brctl.node.accel.nvml import Nvml
from brctl.node.diagnose import Earlier, engine
from brctl.node.facts import Gpu, GpuLink, GpuLinkErrors, Inventory, Problem
from brctl.node.report import Finding, Status
from brctl.node.request import Expected

Values = Callable[..., Inventory]


def diagnosed(seen: Inventory, before: Optional[Inventory] = None) -> Tuple[Finding, ...]:
    earlier = (Earlier(before, "the first sample"),) if before else ()
    chosen = [check for check in engine.registry() if check.group == "gpu"]
    return engine.run(seen, Expected(), (), chosen, earlier)


def told(seen: Inventory, before: Optional[Inventory] = None) -> Any:
    """Check, status and part of what calls for somebody."""
    calls = (Status.WARN, Status.CRIT, Status.UNKNOWN)
    return [(one.check, one.status, one.subject.name) for one in diagnosed(seen, before) if one.status in calls]


def verdict(check: str, seen: Inventory, before: Optional[Inventory] = None) -> Finding:
    return next(one for one in diagnosed(seen, before) if one.check == check)


def every(seen: Inventory, **parts: Dict[str, Any]) -> Inventory:
    """The machine with values of all its GPUs replaced."""

    def edited(gpu: Gpu) -> Gpu:
        return gpu._replace(**{part: getattr(gpu, part)._replace(**values) for part, values in parts.items()})

    return seen._replace(gpus=tuple(map(edited, seen.gpus or ())))


def links(well: Inventory, active: int, total: int) -> Inventory:
    found = tuple(GpuLink(link, link < active, "3.0") for link in range(total)) or None
    return well._replace(gpus=tuple(gpu._replace(links=found) for gpu in well.gpus or ()))


def test_row_remap_that_the_driver_has_a_word_on(with_values: Values) -> None:
    """wtdcode/vllm-backport#62: pending, and Xid 154 says drain and reset: one finding, with the driver's own word."""
    seen = with_values(
        3,
        errors={"remap_pending": True, "remapped_rows_uncorrectable": 12, "recovery_action": "drain-and-reset"},
    )
    assert told(seen) == [("gpu-remap", Status.WARN, "GPU 3")]
    (follows,) = [one for one in diagnosed(seen) if one.cause]
    assert follows.summary == "GPU 3: the driver asks for drain-and-reset"


def test_row_remap_pending_and_failed(with_values: Values) -> None:
    """leptonai/gpud#80 and #219: pending needs a reset and no RMA; a failure needs it, whatever the count."""
    pending = with_values(3, errors={"remap_pending": True, "remapped_rows_uncorrectable": 4})
    assert told(pending) == [("gpu-remap", Status.WARN, "GPU 3")]
    failed = with_values(3, errors={"remap_failure": True, "remapped_rows_uncorrectable": 2})
    assert told(failed) == [("gpu-remap", Status.CRIT, "GPU 3")]


def test_a_storm_of_corrected_errors(well: Inventory, with_values: Values, later: Values) -> None:
    """NVIDIA/DCGM#313: 17,700 a second on one GPU, none uncorrected, and DCGM called it healthy."""
    seen = later(with_values(3, errors={"volatile_corrected": 1001770, "aggregate_corrected": 30001770}), 0.1)
    assert told(seen, well) == [("gpu-ecc-rate", Status.WARN, "GPU 3")]


def test_all_links_of_one_gpu_are_down(well: Inventory) -> None:
    """leptonai/gpud#1085: on NVSwitches, where its peers are up."""
    gpus = list(well.gpus or ())
    gpus[3] = gpus[3]._replace(links=tuple(GpuLink(link, False, None) for link in range(18)))
    assert told(well._replace(gpus=tuple(gpus))) == [("gpu-links", Status.CRIT, "GPU 3")]


@pytest.mark.parametrize(("active", "status"), [(12, Status.PASS), (18, Status.PASS), (0, Status.NA)])
def test_as_many_links_as_the_model_has(well: Inventory, active: int, status: Status) -> None:
    """leptonai/gpud#1227, azurehpc-health-checks#162, NVSentinel#1481: 12 on an A100 or H100 NVL, none on PCIe."""
    seen = links(well, active, active)
    if not active:
        seen = seen._replace(gpus=tuple(gpu._replace(health=None) for gpu in seen.gpus or ()))
    assert told(seen) == []
    assert verdict("gpu-links", seen).status is status


def test_crc_errors_of_a_long_life(well: Inventory, later: Values) -> None:
    """aws/eks-node-monitoring-agent#261: thousands in all, none new."""
    worn = tuple(GpuLinkErrors(link, 0, 0, 987654) for link in range(18))
    seen = every(well, health={"link_errors": worn})
    assert told(later(seen, 0.1), seen) == []
    assert verdict("gpu-nvlink-errors", later(seen, 0.1), seen).status is Status.PASS


@pytest.mark.parametrize(
    ("reasons", "status"),
    [
        (("gpu_idle",), None),
        (("sw_power_cap",), None),
        (("gpu_idle", "sw_power_cap"), None),
        (("hw_slowdown", "hw_power_brake_slowdown"), Status.CRIT),
        (("hw_thermal_slowdown",), Status.CRIT),
    ],
)
def test_masks_of_reasons(with_values: Values, reasons: Tuple[str, ...], status: Optional[Status]) -> None:
    """mlfoundations/open_clip#703: 0x1, 0x4 and 0x5 are fine; 0x88 and 0x40 are not."""
    seen = with_values(3, telemetry={"clocks_event_reasons": reasons})
    assert told(seen) == ([("gpu-throttle", status, "GPU 3")] if status else [])


def test_one_of_four_at_half_its_power(well: Inventory) -> None:
    """l4rz/reverse-engineering-dell-idrac#3: one V100 enforced at 150 W where its siblings have 300 W."""
    seen = every(well, limits={"enforced_power_limit_watts": 300.0, "power_limit_watts": 300.0})
    gpus = (seen.gpus or ())[:4]
    assert gpus[2].limits
    gpus = (*gpus[:2], gpus[2]._replace(limits=gpus[2].limits._replace(enforced_power_limit_watts=150.0)), gpus[3])
    assert told(seen._replace(gpus=gpus)) == [("gpu-power", Status.WARN, "GPU 2")]


def test_a_margin_is_no_temperature(with_values: Values) -> None:
    """NVSentinel#1371, gpud#1208: 56 C left is cool; a part that tells no margin has none."""
    assert told(with_values(3, telemetry={"temperature_margin_celsius": 56})) == []
    assert told(with_values(3, telemetry={"temperature_margin_celsius": None})) == []


def test_pcie_that_is_slow_when_idle(with_values: Values) -> None:
    """Syllo/nvtop#6, NVSentinel#890: generation 1 when idle is fine; rtx6kpro#88: under load it is not."""
    idle = with_values(3, pcie={"generation": 1}, telemetry={"performance_state": 8})
    assert told(idle) == []
    busy = {"performance_state": 0, "gpu_utilization_percent": 97, "clocks_event_reasons": (), "sm_clock_mhz": 1980}
    assert told(with_values(3, pcie={"generation": 2}, telemetry=busy)) == [("gpu-pcie", Status.WARN, "GPU 3")]


def test_eight_lanes_by_design(well: Inventory) -> None:
    """aws/aws-k8s-tester#806."""
    assert told(every(well, pcie={"width": 8})) == []


def test_mig_has_no_utilization(well: Inventory) -> None:
    """dask/distributed#8739, nvidia_gpu_exporter#203: not there is not 0, and no crash."""
    seen = every(well, telemetry={"gpu_utilization_percent": None}, identity={"mig_enabled": True})
    seen = every(seen, health={"mig_pending": True})
    assert told(seen) == []
    assert verdict("gpu-clocks", seen).status is Status.NA


def test_a_guest_that_is_told_nothing(well: Inventory) -> None:
    """NVIDIA/TensorRT-LLM#1861: neither links, ECC nor PCIe: n/a each, and well on the whole."""
    blank: Dict[str, Any] = dict.fromkeys(("links", "errors", "pcie", "fabric", "health", "limits"))
    seen = well._replace(gpus=tuple(gpu._replace(**blank) for gpu in well.gpus or ()))
    assert told(seen) == []
    for check in ("gpu-ecc-volatile", "gpu-remap", "gpu-pcie", "gpu-power", "gpu-links", "gpu-fabric"):
        assert verdict(check, seen).status is Status.NA


def test_violations_of_no_time(well: Inventory, later: Values) -> None:
    """NVIDIA/DCGM#242, #270, #285: a total of seconds, none of them new, is no violation."""
    assert told(later(well, 5), well) == []


def test_a_reading_that_cannot_be(dgx_h100_nvml: Dict[str, Any], well: Inventory) -> None:
    """flightlessmango/MangoHud#2144, hashicorp/nomad-device-nvidia#118: megawatts are no power, and that is said."""
    dgx_h100_nvml["gpus"][3]["power_average_watts"] = 3700000
    install(dgx_h100_nvml)
    library = Nvml()
    library.driver()
    board = library.open(3)
    assert board.telemetry().power_watts is None
    (failure,) = board.failures
    problem = Problem("gpus", failure.kind, "GPU 3: {}".format(failure))
    assert told(well._replace(problems=(problem,))) == [("gpu-responding", Status.UNKNOWN, "host")]
