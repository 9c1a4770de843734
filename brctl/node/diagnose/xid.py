"""What an Xid means and what to do: NVIDIA's catalogue, other tools where they differ from it, and our verdict.

The verdict follows from the catalogue's action by one rule (`_BY_ACTION`), except where `_DECIDED` says why not. What
the line itself says (Fatal, a recovery action) goes before both.
"""

from functools import lru_cache
from typing import Dict, NamedTuple, Optional, Tuple

from ..report import Status

SOURCES = {
    "NVIDIA": "Xid catalogue, docs.nvidia.com/deploy/xid-errors, of October 2025; names without ROBUST_CHANNEL_",
    "DCGM": "DCGM 4.6.0, modules/health/DcgmHealthWatch.cpp",
    "GCM": "facebookresearch/gcm 1b7bde9, gcm/health_checks/check_utils/xid_error_codes.py",
    "AWS": "awsome-distributed-ai 95b939cd, 4.validation_and_observability/2.gpu-cluster-healthcheck",
    "imbue": "imbue cluster-health 8f5964a, health_checks/health_checks.py",
    "Azure": "azurehpc-health-checks 0e0a1ac, customTests",
    "EKS": "eks-node-monitoring-agent 51af549",
    "gpud": "leptonai/gpud 4a8de33a, components/accelerator/nvidia/xid/xid.go",
    "k8s": "NVIDIA/k8s-device-plugin, the Xids that it ignores by default",
}
"""Who says what, and where that was read."""


class Xid(NamedTuple):
    number: int
    name: str
    """NVIDIA's."""
    action: str
    """The catalogue's immediate action: `RESET_GPU`; `none` where it has none."""
    means: str
    """In our words; empty where the name says it all."""
    others: Tuple[Tuple[str, str], ...]
    """Tool and its verdict, in its own words."""
    status: Status
    why: str
    """Why the status is that."""
    rank: int
    """Which of several on one GPU is the cause: the least."""

    @property
    def is_disputed(self) -> bool:
        """Whether one tool takes the GPU out of service for it and another does not."""
        grave = {word in _GRAVE for _, word in self.others} | {self.status is Status.CRIT}
        return len(grave) > 1


_GRAVE = ("CRIT", "FAIL", "RESET", "REBOOT", "bad", "fatal", "Fatal")
"""Words with which a tool takes a GPU out of service."""

