"""Each rule: what it names, and what it lets pass."""

from typing import Callable, List, Tuple

import pytest

from brctl.node.comm import variables
from brctl.node.comm.case import Case
from brctl.node.comm.formats import shell
from brctl.node.comm.lint import lint
from brctl.node.comm.rendering import render
from brctl.node.comm.settings import of_conf, of_shell
from brctl.node.facts import Inventory
from brctl.node.report import Finding, Status
from brctl.node.request import Communication, Expected

See = Callable[[str], Inventory]


NOWHERE = Inventory()


def judge(text: str, seen: Inventory = NOWHERE, conf: bool = False, **comm: object) -> Tuple[Finding, ...]:
    settings = of_conf(text) if conf else of_shell(text)
    return lint(Case(settings, "x", conf, Communication(**comm), Expected(), seen))  # type: ignore[arg-type]


def told(found: Tuple[Finding, ...]) -> List[Tuple[str, Status]]:
    return [(finding.check, finding.status) for finding in found]


@pytest.mark.parametrize(
    ("text", "rule", "status", "remedy"),
    [
        ("NCCL_P2P_NET_CHUNKSIZE=1M", "comm-number", Status.CRIT, "write 1048576"),
        ("NCCL_NTHREADS=lots", "comm-number", Status.CRIT, "write a plain number"),
        ("NCCL_IB_TIMEOUT=60", "comm-number", Status.WARN, "1 to 31, or leave it out"),
        ("NCCL_IB_TIMOUT=22", "comm-name", Status.WARN, "write NCCL_IB_TIMEOUT"),
        ("NCCL_XYZZY=1", "comm-name", Status.WARN, "leave it out, or see the notes of your NCCL"),
        ("BR_COMM_BUFFSIZE=npo", "comm-name", Status.WARN, "see what NCCL_BUFFSIZE does"),
        ("BR_COMM_BACKEND=npo", "comm-name", Status.WARN, "leave it out, unless a library of yours reads it"),
        ("NCCL_ALGO=Ring", "comm-debugging", Status.WARN, "leave it out when the fault is found"),
        ("NCCL_DEBUG=TRACE", "comm-debugging", Status.INFO, "leave it out when the fault is found"),
        ("NCCL_DEBUG=TRCE", "comm-value", Status.WARN, "write TRACE"),
        ("NCCL_ALGO=Rng", "comm-value", Status.CRIT, "write Ring"),
        ("NCCL_PROTO=LL,LL28", "comm-value", Status.CRIT, "write LL128 for LL28"),
        ("NCCL_SET_THREAD_NAME=yes", "comm-value", Status.WARN, "one of 1, T, TRUE, 0, F, FALSE; or leave it out"),
        ("NCCL_SHM_DISABLE=true", "comm-number", Status.CRIT, "write 1"),
        ("NCCL_P2P_DISABLE=off", "comm-number", Status.CRIT, "write 0"),
        ("NCCL_BUFFSIZE=4096", "comm-buffer", Status.CRIT, "leave it out: 4 MiB is NCCL's own"),
        ("NCCL_BUFFSIZE=2147483648", "comm-buffer", Status.CRIT, "leave it out: 4 MiB is NCCL's own"),
        ("NCCL_LL128_BUFFSIZE=1000000", "comm-buffer", Status.CRIT, "leave it out"),
        ("CUDA_DEVICE_MAX_CONNECTIONS=8", "comm-framework", Status.INFO, "leave it out"),
    ],
)
def test_text(text: str, rule: str, status: Status, remedy: str) -> None:
    (found,) = judge(text)
    assert (found.check, found.status, found.remedy) == (rule, status, remedy)
    assert found.evidence[0].source == "x:1"


def test_what_nccl_makes_of_a_word_that_it_does_not_know() -> None:
    (found,) = judge("NCCL_DEBUG=TRCE")
    assert found.summary == "NCCL_DEBUG: 'TRCE' is none of its values: NCCL writes nothing"
    (found,) = judge("NCCL_SHM_DISABLE=yes")
    assert found.summary == "NCCL_SHM_DISABLE: NCCL reads 'yes' as 0: it knows numbers alone"
    (found,) = judge('NCCL_DEBUG="TRCE"', conf=True)  # the quotes come first
    assert (found.check, found.remedy) == ("comm-file", "write NCCL_DEBUG=TRCE")


