from typing import Any

from brctl.node.monitor.collectors.gpu_errors import COLLECTOR


def test_errors_rows_and_what_to_do(look: Any, watched: Any) -> None:
    gpu = watched(ecc_volatile_uncorrected=3, ecc_aggregate_corrected=9, remapped_rows_uncorrectable=1,
                  remap_pending=True, recovery_action="drain-and-reset", inforom_valid=False,
                  nvlink_crc_errors=1)  # fmt: skip
    seen = look(COLLECTOR).of(1.0, gpu)
    assert seen["gpu_ecc_uncorrected_total", ()] == 3
    assert seen["gpu_ecc_corrected_total", ()] == 0
    assert seen["gpu_ecc_lifetime_corrected_total", ()] == 9
    assert seen["gpu_remapped_rows_uncorrectable_total", ()] == 1
    assert seen["gpu_remap_pending", ()] == 1
    assert seen["gpu_inforom_valid", ()] == 0
    assert seen["gpu_recovery_action", ("drain-and-reset",)] == 1
    assert seen["gpu_nvlink_crc_errors_total", ()] == 18
    assert seen["gpu_nvlink_replays_total", ()] == 0


def test_retired_pages_are_a_thing_of_older_parts(look: Any, watched: Any) -> None:
    seen = look(COLLECTOR).of(1.0, watched(recovery_action=None, nvlinks=None))
    assert seen["gpu_nvlink_replays_total", ()] is None
    assert seen["gpu_retired_pages_single_bit_total", ()] is None
    assert not [labels for name, labels in seen if name == "gpu_recovery_action"]
