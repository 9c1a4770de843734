"""The rules that hold where the config says nothing: thresholds, whose judgement each is, and what to do.

They are evaluated by `brctl monitor`, and printed for Prometheus by `brctl monitor rules`.
"""

from typing import NamedTuple, Optional, Tuple

from ..alert_facts import Matcher, Rule, Severity


class Default(NamedTuple):
    rule: Rule
    why: str
    """Where the threshold comes from."""
    do: str
    """The runbook."""
    explained: Optional[str] = None
    """What `brctl diagnose explain` calls it."""


_WARNING, _CRITICAL = Severity.WARNING, Severity.CRITICAL
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_APPLICATION_XIDS = ("13", "31", "43", "45", "68", "109")
"""NVIDIA's Xid catalogue: caused by the application, or by its end."""
_GPU = "GPU {gpu} of {node}"
_SLOWED = "brctl_gpu_clocks_event_ratio"

_OF_NODES = (
    Default(
        Rule("node-silent", "brctl_node_up", "<", 1, hold_s=2 * _MINUTE, severity=_CRITICAL,
             summary="{node} does not answer"),
        "Two minutes are many ticks; a reboot of a GPU node takes longer.",
        "`brctl -w NODE node-manager show` says which step of the connection fails.",
    ),
    Default(
        Rule("tcp-retransmits", "brctl_tcp_retransmit_ratio", ">", 0.01, hold_s=10 * _MINUTE, unit="ratio",
             summary="{node} sends {value} of its TCP segments again"),
        "Our own. By Mathis' formula (10.1145/263932.264023) a connection with packets of 9000 bytes and a round trip "
        "of 0.1 ms gets 9 Gb/s at a hundredth, whatever the link could carry.",
        "Look at drops of the interfaces, and at the switch.",
    ),
    Default(
        Rule("filesystem-full", "brctl_filesystem_available_bytes", "<", 0.05, "ratio",
             other="brctl_filesystem_size_bytes", unless="brctl_filesystem_read_only", hold_s=10 * _MINUTE,
             unit="ratio", summary="{mount} of {node} has {value} left"),
        "imbue's cluster-health takes a node out at 95 %, as the check disk-space does: a job that writes checkpoints "
        "fills the last twentieth in one go.",
        "Old checkpoints and logs, mostly.", "disk-space",
    ),
    Default(
        Rule("out-of-memory", "brctl_memory_oom_kills_total", ">=", 1, "increase", 10 * _MINUTE,
             summary="{node} killed processes for lack of memory"),
        "One is enough: it was somebody's job.",
        "`journalctl -k --grep oom` says whose.", "kernel-oom",
    ),
    Default(
        Rule("collector-fails", "brctl_monitor_collector_success", "<", 1, hold_s=10 * _MINUTE,
             summary="{collector} of {node} gives no values"),
        "Ten minutes are longer than a driver takes to be loaded anew.",
        "`brctl -w NODE node-manager check` says what cannot be read, and why.",
    ),
)  # fmt: skip

