"""What only `diagnose` judges: pending modes, GSP firmware, errors of each NVLink."""

import time
from typing import Any, Callable, Dict

import pynvml
import pytest

from brctl.node.accel import AcceleratorError
from brctl.node.facts import GpuLinkErrors

Plain = Dict[str, Any]
Board = Callable[..., Any]


def test_a_whole_gpu(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0].update(nvlinks_down=[3], nvlink_replay_errors=5, ecc_pending=False)
    board = gpu(dgx_h100_nvml)
    before = time.monotonic()
    health = board.health(board.links())
    assert before <= health.read_at_s <= time.monotonic()
    assert (health.ecc_pending, health.mig_pending) == (False, False)
    assert (health.gsp_firmware_version, health.gsp_enabled, health.gsp_enabled_by_default) == (
        "580.105.08",
        True,
        True,
    )
    assert [link.link_index for link in health.link_errors] == [link for link in range(18) if link != 3]
    assert health.link_errors[0] == GpuLinkErrors(0, 5, 0, 0)
    assert board.failures == ()


def test_nvlink_5_counts_other_things(dgx_h100_nvml: Plain, gpu: Board) -> None:
    dgx_h100_nvml["gpus"][0].update(nvlink_version="5.0", nvlink_replay_errors=9, nvlink_crc_errors=7)
    dgx_h100_nvml["gpus"][0].update(nvlink_recovery_errors=2)
    board = gpu(dgx_h100_nvml)
    assert board.health(board.links()).link_errors[0] == GpuLinkErrors(0, None, 2, 7)


def test_a_part_without_any_of_it(dgx_h100_nvml: Plain, gpu: Board) -> None:
    lacking = ("nvlinks", "ecc_enabled", "ecc_pending", "mig_enabled", "mig_pending", "gsp_firmware_version")
    dgx_h100_nvml["gpus"][0].update(dict.fromkeys(lacking))
    board = gpu(dgx_h100_nvml)
    health = board.health(board.links())
    assert health._replace(read_at_s=0.0) == (0.0, *[None] * 7)
    assert board.failures == ()


def test_links_that_tell_no_counters(dgx_h100_nvml: Plain, gpu: Board) -> None:
    keys = ("nvlink_replay_errors", "nvlink_recovery_errors", "nvlink_crc_errors")
    dgx_h100_nvml["gpus"][0].update(dict.fromkeys(keys))
    board = gpu(dgx_h100_nvml)
    assert board.health(board.links()).link_errors is None


@pytest.mark.parametrize(("error", "failures"), [("NVML_ERROR_NOT_SUPPORTED", 0), ("NVML_ERROR_UNKNOWN", 1)])
def test_fields_that_are_refused(dgx_h100_nvml: Plain, gpu: Board, error: str, failures: int) -> None:
    dgx_h100_nvml["gpus"][0]["errors"] = {"nvmlDeviceGetFieldValues": error}
    board = gpu(dgx_h100_nvml)
    for _ in range(2):
        assert board.health(board.links()).link_errors is None
    assert len(board.failures) == failures


def test_a_gpu_that_is_lost_meanwhile(dgx_h100_nvml: Plain, gpu: Board) -> None:
    board = gpu(dgx_h100_nvml)
    links = board.links()
    dgx_h100_nvml["gpus"][0]["errors"] = {"*": "NVML_ERROR_GPU_IS_LOST"}
    board = gpu(dgx_h100_nvml)
    with pytest.raises(AcceleratorError, match="GPU is lost"):
        board.health(links)


def test_a_binding_that_does_not_know_the_mode(
    dgx_h100_nvml: Plain, gpu: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(pynvml, "nvmlDeviceGetGspFirmwareMode")
    health = gpu(dgx_h100_nvml).health(None)
    assert (health.gsp_firmware_version, health.gsp_enabled) == ("580.105.08", None)


def test_gsp_that_is_off_has_no_version(dgx_h100_nvml: Plain, gpu: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pynvml, "nvmlDeviceGetGspFirmwareMode", lambda *_: [0, 1])
    health = gpu(dgx_h100_nvml).health(None)
    assert (health.gsp_firmware_version, health.gsp_enabled, health.gsp_enabled_by_default) == (None, False, True)
