"""The screens of tune: a table where there is room, a paragraph each where there is none."""

from collections.abc import Sequence
from typing import Any

import pytest

from brctl.node.report import HOST, Change, Mock, NodeError, Outcome, Report, Subject, Transaction
from brctl.render import changes, history
from brctl.render.tune import _named, _runs

MOCK = Mock("m", recorded=False)


def gpu(number: int, outcome: Outcome = Outcome.PENDING, **more: Any) -> Change:
    subject = Subject("gpu", f"GPU-{number}", f"GPU {number}")
    change = Change("gpu-power-limit", subject, "power limit", outcome, "650 W", "700 W")
    return change._replace(fold=f"gpu-power-limit GPU {number} power limit", **more)


def nic(name: str, **more: Any) -> Change:
    return Change("nic-mtu", Subject("nic", name, name), "mtu", Outcome.PENDING, "9000", "1500", **more)


def report(node: str, found: Sequence[Change], **more: Any) -> Report:
    return Report(node, 0.0, 0.0, MOCK, changes=tuple(found), **more)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """What is printed, by width."""

    def show(command: str, *reports: Report, width: int = 100, quiet: bool = False, verbose: bool = False) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        if command == "tune history":
            history(reports, "table", verbose)
        else:
            changes(command, reports, "table", quiet, verbose)
        return capsys.readouterr().out

    return show


def test_what_is_alike_is_one_row(shown: Any) -> None:
    effects = ("default 700 W, 200 W to 700 W possible",)
    found = [
        gpu(n, effects=effects, boot="650 W", boot_source="/etc/brctl/boot.json", source="NVIDIA") for n in range(8)
    ]
    found[3] = gpu(3, Outcome.OK, live="650 W")
    assert shown("tune plan", report("n1", found)) == (
        "n1  mock machine m, composed  7 pending  1 ok\n"
        "State    Setting          Part         Value        Live   Wanted  Next boot\n"
        "pending  gpu-power-limit  GPU 0-2,4-7  power limit  700 W  650 W   as wanted\n"
        "ok       gpu-power-limit  GPU 3        power limit  650 W  650 W   -\n"
        "  power limit of GPU 0-2,4-7: default 700 W, 200 W to 700 W possible\n"
        "    next boot: 650 W (/etc/brctl/boot.json)\n"
        "    recommended by: NVIDIA\n"
    )


def test_interfaces_are_named_as_nodes_are_with_all_their_files(shown: Any) -> None:
    found = [nic(f"ens{n}np0", boot="1500", boot_source=f"/etc/netplan/a.yaml:{n}") for n in (1, 2)]
    assert shown("tune plan", report("n1", found)) == (
        "n1  mock machine m, composed  2 pending\n"
        "State    Setting  Part         Value  Live  Wanted  Next boot\n"
        "pending  nic-mtu  ens[1-2]np0  mtu    1500  9000    1500\n"
        "  mtu: next boot: 1500 (/etc/netplan/a.yaml:1, /etc/netplan/a.yaml:2)\n"
    )


def test_at_40_columns_each_is_a_paragraph(shown: Any) -> None:
    found = [gpu(0, boot="700 W", effects=("a cut of 7 %",)), gpu(1, Outcome.OK, live="650 W")]
    assert shown("tune plan", report("n1", found), width=40) == (
        "n1  mock machine m, composed  1 pending\n"
        "1 ok\n"
        "pending  power limit of GPU 0\n"
        "  700 W -> 650 W; next boot 700 W\n"
        "  a cut of 7 %\n"
    )
    assert "ok  power limit of GPU 1\n  650 W\n" in shown("tune plan", report("n1", found), width=40, verbose=True)


def test_what_was_done_and_what_to_do_about_it(shown: Any) -> None:
    found = [
        gpu(0, Outcome.CHANGED, before="700 W", live="650 W"),
        gpu(1, Outcome.REFUSED, before="700 W", live="700 W", reason="no permission"),
        gpu(2, Outcome.OK, live="650 W"),
    ]
    done = Transaction("20260102-030405", "failed", 0.0, "op", "b", changes=tuple(found))
    assert shown("tune apply", report("n1", found, transactions=(done,))) == (
        "n1  mock machine m, composed  1 changed  1 refused  1 ok\n"
        "State    Setting          Part   Value        Before  Now\n"
        "changed  gpu-power-limit  GPU 0  power limit  700 W   650 W\n"
        "refused  gpu-power-limit  GPU 1  power limit  700 W   700 W\n"
        "ok       gpu-power-limit  GPU 2  power limit  650 W   650 W\n"
        "  power limit of GPU 1: no permission\n"
        "20260102-030405: failed; `brctl tune rollback` takes it back\n"
    )
    waits = done._replace(state="unconfirmed")
    assert shown("tune apply", report("n1", [], transactions=(waits,))).endswith(
        "20260102-030405: unconfirmed; `brctl tune confirm` over a new connection keeps it\n"
    )


