"""What each fault makes of a machine's JSON, and what it leaves to be done while the machine is read."""

import copy
import json
from pathlib import Path
from typing import Any, Dict

import pytest

from brctl.mock import machines
from brctl.mock.faults import KINDS, UNSUPPORTED, Change, parse
from brctl.mock.harm import FileChange, Growth, Harm, Rail, inflict, rails, real
from brctl.mock.nvml import check

PORT = "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1a:00.0"
LINK_WIDTH = "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.0/current_link_width"


def decoded(name: str) -> Dict[str, Any]:
    plain: Dict[str, Any] = machines._decode(str(Path(machines.__file__).with_name("machines") / (name + ".json")))
    return plain


@pytest.fixture(scope="module")
def _dgx_h100() -> Dict[str, Any]:
    return decoded("dgx-h100")


@pytest.fixture
def plain(_dgx_h100: Dict[str, Any]) -> Dict[str, Any]:
    return copy.deepcopy(_dgx_h100)


def gpu(plain: Any, index: int) -> Dict[str, Any]:
    return dict(plain["nvml"]["defaults"], **plain["nvml"]["gpus"][index])


def test_no_fault_changes_nothing(plain: Any) -> None:
    before = copy.deepcopy(plain)
    assert inflict((), plain) == Harm((), (), (), ())
    assert plain == before


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_fault_does_something_and_leaves_valid_values(plain: Any, kind: Any) -> None:
    plain["nvml"]["defaults"].update(fabric_health=[], retired_pages_dbe=0, retired_pages_pending=False)
    before = copy.deepcopy(plain)
    harm = inflict(parse("unsupported:nvmlDeviceGetName" if kind is UNSUPPORTED else kind.name), plain)
    assert harm.idle == ()
    assert plain != before or harm != Harm((), (), (), ())
    if plain["nvml"]:
        check(plain["nvml"])
        for change in harm.changes:
            check({**plain["nvml"], "gpus": [{**plain["nvml"]["gpus"][0], **change.values}]})


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("gpu3-ecc-dbe", {"ecc_volatile_uncorrected": 1, "ecc_aggregate_uncorrected": 1}),
        ("gpu3-remap-failure", {"remap_failure": True}),
        ("gpu3-link-down", {"nvlinks_down": [3], "nvlinks": 18}),
        ("gpu3-pcie-x4", {"pcie_width": 4}),
        ("gpu3-power-capped", {"enforced_power_limit_watts": 350.0, "power_limit_watts": 700.0}),
        ("gpu3-inforom", {"inforom_valid": False}),
        ("gpu3-xid-79", {"xids": [{"xid": 79, "after_s": 0}]}),
        (
            "gpu3-remap-pending",
            {"remap_pending": True, "remapped_rows_uncorrectable": 1, "recovery_action": "drain-and-reset"},
        ),
    ],
)
def test_what_is_so_from_the_start_is_a_value_of_that_gpu(plain: Any, text: str, keys: Dict[str, Any]) -> None:
    others = [gpu(plain, index) for index in range(8) if index != 3]
    assert inflict(parse(text), plain).changes == ()
    assert {key: gpu(plain, 3)[key] for key in keys} == keys
    assert [gpu(plain, index) for index in range(8) if index != 3] == others


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("hang", {"*": "hang"}),
        ("hang@3", {"*": {"error": "hang", "after": 3}}),
        ("reset-required", {"*": "NVML_ERROR_RESET_REQUIRED"}),
        ("no-permission", {"nvmlDeviceGetHandle*": "NVML_ERROR_NO_PERMISSION"}),
        ("lost", {"nvmlDeviceGetHandle*": "NVML_ERROR_GPU_IS_LOST", "*": "NVML_ERROR_GPU_IS_LOST"}),
        # One that is opened first cannot have been lost before.
        ("lost@7", {"*": {"error": "NVML_ERROR_GPU_IS_LOST", "after": 7}}),
        ("xid-79@7", {"*": {"error": "NVML_ERROR_GPU_IS_LOST", "after": 7}}),
        ("unsupported:nvmlDeviceGetName", {"nvmlDeviceGetName": "NVML_ERROR_NOT_SUPPORTED"}),
        ("unsupported:nvmlDeviceGetName+hang", {"*": "hang", "nvmlDeviceGetName": "NVML_ERROR_NOT_SUPPORTED"}),
    ],
)
def test_what_the_gpu_answers(plain: Any, text: str, errors: Dict[str, Any]) -> None:
    inflict(parse("+".join("gpu5-" + word for word in text.split("+"))), plain)
    assert gpu(plain, 5)["errors"] == errors
    assert "xids" not in gpu(plain, 5)
    assert "errors" not in gpu(plain, 4)


