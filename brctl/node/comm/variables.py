"""The environment variables of NCCL: names, defaults, ranges and meaning, as of NCCL 2.30.7.

Source: github.com/NVIDIA/nccl, commit 5067397c (June 2026), src/: what is given to NCCL_PARAM, DEFINE_NCCL_PARAM and
ncclGetEnv; ranges and meanings from its docs/userguide/source/env.rst and, where named, from its maintainers.
"""

import re
from typing import Dict, NamedTuple, Optional, Tuple

from .number import strtoll
from .words import unknown

VERSION = "2.30.7"
SOURCE = "NCCL 2.30.7"

_NUMERIC = """
ALLGATHERV_ENABLE=1 ALLOC_P2P_NET_LL_BUFFERS=0 BUFFSIZE=-2 CGA_CLUSTER_SIZE=- CHECK_POINTERS=0 CHUNK_SIZE=0
COLLNET_ENABLE=- COLLNET_NODE_THRESHOLD=2 COMM_BLOCKING=- COMM_SHRINK_SHARE_RESOURCES=-
COMM_SPLIT_SHARE_RESOURCES=- CONNECT_ROUND_MAX_PEERS=128 CROSS_NIC=2 CUMEM_ENABLE=-2 CUMEM_HOST_ENABLE=-1
DEV_API_JIT=0 DISABLE_MEM_MANAGER=0 DMABUF_ENABLE=1 ELASTIC_BUFFER_REGISTER=1 ENABLE_VERSION_CHECK=1
GDAKI_USE_RELIABLE_DB=0 GDRCOPY_ENABLE=0 GDRCOPY_FIFO_ENABLE=1 GDRCOPY_FLUSH_ENABLE=0 GDRCOPY_SYNC_ENABLE=1
GDR_FLUSH_DISABLE=0 GIN_ENABLE=1 GIN_ERROR_QUERY_SEC=10 GIN_GDAKI_MAX_DEST_RD_ATOMIC=-2
GIN_GDAKI_MAX_QP_RD_ATOMIC=-2 GIN_GDAKI_NIC_HANDLER=0 GIN_GDAKI_QP_DEPTH=128 GIN_IB_TC=-1 GIN_NCONNECTIONS=-2
GIN_PLUGIN_REF_COUNT=0 GIN_PROXY_QUEUE_SIZE=-1 GIN_TYPE=-1 GRAPH_DUMP_FILE_RANK=0 GRAPH_HELPER_DISABLE=0
GRAPH_MIXING_SUPPORT=- GRAPH_REGISTER=1 GRAPH_STREAM_ORDERING=- GROUP_CUDA_STREAM=0 IB_ADAPTIVE_ROUTING=-2
IB_AR_THRESHOLD=-2 IB_DATA_DIRECT=1 IB_DEVICE_PCI_ORDER=1 IB_DISABLE=0 IB_ECE_ENABLE=1 IB_FIFO_TC=-1
IB_GID_INDEX=-1 IB_MERGE_NICS=1 IB_MERGE_VFS=1 IB_MQP_RETRY_ALL=0 IB_MQP_RETRY_CNT=34
IB_MQP_RETRY_SLEEP_MSEC=100 IB_OOO_RQ=0 IB_PCI_RELAXED_ORDERING=2 IB_PKEY=0 IB_PREPOST_RECEIVE_WORK_REQUESTS=-2
IB_QPS_PER_CONNECTION=1 IB_QUERY_PORT_SPEED=1 IB_RECEIVER_SIDE_MATCHING_SCHEME=-2 IB_RESILIENCY_PORT_FAILOVER=0
IB_RESILIENCY_PORT_FAILOVER_MAX_ATTEMPTS=1 IB_RESILIENCY_PORT_FAILOVER_PROBE_DELAY=10
IB_RESILIENCY_PORT_RECOVERY=0 IB_RESILIENCY_PORT_RECOVERY_ACK_TIMEOUT=5000
IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_INTERVAL=500 IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_SIZE=5
IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_SEQUENCE_SIZE=5 IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_TIMEOUT=4000
IB_RESILIENCY_PORT_RECOVERY_ATTEMPTS_MAX=5 IB_RESILIENCY_PORT_RECOVERY_START_DELAY=200 IB_RETRY_CNT=7
IB_RETURN_ASYNC_EVENTS=1 IB_ROCE_VERSION_NUM=2 IB_ROUTABLE_FLID_GID_INDEX=1 IB_SL=-1 IB_SPLIT_DATA_ON_QPS=0
IB_SUBNET_AWARE_ROUTING=0 IB_SUBNET_PREFIX_LEN=24 IB_TC=-1 IB_TIMEOUT=20 IB_USE_INLINE=0 IB_WARN_RAIL_LOCAL=0
IGNORE_COLLNET_MISMATCH=0 IGNORE_CPU_AFFINITY=0 IGNORE_DISABLED_P2P=0 IGNORE_NET_MISMATCH=1
IPC_USE_ABSTRACT_SOCKET=1 L1_SHARED_MEMORY_CARVEOUT=0 LAUNCH_ORDER_IMPLICIT=0 LAUNCH_RACE_FATAL=1
LEGACY_CUDA_REGISTER=0 LL128_BUFFSIZE=-2 LL128_C2C=1 LL128_NTHREADS=-2 LL_BUFFSIZE=-2 LOCAL_REGISTER=1
LSA_TEAM_SIZE=0 MAX_CTAS=- MAX_NCHANNELS=-2 MAX_NRINGS=-2 MAX_P2P_NCHANNELS=64 MEM_SYNC_DOMAIN=1 MIN_CTAS=-
MIN_NCHANNELS=-2 MIN_NRINGS=-2 MIN_P2P_NCHANNELS=1 MLOPART_RDMA_ENABLE=0 MNNVL_CLIQUE_ID=-1 MNNVL_CROSS_CLIQUE=0
MNNVL_ENABLE=2 MNNVL_RAIL_PER_HOST=0 MNNVL_SCATTER_NETS_ENABLE=1 MNNVL_UUID=-1 MULTI_RANK_GPU_ENABLE=0
MULTI_SEGMENT_REGISTER=1 NCHANNELS_PER_NET_PEER=- NET_DISABLE_INTRA=0 NET_FORCE_FLUSH=0 NET_GDR_C2C=1
NET_GDR_MLOPART=0 NET_GDR_READ=-2 NET_OPTIONAL_RECV_COMPLETION=1 NET_OVERHEAD=-2 NET_PLUGIN_REF_COUNT=0
NET_SHARED_BUFFERS=-2 NET_SHARED_COMMS=1 NSOCKS_PERTHREAD=-2 NTHREADS=-2 NUM_RMA_CTX=- NVB_DISABLE=0
NVB_PRECONNECT=1 NVLINK_UTIL_CENTRIC_SCHED_ENABLE=- NVLSTREE_MAX_CHUNKSIZE=-2 NVLS_CHUNKSIZE=131072
NVLS_ENABLE=2 NVLS_NCHANNELS=- NVTX_DISABLE=0 OOB_NET_ENABLE=0 P2P_DIRECT_DISABLE=0 P2P_DISABLE=0 P2P_EPOCH_ENABLE=1
P2P_LL_THRESHOLD=16384 P2P_MAX_PEERS=- P2P_NET_CHUNKSIZE=131072 P2P_NVL_CHUNKSIZE=524288
P2P_PCI_CHUNKSIZE=131072 P2P_PER_CHANNEL_NET_BW=14 P2P_PXN_LEVEL=2 P2P_READ_ENABLE=-2 P2P_SCHEDULE_GROUP_SIZE=8
P2P_USE_CUDA_MEMCPY=0 PAT_ENABLE=2 PROGRESS_APPENDOP_FREQ=8 PROXY_APPEND_BATCH_SIZE=16 PROXY_DUMP_SIGNAL=-1
PXN_C2C=1 PXN_DISABLE=0 RAS_ENABLE=1 RAS_TIMEOUT_FACTOR=1 REPORT_CONNECT_PROGRESS=0 RMA_DISABLE=0
RMA_PLUGIN_REF_COUNT=0 RMA_PROXY_DUMP_SIGNAL=-1 RMA_PROXY_QUEUE_SIZE=-1 RUNTIME_CONNECT=1 SET_CPU_STACK_SIZE=1
SET_STACK_SIZE=0 SHADOW_MEMPOOL_MAX_SIZE=1073741824 SHM_DISABLE=0 SHM_LOCALITY=2 SINGLE_PROC_MEM_REG_ENABLE=0
SOCKET_INLINE=128 SOCKET_MIN_TASKSIZE=65536 SOCKET_NTHREADS=-2 SOCKET_POLL_TIMEOUT_MSEC=0 SOCKET_RCVBUF=-1
SOCKET_RETRY_CNT=34 SOCKET_RETRY_SLEEP_MSEC=100 SOCKET_SNDBUF=-1 SYM_CE_THRESHOLD=8388608 SYM_CTAS=0
SYM_GIN_KERNELS_ENABLE=1 SYM_NOWIN_ENABLE=0 SYM_REUSE_SYSMEM_HANDLES=0 SYM_RS_GIN_CHUNK_SIZE=-1 SYM_TMA_ENABLE=0
TOPO_DUMP_FILE_RANK=0 TOPO_SPLIT_MLOPART=1 UID_STAGGER_RATE=7000 UID_STAGGER_THRESHOLD=256
UNPACK_DOUBLE_NCHANNELS=1 WIN_ENABLE=1 WIN_STRIDE=-1 WORK_ARGS_BYTES=9223372036854775807 WORK_FIFO_BYTES=1048576
"""
"""Without NCCL_. The default follows `=`: -2 and -1 mostly stand for what NCCL finds by itself, `-` for what the
application says."""