def test_one_is_no_plural() -> None:
    assert [judge(text)[0].summary for text in ("NCCL_DEBUG=WARN", "NCCL_DEBUG=WARN NCCL_IB_TIMEOUT=22")] == [
        "x: 1 variable, nothing wrong",
        "x: 2 variables, nothing wrong",
    ]


def test_a_gibibyte_is_one_byte_and_would_cost_what_it_costs() -> None:
    (found,) = judge("NCCL_BUFFSIZE=1G")
    assert found.summary == "NCCL_BUFFSIZE: NCCL reads '1G' as 1: it knows no units and stops at 'G'"
    assert found.remedy == (
        "leave it out: a true 1G would cost 16 to 32 GiB of GPU memory for each communicator, at 16 to 32 channels"
    )
    (found,) = judge("NCCL_BUFFSIZE=1073741824")
    assert (found.status, found.summary[:33]) == (Status.WARN, "NCCL_BUFFSIZE: costs 16 to 32 GiB")


@pytest.mark.parametrize(
    "text",
    [
        "NCCL_BUFFSIZE=4194304",
        "NCCL_LL128_BUFFSIZE=4915200",  # NCCL's own
        "NCCL_BUFFSIZE=-2",
        "NCCL_IB_TIMEOUT=22",
        "NCCL_P2P_DISABLE=0",
        "NCCL_DEBUG=WARN",
        "NCCL_LAUNCH_MODE=parallel NCCL_CHECK_MODE=DEFAULT NCCL_P2P_LEVEL=NVL",
        "AWS_SECRET_ACCESS_KEY=1G",
        "",
    ],
)
def test_nothing_wrong(text: str) -> None:
    assert [finding.status for finding in judge(text)] == [Status.PASS]


def test_no_secret_is_told() -> None:
    assert "hunter2" not in str(judge("export PASSWORD=hunter2 NCCL_DEBUG=INFO"))


@pytest.mark.parametrize(
    ("framework", "value", "verdict"),
    [
        ("megatron-tp", "8", [("comm-framework", Status.CRIT)]),
        ("megatron-tp", "1", [("comm-env", Status.PASS)]),
        ("fsdp", "1", [("comm-framework", Status.WARN)]),
        ("fsdp", "32", [("comm-env", Status.PASS)]),
        ("ddp", "1", [("comm-env", Status.PASS)]),
    ],
)
def test_framework(framework: str, value: str, verdict: List[Tuple[str, Status]]) -> None:
    assert told(judge("CUDA_DEVICE_MAX_CONNECTIONS=" + value, framework=framework)) == verdict


def test_megatron_without_it() -> None:
    (found,) = judge("NCCL_IB_TIMEOUT=22", framework="megatron-tp")
    assert found.remedy == "write CUDA_DEVICE_MAX_CONNECTIONS=1"


def test_conf_is_read_letter_by_letter() -> None:
    found = judge(' NCCL_A=1\nNCCL_CROSS_NIC="0"\nNCCL_IB_TIMEOUT=22 \nCUDA_LAUNCH_BLOCKING=0\n', conf=True)
    assert [(each.check, each.status, each.remedy) for each in found if each.check == "comm-file"] == [
        ("comm-file", Status.CRIT, "write NCCL_A=1"),
        ("comm-file", Status.CRIT, "write NCCL_CROSS_NIC=0"),
        ("comm-file", Status.CRIT, "write NCCL_IB_TIMEOUT=22"),
        ("comm-file", Status.WARN, "set it in the job's script"),
    ]


def test_twice() -> None:
    text = "NCCL_IB_TIMEOUT=20\nNCCL_IB_TIMEOUT=22\n"
    assert judge(text)[0].summary == "NCCL_IB_TIMEOUT: set twice, and '22' of line 2 wins"
    assert judge(text, conf=True)[0].summary == "NCCL_IB_TIMEOUT: set twice, and '20' of line 1 wins"


@pytest.mark.parametrize(
    ("value", "statuses", "word"),
    [
        ("=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11", [Status.PASS], "nothing wrong"),
        ("mlx5_0,mlx5_3", [Status.CRIT], "leaves out mlx5_4, mlx5_5, mlx5_6, mlx5_9, mlx5_10, mlx5_11"),
        ("=mlx5_0:1,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10", [Status.CRIT], "leaves out mlx5_11"),
        ("^=mlx5_1,mlx5_2,mlx5_7,mlx5_8", [Status.PASS], "nothing wrong"),
        ("^=mlx5_2,mlx5_8", [Status.WARN], "takes mlx5_1, mlx5_7, which is none of the compute fabric's"),
        ("mlx5", [Status.WARN], "prefixes, and take mlx5_1, mlx5_2, mlx5_7, mlx5_8 too"),
        ("bnxt", [Status.CRIT], "leaves no device"),
    ],
)
def test_hcas(seen: See, value: str, statuses: List[Status], word: str) -> None:
    found = judge("NCCL_IB_HCA=" + value, seen("dgx-h100"))
    assert [finding.status for finding in found] == statuses
    assert word in found[0].summary