_CATALOGUE = """\
8 FIFO_ERROR_IDLE_TIMEOUT RESTART_APP
11 GR_ERROR_MISSING_HW RESTART_APP:app
13 GR_EXCEPTION RESTART_APP:app
14 FAKE_ERROR IGNORE
25 GR_ILLEGAL_NOTIFY RESTART_APP:app
31 FIFO_ERROR_MMU_ERR_FLT RESTART_APP:app
32 PBDMA_ERROR RESTART_APP:app
37 FECS_ERR_UNIMP_FIRMWARE_METHOD IGNORE
38 FECS_ERR_WATCHDOG_TIMEOUT IGNORE
39 CE0_ERROR RESTART_APP
40 CE1_ERROR RESTART_APP
41 CE2_ERROR RESTART_APP
43 RESETCHANNEL_VERIF_ERROR IGNORE
44 GR_FAULT_DURING_CTXSW IGNORE
45 PREEMPTIVE_REMOVAL WORKFLOW_XID_45
46 GPU_TIMEOUT_ERROR RESET_GPU
48 GPU_ECC_DBE WORKFLOW_XID_48
54 SILENT_RUNNING_PWR_REDUCED_CLOCKING CHECK_MECHANICALS
60 SEC2_ERROR RESTART_APP
62 PMU_HALT_ERROR RESET_GPU
63 INFOROM_DRAM_RETIREMENT_EVENT IGNORE
64 INFOROM_DRAM_RETIREMENT_FAILURE RESET_GPU
66 FECS_ERR_REG_ACCESS_VIOLATION IGNORE
67 FECS_ERR_VERIF_VIOLATION IGNORE
68 NVDEC0_ERROR RESTART_APP:app
69 GR_CLASS_ERROR RESTART_APP:app
70 CE3_ERROR RESTART_APP
71 CE4_ERROR RESTART_APP
72 CE5_ERROR RESTART_APP
74 NVLINK_ERROR WORKFLOW_NVLINK_ERR
75 CE6_ERROR RESTART_APP
76 CE7_ERROR RESTART_APP
77 CE8_ERROR RESTART_APP
78 VGPU_START_ERROR UPDATE_SWFW
79 GPU_HAS_FALLEN_OFF_THE_BUS RESTART_BM
80 PBDMA_PUSHBUFFER_CRC_MISMATCH RESTART_APP:app
82 NVJPG0_ERROR RESTART_APP
83 NVDEC1_ERROR RESTART_APP
84 NVDEC2_ERROR RESTART_APP
85 CE9_ERROR RESTART_APP
86 OFA0_ERROR RESTART_APP
88 NVDEC3_ERROR RESTART_APP
89 NVDEC4_ERROR RESTART_APP
92 EXCESSIVE_SBE_INTERRUPTS IGNORE
93 INFOROM_ERASE_LIMIT_EXCEEDED IGNORE
94 CONTAINED_ERROR RESTART_APP
95 UNCONTAINED_ERROR RESET_GPU
96 NVDEC5_ERROR RESTART_APP
97 NVDEC6_ERROR RESTART_APP
98 NVDEC7_ERROR RESTART_APP
99 NVJPG1_ERROR RESTART_APP
100 NVJPG2_ERROR RESTART_APP
101 NVJPG3_ERROR RESTART_APP
102 NVJPG4_ERROR RESTART_APP
103 NVJPG5_ERROR RESTART_APP
104 NVJPG6_ERROR RESTART_APP
105 NVJPG7_ERROR RESTART_APP
106 SMBPBI_TEST_MESSAGE IGNORE
107 SMBPBI_TEST_MESSAGE_SILENT IGNORE
108 NVLINK_REMOTE_TRANSLATION_ERROR IGNORE
109 CTXSW_TIMEOUT_ERROR RESET_GPU
110 SEC_FAULT_ERROR RESET_GPU
119 GSP_RPC_TIMEOUT RESET_GPU
120 GSP_ERROR RESET_GPU
121 C2C_ERROR IGNORE
126 CE10_ERROR RESTART_APP
127 CE11_ERROR RESTART_APP
128 CE12_ERROR RESTART_APP
129 CE13_ERROR RESTART_APP
130 CE14_ERROR RESTART_APP
131 CE15_ERROR RESTART_APP
132 CE16_ERROR RESTART_APP
133 CE17_ERROR RESTART_APP
134 CE18_ERROR RESTART_APP
135 CE19_ERROR RESTART_APP
136 ALI_TRAINING_FAIL RESET_GPU
137 NVLINK_PRIV_ERR IGNORE
139 OFA1_ERROR RESTART_APP
140 UNRECOVERABLE_ECC_ERROR_ESCAPE RESET_GPU
141 FAST_PATH_ERROR IGNORE
143 GPU_INIT_ERROR RESET_GPU
144 NVLINK_SAW_ERROR WORKFLOW_NVLINK5_ERR
145 NVLINK_RLW_ERROR WORKFLOW_NVLINK5_ERR
146 NVLINK_TLW_ERROR WORKFLOW_NVLINK5_ERR
147 NVLINK_TREX_ERROR WORKFLOW_NVLINK5_ERR
148 NVLINK_NVLPW_CTRL_ERROR WORKFLOW_NVLINK5_ERR
149 NVLINK_NETIR_ERROR WORKFLOW_NVLINK5_ERR
150 NVLINK_MSE_ERROR WORKFLOW_NVLINK5_ERR
151 KEY_ROTATION_ERROR RESTART_VM
152 DLA_SMMU_ERROR IGNORE
153 DLA_TIMEOUT IGNORE
154 GPU_RECOVERY_ACTION_CHANGED XID_154
155 NVLINK_SW_DEFINED_ERROR RESET_GPU
156 RESOURCE_RETIREMENT_EVENT RESET_GPU
157 RESOURCE_RETIREMENT_FAILURE IGNORE
158 GPU_FATAL_TIMEOUT RESET_GPU
159 CHI_NON_DATA_ERROR CHECK_UVM
160 CHANNEL_RETIREMENT_EVENT IGNORE
161 CHANNEL_RETIREMENT_FAILURE IGNORE
162 PSHC_REENGAGED none
163 PSHC_DISENGAGED none
164 PSHC_LOW_LIFETIME none
165 PSHC_ZERO_LIFETIME none
166 NVLINK_SECURE_CRYPTO_ERR none
167 PCIE_FATAL_TIMEOUT none
168 REDUCED_GPU_MEMORY_CAPACITY none
169 SEC2_HALT_ERROR none
170 NVLINK_SECURE_OTHER none
171 UNCORRECTABLE_DRAM_ERROR none
172 UNCORRECTABLE_SRAM_ERROR none
"""
"""Number, name, immediate action; `:app` where the catalogue then looks at the application. What is not here the
catalogue calls unused."""

