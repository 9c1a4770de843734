"""Kubernetes, by kubectl.

A cordon has no reason of its own, so ours stands in an annotation, written with the cordon in one request that is
refused if anybody changed the node since it was read. A node that is cordoned without it is somebody else's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .command import CommandFailedError, Output, last_line, run, run_all
from .drain import Hindrance, NodeState, Result

ANSWER_S = 30.0
"""For one call."""
EVICTION_S = 60.0
"""At the least, for pods to go: 30 s is what a pod is given to end by default (terminationGracePeriodSeconds)."""
ANNOTATION = "brctl/drain-reason"
_MIRROR = "kubernetes.io/config.mirror"
_MOST_TOLD = 5


class Kubernetes:
    """The cluster of a context of kubectl's; of its current one where none is named."""

    name = "Kubernetes"

    def __init__(
        self, context: str | None = None, namespace: str | None = None, delete_emptydir_data: bool = False
    ) -> None:
        """`namespace`: the only one in which whoever runs kubectl may look for what holds up a drain."""
        self._context = [f"--context={context}"] if context else []
        self._where = [f"--namespace={namespace}"] if namespace else ["-A"]
        self._delete_emptydir_data = delete_emptydir_data

    def states(self) -> Mapping[str, NodeState]:
        """Every node that the API server knows. Raises CommandFailedError."""
        return {state.node: state for state in map(_state, _items(self._kubectl("get", "nodes", "-o", "json")))}

    def close(self, state: NodeState, reason: str) -> None:
        """Cordon a node, with our mark. Raises CommandFailedError."""
        self._patch(state, reason, unschedulable=True)

    def open(self, state: NodeState) -> None:
        """Uncordon a node. Raises CommandFailedError."""
        self._patch(state, None, unschedulable=None)

    def settle(self, nodes: Sequence[str], limit_s: float) -> Mapping[str, Hindrance]:
        """Evict all pods but those of daemon sets, and wait until they are gone. Raises CommandFailedError."""
        limit_s = max(limit_s, EVICTION_S)
        options = ["--ignore-daemonsets", f"--timeout={limit_s:.0f}s"]
        options += ["--delete-emptydir-data"] if self._delete_emptydir_data else []
        argvs = [["kubectl", *self._context, "drain", node, *options] for node in nodes]
        outputs = run_all(argvs, limit_s + ANSWER_S)  # kubectl itself keeps the limit
        failed = [(node, output) for node, output in zip(nodes, outputs, strict=True) if output.code != 0]
        return {node: self._hindrance(node, output) for node, output in failed}

    def _kubectl(self, *words: str) -> str:
        return run(["kubectl", f"--request-timeout={ANSWER_S:.0f}s", *self._context, *words], ANSWER_S + 5)

    def _patch(self, state: NodeState, reason: str | None, unschedulable: bool | None) -> None:
        metadata = {"resourceVersion": state.version, "annotations": {ANNOTATION: reason}}
        patch = {"metadata": metadata, "spec": {"unschedulable": unschedulable}}
        self._kubectl("patch", "node", state.node, "--type=merge", "-p", json.dumps(patch))

    def _hindrance(self, node: str, output: Output) -> Hindrance:
        """What keeps a node from becoming empty: the budgets that hold its pods, else what kubectl says."""
        why = complaint(output.err)
        try:
            field = f"--field-selector=spec.nodeName={node}"
            pods = [
                pod for pod in _items(self._kubectl("get", "pods", *self._where, field, "-o", "json")) if _counts(pod)
            ]
            budgets = _items(self._kubectl("get", "poddisruptionbudgets", *self._where, "-o", "json"))
        except CommandFailedError as error:
            return Hindrance(Result.BLOCKED, f"{why}; {error.message}", error.hint)
        told = [told for pod in pods for told in held(pod, budgets)]
        if not told:
            return Hindrance(Result.BLOCKED, why, f"it stays cordoned; {_advice(why)}, then drain it again")
        left = [f"{len(told) - _MOST_TOLD} more"] if len(told) > _MOST_TOLD else []
        hint = "it stays cordoned; let more healthy pods run elsewhere, then drain it again"
        return Hindrance(Result.BLOCKED, "; ".join(told[:_MOST_TOLD] + left), hint)