_TEXTUAL = """
ALGO CHECK_MODE COMM_ID CONF_FILE CTA_POLICY DEBUG DEBUG_FILE DEBUG_SUBSYS DEBUG_TIMESTAMP_FORMAT
DEBUG_TIMESTAMP_LEVELS ENV_PLUGIN GIN_PLUGIN GRAPH_DUMP_FILE GRAPH_FILE HOSTID IBVERBS_LIB IB_ADDR_FAMILY
IB_ADDR_RANGE IB_GDR_LEVEL IB_HCA LAUNCH_MODE NET NETDEVS_POLICY NET_FORCE_MERGE NET_GDR_LEVEL NET_MERGE_LEVEL
NET_MERGE_POLICY NET_PLUGIN NO_CACHE OOB_NET_IFNAME P2P_LEVEL PARAM_DUMP_ALL PROFILER_PLUGIN PROTO
PROXY_CPUSET RAS_ADDR RMA_PLUGIN SET_THREAD_NAME SOCKET_FAMILY SOCKET_IFNAME SOCKET_MAGIC SYM_KERNEL
THREAD_THRESHOLDS TOPO_DUMP_FILE TOPO_FILE TUNER_CONFIG_FILE TUNER_PLUGIN WARN_ENABLE_DEBUG_INFO
"""
"""Read as text, or as one of several words."""