_MEANS = {
    8: "a channel did not finish in time",
    13: "an instruction of the application failed on the GPU",
    31: "the application touched memory that is not mapped",
    32: "the commands that the application sent are corrupt",
    43: "a fault of the application ended its channel",
    45: "channels of a process were taken down after another error, or because it was killed",
    46: "the GPU stopped processing",
    48: "an uncorrectable memory error (ECC, double bit)",
    54: "auxiliary power is not connected to the board; DCGM calls it a change of the power state",
    62: "the power management controller halted; DCGM calls it a thermal violation",
    63: "a row (or page) of memory is to be replaced by a spare one at the next reset",
    64: "a row (or page) of memory could not be replaced",
    38: "the driver's firmware did not answer in time; DCGM calls it a PCIe bus error",
    68: "the video decoder failed on what it was given",
    69: "the application called what this GPU does not have",
    74: "an NVLink failed",
    79: "the GPU does not answer on PCIe: fallen off the bus",
    92: "corrected memory errors at a high rate",
    94: "an uncorrectable memory error, contained: the process that used the memory ends, others go on",
    95: "an uncorrectable memory error that could not be contained: any process may have wrong data",
    109: "the GPU could not switch from one process to another",
    119: "the GPU System Processor (GSP) did not answer the driver",
    120: "the GPU System Processor (GSP) reported an error",
    121: "an error on the chip-to-chip link, corrected",
    136: "an NVLink could not be trained",
    137: "an access over NVLink to what is not shared",
    140: "an uncorrectable memory error that the GPU did not recover from",
    143: "the GPU could not be started",
    145: "an NVLink failed (remapping or routing)",
    149: "an NVLink failed (network interface)",
    154: "what the driver wants done about the GPU changed",
    158: "the GPU did not answer in time, for good",
    171: "what Xid 48 was about: DRAM",
    172: "what Xid 48 was about: SRAM",
}

