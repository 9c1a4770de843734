"""The sections of the config. `config explain`, docs/config and the JSON Schema are generated from what stands here."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, model_validator

from . import types
from .units import RefusedError


def item(default: Any, meaning: str, source: str | None = None, **limits: Any) -> Any:
    """A key: its default (`...` where it must be given, None where nothing is assumed), meaning, source and limits."""
    extra: dict[str, Any] = {"json_schema_extra": {"x-source": source}} if source else {}
    return Field(default, description=meaning, **extra, **limits)


def section(meaning: str) -> Any:
    return Field({}, description=meaning)


_FIXED = ("batchmode", "forwardagent", "clearallforwardings", "requesttty", "stricthostkeychecking")
_ELSEWHERE = {
    **dict.fromkeys(_FIXED, "brctl"),
    "user": "transport.user",
    "port": "transport.port",
    "proxyjump": "transport.proxy_jump",
    "connecttimeout": "transport.connect_timeout",
}
"""Options of ssh, which knows no case, and what they are set by."""


def _ssh_options(options: dict[str, str]) -> dict[str, str]:
    taken = dict(_ELSEWHERE)
    for name in options:
        other = taken.setdefault(name.lower(), name)
        if other != name:
            raise RefusedError(f"{name} is set by {other}", "remove it here")
    return options


Source = Annotated[str, Field(pattern="^(config|slurm|kubernetes|hosts:/.+)$")]
Count = Annotated[int, Field(ge=0, le=65536)]
Some = Annotated[int, Field(ge=1, le=65536)]
Limit = Annotated[float, Field(ge=0)]
Rails = Annotated[int, Field(ge=1, le=64)]
Cadence = Literal["weekly", "monthly", "quarterly", "half-yearly", "yearly", "never"]


class Section(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, validate_default=True, allow_inf_nan=False, defer_build=True
    )


class Group(Section):
    nodes: types.GroupNodes = item(..., "The nodes of the group.")
    role: Literal["compute", "storage", "management"] | None = item(None, "What its nodes are for.")


class Cluster(Section):
    name: types.Name = item(..., "What reports and metrics call the cluster.")
    nodes: types.NodeSet = item(..., "Every node, as a ClusterShell node set.")
    groups: dict[types.Name, Group] = item(
        {}, "Groups of nodes. A node may be in several, or in none; then it has no role.", max_length=4096
    )
    sources: Annotated[tuple[Source, ...], Strict(False)] = item(
        ("config",), "Where discover looks: config, slurm, kubernetes, hosts:/etc/hosts."
    )


class Tree(Section):
    gateways: types.NodeSet = item(
        ..., "Nodes through which ssh goes to the others, which are spread over them. Nothing is installed there."
    )
    above: int = item(512, "Used when a command goes to more nodes than this.", ge=1)


class Transport(Section):
    kind: Literal["ssh", "local", "exec"] = item("ssh", "How nodes are reached.")
    template: str | None = item(
        None, "For exec: the command that runs another on %host.", pattern="%host", examples=["srun -N1 -w %host"]
    )
    user: types.Word | None = item(None, "User on the nodes; ssh's own choice when not given.")
    port: int | None = item(None, "TCP port of sshd; ssh's own choice when not given.", ge=1, le=65535)
    proxy_jump: types.Word | None = item(None, "Host to go through.", "ssh_config(5), ProxyJump")
    ssh_config: types.Word | None = item(None, "File that ssh reads instead of the user's own.", "ssh(1), -F")
    options: Annotated[dict[types.Key, types.Text], AfterValidator(_ssh_options)] = item(
        {}, "More options for ssh.", "ssh_config(5)"
    )
    python: types.Word = item("python3", "Interpreter on the nodes, 3.8 or later.")
    sudo: bool = item(False, "Become root by `sudo -n`, which never asks for a password.")
    fanout: int = item(64, "Nodes worked on at once.", ge=1, le=4096)
    connect_timeout: types.Duration = item("10s", "To reach a node.")
    command_timeout: types.Duration = item("60s", "For a node to answer.")
    tree: Tree | None = item(None, "Reach many nodes through gateways.")

    @model_validator(mode="after")
    def _has_template(self) -> "Transport":
        if self.kind == "exec" and self.template is None:
            raise RefusedError("kind exec needs a template", "for example: template: srun -N1 -w %host")
        return self


class Accelerators(Section):
    vendor: Literal["nvidia"] | None = item(None, "Whose accelerators.")
    model: types.Glob | None = item(None, "Product name.", "nvmlDeviceGetName")
    count: Count | None = item(None, "GPUs of a node.")
    memory: types.Size | None = item(None, "Of each GPU, held within 1 %.", "nvmlDeviceGetMemoryInfo, total")
    driver: types.Versions | None = item(None, "Driver version; all parts must hold.", examples=[">=550,<600"])
    vbios: types.Glob | None = item(None, "VBIOS version.", examples=["96.00.*"])
    nvlinks: Count | None = item(None, "Active NVLinks of each GPU.", "nvmlDeviceGetNvLinkState")


class Nics(Section):
    interfaces: types.Glob | None = item(
        None,
        "Which are meant: interfaces, or RDMA devices. Physical ones when not given: those with RDMA, if any has it.",
    )
    count: Count | None = item(None, "Interfaces of a node.")
    speed: types.Rate | None = item(None, "Link rate of each.", "ethtool, Speed")
    kind: Literal["roce", "infiniband", "efa", "ethernet"] | None = item(None, "What the links carry.")
    firmware: types.Glob | None = item(None, "Firmware version.", examples=["28.*"])


class Cpus(Section):
    sockets: Some | None = item(None, "Processor packages.")
    numa_nodes: Some | None = item(None, "NUMA nodes.")
    threads: Some | None = item(None, "Logical CPUs online.")


class Hardware(Section):
    accelerator: Accelerators = section("GPUs.")
    nics: Nics = section("Network interfaces.")
    cpu: Cpus = section("Processors.")
    memory: types.Size | None = item(
        None, "What is fitted, held within 5 %: the kernel manages a little less. A GPU's or CXL memory is not counted."
    )
    mounts: Annotated[tuple[types.Folder, ...], Strict(False)] = item((), "File systems that must be mounted.")


class Network(Section):
    interfaces: types.Glob | None = item(None, "Which interfaces are meant; those of `hardware` when not given.")
    mtu: Annotated[int, Field(ge=1280, le=65520)] | None = item(
        None, "Bytes. RDMA uses 4096 from 4192 on, so 8192 and 9000 are the same to it.", "least: IPv6, RFC 8200"
    )


_ASKED = "Largest {} buffer that a socket may ask for. TCP's own tuning does not obey it, and RDMA uses none."
_TUNED = "TCP's {} buffer: minimum, default, maximum."
_KERNEL_NAME = re.compile(r"[a-z0-9_]+(\.[A-Za-z0-9_:-]+(/[A-Za-z0-9_:-]+)*)+")
"""One spelling for each, so that no two set one parameter: dots, and a slash for a dot in a name (`eth0/100`)."""
_SWAPPED = str.maketrans("./", "/.")
"""sysctl(8): where a slash comes first, slashes divide and a dot is a dot."""


class Sysctl(Section):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, types.KernelValue]

    rmem_max: types.ReceiveBuffer | None = item(None, _ASKED.format("receive"), "socket(7)", alias="net.core.rmem_max")
    wmem_max: types.SendBuffer | None = item(None, _ASKED.format("send"), "socket(7)", alias="net.core.wmem_max")
    tcp_rmem: types.Triple | None = item(None, _TUNED.format("receive"), "tcp(7)", alias="net.ipv4.tcp_rmem")
    tcp_wmem: types.Triple | None = item(None, _TUNED.format("send"), "tcp(7)", alias="net.ipv4.tcp_wmem")

    @model_validator(mode="after")
    def _names_are_keys(self) -> "Sysctl":
        for name in self.__pydantic_extra__:
            dotted = name if _KERNEL_NAME.fullmatch(name) else name.translate(_SWAPPED)
            if not _KERNEL_NAME.fullmatch(dotted):
                raise RefusedError(f"{name!r} is no kernel parameter", "write it as sysctl does: net.core.somaxconn")
            if dotted != name:
                raise RefusedError(f"{name!r} is written with slashes", f"write {dotted}")
            if name == "kernel.numa_balancing":
                raise RefusedError(f"{name!r} has a key of its own", "write it as tune.numa_balancing")
        return self


class Clocks(Section):
    min: types.Clock = item(..., "The least.")
    max: types.Clock = item(..., "The greatest.")

    @model_validator(mode="after")
    def _is_range(self) -> "Clocks":
        if self.min > self.max:
            raise RefusedError(f"min {self.min}MHz is above max {self.max}MHz")
        return self


class GpuTune(Section):
    power_limit: types.PowerLimit | None = item(
        None,
        "In watts or percent of the default; or a map from GPU model to either.",
        "nvmlDeviceSetPowerManagementLimit",
    )
    persistence_mode: bool | None = item(
        None, "Keep the driver loaded while no GPU is used.", "nvmlDeviceSetPersistenceMode"
    )
    locked_clocks: Clocks | None = item(None, "Range of the SM clock.", "nvmlDeviceSetGpuLockedClocks")


class Tune(Section):
    network: Network = section("Interfaces.")
    sysctl: Sysctl = section(
        "Kernel parameters. Any other key takes what /proc/sys shows; `eth0/100` in it is the interface eth0.100."
    )
    numa_balancing: types.NumaMask | None = item(None, "Automatic NUMA balancing.", "kernel.numa_balancing")
    gpu: GpuTune = section("GPUs.")
    cpu_governor: types.Word | None = item(None, "CPU frequency governor: performance.", "admin-guide/pm/cpufreq")
    transparent_hugepage: Literal["always", "madvise", "never"] | None = item(
        None, "When huge pages are used.", "kernel, transhuge"
    )
    memlock: types.MemoryLock | None = item(None, "Memory that a process may lock.", "limits.conf(5)")


class Comm(Section):
    backend: Literal["nccl", "npo"] = item("nccl", "Library whose environment is rendered.")
    framework: Literal["megatron-tp", "fsdp", "ddp"] | None = item(None, "What the jobs run.")
    rails: Rails | None = item(None, "NICs of a node that carry collectives.")
    dscp: int | None = item(None, "DSCP of RoCE traffic; the traffic class is four times it.", ge=0, le=63)
    env: dict[types.Key, types.Text] = item({}, "Variables that are given as they are.")


class Collector(Section):
    every: types.Duration | None = item(None, "Between two looks; the collector's own when not given.")


class Monitor(Section):
    interval: types.Duration = item("5s", "Between two samples.")
    output: Literal["live", "table", "json", "jsonl", "csv", "prometheus"] = item("live", "How samples are shown.")
    listen: types.Endpoint = item("127.0.0.1:9836", "Where the exporter answers.")
    peers: types.NodeText | None = item(None, "Nodes to which the round trip is measured.")
    collectors: dict[types.Key, Collector] = item({}, "Single collectors.")


Argument = Annotated[str, Field(min_length=1, max_length=4096)]


class Alert(Section):
    metric: types.Key | None = item(
        None,
        "The series that is meant, where the name of the alert is not one of ours.",
        "docs/metrics.md",
        examples=["brctl_gpu_power_watts"],
    )
    threshold: types.Level | None = item(None, "Value from which it fires; the alert's own when not given.")
    fires: Literal["from", "above", "below", "up-to"] | None = item(
        None, "On which side of the threshold; the alert's own, else from (and above it)."
    )
    hold: types.Hold = item("0s", "How long the value must stay there.", alias="for")
    clear: types.Level | None = item(
        None,
        "What fires ends only beyond this; when not given, 3 degrees or a tenth short of the threshold.",
    )
    clear_for: types.Hold = item("60s", "How long it must be over before the alert ends.")
    min_samples: Annotated[int, Field(ge=1, le=1000)] = item(1, "Values in a row that must be there before it fires.")
    action: Literal["log", "exec", "webhook", "throttle", "reroute", "drain", "none"] = item(
        "log", "What is done, where brctl monitor has --act; none: the alert is not wanted."
    )
    command: Annotated[tuple[Argument, ...], Strict(False)] | None = item(
        None,
        "For exec: a program and its arguments, run on the admin host without a shell.",
        min_length=1,
        max_length=64,
    )
    url: Annotated[str, Field(pattern=r"^https?://[^\s@]+$", max_length=2048)] | None = item(
        None, "For webhook: where it is posted to, from the admin host."
    )
    severity: Literal["info", "warning", "critical"] | None = item(
        None, "How bad it is; the alert's own when not given, else warning."
    )
    labels: dict[types.Key, types.Text] = item({}, "More labels, for those who sort alerts.", max_length=16)

    @model_validator(mode="after")
    def _has_what_it_does(self) -> "Alert":
        for action, key, value, example in (
            ("exec", "command", self.command, "command: [/usr/local/bin/page, gpu]"),
            ("webhook", "url", self.url, "url: https://alerts.example.org/hook"),
        ):
            if self.action == action and not value:
                raise RefusedError(f"action {action} needs a {key}", f"for example: {example}")
            if self.action != action and value:
                raise RefusedError(f"{key} is of action {action} alone", f"write action: {action}, or leave it out")
        return self


class Diagnose(Section):
    checks: dict[types.Key, dict[types.Key, Limit]] = item({}, "Thresholds by check.")
    fail_on: Literal["info", "warn", "crit"] = item("warn", "The least finding that makes the exit status 1.")


class Scheduler(Section):
    kind: Literal["slurm", "kubernetes", "none"] = item("none", "What runs the jobs.")
    context: types.Word | None = item(
        None, "Of kubectl; its current one when not given.", "kubectl config get-contexts"
    )
    namespace: types.Word | None = item(
        None, "Where kubectl may look for the pods that hold up a drain; everywhere when not given."
    )
    resource_policy: Literal["elastic", "static"] | None = item(None, "Whether idle nodes may be lent and taken back.")
    gpu_allocation: Literal["exclusive", "shared"] | None = item(None, "Whether jobs may share a GPU.")
    network_qos: Literal["guaranteed", "best-effort"] | None = item(
        None, "What jobs are promised. No host can enforce it: the steps for the switches are printed."
    )


class Maintenance(Section):
    performance_check: Cadence = item("monthly", "How often the baseline is measured again.")
    hardware_inspection: Cadence = item("quarterly", "How often hardware is inspected.")
    firmware_upgrade: Cadence = item("half-yearly", "How often firmware is brought up to date.")


class Topology(Section):
    kind: Literal["clos", "rail-only", "dragonfly", "torus"] = item("clos", "Shape of the compute fabric.")
    radix: int | None = item(None, "Ports of a switch at the rate of a NIC.", ge=2, le=1024)
    group_nodes: int | None = item(None, "Nodes of a dragonfly's group.", ge=1, le=65536)
    rails: Rails | None = item(None, "Parallel networks, each of the NICs of one index.")
    oversubscription: float = item(1, "Downlinks of a leaf for each uplink.", ge=1, le=64)


class Shared(Section):
    """The sections that hold for all nodes, and that a node set may have of its own."""

    tune: Tune = section("What tune sets. A key that is not given is left as it is.")
    comm: Comm = section("Communication environment of jobs.")
    monitor: Monitor = section("What is sampled, and how it is shown.")
    alerting: dict[types.Key, Alert] = item(
        {}, "Alerts, by name: one of docs/alerts.md with underscores, or a name of your own with its metric."
    )
    diagnose: Diagnose = section("Checks and their verdicts.")


class NodeValues(Shared):
    """What holds for one node."""

    hardware: Hardware = section("Hardware that is expected.")


class Override(NodeValues):
    """What differs on some nodes."""

    nodes: types.NodeText = item(..., "The nodes that differ; @GROUP is a group.")


class Settings(Shared):
    """The state that a GPU cluster shall be in."""

    version: Literal[1] = item(..., "Of this format.")
    cluster: Cluster = item(..., "What the cluster consists of.")
    transport: Transport = section("How nodes are reached.")
    hardware: dict[types.Name, Hardware] = item(
        {}, "Hardware that is expected, by group. What is not given is compared among siblings."
    )
    scheduler: Scheduler = section("What runs the jobs.")
    maintenance: Maintenance = section("The calendar.")
    topology: Topology = section("The fabric.")
    overrides: Annotated[tuple[Override, ...], Strict(False)] = item(
        (),
        "What differs on some nodes: any key of hardware (without the group), tune, comm, monitor, alerting, diagnose. "
        "Two that set one key of one node differently are refused.",
        max_length=1024,
    )
