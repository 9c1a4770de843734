"""Machines of a few interfaces, with what `ip` says of them."""

import contextlib
import json
from typing import Any, Callable, ContextManager, Dict, List, Optional, Sequence

import pytest

from brctl.node import agent
from brctl.node.codec import dumps, loads
from brctl.node.host import BusyError
from brctl.node.host.machine import Machine
from brctl.node.report import Report
from brctl.node.request import Request, Tuning, Wanted

Plain = Dict[str, Any]


class Writes:
    """An overlay in memory."""

    def __init__(self) -> None:
        self.texts: Dict[str, Optional[str]] = {}
        self.read = self.texts.get

    def write(self, path: str, text: Optional[str]) -> None:
        self.texts[path] = text

    def changed(self) -> Dict[str, Optional[str]]:
        return self.texts

    def lock(self, path: str, holder: str) -> ContextManager[None]:
        raise BusyError("{} {}".format(path, holder))


def link(name: str, mtu: int = 1500, kind: str = "", least: int = 68, most: int = 9978, **more: Any) -> Plain:
    """As `ip -d -j link` has it; `parent`, `master` and `data` as needed."""
    found: Plain = {"ifname": name, "mtu": mtu, "min_mtu": least, "max_mtu": most, "address": "02:00:00:00:00:01"}
    if kind:
        found["linkinfo"] = {"info_kind": kind, "info_data": more.pop("data", {})}
    if "parent" in more:
        found["link"] = more.pop("parent")
    found.update(more)
    return found


def make(links: Sequence[Plain], files: Optional[Plain] = None, commands: Optional[Plain] = None) -> Machine:
    """A machine of these interfaces; those without a kind are hardware."""
    every: Plain = {"/proc/net/route": "Iface\tDestination\n"}
    known: List[Plain] = []
    for index, one in enumerate(links, 2):
        known.append(dict(one, ifindex=one.get("ifindex", index)))
        every.update(_files(dict(one, ifindex=index), links))
    every.update(files or {})
    answers: Plain = {"ip -d -j link": {"stdout": json.dumps(known)}}
    answers.update(commands or {})
    plain = {"name": "m", "recorded": False, "sources": [], "files": every, "commands": answers}
    return Machine(plain, "m", lambda: None, Writes())


def _files(one: Plain, links: Sequence[Plain]) -> Plain:
    name, kind = one["ifname"], one.get("linkinfo", {}).get("info_kind", "")
    folder = "/sys/class/net/{}/".format(name)
    found: Plain = {
        folder + "mtu": "{}\n".format(one["mtu"]),
        folder + "operstate": "up\n",
        folder + "carrier": "1\n",
        folder + "type": "1\n",
        folder + "ifindex": "{}\n".format(one["ifindex"]),
        folder + "iflink": "{}\n".format(one["ifindex"]),
        folder + "uevent": "DEVTYPE={}\n".format(kind) if kind in ("bond", "bridge", "vlan", "vxlan") else "",
    }
    if not kind:
        found[folder + "device/driver"] = {"link": "../../bus/pci/drivers/mlx5_core"}
    if one.get("master"):
        found[folder + "master"] = {"link": "../" + one["master"]}
    for other in links:
        if other.get("master") == name or other["ifname"] == one.get("link"):
            found[folder + "lower_" + other["ifname"]] = {"link": "../" + other["ifname"]}
    return found


@pytest.fixture
def links() -> Callable[..., Plain]:
    return link


@pytest.fixture
def machine() -> Callable[..., Machine]:
    return make


class Memory(Writes):
    """One that also has a lock, which is always free."""

    def lock(self, path: str, holder: str) -> ContextManager[None]:  # noqa: ARG002
        return contextlib.nullcontext()


@pytest.fixture
def memory() -> Memory:
    """An overlay of a machine of the test's own."""
    return Memory()


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Machine]:
    """Loads a mocked machine, by its spec; what is written stays for the next time it is loaded, in memory."""
    from brctl.mock import machines

    overlays: Dict[str, Memory] = {}
    monkeypatch.setattr(machines, "Overlay", lambda name: overlays.setdefault(name, Memory()))
    return machines.load


@pytest.fixture
def ask(load: Callable[[str], Machine]) -> Callable[..., Report]:
    """Does what `tune` does: `ask("dgx-h100", "tune-plan", mtu=9000)`. What Wanted does not have is of Tuning."""

    def asked(machine: Any, action: str, **values: Any) -> Report:
        host = load(machine) if isinstance(machine, str) else machine
        wanted = Wanted(**{name: values.pop(name) for name in list(values) if name in Wanted._fields})
        request = Request("n", action, tune=Tuning(wanted, **dict({"who": "op@admin"}, **values)))
        return loads(Report, dumps(agent.answer(host, loads(Request, dumps(request)))))

    return asked


@pytest.fixture(scope="session")
def _two_gpus() -> Plain:
    """Of dgx-h100 two GPUs, and of its files little else: each command then takes a tenth of the time."""
    from brctl.mock import machines

    plain: Plain = machines._decode(machines._find("dgx-h100"))
    plain["nvml"]["gpus"] = plain["nvml"]["gpus"][:2]
    addresses = [gpu["pci_bus_id"] for gpu in plain["nvml"]["gpus"]]
    kept = ["/proc/sys/kernel/", "/proc/sys/net/", "/proc/driver/", *addresses]
    files = plain["files"].items()
    return dict(plain, commands={}, files={path: text for path, text in files if any(each in path for each in kept)})


@pytest.fixture
def changed(_two_gpus: Plain, tmp_path: Any) -> Callable[..., str]:
    """The spec of a machine of two H100, whose first one differs: `changed(processes=[...])`."""

    def spec(**first: Any) -> str:
        nvml = dict(_two_gpus["nvml"], gpus=[dict(_two_gpus["nvml"]["gpus"][0], **first), _two_gpus["nvml"]["gpus"][1]])
        path = tmp_path / "machine.json"
        path.write_text(json.dumps(dict(_two_gpus, nvml=nvml)))
        return str(path)

    return spec


@pytest.fixture
def h100(changed: Callable[..., str]) -> str:
    """The spec of a machine of two H100."""
    return changed()