def _items(text: str) -> list[Any]:
    try:
        return [item for item in json.loads(text)["items"] if isinstance(item, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CommandFailedError("kubectl did not print a list in JSON") from None


def _state(node: Mapping[str, Any]) -> NodeState:
    metadata, spec = node.get("metadata") or {}, node.get("spec") or {}
    conditions = (node.get("status") or {}).get("conditions") or []
    ready = next((str(each.get("status")) for each in conditions if each.get("type") == "Ready"), "Unknown")
    closed = spec.get("unschedulable") is True
    word = ("Ready" if ready == "True" else "NotReady") + (",SchedulingDisabled" if closed else "")
    reason = (metadata.get("annotations") or {}).get(ANNOTATION) if closed else None
    return NodeState(
        str(metadata.get("name")),
        word,
        closed,
        None,
        down=ready == "False",
        responding=ready == "True",  # Unknown: its kubelet was not heard of for a while
        reason=reason,
        version=str(metadata.get("resourceVersion", "")),
    )


def _advice(why: str) -> str:
    if "--delete-emptydir-data" in why:
        return "let them end, or give --delete-emptydir-data, which loses their data"
    return "delete pods that nobody needs"


def complaint(err: str) -> str:
    """What `kubectl drain` says last: the reasons stand behind the list of nodes, one a line.

    Its advice to use --force is left out: that of brctl means something else, and deletes nobody's pods.
    """
    _, found, rest = err.partition("There are pending nodes to be drained:\n")
    lines = [line.removeprefix("error: ") for line in rest.splitlines() if line.strip() and not line.startswith(" ")]
    text = "; ".join(lines) if found and lines else last_line(err)
    return text.replace(" (use --force to override)", "") or "`kubectl drain` did not end"


def held(pod: Mapping[str, Any], budgets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A sentence for each disruption budget that allows no eviction of a pod now."""
    for budget in budgets:
        if _covers(budget, pod) and not _allows(budget):
            status = budget.get("status") or {}
            count = f"it needs {status.get('desiredHealthy')} healthy pods and has {status.get('currentHealthy')}"
            yield f"pod {_full_name(pod)} is held by PDB {_full_name(budget)}: {count}"


def _counts(pod: Mapping[str, Any]) -> bool:
    """Whether a pod keeps a node from being empty."""
    metadata = pod.get("metadata") or {}
    owners = [owner.get("kind") for owner in metadata.get("ownerReferences") or []]
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not (ended or "DaemonSet" in owners or _MIRROR in (metadata.get("annotations") or {}))


def _full_name(item: Mapping[str, Any]) -> str:
    metadata = item.get("metadata") or {}
    return f"{metadata.get('namespace')}/{metadata.get('name')}"


def _allows(budget: Mapping[str, Any]) -> bool:
    return bool((budget.get("status") or {}).get("disruptionsAllowed"))


def _covers(budget: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """Whether the budget's selector fits the pod: policy/v1, where an empty selector fits every pod."""
    home, where = (item.get("metadata") or {} for item in (budget, pod))
    selector, labels = (budget.get("spec") or {}).get("selector"), where.get("labels") or {}
    if selector is None or home.get("namespace") != where.get("namespace"):
        return False
    wanted = (selector.get("matchLabels") or {}).items()
    expressions = selector.get("matchExpressions") or []
    return all(labels.get(key) == value for key, value in wanted) and all(_fits(each, labels) for each in expressions)


def _fits(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """One of matchExpressions; `NotIn` also fits where there is no such label."""
    key, values = str(expression.get("key")), expression.get("values") or []
    answers = {
        "In": labels.get(key) in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }
    return answers.get(str(expression.get("operator")), False)