_OF_GPUS = (
    Default(
        Rule("gpu-down", "brctl_gpu_up", "<", 1, severity=_CRITICAL, summary=_GPU + " does not answer"),
        "A GPU that is lost or hangs takes its job along.",
        "`brctl -w NODE node-manager check` names the call that fails; drain the node, reset the GPU, else reboot.",
        "gpu-responding",
    ),
    Default(
        Rule("gpu-missing", "brctl_gpus_visible", ">=", 1, "shortfall", other="brctl_gpus_expected",
             hold_s=2 * _MINUTE, severity=_CRITICAL, summary="{node} lacks GPUs: {value}"),
        "What the config declares, or what was seen since the sampler began, whichever is more. A driver that is "
        "loaded anew is back within two minutes.",
        "`brctl -w NODE node-manager check` compares the PCI bus with the driver's list.", "gpu-count",
    ),
    Default(
        Rule("gpu-hot", "brctl_gpu_temperature_margin_celsius", "<", 5, hold_s=10 * _MINUTE, clear=8, clear_s=_MINUTE,
             unit="celsius", summary=_GPU + " is near to slowing down: {value} left"),
        "The GPU's own margin (nvmlDeviceGetMarginTemperature): at 0 it slows down, whatever its limits are. The five "
        "degrees are our own: a little more than the 3 from which the check gpu-temperature warns, as there is time to "
        "look.",
        "Look at fans and inlet temperature, and at the GPUs beside it.", "gpu-temperature",
    ),
    Default(
        Rule("gpu-temperature", "brctl_gpu_temperature_celsius", ">=", 85,
             unless="brctl_gpu_temperature_margin_celsius", hold_s=10 * _MINUTE, clear=82, clear_s=_MINUTE,
             unit="celsius", summary=_GPU + " is at {value}"),
        "85 C, as nvidia_gpu_exporter's own rule has it (above 85 C for ten minutes), and only of a GPU that tells no "
        "margin: its limit is not known.",
        "Look at fans and inlet temperature, and at the GPUs beside it.", "gpu-temperature",
    ),
    Default(
        Rule("gpu-slowed-by-heat", _SLOWED, ">", 0.1, unit="ratio", hold_s=5 * _MINUTE, clear_s=_MINUTE,
             only=(Matcher("reason", ("sw_thermal_slowdown", "hw_thermal_slowdown")),),
             summary=_GPU + ": {reason}, {value} of the time"),
        "A tenth of the time is what a job of many GPUs feels: the slowest sets the pace. The power cap is not among "
        "the reasons: it is met in every busy hour.",
        "Look at fans, inlet temperature and dust.", "gpu-throttle",
    ),
    Default(
        Rule("gpu-power-brake", _SLOWED, ">", 0, unit="ratio", hold_s=_MINUTE, clear_s=_MINUTE, severity=_CRITICAL,
             only=(Matcher("reason", ("hw_power_brake_slowdown",)),),
             summary=_GPU + " is slowed down by the power brake, {value} of the time"),
        "The board never does it of itself: it is the signal of a power supply that fails or is overloaded (nvml.h, "
        "nvmlClocksEventReasonHwPowerBrakeSlowdown).",
        "Look at the power supplies of the chassis, and at the feed of the rack.", "gpu-throttle",
    ),
    Default(
        Rule("gpu-xid", "brctl_gpu_xid_last_seen_timestamp_seconds", "<", 600, "age", severity=_CRITICAL,
             unit="seconds", only=(Matcher("xid", _APPLICATION_XIDS, other=True),),
             summary=_GPU + " reported Xid {xid}"),
        "Any Xid but those for which NVIDIA's catalogue blames the application first, for ten minutes.",
        "`brctl diagnose explain xid NUMBER` says what it means; most of them ask for a reset.", "gpu-xid",
    ),
    Default(
        Rule("gpu-ecc-uncorrected", "brctl_gpu_ecc_uncorrected_total", ">=", 1, "increase", _HOUR, severity=_CRITICAL,
             summary=_GPU + " could not correct errors of its memory"),
        "One is enough: the job that used it has lost its state.",
        "Drain the node and reset the GPU: rows are remapped then. See gpu-remap-failure.", "gpu-ecc-volatile",
    ),
    Default(
        Rule("gpu-remap-pending", "brctl_gpu_remap_pending", ">=", 1,
             summary=_GPU + " waits for a reset to remap rows"),
        "NVIDIA's guide to memory errors: the row is out of use only after a reset.",
        "Reset the GPU when its job has ended.", "gpu-remap",
    ),
    Default(
        Rule("gpu-remap-failure", "brctl_gpu_remap_failure", ">=", 1, severity=_CRITICAL,
             summary=_GPU + " is to be replaced: a row could not be remapped"),
        "NVIDIA's own criterion for a return.",
        "Drain the node and have the board replaced.", "gpu-remap",
    ),
    Default(
        Rule("gpu-sram-errors", "brctl_gpu_sram_threshold_exceeded", ">=", 1, severity=_CRITICAL,
             summary=_GPU + " is to be replaced: too many errors of SRAM"),
        "NVIDIA's own criterion for a return.",
        "Drain the node and have the board replaced.", "gpu-sram",
    ),
    Default(
        Rule("gpu-recovery-action", "brctl_gpu_recovery_action", ">=", 1, severity=_CRITICAL,
             only=(Matcher("action", ("none",), other=True),),
             summary=_GPU + ": the driver asks for {action}"),
        "The driver's own word (field 230).",
        "Drain the node, and do that.", "gpu-recovery-action",
    ),
    Default(
        Rule("gpu-straggler", "brctl_gpu_straggler", ">=", 1, hold_s=5 * _MINUTE, clear_s=_MINUTE,
             summary=_GPU + " lags behind the others"),
        "A clock under 90 % or a utilisation under half of the median of the GPUs of its model that work (four at "
        "least): boards of one model at one load differ by less than 5 % in clock. It is judged over all nodes that "
        "are looked at.",
        "`brctl -w NODE diagnose run` finds heat, power, locked clocks, and processes that do not belong there.",
        "gpu-clocks",
    ),
)  # fmt: skip

_OF_NETWORKS = (
    Default(
        Rule("network-loss", "brctl_rdma_loss_ratio", ">=", 1e-5, unit="ratio", hold_s=5 * _MINUTE, clear=5e-6,
             clear_s=_MINUTE, summary="{device} of {node} loses {value} of its packets"),
        "RoCE sends a whole window again for one lost packet (go-back-N): it feels one in a hundred thousand, and near "
        "1 % stands still (10.1109/ICCCN.2019.8846946).",
        "Compare with the NICs beside it; look at its cable, at the switch port, and at PFC (network-paused).",
    ),
    Default(
        Rule("network-down", "brctl_network_up", "<", 1, "lost", _DAY, hold_s=_MINUTE, severity=_CRITICAL,
             summary="{interface} of {node} has lost its link"),
        "It had one within a day: ports that are not used stay quiet.",
        "Look at cable, transceiver and switch port.", "nic-speed",
    ),
    Default(
        Rule("rdma-down", "brctl_rdma_up", "<", 1, "lost", _DAY, hold_s=_MINUTE, severity=_CRITICAL,
             summary="port {port} of {device} of {node} is no longer active"),
        "It was active within a day: ports that are not used stay quiet.",
        "Look at cable, transceiver and switch port; of InfiniBand, at the subnet manager.", "nic-speed",
    ),
    Default(
        Rule("network-flaps", "brctl_network_carrier_changes_total", ">=", 5, "increase", _HOUR,
             summary="the link of {interface} of {node} comes and goes"),
        "A reboot of the switch makes two changes; more than four in an hour are a bad cable or transceiver.",
        "Replace cable or transceiver.",
    ),
    Default(
        Rule("network-paused", "brctl_network_pause_received_ratio", ">", 0.1, unit="ratio", hold_s=10 * _MINUTE,
             summary="{interface} of {node} must be silent {value} of the time"),
        "Our own. Short pauses are how PFC works; a tenth of the time for ten minutes is congestion, or a slow "
        "receiver. The check nic-pause, for who looks for trouble, tells a twentieth already.",
        "Look for the receiver that sends pauses (network_pause_sent_ratio) and for ECN settings.",
    ),
)  # fmt: skip

DEFAULTS: Tuple[Default, ...] = (*_OF_NODES[:1], *_OF_GPUS, *_OF_NETWORKS, *_OF_NODES[1:])