_PLUGINS = (
    "NCCL_INSPECTOR_",
    "NCCL_PROFILE_",
    "NCCL_PROFILER_",
    "NCCL_OFI_",
    "NCCL_UCX_",
    "NCCL_NET_GDR_",
    "NCCL_RAS_",
)
"""What the plugins that come beside NCCL read: their names are not listed here."""


class Variable(NamedTuple):
    name: str
    default: Optional[int]
    """None: there is no number that stands for it."""
    numeric: bool
    """Read by strtoll: see number.py."""


class Meaning(NamedTuple):
    text: str
    low: Optional[int] = None
    high: Optional[int] = None


MEANINGS: Dict[str, Meaning] = {
    "NCCL_BUFFSIZE": Meaning("bytes of a channel's buffer for the Simple protocol; NCCL's own is 4 MiB", 1),
    "NCCL_LL_BUFFSIZE": Meaning("bytes of a channel's buffer for the LL protocol; NCCL's own is 512 KiB", 1),
    "NCCL_LL128_BUFFSIZE": Meaning("bytes of a channel's buffer for the LL128 protocol; NCCL's own is 4800 KiB", 1),
    "NCCL_NTHREADS": Meaning("threads of a block; NCCL's own are 256 or 512; multiples of 32", 64, 512),
    "NCCL_MIN_NCHANNELS": Meaning("channels at least", 1, 64),
    "NCCL_MAX_NCHANNELS": Meaning("channels at most", 1, 64),
    "NCCL_P2P_NET_CHUNKSIZE": Meaning("bytes of a message between nodes; 128 KiB", 1),
    "NCCL_IB_HCA": Meaning("RDMA devices to use: prefixes, comma between them; `=` before them: whole names"),
    "NCCL_IB_GID_INDEX": Meaning("which GID a RoCE port uses; -1: NCCL looks for one of RoCE v2", -1, 255),
    "NCCL_IB_ROCE_VERSION_NUM": Meaning("which RoCE version the GID that NCCL looks for has", 1, 2),
    "NCCL_IB_TIMEOUT": Meaning("exponent of the time until a packet is sent again: 4.096 us x 2^T; 20 is 4.3 s", 1, 31),
    "NCCL_IB_RETRY_CNT": Meaning("how often it is sent again", 0, 7),
    "NCCL_IB_TC": Meaning("traffic class: four times the DSCP; -1 stands for 0", -1, 255),
    "NCCL_IB_SL": Meaning("service level of InfiniBand", -1, 15),
    "NCCL_IB_QPS_PER_CONNECTION": Meaning("queue pairs of a connection, for fabrics that hash by them", 1, 128),
    "NCCL_IB_PCI_RELAXED_ORDERING": Meaning("PCIe relaxed ordering: 0 off, 1 on, 2 where it works", 0, 2),
    "NCCL_IB_DISABLE": Meaning("1: no InfiniBand and no RoCE", 0, 1),
    "NCCL_SOCKET_IFNAME": Meaning("interfaces of TCP: prefixes, comma between them; `=` before them: whole names"),
    "NCCL_CROSS_NIC": Meaning("whether a ring may change rails: 0 no, 1 yes, 2 where that is no slower", 0, 2),
    "NCCL_PXN_DISABLE": Meaning("1: never by another GPU's NIC", 0, 1),
    "NCCL_P2P_PXN_LEVEL": Meaning("when send and receive go by another GPU's NIC", 0, 2),
    "NCCL_NVLS_ENABLE": Meaning("NVLink SHARP: 0 off, 1 on, 2 where it works", 0, 2),
    "NCCL_NET_GDR_READ": Meaning("GPUDirect RDMA also for sending", 0, 1),
    "NCCL_IGNORE_CPU_AFFINITY": Meaning("1: only the GPU's affinity counts", 0, 1),
    "CUDA_DEVICE_MAX_CONNECTIONS": Meaning("hardware work queues of a process; CUDA's own are 8", 1, 32),
}
"""CUDA_DEVICE_MAX_CONNECTIONS is CUDA's (CUDA programming guide, environment variables)."""