def test_a_fault_goes_before_what_the_machine_has_itself(plain: Any) -> None:
    plain["nvml"]["defaults"]["errors"] = {"nvmlDeviceGetN*": "NVML_ERROR_TIMEOUT"}
    inflict(parse("hang"), plain)
    assert list(gpu(plain, 0)["errors"]) == ["*", "nvmlDeviceGetN*"]


def test_what_grows_or_comes_later_is_a_change(plain: Any) -> None:
    before = copy.deepcopy(plain["nvml"]["gpus"][0])
    storm, thermal = inflict(parse("ecc-storm+gpu1-thermal@9"), plain).changes
    grown = {"ecc_volatile_corrected": 100000, "ecc_aggregate_corrected": 100000}
    assert storm == Change(0, 0, grown, {"ecc_volatile_corrected": 20000, "ecc_aggregate_corrected": 20000})
    assert (thermal.gpu_index, thermal.after) == (1, 9)
    assert thermal.values["temperature_celsius"] == 90
    assert thermal.values["temperature_margin_celsius"] == -4  # 56 at 30 C
    assert thermal.values["clocks_event_reasons"] == ["hw_slowdown", "hw_thermal_slowdown"]
    assert thermal.values["sm_clock_mhz"] == 495
    assert thermal.per_second == {"hw_thermal_slowdown_ns": 10**9}
    assert plain["nvml"]["gpus"][0] == before


def test_what_a_gpu_lacks_it_does_not_get() -> None:
    plain = decoded("l40s-pcie")
    plain["nvml"]["defaults"]["hw_thermal_slowdown_ns"] = None
    (change,) = inflict(parse("thermal@1"), plain).changes
    assert "hw_thermal_slowdown_ns" not in change.values
    assert change.per_second == {}


def test_no_library(plain: Any) -> None:
    assert inflict(parse("no-library+lost"), plain).idle == ()
    assert plain["nvml"] is None
    assert "/proc/driver/nvidia/version" in plain["files"]


def test_no_driver(plain: Any) -> None:
    inflict(parse("no-driver"), plain)
    assert plain["nvml"]["errors"] == {"nvmlInit*": "NVML_ERROR_DRIVER_NOT_LOADED"}
    assert not any(path.startswith("/proc/driver/nvidia/") for path in plain["files"])


def test_version_mismatch_leaves_a_record(plain: Any) -> None:
    (change,) = inflict(parse("version-mismatch"), plain).files
    assert plain["nvml"]["errors"] == {"nvmlInit*": "NVML_ERROR_LIB_RM_VERSION_MISMATCH"}
    assert (change.path, change.appended) == ("/dev/kmsg", True)
    assert isinstance(change.new, str)
    assert "API mismatch" in change.new


def test_files_are_found_behind_their_links(plain: Any) -> None:
    assert inflict(parse("pcie-x4@2"), plain).files == (FileChange(LINK_WIDTH, 2, "4\n"),)
    down = inflict(parse("nic0-down"), plain).files
    assert [change.path for change in down[:-1]] == [
        PORT + "/net/ens1np0/carrier",
        PORT + "/net/ens1np0/operstate",
        PORT + "/net/ens1np0/speed",
        PORT + "/infiniband/mlx5_0/ports/1/state",
        PORT + "/infiniband/mlx5_0/ports/1/phys_state",
        PORT + "/infiniband/mlx5_0/ports/1/rate",
    ]
    number, time_us = plain["files"]["/dev/kmsg"].splitlines()[-1].split(",")[1:3]
    record = "4,{},{},-;mlx5_core 0000:1a:00.0 ens1np0: Link down\n"
    assert down[-1].new == record.format(int(number) + 1, int(time_us) + 90000001)


