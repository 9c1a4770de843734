"""Errors of each GPU's memory and links, rows remapped, and what the driver wants done."""

from .. import GPU_LABELS, Collector, Kind, Reading, Readings, WatchedGpu
from ..previous import Previous

_made = Kind("gpu-errors", GPU_LABELS)
_ECC = "nvmlDeviceGetTotalEccErrors"
_COUNTS = {
    name: _made.counter("gpu_{}_total".format(series), "", text, source)
    for name, series, text, source in (
        ("volatile_corrected", "ecc_corrected", "Errors corrected since the driver was loaded.", _ECC),
        ("volatile_uncorrected", "ecc_uncorrected", "Errors not corrected since the driver was loaded.", _ECC),
        ("aggregate_corrected", "ecc_lifetime_corrected", "Errors corrected in the board's life.", _ECC),
        ("aggregate_uncorrected", "ecc_lifetime_uncorrected", "Errors not corrected in the board's life.", _ECC),
        ("remapped_rows_correctable", "remapped_rows_correctable", "Rows remapped after errors that were corrected.",
         "nvmlDeviceGetRemappedRows"),
        ("remapped_rows_uncorrectable", "remapped_rows_uncorrectable", "Rows remapped after errors that were not.",
         "nvmlDeviceGetRemappedRows"),
        ("retired_pages_sbe", "retired_pages_single_bit", "Pages retired (before Ampere).",
         "nvmlDeviceGetRetiredPages"),
        ("retired_pages_dbe", "retired_pages_double_bit", "Likewise, after double-bit errors.",
         "nvmlDeviceGetRetiredPages"),
    )
}  # fmt: skip
_STATES = {
    name: _made.gauge("gpu_{}".format(name), "", text, source)
    for name, text, source in (
        ("ecc_enabled", "1: ECC is on.", "nvmlDeviceGetEccMode"),
        ("remap_pending", "1: rows are remapped at the next reset.", "nvmlDeviceGetRemappedRows"),
        ("remap_failure", "1: a row could not be remapped: replace the board.", "nvmlDeviceGetRemappedRows"),
        (
            "sram_threshold_exceeded",
            "1: too many errors of SRAM: replace the board.",
            "nvmlDeviceGetSramEccErrorStatus",
        ),
        ("inforom_valid", "0: the configuration on the board is corrupt.", "nvmlDeviceGetInforomConfigurationChecksum"),
    )
}
_LINKS = {
    name: _made.counter("gpu_nvlink_{}_total".format(name), "", text, field)
    for name, text, field in (
        ("replays", "Packets sent again over NVLink, all links together.", "field 161"),
        ("recoveries", "NVLinks trained anew.", "field 162"),
        ("crc_errors", "Packets of a wrong checksum on NVLink.", "field 163"),
    )
}
_ACTION = _made.gauge(
    "gpu_recovery_action", "", "1 of what the driver wants done, none included.", "field 230", "action"
)


def run(gpu: WatchedGpu, _: Previous) -> Readings:
    seen = gpu.part.errors()
    for name, series in _COUNTS.items():
        yield Reading(series, getattr(seen, name))
    for name, series in _STATES.items():
        state = getattr(seen, name)
        yield Reading(series, None if state is None else float(state))
    links = gpu.meter.link_errors()
    for name, series in _LINKS.items():
        yield Reading(series, getattr(links, name))
    if seen.recovery_action is not None:
        yield Reading(_ACTION, 1.0, (seen.recovery_action,))


COLLECTOR = Collector(
    id="gpu-errors", title="GPU errors and recovery", every_s=10.0, series=tuple(_made.all), of_gpu=run
)