DEBUGGING: Dict[str, str] = {
    "NCCL_ALGO": "takes the choice of the algorithm from NCCL, for every size of message",
    "NCCL_PROTO": "takes the choice of the protocol from NCCL; LL128 where it does not work corrupts data",
    "NCCL_P2P_DISABLE": "GPUs of a node talk through host memory, not over NVLink",
    "NCCL_SHM_DISABLE": "no shared memory: what is not on NVLink goes over the network",
    "NCCL_IB_DISABLE": "everything between nodes goes over TCP",
    "NCCL_NET_DISABLE_INTRA": "no network within a node",
    "NCCL_CHECK_POINTERS": "looks at every pointer of every call",
    "NCCL_CHECK_MODE": "compares the calls of all ranks",
    "NCCL_LAUNCH_MODE": "how kernels are started, for old drivers",
    "NCCL_GRAPH_DUMP_FILE": "writes a file at every start",
    "NCCL_TOPO_DUMP_FILE": "writes a file at every start",
    "NCCL_DEBUG": "INFO and TRACE write much, from every rank",
    "CUDA_LAUNCH_BLOCKING": "every kernel waits for the one before it",
}
"""Knobs that look for a fault and cost speed where they stay."""

_HARMLESS = {
    "NCCL_DEBUG": ("VERSION", "WARN", "NONE", ""),
    "NCCL_LAUNCH_MODE": ("PARALLEL", ""),
    "NCCL_CHECK_MODE": ("DEFAULT", ""),
}


def is_on(name: str, value: str) -> bool:
    """Whether a debugging knob has a value that does something: what NCCL does not know is no such value."""
    if VARIABLES[name].numeric:
        return strtoll(value) != 0
    return value.strip().upper() not in _HARMLESS.get(name, ("",)) and unknown(name, value) is None


def _table() -> Dict[str, Variable]:
    numeric = (item.partition("=") for item in _NUMERIC.split())
    found = [Variable("NCCL_" + name, None if default == "-" else int(default), True) for name, _, default in numeric]
    found += [Variable("NCCL_" + name, None, False) for name in _TEXTUAL.split()]
    found += [Variable("CUDA_DEVICE_MAX_CONNECTIONS", 8, True), Variable("CUDA_LAUNCH_BLOCKING", 0, True)]
    return {each.name: each for each in found}


VARIABLES = _table()

_OURS = re.compile("(NCCL|BR)_[A-Z0-9_]+$|CUDA_(DEVICE_MAX_CONNECTIONS|LAUNCH_BLOCKING)$")


def concerns(name: str) -> bool:
    """Whether a variable is any business of a linter of communication."""
    return bool(_OURS.match(name.strip().upper()))


def known(name: str) -> bool:
    """Whether a public library reads it."""
    return name in VARIABLES or name.startswith(_PLUGINS)


def nearest(name: str) -> Tuple[str, ...]:
    """The names that a mistyped one may have meant, nearest first."""
    from difflib import get_close_matches

    return tuple(get_close_matches(name.strip().upper(), VARIABLES, 1, 0.85))