@pytest.mark.parametrize(("value", "status"), [("3", Status.PASS), ("0", Status.WARN), ("2", Status.WARN)])
def test_gid(seen: See, value: str, status: Status) -> None:
    text = "NCCL_IB_HCA==mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11\nNCCL_IB_GID_INDEX=" + value
    (found,) = judge(text, seen("dgx-h100"))
    assert found.status is status


def test_gid_that_is_not_there(seen: See) -> None:
    (found,) = judge("NCCL_IB_GID_INDEX=99", seen("hgx-b200"))
    assert found.summary.startswith(
        "NCCL_IB_GID_INDEX: GID 99 is not one of RoCE v2 that is routed, but empty, on mlx5_0, mlx5_1,"
    )


@pytest.mark.parametrize(
    ("value", "dscp", "remedy"),
    [
        ("104", 26, None),
        ("104", None, None),
        ("26", 26, "write 104"),
        ("96", 26, "write 104"),
        ("105", None, "write four times the DSCP: 104, or 420 if DSCP 105 is meant"),
        ("-1", 26, None),
    ],
)
def test_traffic_class(value: str, dscp: int, remedy: str) -> None:
    (found,) = judge("NCCL_IB_TC=" + value, dscp=dscp)
    assert found.remedy == remedy


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ("=eno1", ("comm-env", Status.PASS)),
        ("bond0", ("comm-interface", Status.WARN)),  # also bond0.100
        ("eth", ("comm-interface", Status.CRIT)),
        ("^lo,docker", ("comm-env", Status.PASS)),
    ],
)
def test_interface(seen: See, value: str, verdict: Tuple[str, Status]) -> None:
    assert told(judge("NCCL_SOCKET_IFNAME=" + value, seen("dgx-h100"))) == [verdict]


def test_cross_nic() -> None:
    assert told(judge("NCCL_CROSS_NIC=1", rail_only=True)) == [("comm-cross-nic", Status.CRIT)]
    assert told(judge("NCCL_CROSS_NIC=1")) == [("comm-env", Status.PASS)]


@pytest.mark.parametrize("machine", ["dgx-a100", "dgx-h100", "hgx-b200", "hgx-h200", "l40s-pcie", "sixteen-gpus"])
@pytest.mark.parametrize("framework", ["megatron-tp", "fsdp", "ddp"])
def test_what_is_rendered_lints_clean(seen: See, machine: str, framework: str) -> None:
    comm = Communication(framework=framework, dscp=26)
    text = "\n".join(shell(render(seen(machine), Expected(), comm).variables))
    found = judge(text, seen(machine), framework=framework, dscp=26)
    assert [finding.status for finding in found] == [Status.PASS]


def test_a_name_that_sounds_of_a_secret_has_no_value_shown() -> None:
    (found,) = judge("NCCL_AUTH_TOKEN=hunter3")
    assert [(item.what, item.value) for item in found.evidence] == [("NCCL_AUTH_TOKEN", "not shown")]


def test_a_text_of_many_names_takes_no_longer_than_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: List[str] = []

    def nearest(name: str) -> Tuple[str, ...]:
        asked.append(name)
        return ()

    monkeypatch.setattr(variables, "nearest", nearest)
    found = judge("\n".join("NCCL_A{0}={0}".format(number) for number in range(300)))
    assert (len(found), len(asked)) == (300, 100)


def test_what_stands_twice_on_a_line_is_one_finding() -> None:
    assert told(judge("NCCL_DEBUG=INFO; NCCL_DEBUG=INFO")) == [("comm-debugging", Status.INFO)]


def test_what_is_computed_is_named_and_not_judged() -> None:
    text = "export NCCL_IB_GID_INDEX=${GID:-3} NCCL_BUFFSIZE=$((1 << 30))\nexport NCCL_BUFFSIZE=$B NCCL_IB_TIMOUT=$T"
    assert told(judge(text + " CUDA_DEVICE_MAX_CONNECTIONS=$C", framework="megatron-tp")) == [
        ("comm-name", Status.WARN),
        *[("comm-computed", Status.INFO)] * 5,
    ]
