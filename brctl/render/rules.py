"""Prometheus rules, made for the Series of the registry: `brctl monitor rules`; docs/alerts.md is made of them too."""

from __future__ import annotations

from typing import NamedTuple


class Alert(NamedTuple):
    """One alert. The same numbers and the same words stand in docs/alerts.md."""

    id: str
    """Its place in docs/alerts.md: `gpu-down`; the alert is called BrctlGpuDown."""
    expr: str
    hold: str
    """How long it must be so."""
    severity: str
    """`critical`: somebody is woken; `warning`: somebody looks today."""
    summary: str
    """With Prometheus' own templates."""
    why: str
    """Where the threshold comes from."""
    do: str
    """The runbook."""

    @property
    def name(self) -> str:
        return "Brctl" + "".join(word.capitalize() for word in self.id.split("-"))


class Record(NamedTuple):
    """What is worked out once, for dashboards and for other rules."""

    name: str
    expr: str
    says: str


_USE = "brctl_gpu_utilization_ratio"
_PART = f"({_USE} > 0) / on (node) group_left sum by (node) ({_USE})"
RECORDS = (
    Record("node:brctl_gpu_utilization_ratio:avg", f"avg by (node) ({_USE})", "Mean use of a node's GPUs."),
    Record("node:brctl_gpu_utilization_ratio:min", f"min by (node) ({_USE})", "Use of the least used one."),
    Record("node:brctl_gpu_power_watts:sum", "sum by (node) (brctl_gpu_power_watts)", "Power of a node's GPUs."),
    Record(
        "node:brctl_gpu_utilization_ratio:balance",
        f"-sum by (node) (({_PART}) * ln({_PART})) / ln(count by (node) ({_USE}) > 1)",
        "How evenly the work lies on a node's GPUs: entropy / ln n, 0 to 1. Absent without work or with one GPU; GPUs "
        "whose use is not known are left out.",
    ),
)

_APPLICATION_XIDS = "13|31|43|45|68|109"
"""NVIDIA's Xid catalogue: caused by the application, or by its end."""