def test_where_nothing_was_written_there_is_nothing_to_take_back(shown: Any) -> None:
    found = [gpu(0, Outcome.REFUSED, before="700 W", live="700 W"), gpu(1, Outcome.NA, reason="it has no such limit")]
    failed = Transaction("20260102-030405", "failed", 0.0, "op", "b", changes=tuple(found))
    text = shown("tune apply", report("n1", found, transactions=(failed,)))
    assert text.endswith("20260102-030405: failed\n")  # rollback would take back the one before
    assert "  power limit of GPU 1: it has no such limit\n" in text
    half = (found[0]._replace(live="650 W"),)
    text = shown("tune apply", report("n1", found, transactions=(failed._replace(changes=half),)))
    assert text.endswith("20260102-030405: failed; `brctl tune rollback` takes it back\n")


def test_what_was_left_to_somebody_else_is_not_called_rolled_back(shown: Any) -> None:
    found = tuple(gpu(n, Outcome.CONFLICT, before="650 W", live="500 W") for n in range(2))
    back = Transaction("20260102-030405", "rolled back", 0.0, "op", "b", changes=found)
    text = shown("tune rollback", report("n1", found, transactions=(back,)))
    assert text.endswith("20260102-030405: rolled back, but 2 changed since and left so\n")


def test_a_rollback_shows_ours_theirs_and_before(shown: Any) -> None:
    why = "changed since: we set 650 W, it is 500 W, before us it was 700 W"
    found = [gpu(0, Outcome.CONFLICT, before="650 W", live="500 W", reason=why)]
    text = shown("tune rollback", report("n1", found))
    assert "State     Setting          Part   Value        Ours   Now\n" in text
    assert "conflict  gpu-power-limit  GPU 0  power limit  650 W  500 W\n" in text
    assert f"  power limit: {why}\n" in text


def test_nothing_to_show(shown: Any) -> None:
    assert shown("tune plan", report("n1", [])) == "n1  mock machine m, composed\nnothing is wanted of this host\n"
    assert shown("tune rollback", report("n1", [])) == "n1  mock machine m, composed\nnothing was done\n"
    assert shown("tune plan", report("n1", [gpu(0, Outcome.OK)]), quiet=True) == ""


def test_nodes_that_plan_the_same_are_one_group(shown: Any) -> None:
    silent = Report("n9", 0.0, 0.0, errors=(NodeError("timeout", "no answer within 60 s"),))
    nodes = [report(f"n{n}", [gpu(0)]) for n in (1, 2, 3)]
    odd = report("n4", [gpu(0, Outcome.REFUSED, reason="lost")])
    fine = report("n5", [gpu(0, Outcome.OK, live="650 W")])
    text = shown("tune plan", *nodes, odd, fine, silent)
    assert text.startswith("NO ANSWER  n9\n  timeout: no answer within 60 s\n")
    assert "n[1-3]  3 nodes  mock machine m, composed  1 pending\n" in text
    assert "n4  mock machine m, composed  1 refused\n" in text
    assert text.endswith("6 nodes:  1 with nothing done  1 refused  3 pending  1 ok\n")


def test_transactions_of_many_nodes(shown: Any) -> None:
    done = [gpu(0, Outcome.CHANGED, before="700 W", live="650 W")]
    one = Transaction("20260102-030405", "done", 0.0, "op", "b")
    alike = [report(f"n{n}", done, transactions=(one,)) for n in (1, 2)]
    assert "\n20260102-030405: done; " in shown("tune apply", *alike)
    other = report("n3", done, transactions=(one._replace(id="20260102-030406"),))
    assert "\na transaction on each: done; " in shown("tune apply", *alike, other)
    busy = Report("n4", 0.0, 0.0, errors=(NodeError("busy", "another brctl is at work: op", "try again"),))
    assert shown("tune apply", *alike, busy).startswith("NOT DONE  n4\n  busy: another brctl is at work: op\n  do: try")


