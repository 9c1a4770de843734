"""Parts that are not whole, or of another kind: MIG, vGPU, unified memory, fabrics, old and new thermal limits."""

from typing import Any, Callable, Dict

import pynvml
import pytest

from brctl.mock.nvml import install
from brctl.node.accel import AcceleratorError
from brctl.node.accel.nvml import Nvml
from brctl.node.facts import GpuFabric, GpuInstance

Plain = Dict[str, Any]
Board = Callable[..., Any]
UUID = "MIG-1b2c3d4e-0000-4000-8000-0123456789a{}"
MIG_PARENT = dict.fromkeys(
    ("gpu_utilization_percent", "memory_utilization_percent", "encoder_utilization_percent",
     "decoder_utilization_percent", "remapped_rows_correctable", "nvlinks")
)  # fmt: skip


def mig_device(number: int, gpu_instance: int, profile: str, mib: int) -> Plain:
    ids = {"gpu_instance_id": gpu_instance, "compute_instance_id": 0, "uuid": UUID.format(number), "profile": profile}
    return {**ids, "memory_total_bytes": mib << 20, "memory_used_bytes": 9 << 20, "multiprocessors": 16}


def with_mig(plain: Plain, *devices: Plain) -> Plain:
    plain["gpus"][0].update(MIG_PARENT, mig_enabled=True, mig_pending=True, mig_devices=list(devices))
    return plain


# MIG


def test_what_a_parent_of_instances_does_not_tell_is_absent(dgx_h100_nvml: Plain, gpu: Board) -> None:
    board = gpu(with_mig(dgx_h100_nvml))
    assert board.identity().mig_enabled is True
    telemetry = board.telemetry()
    assert (telemetry.gpu_utilization_percent, telemetry.memory_utilization_percent) == (None, None)
    assert (telemetry.power_watts, telemetry.temperature_celsius) == (68.57, 29)
    assert board.errors().remap_failure is None
    assert board.links() is None
    assert board.failures == ()
    assert board.instances() == ()


def test_instances_are_listed(dgx_h100_nvml: Plain, gpu: Board) -> None:
    board = gpu(with_mig(dgx_h100_nvml, mig_device(1, 2, "3g.40gb", 40448), mig_device(2, 9, "1g.10gb", 9984)))
    assert board.instances() == (
        GpuInstance(0, UUID.format(1), 2, 0, "3g.40gb", 40448 << 20, 9 << 20, 16),
        GpuInstance(1, UUID.format(2), 9, 0, "1g.10gb", 9984 << 20, 9 << 20, 16),
    )
    assert board.failures == ()


def test_a_whole_gpu_has_no_instances(dgx_h100_nvml: Plain, gpu: Board) -> None:
    assert gpu(dgx_h100_nvml).instances() is None
    dgx_h100_nvml["gpus"][1]["mig_enabled"] = None
    assert gpu(dgx_h100_nvml, 1).instances() is None


def test_instances_that_may_not_be_seen(dgx_h100_nvml: Plain, gpu: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    board = gpu(with_mig(dgx_h100_nvml, mig_device(1, 2, "3g.40gb", 40448)))
    handles = pynvml.nvmlDeviceGetMigDeviceHandleByIndex

    def refuse(handle: Any, place: int) -> Any:
        if place == 3:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NO_PERMISSION)
        return handles(handle, place)

    monkeypatch.setattr(pynvml, "nvmlDeviceGetMigDeviceHandleByIndex", refuse)
    assert len(board.instances() or ()) == 1
    assert [str(failure) for failure in board.failures] == [
        "nvmlDeviceGetMigDeviceHandleByIndex: Insufficient Permissions"
    ]


def test_what_an_instance_does_not_tell(dgx_h100_nvml: Plain, gpu: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    board = gpu(with_mig(dgx_h100_nvml, mig_device(1, 2, "3g.40gb", 40448)))

    def fail(handle: Any) -> Any:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN)

    monkeypatch.setattr(pynvml, "nvmlDeviceGetAttributes_v2", fail)
    (found,) = board.instances() or ()
    assert (found.profile, found.multiprocessors) == ("3g.40gb", None)
    assert [str(failure) for failure in board.failures] == ["nvmlDeviceGetAttributes_v2: Unknown Error"]


# vGPU and others that are not there


