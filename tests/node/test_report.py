import json
import threading
from typing import Any, Dict, List, NamedTuple

import pytest

from brctl.node import codec
from brctl.node.codec import InvalidReportError, decode, dumps, encode, loads, wire
from brctl.node.facts import Gpu, GpuLink, Inventory, Kernel, Memory
from brctl.node.report import (
    HOST,
    SCHEMA_VERSION,
    Change,
    Evidence,
    Finding,
    Mock,
    NodeError,
    Outcome,
    Report,
    Status,
    Transaction,
)

CHANGE = Change("nic-mtu", HOST, "mtu", Outcome.CAPPED, "9000", "1500", effects=("a link that bounces",))
FULL = Report(
    node="gpu001",
    time=1.5,
    elapsed_s=2,
    mock=Mock("dgx-h100", False),
    inventory=Inventory(
        kernel=Kernel("gpu001", "5.15.0", "x86_64", "Ubuntu", None, 3.0, None),
        memory=Memory(10, 5, 0),
        gpus=(Gpu(0, "GPU-1", "0000:1b:00.0", 0, "ens1", "PIX", links=(GpuLink(0, True, "4.0"),)),),
    ),
    findings=(Finding("gpu-count", Status.CRIT, HOST, "7 of 8", (Evidence("a", "b", "c"),), "do", None, "fold"),),
    errors=(NodeError("died", "why"),),
    changes=(CHANGE,),
    transactions=(Transaction("20260102-030405", "done", 1.5, "op", "b", "abc", (CHANGE,)),),
)


def test_what_is_written_is_read_back() -> None:
    assert loads(Report, dumps(FULL)) == FULL
    assert loads(Report, wire(FULL)) == FULL


def test_one_line_of_ascii() -> None:
    text = dumps(FULL._replace(node="gpu\n\x1b[31m\u2028é"))
    assert text.isascii()
    assert "\n" not in text
    assert "\x1b" not in text


def test_absent_is_null_and_not_zero() -> None:
    plain = encode(FULL)
    assert plain["inventory"]["cpu"] is None
    assert plain["inventory"]["memory"]["swap_total_bytes"] == 0
    assert plain["findings"][0]["status"] == "crit"
    assert plain["schema_version"] == SCHEMA_VERSION


def test_two_threads_may_decode_the_first_of_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pair(NamedTuple):
        first: int
        second: str

    made, here = codec._decoder, threading.current_thread()

    def in_between(kind: Any, module: str) -> Any:
        if threading.current_thread() is here and kind is str:  # another one comes when half of the fields are known
            other = threading.Thread(target=lambda: found.append(decode(Pair, {"first": 1, "second": "2"})))
            other.start()
            other.join()
        return made(kind, module)

    found: List[Pair] = []
    monkeypatch.setattr(codec, "_decoder", in_between)
    assert decode(Pair, {"first": 3, "second": "4"}) == (3, "4")
    assert found == [(1, "2")]


def test_later_fields_may_be_missing() -> None:
    assert decode(Report, {"node": "a", "time": 1, "elapsed_s": 0}) == Report("a", 1.0, 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"node": 1}, "Report.node: str is expected, not int"),
        ({"node": None}, "Report.node: str is expected, not NoneType"),
        ({"time": "now"}, "Report.time: float is expected, not str"),
        ({"time": True}, "Report.time: float is expected, not bool"),
        ({"findings": {}}, "Report.findings: a list is expected"),
        ({"errors": [3]}, "Report.errors[0]: an object is expected"),
        ({"time": 1e300}, "Report.time: a number beyond 2^64"),
        ({"time": 10**400}, "Report.time: a number beyond 2^64"),
        ({"schema_version": -(10**30)}, "Report.schema_version: a number beyond 2^64"),
        ({"surprise": 1}, "Report: unknown ['surprise'], missing []"),
        ({"inventory": {"gpus": [{"uuid": None}]}}, "Report.inventory.gpus[0]: unknown [], missing ['gpu_index'"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_place(change: Dict[str, Any], message: str) -> None:
    plain = {**encode(FULL), **change}
    with pytest.raises(InvalidReportError) as refused:
        decode(Report, plain)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('["a", 1.0]', "Report: an object is expected"),
        ("[]", "Report: an object is expected"),
        (json.dumps([["a"], *[None] * (len(Report._fields) - 1)]), "Report.node: str is expected, not list"),
        (json.dumps([*json.loads(wire(FULL)), 1]), "Report: an object is expected"),
        (wire(FULL).decode().replace('["died","why"', '["died",7'), "Report.errors[0].message: str is expected"),
        ('{"node": "a", "time": 1, "elapsed_s": 0, "errors": [["x", "y", null]]}', ""),
    ],
)
def test_an_array_that_does_not_fit_is_refused_at_its_place(text: str, message: str) -> None:
    if not message:  # both forms may be in one text
        assert loads(Report, text).errors == (NodeError("x", "y"),)
        return
    with pytest.raises(InvalidReportError) as refused:
        loads(Report, text)
    assert str(refused.value).startswith(message)


