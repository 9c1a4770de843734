from typing import Any, Callable, List, Optional, Tuple

import pytest

from brctl.node.facts import GpuErrors, GpuFault, Inventory, Problem
from brctl.node.report import HOST, Cause, Finding, Status, Subject

GPU3 = Subject("gpu", "GPU-00000003-1111-2222-3333-444444444444", "GPU 3")
BUSES = ("53", "64", "75", "86", "97", "a8", "b9", "ca")
NO_ONE = "pid='<unknown>', name=<unknown>, "
DRIVER = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.105.08"
WELL = GpuErrors(True, 0, 0, 0, 0, 0, 0, False, False, None, None, "none")


def xid(second: float, number: int, words: str = NO_ONE + "x", gpu: int = 3) -> str:
    return "[{}] NVRM: Xid (PCI:0000:{}:00): {}, {}".format(float(second), BUSES[gpu], number, words)


def told(found: Tuple[Finding, ...]) -> List[Any]:
    return [(finding.status, finding.subject.name, finding.summary) for finding in found]


def test_nothing(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    assert examine(logged()) == (
        Finding("gpu-xid", Status.PASS, HOST, "no Xid since the boot", fold="gpu-xid pass host"),
    )


def test_a_log_without_its_beginning_is_never_fine(
    logged: Callable[..., Inventory], examine: Callable[..., Any]
) -> None:
    (found,) = examine(logged(whole=False))
    assert (found.status, found.reason) == (Status.UNKNOWN, "error")
    assert found.summary == "/dev/kmsg begins at 9.000000 s, not with the boot: what was told before is unknown"
    (found, unknown) = examine(logged(xid(9, 13), whole=False))
    assert (found.status, unknown.status) == (Status.INFO, Status.UNKNOWN)
    (found,) = examine(logged(xid(9, 79), whole=False))
    assert found.status is Status.CRIT


def test_fallen_off_the_bus(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    echo = "[9.1] NVRM: GPU 0000:86:00.0: GPU has fallen off the bus."
    (found,) = examine(logged(xid(9.0, 79), echo))
    assert (found.status, found.subject) == (Status.CRIT, GPU3)
    assert found.summary == "GPU 3: Xid 79: the GPU does not answer on PCIe: fallen off the bus (at 9.0 s)"
    assert found.remedy.startswith("drain the node and power-cycle it; if it comes back, reseat the GPU")
    assert [item.what for item in found.evidence] == ["at 9.0 s", "Xid 79 GPU_HAS_FALLEN_OFF_THE_BUS"]
    assert found.evidence[1].value == "RESTART_BM; the machine is to be restarted"


def test_the_same_without_an_xid(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(
        logged(
            "[412.7] NVRM: The NVIDIA GPU 0000:86:00.0",
            "[412.7] NVRM: (PCI ID: 10de:2330) installed in this system has",
            "[412.7] NVRM: fallen off the bus and is not responding to commands.",
        )
    )
    assert (found.status, found.subject) == (Status.CRIT, GPU3)
    assert found.summary.startswith("GPU 3: Xid 79: ")
    assert "installed in this system has fallen off the bus" in found.evidence[0].value


def test_gsp_that_nvidia_smi_waits_for(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    words = "pid={}, name=nvidia-smi, Timeout waiting for RPC from GPU1 GSP! Expected function 76 (GSP_RM_CONTROL)"
    (found,) = examine(logged(xid(1200.1, 119, words.format(20417)), xid(1245.2, 119, words.format(20533))))
    assert told((found,)) == [
        (
            Status.CRIT,
            "GPU 3",
            "GPU 3: Xid 119: the GPU System Processor (GSP) did not answer the driver (2 times, 1200.1 to 1245.2 s)",
        )
    ]
    assert found.remedy == "drain the node, then `nvidia-smi --gpu-reset -i {}`; where that fails, reboot".format(
        GPU3.id
    )
    assert found.evidence[-1].value == "nvidia-smi waited for the GPU: a victim, no cause"


def test_an_application_that_failed(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    process = "pid=8802, name=python3, "
    peermem = "[79.9] nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping"
    found = examine(
        logged(
            xid(77.001, 13, process + "SM Warp"), xid(77.002, 13, process + "ESR"), xid(79.33, 109, process), peermem
        )
    )
    assert [(finding.status, finding.subject.name) for finding in found] == [
        (Status.WARN, "GPU 3"),
        (Status.INFO, "host"),
    ]
    assert (
        found[0].summary
        == "GPU 3: Xid 109: the GPU could not switch from one process to another (at 79.33 s); with Xid 13"
    )
    assert "drain" not in found[0].remedy
    policy = found[0].evidence[-1].value
    assert policy.endswith("tools disagree: GCM WARN, AWS RESET, EKS fatal, gpud Warning, k8s ignored")
    (alone,) = examine(logged(xid(77.0, 13, process)))
    assert (alone.status, alone.remedy) == (Status.INFO, None)


ECC = (
    (0.0, 48, NO_ONE + "DBE (double bit error) ECC error"),
    (0.1, 63, NO_ONE + "Row Remapper: New row (0x0) marked for remapping, reset gpu to activate."),
    (0.2, 94, "pid=31007, name=python3, Contained: SM (0x1). RST: No, D-RST: No"),
    (0.3, 154, "GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)"),
)


def ecc(start: float) -> List[str]:
    return [xid(start + second, number, words) for second, number, words in ECC]


def test_a_memory_error(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(logged(*ecc(5100)))
    assert found.status is Status.CRIT
    assert found.summary.startswith(
        "GPU 3: Xid 48: an uncorrectable memory error (ECC, double bit) (at 5100.0 s); with Xid "
    )
    assert found.remedy.startswith("let the work end and take no more (drain), then `nvidia-smi --gpu-reset")


@pytest.mark.parametrize("reset", ["[    0.000000] Linux version 5.15.0", "[9.0] " + DRIVER])
def test_a_memory_error_that_comes_back(
    logged: Callable[..., Inventory], examine: Callable[..., Any], reset: str
) -> None:
    (found,) = examine(logged(*ecc(1), reset, *ecc(120)))
    assert found.status is Status.CRIT
    assert found.summary.startswith("GPU 3: again after a reset: Xid 48")
    assert found.remedy == "drain the node and replace the GPU (RMA): it came back after a reset"
    assert found.evidence[-5].what == "before the last reset, at 1.3 s"


def test_an_application_that_fails_again_is_no_rma(
    logged: Callable[..., Inventory], examine: Callable[..., Any]
) -> None:
    (found,) = examine(logged(xid(1, 13), "[9.0] " + DRIVER, xid(10, 13)))
    assert (found.status, found.summary[:13]) == (Status.INFO, "GPU 3: Xid 13")


def test_what_a_reset_has_mended_is_past(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (gpu,) = examine(logged(xid(1, 48), "[9.0] " + DRIVER))
    assert told((gpu,)) == [
        (
            Status.INFO,
            "GPU 3",
            "GPU 3: before the last reset: Xid 48: an uncorrectable memory error (ECC, double bit) (at 1.0 s)",
        )
    ]


@pytest.mark.parametrize(
    ("number", "words", "status"),
    [
        (31, "x", Status.INFO),
        (43, "x", Status.INFO),
        (45, "x", Status.INFO),
        (63, "x", Status.WARN),
        (64, "x", Status.CRIT),
        (74, "x", Status.CRIT),
        (92, "x", Status.WARN),
        (94, "x", Status.WARN),
        (95, "x", Status.CRIT),
        (120, "x", Status.CRIT),
        (140, "x", Status.CRIT),
        (145, "RLW_SRC_TRACK Nonfatal XC1 i1 Link 03 (0x1)", Status.WARN),
        (145, "RLW_SRC_TRACK Fatal XC1 i1 Link 03 (0x1)", Status.CRIT),
        (145, "RLW_SRC_TRACK XC1 i1 Link 03 (0x1)", Status.WARN),
        (154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset)", Status.WARN),
        (154, "GPU recovery action changed from 0x0 (None) to 0x5 (Recover IMEX)", Status.INFO),
        (999, "x", Status.WARN),
    ],
)
def test_each_by_its_policy(
    logged: Callable[..., Inventory], examine: Callable[..., Any], number: int, words: str, status: Status
) -> None:
    (found,) = examine(logged(xid(1, number, words)))
    assert found.status is status
    assert bool(found.remedy) is (status in (Status.WARN, Status.CRIT))


def test_channels_taken_down_on_other_gpus(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    others = [xid(5.5, 45, "pid=1, name=python3, Ch 1", gpu) for gpu in (0, 1, 2, 4)]
    found = examine(logged(xid(5, 149, "NETIR_LINK_EVT Fatal XC0 i0 Link 08"), *others))
    assert [(finding.status, finding.subject.name, finding.cause) for finding in found] == [
        (Status.CRIT, "GPU 3", None),
        *((Status.INFO, "GPU {}".format(gpu), Cause("gpu-xid", GPU3)) for gpu in (0, 1, 2, 4)),
    ]
    late = examine(logged(xid(5, 149, "NETIR_LINK_EVT Fatal XC0"), xid(500, 45, gpu=0)))
    assert [(finding.status, finding.cause) for finding in late] == [(Status.CRIT, None), (Status.INFO, None)]


def test_both_ends_of_a_link(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    words = "RLW_REMAP XC1 i1 Link 03 (0x1)"
    found = examine(logged(xid(5, 145, words), xid(5.1, 145, words, gpu=4)))
    assert [finding.status for finding in found] == [Status.CRIT, Status.CRIT]
    mild = words.replace("RLW_REMAP", "RLW_REMAP Nonfatal")
    found = examine(logged(xid(5, 145, mild), xid(5.1, 145, mild, gpu=4)))
    assert [finding.status for finding in found] == [Status.WARN, Status.WARN]


def test_what_a_lost_gpu_drags_along(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    found = examine(logged(xid(5, 79), xid(5.5, 74, gpu=0), xid(6, 13, gpu=1)))
    assert [(finding.status, finding.cause and finding.cause.subject) for finding in found] == [
        (Status.CRIT, None),
        (Status.CRIT, GPU3),
        (Status.INFO, None),
    ]


@pytest.mark.parametrize(
    ("number", "fields", "status"),
    [
        (48, {"recovery_action": "none"}, Status.WARN),
        (48, {"recovery_action": "gpu-reset"}, Status.CRIT),
        (48, {"recovery_action": None}, Status.CRIT),
        (79, {"recovery_action": None}, Status.WARN),
        (63, {"remap_pending": False}, Status.INFO),
        (63, {"remap_pending": True}, Status.WARN),
        (63, {"remap_pending": None}, Status.WARN),
    ],
)
def test_what_the_gpu_says_now_goes_before(
    logged: Callable[..., Inventory],
    with_gpu: Callable[..., Inventory],
    examine: Callable[..., Any],
    number: int,
    fields: Any,
    status: Status,
) -> None:
    seen = with_gpu(3, errors=WELL._replace(**fields))
    found, *_ = examine(logged(xid(5, number), seen=seen))
    assert found.status is status


def test_of_a_lost_gpu_nothing_is_known_now(
    logged: Callable[..., Inventory], with_gpu: Callable[..., Inventory], examine: Callable[..., Any]
) -> None:
    fault = GpuFault("lost", "nvmlDeviceGetName", "GPU is lost")
    (found,) = examine(logged(xid(5, 79), seen=with_gpu(3, errors=WELL, fault=fault)))
    assert found.status is Status.CRIT


@pytest.mark.parametrize(
    ("line", "subject", "summary"),
    [
        (
            "NVRM: GPU 0000:86:00.0: RmInitAdapter failed! (0x62:0x55:2477)",
            "GPU 3",
            "GPU 3: the driver could not start it (RmInitAdapter failed) (at 5.0 s)",
        ),
        (
            "NVRM: RmInitAdapter failed! (0x62:0x55:2477)",
            "host",
            "the driver could not start it (RmInitAdapter failed) (at 5.0 s)",
        ),
        (
            "NVRM: API mismatch: the client has the version 1",
            "host",
            "the NVIDIA library and the loaded driver are of different versions (at 5.0 s)",
        ),
    ],
)
def test_what_else_the_driver_tells(
    logged: Callable[..., Inventory], examine: Callable[..., Any], line: str, subject: str, summary: str
) -> None:
    (found,) = examine(logged("[5.0] " + line))
    assert (found.status, found.subject.name) == (Status.CRIT, subject)
    assert found.summary == summary
    assert found.remedy


@pytest.mark.parametrize(("number", "status"), [(None, Status.NA), (79, Status.CRIT)])
def test_a_machine_without_nvidias_gpus(
    logged: Callable[..., Inventory],
    dgx: Inventory,
    examine: Callable[..., Any],
    number: Optional[int],
    status: Status,
) -> None:
    bare = dgx._replace(pci=(), gpus=None)
    (found,) = examine(logged(*([xid(5, number)] if number else []), seen=bare))
    assert found.status is status


def test_a_gpu_that_only_the_log_knows(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    uuid = "GPU-00000004-0000-0000-0000-000000000004"
    name = "[4.0] NVRM: GPU at PCI:0000:86:00: " + uuid
    (found,) = examine(logged(name, xid(5, 79), seen=Inventory()))
    assert found.subject == Subject("gpu", uuid, "GPU 0000:86:00.0")
    (found,) = examine(logged(xid(5, 79), seen=Inventory()))
    assert found.subject == Subject("gpu", "0000:86:00.0", "GPU 0000:86:00.0")


def test_the_log_is_judged_where_the_driver_hangs(
    logged: Callable[..., Inventory], dgx: Inventory, examine: Callable[..., Any]
) -> None:
    hung = dgx._replace(gpus=None, problems=(Problem("gpus", "hung", "nvmlInit_v2 did not return within 3 s"),))
    (found,) = examine(logged(xid(5, 119), seen=hung))
    assert (found.status, found.subject.name) == (Status.CRIT, "GPU 0000:86:00.0")


def test_what_nvml_says_itself_is_told_once(
    logged: Callable[..., Inventory], dgx: Inventory, examine: Callable[..., Any]
) -> None:
    line = "[5.0] NVRM: API mismatch: the client has the version 1"
    problem = Problem("accelerator_driver", "version-mismatch", "Driver/library version mismatch")
    (found,) = examine(logged(line, seen=dgx._replace(accelerator_driver=None, problems=(problem,))))
    assert found.cause == Cause("gpu-driver", HOST)


@pytest.mark.parametrize(
    ("fields", "check"),
    [
        ({"remap_pending": True}, "gpu-remap"),
        ({"retired_pages_pending": True}, "gpu-retired-pages"),
        ({"sram_threshold_exceeded": True}, "gpu-sram"),
        ({"volatile_uncorrected": 1}, "gpu-ecc-volatile"),
        ({}, None),
    ],
)
def test_what_became_of_a_memory_error(
    logged: Callable[..., Inventory],
    with_gpu: Callable[..., Inventory],
    examine: Callable[..., Any],
    fields: Any,
    check: Optional[str],
) -> None:
    seen = with_gpu(3, errors=WELL._replace(**fields))
    (found,) = examine(logged(*ecc(5), seen=seen))
    assert found.cause == (Cause(check, GPU3) if check else None)
    (found,) = examine(logged(xid(5, 119), seen=seen))
    assert found.cause is None