_OTHERS = """\
13 GCM=WARN AWS=MONITOR EKS=event gpud=Warning k8s=ignored
31 DCGM=WARN GCM=WARN AWS=MONITOR EKS=event gpud=Warning k8s=ignored
43 DCGM=WARN GCM=WARN AWS=MONITOR EKS=event gpud=Warning k8s=ignored
45 GCM=WARN EKS=event gpud=Warning k8s=ignored
48 DCGM=FAIL GCM=CRIT AWS=RESET imbue=bad Azure=FAIL EKS=fatal gpud=Fatal
62 DCGM=WARN
63 DCGM=WARN GCM=WARN AWS=MONITOR imbue=bad Azure=FAIL EKS=fatal gpud=discarded
64 DCGM=FAIL GCM=CRIT AWS=RESET imbue=bad Azure=FAIL EKS=fatal gpud=discarded
68 GCM=WARN k8s=ignored
74 DCGM=FAIL GCM=CRIT AWS=RESET imbue=bad Azure=FAIL EKS=fatal gpud=Fatal
79 DCGM=FAIL GCM=CRIT AWS=REBOOT imbue=bad Azure=FAIL EKS=fatal gpud=Fatal
92 GCM=WARN AWS=MONITOR imbue=bad Azure=FAIL EKS=event gpud=Warning
94 DCGM=WARN GCM=CRIT AWS=MONITOR imbue=bad EKS=event gpud=Fatal
95 DCGM=FAIL GCM=CRIT AWS=RESET imbue=bad EKS=fatal gpud=Fatal
109 GCM=WARN AWS=RESET EKS=fatal gpud=Warning k8s=ignored
119 DCGM=FAIL GCM=CRIT AWS=RESET imbue=bad Azure=FAIL EKS=fatal gpud=Fatal
120 DCGM=FAIL GCM=CRIT AWS=RESET imbue=bad Azure=FAIL EKS=fatal gpud=Fatal
140 DCGM=FAIL GCM=CRIT AWS=RESET EKS=fatal gpud=Fatal
144 GCM=CRIT AWS=MONITOR EKS=event gpud=Warning
145 GCM=CRIT AWS=MONITOR EKS=event gpud=Warning
146 GCM=CRIT AWS=MONITOR EKS=event gpud=Warning
147 GCM=CRIT AWS=MONITOR EKS=event gpud=Warning
148 GCM=CRIT AWS=MONITOR EKS=event gpud=Warning
149 GCM=CRIT AWS=MONITOR EKS=event gpud=Warning
150 GCM=CRIT AWS=MONITOR EKS=event gpud=Warning
151 GCM=CRIT AWS=REBOOT EKS=fatal gpud=Warning
154 GCM=CRIT AWS=parsed EKS=event gpud=Warning
"""

_BY_ACTION = {
    "RESTART_APP:app": (Status.INFO, "the application's own error: restart it"),
    "RESTART_APP": (Status.WARN, "the application ends; NVIDIA wants to hear of it where it comes back"),
    "IGNORE": (Status.INFO, "nothing to do by itself"),
    "RESET_GPU": (Status.CRIT, "the GPU is to be reset"),
    "RESTART_BM": (Status.CRIT, "the machine is to be restarted"),
    "RESTART_VM": (Status.CRIT, "the virtual machine is to be restarted"),
    "CHECK_MECHANICALS": (Status.CRIT, "cables, seating and power are to be looked at"),
    "UPDATE_SWFW": (Status.WARN, "driver or firmware are to be updated"),
    "CHECK_UVM": (Status.WARN, "the driver's memory manager is to be looked at"),
    "none": (Status.WARN, "the catalogue names it and no action"),
    "unused": (Status.WARN, "the catalogue calls it unused: NVIDIA wants to hear of it"),
}

_DECIDED = {
    45: (Status.INFO, "a consequence: of another Xid, or of a process that was killed"),
    48: (Status.CRIT, "the workflow ends in a reset of the GPU, whose memory was wrong"),
    63: (Status.WARN, "the catalogue ignores it, but the GPU needs a reset some time; the workload may finish first"),
    74: (Status.CRIT, "the workflow ends in a reset; collectives over the link hang until then"),
    92: (Status.WARN, "the catalogue ignores it; a rate so high slows the GPU down, and comes before worse"),
    94: (Status.WARN, "the process is lost and the GPU usable; look whether a row waits to be remapped"),
    109: (Status.WARN, "the catalogue resets the GPU, other tools do nothing: most often the application's own error"),
    154: (Status.INFO, "no fault by itself: it carries the driver's own advice about another"),
    **dict.fromkeys(range(144, 151), (Status.WARN, "the line says whether it is fatal; this one does not")),
    **dict.fromkeys((162, 163), (Status.INFO, "power smoothing went on or off")),
    **dict.fromkeys((167, 168, 169), (Status.CRIT, "the GPU or a part of it is lost until it is reset")),
    **dict.fromkeys((171, 172), (Status.CRIT, "it goes with Xid 48")),
}

_FIRST = (54, 167, 79, 140, 95, 48, 171, 172, 64, 94, 63, 92, 143, 158, 62, 119, 120, 136, 74, *range(144, 151), 155)
_LAST = (109, 46, 110, 44, 43, 45, 154)
"""Causes before consequences, by what the catalogue says of each: power, bus, memory, controllers, links; then what an
application did; at the end what cleans up behind."""