def test_a_guest_with_a_part_of_a_gpu(dgx_h100_nvml: Plain, gpu: Board) -> None:
    absent = ("nvlinks", "ecc_enabled", "pcie_generation", "pcie_width", "fabric_state", "power_average_watts",
              "power_instant_watts", "remap_pending", "temperature_celsius", "sram_threshold_exceeded",
              "inforom_valid")  # fmt: skip
    dgx_h100_nvml["gpus"][0].update(dict.fromkeys(absent), virtualization_mode="vgpu")
    dgx_h100_nvml["gpus"][0]["errors"] = {"nvmlDeviceGetTotalEccErrors": "NVML_ERROR_VGPU_ECC_NOT_SUPPORTED"}
    board = gpu(dgx_h100_nvml)
    assert board.identity().virtualization_mode == "vgpu"
    errors, telemetry = board.errors(), board.telemetry()
    assert (errors.ecc_enabled, errors.volatile_corrected, errors.inforom_valid) == (None, None, None)
    assert (telemetry.power_watts, telemetry.temperature_celsius, telemetry.sm_clock_mhz) == (None, None, 345)
    assert (board.pcie().width, board.links(), board.fabric()) == (None, None, None)
    assert board.failures == ()


def test_a_gpu_that_this_user_may_not_see(dgx_h100_nvml: Plain) -> None:
    dgx_h100_nvml["gpus"][2]["errors"] = {"nvmlDeviceGetHandle*": "NVML_ERROR_NO_PERMISSION"}
    install(dgx_h100_nvml)
    library = Nvml()
    assert library.count() == 8
    with pytest.raises(AcceleratorError) as caught:
        library.open(2)
    assert caught.value.kind == "permission"
    assert library.open(3).uuid() == dgx_h100_nvml["gpus"][3]["uuid"]


def test_an_index_is_not_an_identity(dgx_h100_nvml: Plain) -> None:
    """After a reboot with one GPU less, all behind it have moved up."""
    uuid = dgx_h100_nvml["gpus"][5]["uuid"]
    dgx_h100_nvml["gpus"].pop(2)
    install(dgx_h100_nvml)
    assert Nvml().open(4).uuid() == uuid


# Unified memory


@pytest.mark.parametrize("total", [None, 0])
@pytest.mark.parametrize(
    ("name", "unified"), [("NVIDIA GB10", True), ("NVIDIA Thor", True), ("NVIDIA H100 80GB HBM3", None)]
)
def test_a_gpu_without_memory_of_its_own(dgx_h100_nvml: Plain, gpu: Board, total: Any, name: str, unified: Any) -> None:
    dgx_h100_nvml["gpus"][0].update(memory_total_bytes=total, memory_reserved_bytes=0, name=name)
    board = gpu(dgx_h100_nvml)
    identity, telemetry = board.identity(), board.telemetry()
    assert (identity.memory_bytes, identity.unified_memory) == (None, unified)
    assert (telemetry.memory_used_bytes, telemetry.memory_free_bytes) == (None, None)


def test_a_card_that_fails_to_tell_its_memory_is_not_unified(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0]["errors"] = {"nvmlDeviceGetMemoryInfo*": "NVML_ERROR_UNKNOWN"}
    board = gpu(dgx_h100_nvml)
    assert (board.identity().memory_bytes, board.identity().unified_memory) == (None, None)
    assert [failure.call for failure in board.failures] == ["nvmlDeviceGetMemoryInfo_v2"]


# Fabric


def test_a_gpu_that_joined_its_fabric(dgx_h100_nvml: Plain, gpu: Board) -> None:
    uuid = "0f0e0d0c-0b0a-4909-8807-060504030201"
    own = dgx_h100_nvml["gpus"][0]
    own.update(fabric_clique_id=3, fabric_cluster_uuid=uuid, fabric_health=[])
    assert gpu(dgx_h100_nvml).fabric() == GpuFabric("completed", "Success", 3, uuid, ())
    own.update(fabric_cluster_uuid=None, fabric_health=None)
    assert gpu(dgx_h100_nvml).fabric() == GpuFabric("completed", "Success", 3, None, None)
    own["fabric_health"] = ["route-unhealthy", "incorrect-configuration"]
    fabric = gpu(dgx_h100_nvml).fabric()
    assert fabric is not None
    assert fabric.unhealthy == ("route-unhealthy", "incorrect-configuration")


def test_a_gpu_that_did_not(dgx_h100_nvml: Plain, gpu: Board) -> None:
    own = dgx_h100_nvml["gpus"][0]
    own.update(fabric_state="completed", fabric_status=999)
    assert gpu(dgx_h100_nvml).fabric() == GpuFabric("completed", "Unknown Error", 0, None, None)
    own.update(fabric_state="in-progress", fabric_status=0)
    assert gpu(dgx_h100_nvml).fabric() == GpuFabric("in-progress", None, None, None, None)


@pytest.mark.parametrize("state", ["not-supported", None])
def test_a_gpu_on_no_fabric(dgx_h100_nvml: Plain, gpu: Board, state: Any) -> None:
    dgx_h100_nvml["gpus"][0]["fabric_state"] = state
    assert gpu(dgx_h100_nvml).fabric() is None


