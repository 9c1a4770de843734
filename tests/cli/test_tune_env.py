"""brctl tune env"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

Brctl = Callable[..., Any]  # the fixture of conftest.py


@pytest.mark.parametrize("framework", ["megatron-tp", "fsdp", "ddp"])
def test_rendered_and_linted(brctl: Brctl, framework: str) -> None:
    rendered = brctl("--mock", "dgx-h100", "tune", "env", "--framework", framework)
    assert rendered.code == 0
    assert rendered.out.startswith("# NCCL takes the environment first, then $NCCL_CONF_FILE or else ~/.nccl.conf")
    Path("job.sh").write_text(rendered.out)
    linted = brctl("--mock", "dgx-h100", "tune", "env", "--framework", framework, "--lint", "job.sh")
    assert (linted.code, linted.err) == (0, "")


def test_from_the_config(brctl: Brctl) -> None:
    Path("cluster-config.yaml").write_text(
        "version: 1\ncluster: {name: a, nodes: gpu001}\n"
        "comm: {framework: fsdp, rails: 8, dscp: 26, env: {NCCL_IB_QPS_PER_CONNECTION: '4'}}\n"
        "topology: {kind: rail-only}\n"
    )
    out = brctl("--mock", "dgx-h100", "tune", "env", "--format", "nccl-conf").out
    assert [line for line in out.splitlines() if not line.startswith("#")] == [
        "NCCL_IB_HCA==mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11",
        "NCCL_SOCKET_IFNAME==eno1",
        "NCCL_IB_GID_INDEX=3",
        "NCCL_IB_TC=104",
        "NCCL_CROSS_NIC=0",
        "NCCL_IB_QPS_PER_CONNECTION=4",
    ]


def test_refused_is_3_and_says_why(brctl: Brctl) -> None:
    result = brctl("--mock", "cpu-only", "tune", "env")
    assert (result.code, result.out) == (3, "")
    assert result.err == "error: cpu001: this node has no GPU: there are no collectives to set up\n"


def test_what_is_wrong_is_1_with_line_and_remedy(brctl: Brctl) -> None:
    Path("nccl.conf").write_text("NCCL_DEBUG=WARN\nNCCL_BUFFSIZE=1G\nSECRET=hunter2\n")
    result = brctl("--mock", "dgx-h100", "tune", "env", "--lint", "nccl.conf")
    assert result.code == 1
    assert "NCCL reads '1G' as 1" in result.out
    assert "nccl.conf:2" in result.out
    assert "hunter2" not in result.out
    data = json.loads(brctl("--mock", "dgx-h100", "tune", "env", "--lint", "nccl.conf", "-o", "json").out)
    assert data["reports"][0]["findings"][0]["check"] == "comm-number"
    assert brctl("--mock", "dgx-h100", "tune", "env", "--lint", "nccl.conf", "--fail-on", "crit").code == 1


def test_from_standard_input(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"export NCCL_IB_TIMOUT=22\n")))
    result = brctl("--mock", "dgx-h100", "tune", "env", "--lint", "-")
    assert result.code == 1
    assert "write NCCL_IB_TIMEOUT" in result.out


@pytest.mark.parametrize(
    ("lint", "code", "error"),
    [
        ("none.sh", 2, "error: cannot read none.sh: No such file or directory\n"),
        ("binary", 2, "error: binary is no environment: it is larger than 1 MiB or no text\n"),
        ("4242", 3, "error: gpu001: there is no process 4242\n"),
        ("", 2, "error: --lint is empty\n"),
        ("0", 2, "error: --lint 0: there is no such PID\nhint: a file of that name: --lint ./NAME\n"),
        ("9" * 20, 2, "error: --lint 99999999999999999999: there is no such PID\nhint: a file of that name: "),
    ],
)
def test_what_cannot_be_linted(brctl: Brctl, lint: str, code: int, error: str) -> None:
    Path("binary").write_bytes(b"\x7fELF\0")
    result = brctl("--mock", "dgx-h100", "tune", "env", "--lint", lint)
    assert result.code == code
    assert result.err.startswith(error)


def test_questions_that_do_not_go_together(brctl: Brctl) -> None:
    assert brctl("--mock", "dgx-h100", "tune", "env", "--lint", "x", "--compare").code == 2
    result = brctl("--mock", "dgx-h100", "tune", "env", "--compare")
    assert (result.code, result.err.splitlines()[1]) == (2, "hint: name nodes: --nodes SET")


@pytest.mark.process
def test_compared_over_nodes(brctl: Brctl) -> None:
    result = brctl("--mock", "dgx-h100,n3=dgx-h100+nic3-down", "tune", "env", "--compare", "-w", "n[1-4]")
    assert result.code == 1
    assert "with HCA sets that differ NCCL hangs" in " ".join(result.out.split())
    assert "n[1-2,4]: ok" in result.out
    shared = brctl("--mock", "dgx-h100,n3=dgx-h100+nic3-down", "tune", "env", "-w", "n[1-4]").out
    assert [line for line in shared.splitlines() if line.startswith("# on ")] == ["# on n[1-2,4]", "# on n3"]


def test_a_rail_that_is_out_is_out_on_all_nodes(brctl: Brctl) -> None:
    from brctl.fleet.rail_out import Kept, RailFile
    from brctl.node.request import RailOut

    config = Path("cluster-config.yaml")
    config.write_text("version: 1\ncluster: {name: a, nodes: 'gpu[001-002]'}\ncomm: {rails: 8}\n")
    file = RailFile(config, mocked=True)
    file.write(Kept(RailOut(7, 8, "network-loss on gpu002"), ("mlx5_11",), ("a",)))
    out = brctl("--mock", "dgx-h100", "--as", "gpu002", "tune", "env").out
    assert "; mlx5_11, rail 7 of 8, is left out on all nodes: network-loss on gpu002 (/sys/class/infiniband/*)" in out
    assert "export NCCL_IB_HCA='=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10'\n" in out
    file.write(None)
    assert "mlx5_10,mlx5_11'" in brctl("--mock", "dgx-h100", "--as", "gpu001", "tune", "env").out