SAYS = {
    "gpu-reset": "drain the node, then `nvidia-smi --gpu-reset -i {}`; where that fails, reboot",
    "drain-and-reset": "let the work end and take no more (drain), then `nvidia-smi --gpu-reset -i {}`",
    "drain-p2p": "end what uses the GPU over NVLink, then `nvidia-smi --gpu-reset -i {}`",
    "node-reboot": "drain the node and reboot it",
    "system-reboot": "drain the node and reboot it",
    "bus-reset": "drain the node, then reset the GPU's PCIe bus, or reboot",
    "recover-imex-domain": "restart nvidia-imex on all nodes of the domain",
}
"""What to do by the driver's own recovery action, of a GPU by UUID or address."""

_REMEDY = {
    "RESTART_APP:app": "restart the application; if only this GPU shows it, test it: `dcgmi diag -r 3`",
    "RESTART_APP": "restart the application; if it comes back on this GPU, test it: `dcgmi diag -r 3`",
    "RESET_GPU": SAYS["gpu-reset"],
    "RESTART_BM": "drain the node and power-cycle it; if it comes back, reseat the GPU and look at riser and power, "
    "then RMA",
    "RESTART_VM": "restart the virtual machine",
    "CHECK_MECHANICALS": "drain the node; look at power cables, seating and power supplies",
    "UPDATE_SWFW": "update the driver and the firmware that goes with it",
    "WORKFLOW_XID_48": SAYS["gpu-reset"],
    "WORKFLOW_NVLINK_ERR": SAYS["gpu-reset"] + "; if the same link fails again, look at NVSwitch and connectors",
    "WORKFLOW_NVLINK5_ERR": SAYS["gpu-reset"] + "; if the same link fails again, look at NVSwitch and connectors",
}
_DO = {
    63: "reset the GPU when its work has ended: `nvidia-smi --gpu-reset -i {}`",
    92: "watch its ECC counters; if the rate stays, drain the node and test the GPU: `dcgmi diag -r 3`",
    94: "restart the application; reset the GPU if a row waits to be remapped",
    109: "run the application under compute-sanitizer; reset the GPU only if others fail there too",
}
"""Where the table decides otherwise than the catalogue."""
RMA = "drain the node and replace the GPU (RMA): it came back after a reset"


@lru_cache(maxsize=None)
def table() -> Dict[int, Xid]:
    """All that the catalogue names, by number."""
    others = _others()
    rows = (line.split() for line in _CATALOGUE.splitlines())
    return {int(number): _xid(int(number), name, action, others) for number, name, action in rows}


def of(number: int) -> Xid:
    """Also one that the catalogue does not have."""
    return table().get(number) or _xid(number, "unnamed", "unused", {})


def remedy(number: int, gpu: str, action: Optional[str] = None) -> Optional[str]:
    """What to do, of a GPU by UUID or address; `action` is what the driver itself wants (Xid 154, or NVML)."""
    if action in SAYS:
        return SAYS[action or ""].format(gpu)
    text = _DO.get(number) or _REMEDY.get(_actions().get(number, ""))
    return text.format(gpu) if text else None


def _others() -> Dict[int, Tuple[Tuple[str, str], ...]]:
    found: Dict[int, Tuple[Tuple[str, str], ...]] = {}
    for line in _OTHERS.splitlines():
        number, *words = line.split()
        found[int(number)] = tuple((tool, word) for tool, _, word in (pair.partition("=") for pair in words))
    return found


@lru_cache(maxsize=None)
def _actions() -> Dict[int, str]:
    return {int(number): action for number, _, action in (line.split() for line in _CATALOGUE.splitlines())}


def _xid(number: int, name: str, action: str, others: Dict[int, Tuple[Tuple[str, str], ...]]) -> Xid:
    status, why = _DECIDED.get(number) or _BY_ACTION[action]
    # GCM is critical of every Xid that it does not list.
    told = others.get(number, (("GCM", "CRIT"),))
    shown = action.partition(":")[0]
    return Xid(number, name, shown, _MEANS.get(number, ""), told, status, why, _rank(number))


def _rank(number: int) -> int:
    if number in _FIRST:
        return _FIRST.index(number)
    return len(_FIRST) + (1 + _LAST.index(number) if number in _LAST else 0)
