"""The table agrees with the figures that NCCL's source gives."""

import pytest

from brctl.node.comm.variables import MEANINGS, VARIABLES, concerns, is_on, known, nearest


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("BUFFSIZE", -2),
        ("LL_BUFFSIZE", -2),
        ("LL128_BUFFSIZE", -2),
        ("MAX_P2P_NCHANNELS", 64),
        ("P2P_NET_CHUNKSIZE", 131072),
        ("NTHREADS", -2),
        ("IB_GID_INDEX", -1),
        ("IB_ROCE_VERSION_NUM", 2),
        ("IB_TIMEOUT", 20),
        ("IB_RETRY_CNT", 7),
        ("IB_TC", -1),
        ("IB_SL", -1),
        ("IB_QPS_PER_CONNECTION", 1),
        ("IB_SPLIT_DATA_ON_QPS", 0),
        ("IB_PCI_RELAXED_ORDERING", 2),
        ("IB_ADAPTIVE_ROUTING", -2),
        ("CROSS_NIC", 2),
        ("PXN_DISABLE", 0),
        ("P2P_PXN_LEVEL", 2),
        ("NVLS_ENABLE", 2),
        ("IGNORE_CPU_AFFINITY", 0),
        ("NET_GDR_READ", -2),
        ("SET_STACK_SIZE", 0),
        ("MIN_NCHANNELS", -2),
        ("MAX_NCHANNELS", -2),
    ],
)
def test_defaults(name: str, default: int) -> None:
    assert VARIABLES["NCCL_" + name].default == default


def test_text_is_no_number() -> None:
    assert not VARIABLES["NCCL_IB_HCA"].numeric
    assert VARIABLES["NCCL_MAX_CTAS"].default is None


def test_every_meaning_is_of_a_variable_that_is_known() -> None:
    assert set(MEANINGS) <= set(VARIABLES)
    assert "4 MiB" in MEANINGS["NCCL_BUFFSIZE"].text
    assert "512 KiB" in MEANINGS["NCCL_LL_BUFFSIZE"].text
    assert "4800 KiB" in MEANINGS["NCCL_LL128_BUFFSIZE"].text  # 4915200 bytes


def test_names() -> None:
    assert nearest("NCCL_IB_TIMOUT") == ("NCCL_IB_TIMEOUT",)
    assert nearest("NCCL_XYZZY_FROTZ") == ()
    assert known("NCCL_OFI_NCCL_CUDA_FLUSH_ENABLE")
    assert not known("NCCL_BUFFERSIZE")
    assert concerns(" nccl_debug")
    assert not concerns("AWS_SECRET_ACCESS_KEY")


@pytest.mark.parametrize(
    ("name", "value", "on"),
    [
        ("NCCL_DEBUG", "INFO", True),
        ("NCCL_DEBUG", "warn", False),
        ("NCCL_P2P_DISABLE", "0", False),
        ("NCCL_P2P_DISABLE", "1", True),
        ("NCCL_ALGO", "Ring", True),
        ("NCCL_DEBUG", "TRCE", False),
        ("NCCL_SHM_DISABLE", "true", False),
        ("NCCL_SHM_DISABLE", "0x0", False),
        ("NCCL_LAUNCH_MODE", "PARALLEL", False),
        ("NCCL_LAUNCH_MODE", "group", True),
        ("NCCL_GRAPH_DUMP_FILE", "/var/x.xml", True),
    ],
)
def test_debugging(name: str, value: str, on: bool) -> None:
    assert is_on(name, value) is on
