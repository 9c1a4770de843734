"""The real kubectl against an API server of our own, which writes down what it is asked."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from brctl.cli import discover, run
from brctl.cli.common import Common
from brctl.config.load import load
from brctl.fleet import engine, kubernetes
from brctl.fleet.command import CommandFailedError
from brctl.fleet.drain import MARK, Outcome, Result, drain
from brctl.fleet.kubernetes import ANNOTATION, Kubernetes
from brctl.node.report import Report

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not shutil.which("kubectl"), reason="no kubectl here (Debian: kubernetes-client)"),
]
Look = Callable[..., Report]


class Api(ThreadingHTTPServer):
    """As much of an API server as kubectl's get, patch and drain need."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.nodes = {name: _node(name) for name in ("gpu001", "gpu002")}
        self.pods: dict[tuple[str, str], Any] = {}
        self.budgets: list[Any] = []
        self.held: set[tuple[str, str]] = set()
        """Pods whose eviction is answered with 429."""
        self.quicker = False
        """Whether somebody changes each node right after it was read."""
        self.writes: list[tuple[str, str, Any]] = []

    def add_pod(self, node: str, name: str, owner: str = "ReplicaSet", **spec: Any) -> None:
        metadata = {"name": name, "namespace": "ml", "uid": name, "labels": {"app": name.partition("-")[0]}}
        owners = [{"apiVersion": "apps/v1", "kind": owner, "name": "o", "uid": "1", "controller": True}]
        self.pods["ml", name] = {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {**metadata, "ownerReferences": owners},
            "spec": {"nodeName": node, "containers": [], **spec},
            "status": {"phase": "Running"},
        }

    def hold(self, name: str) -> None:
        """A budget that allows no eviction of this pod."""
        self.held.add(("ml", name))
        app = self.pods["ml", name]["metadata"]["labels"]["app"]
        self.budgets.append(
            {
                "kind": "PodDisruptionBudget",
                "apiVersion": "policy/v1",
                "metadata": {"name": f"{app}-pdb", "namespace": "ml"},
                "spec": {"selector": {"matchLabels": {"app": app}}},
                "status": {"disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 2},
            }
        )


def _node(name: str) -> Any:
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "resourceVersion": "5", "uid": name},
        "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Api

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(*self._read(*self._target()))

    def do_PATCH(self) -> None:
        parts, _ = self._target()
        self._answer(*self._patch(parts[3], self._body()))

    def do_POST(self) -> None:
        parts, _ = self._target()
        self._body()
        self.server.writes.append(("POST", self.path, None))
        key = (parts[3], parts[5])
        if key in self.server.held:
            return self._answer(429, _failure(429, "TooManyRequests", "it would violate the pod's disruption budget"))
        self.server.pods.pop(key, None)
        return self._answer(201, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _target(self) -> "tuple[list[str], str]":
        url = urlsplit(self.path)
        return url.path.strip("/").split("/"), parse_qs(url.query).get("fieldSelector", [""])[0]

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, code: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _read(self, parts: "list[str]", selector: str) -> "tuple[int, Any]":
        server, path = self.server, "/".join(parts)
        if path in _DISCOVERY:
            return 200, _DISCOVERY[path]
        if path == "api/v1/nodes":
            return 200, _list("Node", list(server.nodes.values()))
        if path == "api/v1/pods":
            node = selector.partition("=")[2]
            return 200, _list("Pod", [pod for pod in server.pods.values() if pod["spec"]["nodeName"] == node])
        if path == "apis/policy/v1/poddisruptionbudgets":
            return 200, _list("PodDisruptionBudget", server.budgets, "policy/v1")
        if "daemonsets" in parts:
            return 200, {"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": {"name": "o", "namespace": "ml"}}
        if parts[:3] == ["api", "v1", "nodes"]:
            found = server.nodes.get(parts[3])
        else:
            found = server.pods.get((parts[3], parts[5])) if len(parts) == 6 else None
        return (200, found) if found else (404, _failure(404, "NotFound", f"{parts[-1]} not found"))

    def _patch(self, name: str, body: Any) -> "tuple[int, Any]":
        node = self.server.nodes[name]
        self.server.writes.append(("PATCH", name, body))
        version = body["metadata"].get("resourceVersion")
        if self.server.quicker or version not in (None, node["metadata"]["resourceVersion"]):
            return 409, _failure(409, "Conflict", "the object has been modified")
        _merge(node, body)
        node["metadata"]["resourceVersion"] += "0"
        return 200, node


def _merge(into: Any, change: Any) -> None:
    """RFC 7386."""
    for key, value in change.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


def _failure(code: int, reason: str, message: str) -> Any:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
    return {**status, "code": code, "reason": reason, "message": message}


def _list(kind: str, items: "list[Any]", version: str = "v1") -> Any:
    return {"kind": f"{kind}List", "apiVersion": version, "metadata": {"resourceVersion": "1"}, "items": items}


def _resource(name: str, kind: str, namespaced: bool, **more: Any) -> Any:
    verbs = ["get", "list", "patch", "create"]
    return {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": verbs, **more}


def _resources(version: str, *resources: Any) -> Any:
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": list(resources)}


def _group(name: str) -> Any:
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


_DISCOVERY = {
    "api": {"kind": "APIVersions", "versions": ["v1"]},
    "apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group("policy"), _group("apps")]},
    "api/v1": _resources(
        "v1",
        _resource("nodes", "Node", False),
        _resource("pods", "Pod", True),
        _resource("pods/eviction", "Eviction", True, group="policy", version="v1"),
    ),
    "apis/policy/v1": _resources("policy/v1", _resource("poddisruptionbudgets", "PodDisruptionBudget", True)),
    "apis/apps/v1": _resources("apps/v1", _resource("daemonsets", "DaemonSet", True)),
}
_KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: test
clusters: [{{name: test, cluster: {{server: "http://127.0.0.1:{}"}}}}]
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]
users: [{{name: test, user: {{}}}}]
"""
_CONFIG = """\
version: 1
cluster: {name: c, nodes: "gpu[001-003]", sources: [config, kubernetes]}
scheduler: {kind: kubernetes}
"""


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """The server; kubectl's current context is there, and ./cluster-config.yaml names its nodes."""
    with Api() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        (tmp_path / "kubeconfig").write_text(_KUBECONFIG.format(server.server_port))
        (tmp_path / "cluster-config.yaml").write_text(_CONFIG)
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        yield server
        server.shutdown()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """kubectl tries an eviction again after 5 s."""
    monkeypatch.setattr(kubernetes, "EVICTION_S", 6.0)


def _brctl(capsys: pytest.CaptureFixture[str], *argv: str) -> "tuple[int, str]":
    code = run(["-c", "cluster-config.yaml", *argv])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def _mark(node: Any) -> Any:
    return node["metadata"].get("annotations", {}).get(ANNOTATION)


def test_a_drain_cordons_evicts_and_is_undone(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.add_pod("gpu001", "train-0")
    api.add_pod("gpu001", "exporter", owner="DaemonSet")
    drained = ("-w", "gpu001", "node-manager", "drain", "--reason", "bad link")
    assert _brctl(capsys, *drained) == (0, "DRAINED    gpu001  empty, and takes no new jobs\n")
    assert list(api.pods) == [("ml", "exporter")]
    assert api.nodes["gpu001"]["spec"] == {"unschedulable": True}
    assert _mark(api.nodes["gpu001"]) == "brctl: bad link"
    assert _brctl(capsys, *drained) == (0, "UNCHANGED  gpu001  drained before: brctl: bad link\n")
    resumed = ("-w", "gpu001", "node-manager", "resume")
    assert _brctl(capsys, *resumed) == (0, "RESUMED    gpu001  takes jobs again\n")
    assert (api.nodes["gpu001"]["spec"], _mark(api.nodes["gpu001"])) == ({}, None)
    assert _brctl(capsys, *resumed) == (0, "UNCHANGED  gpu001  Ready before\n")
    assert "unschedulable" not in api.nodes["gpu002"]["spec"]


def test_another_context_is_another_cluster(api: Api, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = _KUBECONFIG.format(api.server_port).replace("current-context: test", "current-context: other")
    (tmp_path / "kubeconfig").write_text(text)
    drained = ("-w", "gpu001", "node-manager", "drain", "--reason", "bad link")
    assert _brctl(capsys, *drained)[0] == 3
    named = "scheduler: {kind: kubernetes, context: test, namespace: ml}"
    (tmp_path / "cluster-config.yaml").write_text(_CONFIG.replace("scheduler: {kind: kubernetes}", named))
    assert _brctl(capsys, *drained) == (0, "DRAINED    gpu001  empty, and takes no new jobs\n")


def test_a_budget_that_forbids_the_eviction_is_named_in_time(
    api: Api, impatient: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    api.add_pod("gpu001", "web-0")
    api.hold("web-0")
    code, out = _brctl(capsys, "-w", "gpu001", "node-manager", "drain", "--reason", "x")
    assert code == 3
    assert out == (
        "BLOCKED    gpu001  pod ml/web-0 is held by PDB ml/web-pdb: it needs 2 healthy pods and has 2\n"
        "                   do: it stays cordoned; let more healthy pods run elsewhere, then drain it again\n"
    )
    assert api.nodes["gpu001"]["spec"] == {"unschedulable": True}
    assert len([write for write in api.writes if write[0] == "POST"]) >= 2  # tried again within the time


def test_a_cordon_of_somebody_else_is_left_alone(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.nodes["gpu001"]["spec"]["unschedulable"] = True
    code, out = _brctl(capsys, "-w", "gpu001", "node-manager", "drain", "--reason", "x")
    assert code == 3
    assert "REFUSED    gpu001  Ready,SchedulingDisabled, not by brctl: no reason given" in out
    code, out = _brctl(capsys, "-w", "gpu001", "node-manager", "resume")
    assert (code, out.partition("  ")[0]) == (3, "REFUSED")
    assert api.writes == []
    assert _brctl(capsys, "-w", "gpu001", "node-manager", "resume", "--force")[0] == 0
    assert api.nodes["gpu001"]["spec"] == {}


def test_pods_with_data_of_their_own_are_evicted_only_when_it_is_said(
    api: Api, impatient: None, capsys: pytest.CaptureFixture[str]
) -> None:
    api.add_pod("gpu001", "train-0", volumes=[{"name": "shm", "emptyDir": {}}])
    drained = ("-w", "gpu001", "node-manager", "drain", "--reason", "x")
    code, out = _brctl(capsys, *drained)
    assert code == 3
    assert "cannot delete Pods with local storage" in out
    assert "ml/train-0" in out
    assert _brctl(capsys, *drained, "--delete-emptydir-data")[0] == 0
    assert not api.pods


def test_whoever_was_quicker_wins(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.quicker = True
    code, out = _brctl(capsys, "-w", "gpu001", "node-manager", "drain", "--reason", "x")
    assert code == 3
    assert "the object has been modified" in out
    assert api.nodes["gpu001"]["spec"] == {}


def test_an_unknown_node_is_named(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = _brctl(capsys, "-w", "gpu003", "node-manager", "drain", "--reason", "x")
    assert (code, out) == (3, "FAILED     gpu003  Kubernetes has no such node\n")


def test_more_nodes_than_allowed_are_not_touched(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("-w", "@all", "node-manager", "drain", "--reason", "x", "--max-nodes", "2")
    assert _brctl(capsys, *argv) == (
        2,
        "error: 3 nodes at once; at most 2\nhint: if you mean it: --max-nodes 3\n",
    )
    assert api.writes == []


def test_a_verdict_closes_and_evicts_nobody(
    api: Api, look: Look, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    api.add_pod("gpu001", "train-0")
    reports = (look("gpu001", "dgx-h100+gpu3-lost"), look("gpu002"))
    monkeypatch.setattr(engine, "ask_all", lambda *_, **__: reports)
    code, out = _brctl(capsys, "-w", "gpu[001-002]", "node-manager", "check", "--act")
    assert code == 1
    assert "DRAINING   gpu001  takes no new jobs: brctl: gpu-responding: GPU 3\n" in out
    assert _mark(api.nodes["gpu001"]) == "brctl: gpu-responding: GPU 3"
    assert list(api.pods) == [("ml", "train-0")]
    assert api.nodes["gpu002"]["spec"] == {}
    assert _brctl(capsys, "-w", "gpu[001-002]", "node-manager", "check")[0] == 1
    assert len(api.writes) == 1  # without --act nothing is written


def test_what_discover_hears(api: Api) -> None:
    api.nodes["gpu004.example"] = _node("gpu004.example")
    config = load(Path("cluster-config.yaml"))
    (_, said) = discover.ask(Common(), config)
    assert (said.error, said.missing, said.unexpected) == (None, ("gpu003",), ("gpu004.example",))


def test_a_server_that_is_gone_is_an_error_and_nothing_is_lost(
    api: Api, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "kubeconfig").write_text(_KUBECONFIG.format(1))
    code, out = _brctl(capsys, "-w", "gpu001", "node-manager", "drain", "--reason", "x", "-o", "json")
    assert code == 3
    assert "refused" in out
    assert json.loads(out[: out.index("error: ")])["nodes"] == []


def test_without_kubectl_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandFailedError, match="kubectl is not installed here"):
        Kubernetes().states()


def test_two_nodes_are_drained_at_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes, "EVICTION_S", 1.0)
    for node in api.nodes:
        api.add_pod(node, f"{node}-0")
        api.hold(f"{node}-0")
    book: dict[str, Outcome] = {}
    drain(Kubernetes(), {"gpu001": f"{MARK} x", "gpu002": f"{MARK} x"}, force=False, wait_s=0, book=book)
    assert {outcome.result for outcome in book.values()} == {Result.BLOCKED}
    assert "gpu002-pdb" in book["gpu002"].message