def test_what_is_done_is_shown_where_something_else_failed(shown: Any) -> None:
    """A node that is changed, and not given back; a journal that cannot be read, beside one that can."""
    errors = (NodeError("not-resumed", "not given back: no controller"),)
    text = shown("tune apply", report("n1", [gpu(0, Outcome.CHANGED)], errors=errors), report("n2", [], errors=errors))
    assert text.startswith("NOT DONE  n[1-2]\n  not-resumed: not given back: no controller\nn1  ")
    assert text.endswith("2 nodes:  1 with nothing done  1 changed\n")
    made = Transaction("20260101-000000", "done", 0.0, "op", "b", None, ())
    broken = (NodeError("tune-error", "it cannot be read"),)
    for others in ((), (report("n2", []),)):
        text = shown("tune history", report("n1", [], errors=broken, transactions=(made,)), *others)
        assert "20260101-000000" in text
    assert text.startswith("NOT DONE  n1\n  tune-error: it cannot be read\n")
    assert "nothing was changed" not in shown("tune history", report("n1", [], errors=broken))


def test_history(shown: Any) -> None:
    found = (
        gpu(0, Outcome.CHANGED, before="700 W", live="650 W"),
        gpu(1, Outcome.REFUSED, reason="no"),
        gpu(2, Outcome.OK),
        gpu(3, Outcome.CHANGED, before="700 W", live="700 W", boot="700 W"),
    )
    one = Transaction("20260102-030405", "done", 86400.0, "alice@admin1", "0123456789", "abc", found)
    assert shown("tune history", report("n1", [], transactions=(one,))) == (
        "n1  mock machine m, composed\n"
        "Transaction      When (UTC)           State  Values  Who           Config  Boot\n"
        "20260102-030405  1970-01-02 00:00:00  done        3  alice@admin1  abc     01234567\n"
    )
    assert shown("tune history", report("n1", [], transactions=(one,)), verbose=True) == (
        "n1  mock machine m, composed\n\n"
        "20260102-030405  done  1970-01-02 00:00:00 UTC  by alice@admin1\n"
        "  config abc, boot 0123456789\n"
        "    changed  power limit of GPU 0: 700 W -> 650 W\n"
        "    refused  power limit of GPU 1: - -> 700 W\n"
        "      no\n"
        "    changed  power limit of GPU 3: next boot: 700 W\n"
    )
    assert shown("tune history", report("n1", [], transactions=(one,)), width=40) == (
        "n1  mock machine m, composed\n"
        "20260102-030405  done\n"
        "  1970-01-02 00:00:00 UTC, 3 values\n"
        "  by alice@admin1\n"
        "  config abc, boot 01234567\n"
    )
    once = one._replace(state="unconfirmed", changes=found[:1], config_hash=None)
    assert "  1970-01-02 00:00:00 UTC, 1 value\n" in shown(
        "tune history", report("n", [], transactions=(once,)), width=40
    )
    assert "1970-01-02 00:00:00" in shown("tune history", report("n", [], transactions=(once,)), width=80)
    assert shown("tune history", report("n1", [])).endswith("  nothing was changed here by brctl\n")


def test_rollback_counts_values_as_apply_did_and_files_apart(shown: Any) -> None:
    back = [
        Change("memlock", HOST, "/etc/x.conf", Outcome.RESTORED, before="9 bytes", live="absent"),
        gpu(0, Outcome.RESTORED, before="650 W", live="700 W"),
        gpu(1, Outcome.RESTORED, before="650 W", live="700 W"),
    ]
    one = Transaction("20260102-030405", "rolled back", 0.0, "op", "b", changes=tuple(back))
    text = shown("tune rollback", report("n1", back))
    assert text.startswith("n1  mock machine m, composed  1 file restored  2 restored\n")
    files = [back[0], back[0]._replace(key="/etc/y.conf")]
    assert "  2 files restored\n" in shown("tune rollback", report("n1", files))
    narrow = shown("tune rollback", report("n1", files[:1]), width=40)
    assert narrow.endswith("\nrestored  /etc/x.conf\n  9 bytes -> absent\n")
    long = shown("tune history", report("n1", [], transactions=(one,)), verbose=True)
    assert "    restored  /etc/x.conf: 9 bytes -> absent\n" in long
    assert " 2 values\n" in shown("tune history", report("n1", [], transactions=(one,)), width=40)
    all_files = one._replace(changes=tuple(files))
    assert " 2 values\n" in shown("tune history", report("n1", [], transactions=(all_files,)), width=40)


def test_names_of_parts() -> None:
    assert _named(["host"]) == "host"
    assert _named(["GPU 7", "GPU 0", "GPU 1"]) == "GPU 0-1,7"
    assert _named(["GPU ?", "GPU 1"]) == "GPU ?, GPU 1"
    assert list(_runs([3])) == ["3"]