def test_a_file_that_is_not_there_or_so_already_is_left_alone(plain: Any) -> None:
    del plain["files"][PORT + "/net/ens1np0/speed"]
    plain["files"][PORT + "/infiniband/mlx5_0/ports/1/phys_state"] = "2: Polling\n"
    names = [change.path.rpartition("/")[2] for change in inflict(parse("nic0-down"), plain).files]
    assert names == ["carrier", "operstate", "state", "rate", "kmsg"]


def test_a_log_without_records_gets_the_first(plain: Any) -> None:
    plain["files"]["/dev/kmsg"] = ""
    assert inflict(parse("version-mismatch"), plain).files[0].new.startswith("4,1,90000001,-;NVRM: API")  # type: ignore[union-attr]


def test_counters_of_a_command(plain: Any) -> None:
    (growth,) = inflict(parse("nic7-pfc-storm@1"), plain).growths
    assert growth == Growth("ethtool -S ens8np0", 1, growth.per_second)
    assert growth.per_second["tx_prio3_pause_duration"] == 600000


def test_rails_are_the_fastest_with_a_link_by_address(plain: Any) -> None:
    found = rails(plain["files"])
    assert found[0] == Rail("ens1np0", "mlx5_0", "0000:1a:00.0")
    assert [rail.nic for rail in found] == ["ens{}np0".format(number) for number in range(1, 9)]
    assert [rail.nic for rail in rails(decoded("hgx-h200")["files"])][:2] == ["ibp27s0", "ibp44s0"]
    assert rails(decoded("cpu-only")["files"]) == ()


def test_a_loop_of_links_leads_nowhere() -> None:
    assert real({"/a": {"link": "b"}, "/b": {"link": "a"}}, "/a/c") == "/a/c"


@pytest.mark.parametrize(
    ("machine", "text", "reason"),
    [
        ("cpu-only", "gpu0-lost", "cpu-only has 0 GPUs"),
        ("cpu-only", "no-library", "cpu-only has 0 GPUs"),
        ("cpu-only", "nic0-down", "cpu-only has 0 NICs on its RDMA network"),
        ("cpu-only", "numa-balancing", "cpu-only has /proc/sys/kernel/numa_balancing so already"),
        ("cpu-only", "no-kmsg", "cpu-only has no /dev/kmsg"),
        ("dgx-h100", "gpu8-lost", "dgx-h100 has 8 GPUs"),
        ("dgx-h100", "nic8-mtu-odd", "dgx-h100 has 8 NICs on its RDMA network"),
        ("hgx-h200", "nic1-pfc-storm", "hgx-h200 shows no tx_prio3_pause of ibp44s0"),
        ("vgpu-guest", "ecc-dbe", "vgpu-guest has no ecc_volatile_uncorrected of GPU 0"),
        ("vgpu-guest", "power-capped", "vgpu-guest has no enforced_power_limit_watts of GPU 0"),
        ("l40s-pcie", "gpu1-link-down", "l40s-pcie has no nvlinks of GPU 1"),
        ("h100-mig", "remap-pending", "h100-mig has no remap_pending of GPU 0"),
        ("old-driver", "gpu3-remap-failure", "old-driver has no remap_failure of GPU 3"),
    ],
)
def test_a_fault_with_nothing_to_act_on_changes_nothing(machine: str, text: str, reason: str) -> None:
    plain = decoded(machine)
    before = json.dumps(plain)
    harm = inflict(parse(text), plain)
    assert harm == Harm((), (), (), ("{} has nothing to act on: {}".format(text, reason),))
    assert json.dumps(plain) == before