def test_an_unknown_status_is_refused() -> None:
    plain = encode(FULL)
    plain["findings"][0]["status"] = "fine"
    with pytest.raises(InvalidReportError, match=r"findings\[0\].status: 'fine' is no Status"):
        decode(Report, plain)


def test_an_infinite_number_is_refused() -> None:
    """JSON's grammar allows 1e999; nobody could print it again."""
    with pytest.raises(InvalidReportError, match="a number beyond"):
        loads(Report, '{"node": "a", "time": 1e999, "elapsed_s": 0}')


@pytest.mark.parametrize("text", ["", "{", "NaN", '{"node": Infinity}', "[" * 100000])
def test_text_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidReportError, match="not JSON"):
        loads(Report, text)


def test_half_a_letter_becomes_a_whole_one() -> None:
    assert loads(Report, r'{"node": "\ud800n\udcff", "time": 0, "elapsed_s": 0}').node == "\ufffdn\ufffd"
    assert loads(Report, r'{"node": "\ud83d\ude00é", "time": 0, "elapsed_s": 0}').node == "\U0001f600é"


def test_not_a_number_is_never_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps(FULL._replace(time=float("nan")))


def test_the_keys_of_the_output_are_pinned() -> None:
    """Within one schema version fields are only added: a failure here is a broken promise, unless it is an addition."""
    plain = json.loads(dumps(FULL))
    assert list(plain) == [
        "node", "time", "elapsed_s", "mock", "inventory", "findings", "errors", "notes", "changes", "transactions",
        "endpoints", "pair", "environment", "bundle", "series", "samples", "collective", "actions", "schema_version",
    ]  # fmt: skip
    assert list(plain["inventory"]) == [
        "kernel", "cpu", "numa", "memory", "pci", "nics", "rdma", "mounts", "sysctls", "accelerator_driver", "gpus",
        "problems", "accelerator_libraries", "kernel_log", "hypervisor", "transparent_hugepage", "cpu_governors",
        "memlocks", "peermem", "iommu", "acs", "clock", "memory_controllers", "filesystems", "fstab", "tasks",
        "cpu_times", "port_counters", "link_settings",
    ]  # fmt: skip
    assert list(plain["inventory"]["gpus"][0]) == [
        "gpu_index", "uuid", "pci", "numa_node", "nearest_nic", "nearest_nic_path", "fault", "identity", "telemetry",
        "pcie", "links", "errors", "limits", "processes", "unsupported", "vendor", "fabric", "instances",
        "health",
    ]  # fmt: skip
    assert list(plain["findings"][0]) == [
        "check", "status", "subject", "summary", "evidence", "remedy", "reason", "fold",
        "cause",
    ]  # fmt: skip
    change = [
        "setting", "subject", "key", "outcome", "wanted", "live", "before", "boot", "boot_source", "reason", "effects",
        "source", "fold",
    ]  # fmt: skip
    assert list(plain["changes"][0]) == change
    (transaction,) = plain["transactions"]
    assert list(transaction) == ["id", "state", "time", "who", "boot_id", "config_hash", "changes"]
    assert list(transaction["changes"][0]) == change
