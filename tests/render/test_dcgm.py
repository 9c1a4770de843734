"""dcgm-exporter's series, for the dashboards that know them."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from brctl.node.report import Report, Sample, Series, State
from brctl.render.dcgm import FIELDS, exposition

UUID = "GPU-8c2c8a3a"
GPU = ("gpu", "uuid")
VALUES = {
    "brctl_gpu_temperature_celsius": 61.0,
    "brctl_gpu_power_watts": 412.5,
    "brctl_gpu_clock_hertz/sm": 1.98e9,
    "brctl_gpu_utilization_ratio": 0.97,
    "brctl_gpu_memory_used_bytes": 2.0**34,
    "brctl_gpu_tensor_active_ratio": 0.42,
}
DASHBOARD_12239 = {
    "DCGM_FI_DEV_GPU_TEMP": 61,
    "DCGM_FI_DEV_POWER_USAGE": 412.5,
    "DCGM_FI_DEV_SM_CLOCK": 1980,
    "DCGM_FI_DEV_GPU_UTIL": 97,
    "DCGM_FI_DEV_FB_USED": 16384,
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.42,
}


def _series(name: str, labels: "tuple[str, ...]" = GPU) -> Series:
    return Series(name, "", "gauge", labels, "Help.", "NVML", "t")


def _report(values: "dict[str, float]", *more: Sample) -> Report:
    info = _series("brctl_gpu_info", ("gpu", "uuid", "pci", "name", "driver"))
    identity = ("3", UUID, "0000:1b:00.0", "NVIDIA H100 80GB HBM3", "580.105.08")
    series = [_series(name.partition("/")[0], ("gpu", "uuid", "clock") if "/" in name else GPU) for name in values]
    samples = [
        Sample(name.partition("/")[0], ("3", UUID, *name.split("/")[1:]), value, State.MEASURED, 0.0)
        for name, value in values.items()
    ]
    samples.append(Sample(info.name, identity, 1.0, State.MEASURED, 0.0))
    return Report("gpu001", 0.0, 0.0, series=(info, *series), samples=(*samples, *more))


def test_the_six_series_of_dashboard_12239() -> None:
    families = text_string_to_metric_families(exposition([_report(VALUES)], "hostname").decode())
    samples = {sample.name: sample for family in families for sample in family.samples}
    assert {name: sample.value for name, sample in samples.items()} == DASHBOARD_12239
    assert samples["DCGM_FI_DEV_GPU_TEMP"].labels == {
        "gpu": "3",
        "UUID": UUID,
        "pci_bus_id": "00000000:1B:00.0",
        "device": "nvidia3",
        "modelName": "NVIDIA H100 80GB HBM3",
        "hostname": "gpu001",
        "DCGM_FI_DRIVER_VERSION": "580.105.08",
    }


@pytest.mark.parametrize(
    ("flag", "labels"),
    [("hostname", 'hostname="gpu001"'), ("Hostname", 'Hostname="gpu001"'),
     ("both", 'hostname="gpu001",Hostname="gpu001"')],
)  # fmt: skip
def test_consumers_of_either_spelling_find_the_host(flag: str, labels: str) -> None:
    """aiperf#1422: after dcgm-exporter's PR#655 the label that its readers knew was gone."""
    line = exposition([_report({"brctl_gpu_power_watts": 400.0})], flag).decode().splitlines()[-1]
    assert line == (
        f'DCGM_FI_DEV_POWER_USAGE{{gpu="3",UUID="{UUID}",pci_bus_id="00000000:1B:00.0",device="nvidia3",'
        f'modelName="NVIDIA H100 80GB HBM3",{labels},DCGM_FI_DRIVER_VERSION="580.105.08"}} 400.000000'
    )


def test_what_was_not_measured_is_absent() -> None:
    stale = Sample("brctl_gpu_power_watts", ("4", "GPU-4"), None, State.STALE, 0.0)
    text = exposition([_report({}, stale)._replace(series=(_series("brctl_gpu_power_watts"),))], "hostname")
    assert text == b""


def test_a_counter_keeps_its_name() -> None:
    text = exposition([_report({"brctl_gpu_energy_joules_total": 12.5})], "hostname").decode()
    assert "# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n" in text
    assert text.endswith(" 12500.000000\n")


def test_other_labels_and_a_second_line_are_left_out() -> None:
    """One line of a MIG device, or the same line twice, and the whole scrape is lost."""
    again = Sample("brctl_gpu_power_watts", ("3", UUID), 2.0, State.MEASURED, 0.0)
    report = _report({"brctl_gpu_power_watts": 1.0}, again)
    assert exposition([report], "hostname").decode().count("\nDCGM_FI") == 1
    mig = (_series("brctl_gpu_power_watts", ("gpu", "uuid", "instance")),)
    assert exposition([report._replace(series=mig)], "hostname") == b""


def test_a_gpu_without_identity_has_its_index_and_uuid() -> None:
    text = exposition(
        [_report({"brctl_gpu_power_watts": 1.0})._replace(series=(_series("brctl_gpu_power_watts"),))], "both"
    )
    assert f'gpu="3",UUID="{UUID}",pci_bus_id="",device="nvidia3",modelName=""' in text.decode()


def test_each_field_is_made_of_one_series() -> None:
    assert len({(field.ours, field.labels) for field in FIELDS}) == len({field.name for field in FIELDS}) == len(FIELDS)
