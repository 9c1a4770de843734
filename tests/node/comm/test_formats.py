"""The environment as programs take it, and the block in the operator's file."""

import pytest

from brctl.node.comm.formats import BEGIN, END, FORMATS, managed
from brctl.node.report import EnvironmentVariable

ODD = EnvironmentVariable("NCCL_IB_HCA", "=a'b\"c $(x) 100%", "why", "where")
UNSET = EnvironmentVariable("NCCL_BUFFSIZE", None, "own", "NCCL")
CUDA = EnvironmentVariable("CUDA_DEVICE_MAX_CONNECTIONS", "1", "why", "where")


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("shell", "export NCCL_IB_HCA='=a'\\''b\"c $(x) 100%'"),
        ("nccl-conf", "NCCL_IB_HCA==a'b\"c $(x) 100%"),
        ("systemd", 'Environment="NCCL_IB_HCA==a\'b\\"c $(x) 100%%"'),
        ("slurm", "echo 'export NCCL_IB_HCA==a'\"'\"'b\"c $(x) 100%'"),
        ("kubernetes", '    value: "=a\'b\\"c $$(x) 100%"'),
    ],
)
def test_forms(form: str, line: str) -> None:
    lines = list(FORMATS[form]([ODD, UNSET]))
    assert line in lines
    assert any("NCCL_BUFFSIZE is left unset: own (NCCL)" in each for each in lines)


def test_cuda_is_none_of_nccl_conf() -> None:
    assert list(FORMATS["nccl-conf"]([CUDA])) == []


def test_managed_block() -> None:
    tc = EnvironmentVariable("NCCL_IB_TC", "104", "why", "where")
    timeout = EnvironmentVariable("NCCL_IB_TIMEOUT", "22", "why", "where")
    own = "# mine\nNCCL_IB_TIMEOUT=20"
    text, left = managed(own, [tc, timeout, UNSET])
    assert text == "# mine\nNCCL_IB_TIMEOUT=20\n{}\nNCCL_IB_TC=104\n{}\n".format(BEGIN, END)
    assert left == ("NCCL_IB_TIMEOUT",)
    assert managed(text, [tc, timeout, UNSET]) == (text, left)
    assert managed(text, [])[0] == "# mine\nNCCL_IB_TIMEOUT=20\n"


def test_a_block_without_its_end_is_the_operators() -> None:
    own = "{}\nNCCL_X=1\n".format(BEGIN)
    assert managed(own, [])[0] == own


def test_the_block_among_lines_of_any_words() -> None:
    """Bytes as latin-1: one of those of many letters is a line's end to Python."""
    own = "# \u0445{}\n# \u0445NCCL_IB_TC=1\n".format(BEGIN).encode().decode("latin-1")
    tc = EnvironmentVariable("NCCL_IB_TC", "104", "why", "source")
    text, left = managed(own, [tc])
    assert (text, left) == ("{}{}\nNCCL_IB_TC=104\n{}\n".format(own, BEGIN, END), ())
    assert managed(text, [])[0] == own