def test_a_binding_that_knows_no_fabric(dgx_h100_nvml: Plain, gpu: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pynvml, "c_nvmlGpuFabricInfoV_t")
    board = gpu(dgx_h100_nvml)
    assert board.fabric() is None
    assert board.unsupported == ("nvmlDeviceGetGpuFabricInfoV",)


# Errors of memory, InfoROM


def test_sram_errors_and_pending_pages(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0].update(
        sram_volatile_parity=1, sram_volatile_secded=2, sram_aggregate_parity=3, sram_aggregate_secded=4,
        sram_threshold_exceeded=True, retired_pages_pending=True,
    )  # fmt: skip
    errors = gpu(dgx_h100_nvml).errors()
    assert (errors.sram_volatile_parity, errors.sram_volatile_secded) == (1, 2)
    assert (errors.sram_aggregate_parity, errors.sram_aggregate_secded) == (3, 4)
    assert (errors.sram_threshold_exceeded, errors.retired_pages_pending) == (True, True)


def test_a_corrupt_inforom(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0]["inforom_valid"] = False
    board = gpu(dgx_h100_nvml)
    assert board.errors().inforom_valid is False
    assert board.failures == ()
    assert board.identity().inforom_version is None
    assert board.failures == (), "it is what was found"
    dgx_h100_nvml["gpus"][0]["errors"] = {"*Checksum": "NVML_ERROR_UNKNOWN"}
    board = gpu(dgx_h100_nvml)
    assert board.errors().inforom_valid is None
    assert len(board.failures) == 1


# Temperature


@pytest.mark.parametrize(
    ("margin", "reasons", "want"),
    [
        (56, [], 56),
        (0, ["gpu_idle"], None),  # a part without the sensor
        (-5, [], None),
        (0, ["hw_slowdown", "hw_thermal_slowdown"], 0),
        (-5, ["sw_thermal_slowdown"], -5),
    ],
)
def test_a_margin_of_nothing_is_believed_of_a_hot_gpu_alone(
    dgx_h100_nvml: Plain, gpu: Board, margin: int, reasons: Any, want: Any
) -> None:
    dgx_h100_nvml["gpus"][0].update(temperature_margin_celsius=margin, clocks_event_reasons=reasons)
    assert gpu(dgx_h100_nvml).telemetry().temperature_margin_celsius == want


def test_thermal_limits_of_both_kinds(dgx_h100_nvml: Plain, gpu: Board) -> None:
    limits = gpu(dgx_h100_nvml).limits()
    assert (limits.slowdown_margin_celsius, limits.shutdown_margin_celsius) == (-2, -8)
    assert (limits.slowdown_celsius, limits.shutdown_celsius) == (None, None)
    dgx_h100_nvml["gpus"][1].update(
        slowdown_tlimit_celsius=None, shutdown_tlimit_celsius=None, temperature_margin_celsius=None,
        slowdown_threshold_celsius=89, shutdown_threshold_celsius=92,
    )  # fmt: skip
    board = gpu(dgx_h100_nvml, 1)
    limits = board.limits()
    assert (limits.slowdown_margin_celsius, limits.shutdown_margin_celsius) == (None, None)
    assert (limits.slowdown_celsius, limits.shutdown_celsius) == (89, 92)
    assert board.telemetry().temperature_margin_celsius is None


# Values that cannot be


def test_a_power_of_more_than_twice_the_limit_is_none(dgx_h100_nvml: Plain, gpu: Board) -> None:
    own = dgx_h100_nvml["gpus"][0]
    own["power_average_watts"] = 1400.1
    board = gpu(dgx_h100_nvml)
    assert board.telemetry().power_watts is None
    assert [(failure.kind, str(failure)) for failure in board.failures] == [
        ("error", "nvmlDeviceGetPowerUsage: 1400.1 W cannot be: the limit is 700 W")
    ]
    own["power_average_watts"] = 1400
    assert gpu(dgx_h100_nvml).telemetry().power_watts == 1400.0
    own.update(power_average_watts=4034, max_power_limit_watts=None)
    assert gpu(dgx_h100_nvml).telemetry().power_watts == 4034.0  # nothing to measure it by


def test_a_utilization_of_more_than_all_is_none(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0].update(gpu_utilization_percent=101, memory_utilization_percent=100)
    board = gpu(dgx_h100_nvml)
    telemetry = board.telemetry()
    assert (telemetry.gpu_utilization_percent, telemetry.memory_utilization_percent) == (None, 100)
    assert [str(failure) for failure in board.failures] == [
        "nvmlDeviceGetUtilizationRates: 101 % cannot be: it is a part of the time"
    ]