ALERTS = (
    Alert(
        "node-silent", "brctl_node_up == 0", "2m", "critical",
        "{{ $labels.node }} does not answer",
        "Two minutes are many ticks; a reboot of a GPU node takes longer.",
        "`brctl -w NODE node-manager show` says which step of the connection fails.",
    ),
    Alert(
        "gpu-down", "brctl_gpu_up == 0", "1m", "critical",
        "GPU {{ $labels.gpu }} of {{ $labels.node }} ({{ $labels.uuid }}) does not answer",
        "A GPU that is lost or hangs takes its job along.",
        "`brctl -w NODE node-manager check` names the call that fails; drain the node, reset the GPU, else reboot.",
    ),
    Alert(
        "gpu-missing", "brctl_gpus_visible < brctl_gpus_expected", "2m", "critical",
        "{{ $labels.node }} has {{ $value }} GPUs, and should have more",
        "What the config declares, else the most that were seen since the sampler began.",
        "`brctl -w NODE node-manager check` compares the PCI bus with the driver's list.",
    ),
    Alert(
        "gpu-hot",
        "brctl_gpu_temperature_margin_celsius < 5 or"
        " (brctl_gpu_temperature_celsius > 85 unless brctl_gpu_temperature_margin_celsius)",
        "10m", "warning",
        "GPU {{ $labels.gpu }} of {{ $labels.node }} is near to slowing down",
        "The GPU's own margin, where it tells one; 85 C elsewhere, as nvidia_gpu_exporter's rule has it.",
        "Look at fans and inlet temperature, and at the GPUs beside it.",
    ),
    Alert(
        "gpu-slowed-by-heat",
        'brctl_gpu_clocks_event_ratio{reason=~"sw_thermal_slowdown|hw_thermal_slowdown|hw_power_brake_slowdown"} > 0.1',
        "5m", "warning",
        "GPU {{ $labels.gpu }} of {{ $labels.node }}: {{ $labels.reason }}, {{ $value | humanizePercentage }} of time",
        "A tenth of the time is what a job of many GPUs feels: the slowest sets the pace. The power cap is not among "
        "the reasons: it is met in every busy hour.",
        "Heat: fans, inlet, dust. Power brake: the power supplies of the chassis.",
    ),
    Alert(
        "gpu-xid", f'brctl_gpu_xid_last_seen_timestamp_seconds{{xid!~"{_APPLICATION_XIDS}"}} > time() - 600', "0m",
        "critical",
        "GPU {{ $labels.gpu }} of {{ $labels.node }} reported Xid {{ $labels.xid }}",
        "Any Xid but those for which NVIDIA's catalogue blames the application first.",
        "Look the number up in NVIDIA's Xid catalogue; most of them ask for a reset.",
    ),
    Alert(
        "gpu-ecc-uncorrected", "increase(brctl_gpu_ecc_uncorrected_total[1h]) > 0", "0m", "critical",
        "GPU {{ $labels.gpu }} of {{ $labels.node }} could not correct {{ $value }} errors of its memory",
        "One is enough: the job that used it has lost its state.",
        "Drain the node and reset the GPU: rows are remapped then. See gpu-remap-failure.",
    ),
    Alert(
        "gpu-remap-failure", "brctl_gpu_remap_failure == 1 or brctl_gpu_sram_threshold_exceeded == 1", "0m", "critical",
        "GPU {{ $labels.gpu }} of {{ $labels.node }} is to be replaced",
        "NVIDIA's own criteria for a return: no rows left to remap, or too many errors of SRAM.",
        "Drain the node and have the board replaced.",
    ),
    Alert(
        "gpu-recovery-action", 'brctl_gpu_recovery_action{action!="none"} == 1', "5m", "critical",
        "GPU {{ $labels.gpu }} of {{ $labels.node }}: the driver asks for {{ $labels.action }}",
        "The driver's own word (field 230).",
        "Drain the node, and do that.",
    ),
    Alert(
        "rdma-loss", "brctl_rdma_loss_ratio > 0.0001", "5m", "warning",
        "{{ $labels.device }} of {{ $labels.node }} loses {{ $value | humanizePercentage }} of its packets",
        "RoCE sends a whole window again for one lost packet (go-back-N): it feels one in ten thousand.",
        "Compare with the NICs beside it; look at its cable, at the switch port, and at PFC (network-paused).",
    ),
    Alert(
        "network-down", "brctl_network_up == 0 and on (node, interface) max_over_time(brctl_network_up[1d]) == 1", "1m",
        "critical",
        "{{ $labels.interface }} of {{ $labels.node }} has lost its link",
        "It had one within a day: ports that are not used stay quiet.",
        "Look at cable, transceiver and switch port.",
    ),
    Alert(
        "network-flaps", "increase(brctl_network_carrier_changes_total[1h]) > 4", "0m", "warning",
        "The link of {{ $labels.interface }} of {{ $labels.node }} changed {{ $value }} times in an hour",
        "A reboot of the switch makes two changes; four an hour are a bad cable or transceiver.",
        "Replace cable or transceiver.",
    ),
    Alert(
        "network-paused", "brctl_network_pause_received_ratio > 0.1", "10m", "warning",
        "{{ $labels.interface }} of {{ $labels.node }} must be silent {{ $value | humanizePercentage }} of the time",
        "Short pauses are how PFC works; a tenth of the time is congestion, or a slow receiver.",
        "Look for the receiver that sends pauses (network_pause_sent_ratio) and for ECN settings.",
    ),
    Alert(
        "tcp-retransmits", "brctl_tcp_retransmit_ratio > 0.01", "10m", "warning",
        "{{ $labels.node }} sends {{ $value | humanizePercentage }} of its TCP segments again",
        "A hundredth halves the rate of a connection within a data centre.",
        "Look at drops of the interfaces, and at the switch.",
    ),
    Alert(
        "filesystem-full",
        "brctl_filesystem_available_bytes / brctl_filesystem_size_bytes < 0.05 and brctl_filesystem_read_only == 0",
        "10m", "warning",
        "{{ $labels.mount }} of {{ $labels.node }} has {{ $value | humanizePercentage }} left",
        "A job that writes checkpoints fills the last twentieth in one go.",
        "Old checkpoints and logs, mostly.",
    ),
    Alert(
        "out-of-memory", "increase(brctl_memory_oom_kills_total[10m]) > 0", "0m", "warning",
        "{{ $labels.node }} killed {{ $value }} processes for lack of memory",
        "One is enough: it was somebody's job.",
        "`journalctl -k --grep oom` says whose.",
    ),
    Alert(
        "collector-fails", "brctl_monitor_collector_success == 0", "10m", "warning",
        "{{ $labels.collector }} of {{ $labels.node }} gives no values",
        "Ten minutes are longer than a driver takes to be loaded anew.",
        "`brctl -w NODE node-manager check` says what cannot be read, and why.",
    ),
)  # fmt: skip


def text(runbooks: str | None) -> str:
    """A rules file. `runbooks`: where docs/alerts.md can be read, an address that `#gpu-down` is put behind."""
    import yaml

    records = [{"record": each.name, "expr": each.expr} for each in RECORDS]
    groups = [
        {"name": "brctl-records", "rules": records},
        {"name": "brctl", "rules": [_rule(alert, runbooks) for alert in ALERTS]},
    ]
    return str(yaml.safe_dump({"groups": groups}, sort_keys=False, width=110, allow_unicode=True))


def _rule(alert: Alert, runbooks: str | None) -> dict[str, object]:
    annotations = {"summary": alert.summary, "description": f"{alert.why} {alert.do}"}
    if runbooks:
        annotations["runbook_url"] = f"{runbooks}#{alert.id}"
    return {
        "alert": alert.name,
        "expr": alert.expr,
        "for": alert.hold,
        "labels": {"severity": alert.severity},
        "annotations": annotations,
    }
