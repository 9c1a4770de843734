"""What needs no kubectl; test_kubectl.py runs the real one."""

import json
from typing import Any

import pytest

from brctl.fleet import kubernetes
from brctl.fleet.command import CommandFailedError, Output
from brctl.fleet.drain import NodeState, Result
from brctl.fleet.kubernetes import ANNOTATION, Kubernetes, complaint, held


def _node(ready: str = "True", closed: bool = False, reason: "str | None" = None) -> dict[str, Any]:
    return {
        "metadata": {"name": "gpu001", "resourceVersion": "7", "annotations": {ANNOTATION: reason} if reason else None},
        "spec": {"unschedulable": True} if closed else {},
        "status": {"conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": ready}]},
    }


def _pod(name: str = "web-0", namespace: str = "ml", **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": "web"}, **metadata},
        "status": {"phase": "Running"},
    }


def _budget(selector: "dict[str, Any] | None", allowed: int = 0, namespace: str = "ml") -> dict[str, Any]:
    return {
        "metadata": {"name": "web-pdb", "namespace": namespace},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 2},
    }


@pytest.fixture
def kubectl(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `get` prints, by kind; an exception is raised."""
    answers: dict[str, Any] = {}

    def run(argv: list[str], limit_s: float) -> str:
        assert argv[:2] == ["kubectl", "--request-timeout=30s"]
        assert limit_s == 35
        answers.setdefault("argvs", []).append(argv[2:])
        answer = answers.get(argv[argv.index("get") + 1], "") if "get" in argv else ""
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, str) else json.dumps({"items": answer})

    monkeypatch.setattr(kubernetes, "run", run)
    return answers


@pytest.mark.parametrize(
    ("node", "state"),
    [
        (_node(), NodeState("gpu001", "Ready", False, None, False, True, version="7")),
        (_node("False"), NodeState("gpu001", "NotReady", False, None, True, False, version="7")),
        (_node("Unknown"), NodeState("gpu001", "NotReady", False, None, False, False, version="7")),
        (
            _node(closed=True),
            NodeState("gpu001", "Ready,SchedulingDisabled", True, None, False, True, version="7"),
        ),
        (
            _node(closed=True, reason="brctl: x"),
            NodeState("gpu001", "Ready,SchedulingDisabled", True, None, False, True, "brctl: x", version="7"),
        ),
        (_node(reason="brctl: stale"), NodeState("gpu001", "Ready", False, None, False, True, version="7")),
        ({"metadata": {"name": "bare"}}, NodeState("bare", "NotReady", False, None, False, False)),
    ],
)
def test_states(kubectl: dict[str, Any], node: dict[str, Any], state: NodeState) -> None:
    kubectl["nodes"] = [node]
    assert Kubernetes().states() == {state.node: state}


@pytest.mark.parametrize("text", ["", "[]", '{"items": null}', "no resources", '{"kind": "List"}'])
def test_what_is_no_list_is_refused(kubectl: dict[str, Any], text: str) -> None:
    kubectl["nodes"] = text
    with pytest.raises(CommandFailedError, match="did not print a list in JSON"):
        Kubernetes().states()


def test_cordon_and_mark_are_one_write_that_nobody_was_quicker_than(kubectl: dict[str, Any]) -> None:
    state = NodeState("gpu001", "Ready", False, None, False, True, version="7")
    Kubernetes().close(state, "brctl: x")
    Kubernetes().open(state)
    closing, opening = kubectl["argvs"]
    assert closing[:5] == ["patch", "node", "gpu001", "--type=merge", "-p"]
    assert json.loads(closing[5]) == {
        "metadata": {"resourceVersion": "7", "annotations": {ANNOTATION: "brctl: x"}},
        "spec": {"unschedulable": True},
    }
    assert json.loads(opening[5]) == {
        "metadata": {"resourceVersion": "7", "annotations": {ANNOTATION: None}},
        "spec": {"unschedulable": None},
    }


@pytest.mark.parametrize(
    ("selector", "holds"),
    [
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "db"}}, False),
        ({}, True),
        (None, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "x"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "Like"}]}, False),
    ],
)
def test_which_budget_holds_a_pod(selector: "dict[str, Any] | None", holds: bool) -> None:
    told = list(held(_pod(), [_budget(selector)]))
    sentence = "pod ml/web-0 is held by PDB ml/web-pdb: it needs 2 healthy pods and has 2"
    assert told == ([sentence] if holds else [])


def test_a_budget_that_allows_it_or_of_another_namespace_holds_nobody() -> None:
    assert not list(held(_pod(), [_budget({}, allowed=1), _budget({}, namespace="other")]))


ERR = """\
error when evicting pods/"web-0" -n "ml" (will retry after 5s): Cannot evict pod as it would violate ...
There are pending nodes to be drained:
 gpu001
error: cannot delete Pods that declare no controller (use --force to override): ml/bare
cannot delete Pods with local storage (use --delete-emptydir-data to override): ml/ed
"""


def test_what_kubectl_complains_of() -> None:
    assert complaint(ERR) == (
        "cannot delete Pods that declare no controller: ml/bare; "
        "cannot delete Pods with local storage (use --delete-emptydir-data to override): ml/ed"
    )
    assert complaint("error: no such host\n") == "error: no such host"
    assert complaint("") == "`kubectl drain` did not end"


@pytest.fixture
def drained(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The outputs of `kubectl drain`, one a node; the argvs and the limit are appended."""
    script: list[Any] = []

    def run_all(argvs: list[list[str]], limit_s: float) -> list[Output]:
        outputs = script[: len(argvs)]
        script[:] = [argvs, limit_s]
        return outputs

    monkeypatch.setattr(kubernetes, "run_all", run_all)
    return script


def test_all_nodes_are_drained_at_once_and_kubectl_keeps_the_limit(drained: list[Any]) -> None:
    drained += [Output(0, "", "")] * 2
    assert Kubernetes(delete_emptydir_data=True).settle(["gpu001", "gpu002"], 300) == {}
    argvs, limit_s = drained
    assert argvs[1] == [
        "kubectl", "drain", "gpu002", "--ignore-daemonsets", "--timeout=300s", "--delete-emptydir-data",
    ]  # fmt: skip
    assert limit_s == 330


def test_a_pod_that_a_budget_holds_is_named_with_it(drained: list[Any], kubectl: dict[str, Any]) -> None:
    drained += [Output(1, "", ERR)]
    kubectl["pods"] = [
        _pod(),
        _pod("ds", ownerReferences=[{"kind": "DaemonSet"}]),
        _pod("static", annotations={"kubernetes.io/config.mirror": "x"}),
        {**_pod("over"), "status": {"phase": "Succeeded"}},
    ]
    kubectl["poddisruptionbudgets"] = [_budget({"matchLabels": {"app": "web"}})]
    (found,) = Kubernetes().settle(["gpu001"], 0).values()
    assert found.result is Result.BLOCKED
    assert found.message == "pod ml/web-0 is held by PDB ml/web-pdb: it needs 2 healthy pods and has 2"
    assert found.hint == "it stays cordoned; let more healthy pods run elsewhere, then drain it again"
    assert kubectl["argvs"][0] == ["get", "pods", "-A", "--field-selector=spec.nodeName=gpu001", "-o", "json"]
    assert drained[0][0][4] == "--timeout=60s"  # never so short that a pod cannot end


def test_many_held_pods_are_cut_short(drained: list[Any], kubectl: dict[str, Any]) -> None:
    drained += [Output(1, "", ERR)]
    kubectl["pods"] = [_pod(f"web-{i}") for i in range(9)]
    kubectl["poddisruptionbudgets"] = [_budget({})]
    (found,) = Kubernetes().settle(["gpu001"], 0).values()
    assert found.message.count("is held by") == 5
    assert found.message.endswith("; 4 more")


def test_without_a_budget_kubectl_s_reason_stands(drained: list[Any], kubectl: dict[str, Any]) -> None:
    drained += [Output(1, "", ERR), Output(1, "", "pod x did not end: global timeout reached: 60s\n")]
    kubectl["pods"] = kubectl["poddisruptionbudgets"] = []
    first, second = Kubernetes().settle(["gpu001", "gpu002"], 0).values()
    assert first.message == complaint(ERR)
    assert first.hint == (
        "it stays cordoned; let them end, or give --delete-emptydir-data, which loses their data, then drain it again"
    )
    assert second.hint == "it stays cordoned; delete pods that nobody needs, then drain it again"


def test_when_kubectl_no_longer_answers_both_are_told(drained: list[Any], kubectl: dict[str, Any]) -> None:
    drained += [Output(None, "", "")]
    kubectl["pods"] = CommandFailedError("`kubectl get pods`: refused", "is it up?")
    (found,) = Kubernetes().settle(["gpu001"], 0).values()
    assert found.message == "`kubectl drain` did not end; `kubectl get pods`: refused"
    assert found.hint == "is it up?"


def test_context_and_namespace_reach_kubectl(kubectl: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    drained: list[list[str]] = []

    def run_all(argvs: list[list[str]], limit_s: float) -> list[Output]:
        drained.extend(argvs)
        return [Output(1, "", "error: x")]

    monkeypatch.setattr(kubernetes, "run_all", run_all)
    kubectl.update(nodes=[_node()], pods=[], poddisruptionbudgets=[])
    cluster = Kubernetes("admin@east", "ml")
    cluster.close(cluster.states()["gpu001"], "brctl: x")
    cluster.settle(["gpu001"], 0)
    context = "--context=admin@east"
    assert [argv[:3] for argv in drained] == [["kubectl", context, "drain"]]
    assert [argv[0] for argv in kubectl["argvs"]] == [context] * 4
    assert [argv[3] for argv in kubectl["argvs"][2:]] == ["--namespace=ml"] * 2
