"""One end of a test between two nodes, for `diagnose comm`; what a node has to be tested by; and a test of its GPUs.

Latency, path MTU and loss are measured by an echo of our own (host/pair.py); bandwidth by iperf3, in each direction;
RDMA by ib_write_lat and ib_write_bw; GPUs by all_reduce_perf. What the last three print is for the admin side to read.
A tool that is missing or fails says nothing of the path.
"""

import json
import threading
import time
from typing import Any, List, Optional, Sequence, Tuple

from .. import ports
from ..deadline import HungError
from ..facts import Inventory, RdmaPort
from ..host import Host
from ..probe import inventory
from ..probe.rdma import roce_v2_index
from ..probe.route import default_route
from ..report import Endpoint, NodeError, PairSeen, Report
from ..request import Expected, PairEnd, Request

_MORE_S = 3.0
"""For iperf3 to start, connect and report, beside its load."""
_RETRY_S = 0.2
COLLECTIVE_S = 120.0
"""For all_reduce_perf: starting NCCL on eight GPUs takes 10 s, the sizes below it another 10."""
MOST_PRINTED = 16384
"""Letters of a tool's output that are kept."""
_RDMA_TOOLS = ("ib_write_lat", "ib_write_bw")


def answer(host: Host, request: Request) -> Report:
    """`endpoints`, `pair` or `collective`."""
    blank = Report(request.node, 0.0, 0.0, host.mock)
    try:
        if request.action == "endpoints":
            seen = inventory(host)
            return blank._replace(inventory=seen, endpoints=endpoints(host, seen, request.expected))
        if request.action == "collective":
            printed, fault = collective(host)
            notes = (fault,) if fault else ()
            return blank._replace(collective=printed, notes=notes)
        if request.pair is None:
            return blank._replace(errors=(NodeError("invalid-request", "no pair is named"),))
        return blank._replace(pair=(_echoing if request.pair.peer is None else _testing)(host, request.pair))
    except HungError as error:
        return blank._replace(errors=(NodeError("hung", str(error)),))
    except OSError as error:
        return blank._replace(errors=(NodeError("pair-error", error.strerror or str(error)),))


def endpoints(host: Host, seen: Inventory, want: Expected) -> Tuple[Endpoint, ...]:
    """The interfaces that carry jobs, in the order of the rails: those of `hardware.nics`, else those with RDMA, else
    that of the default route. Raises OSError."""
    shown = host.run(["ip", "-j", "address", "show"])
    addresses = parse_addresses(shown.stdout if shown else "")
    carrying = {port.nic.name: port.rdma for port in ports.expected(seen, want) if port.nic}
    nics = {nic.name: nic for nic in seen.nics or ()}
    chosen = list(carrying) or [name for name in [default_route(host)] if name in nics]
    return tuple(
        Endpoint(
            name,
            addresses.get(name),
            nics[name].mtu,
            nics[name].operstate in ("up", "unknown"),
            *_rdma(carrying.get(name)),
        )
        for name in chosen
        if nics[name].master is None or name in addresses
    )


def _rdma(port: Optional[RdmaPort]) -> Tuple[Optional[str], Optional[int]]:
    """Device and port, and the GID's index, of one that is active; EFA has no ib_write_bw."""
    if port is None or port.state != "ACTIVE" or port.link_layer not in ("InfiniBand", "Ethernet"):
        return None, None
    index = roce_v2_index(port) if port.link_layer == "Ethernet" else None
    return "{}:{}".format(port.device, port.port), index


def collective(host: Host) -> Tuple[Optional[str], Optional[str]]:
    """What all_reduce_perf prints over all GPUs, or why there is nothing. Raises HungError: it has no end."""
    gpus = len(host.listdir("/proc/driver/nvidia/gpus") or ())
    if gpus < 2:
        return None, None
    argv = ["all_reduce_perf", "-b", "8M", "-e", "1G", "-f", "4", "-g", str(gpus), "-n", "5"]
    printed, fault = _printed(host, argv, COLLECTIVE_S)
    return printed and printed[-MOST_PRINTED:], fault


def _said(host: Host, argv: Sequence[str], limit_s: float) -> Tuple[Optional[str], Optional[str]]:
    """What a tool printed, or why it did not; one that hangs is a fault of the tool too."""
    try:
        return _printed(host, argv, limit_s)
    except HungError as error:
        return None, "{}: {}".format(argv[0], error)


def _printed(host: Host, argv: Sequence[str], limit_s: float) -> Tuple[Optional[str], Optional[str]]:
    """Likewise. Raises HungError."""
    try:
        done = host.run(argv, limit_s)
    except OSError as error:
        return None, "{}: {}".format(argv[0], error)
    if done is None:
        return None, "{} is not installed".format(argv[0])
    if done.returncode and not done.stdout.strip():
        lines = done.stderr.strip().splitlines() or ["it ended with {}".format(done.returncode)]
        return None, "{}: {}".format(argv[0], lines[-1])
    return done.stdout, None


def parse_addresses(text: str) -> "dict[str, str]":
    """Interface -> its first address that others reach, of `ip -j address`; IPv4 before IPv6."""
    found = {}
    for link in _json(text) or []:
        given = [each for each in link.get("addr_info", ()) if each.get("scope") == "global" and "local" in each]
        given.sort(key=lambda each: each.get("family") != "inet")
        if given:
            found[link["ifname"]] = given[0]["local"]
    return found


def _echoing(host: Host, end: PairEnd) -> PairSeen:
    """Echo, and serve iperf3 for both directions."""
    faults: List[str] = []
    load = threading.Thread(target=_serve_load, args=(host, end, faults), daemon=True)
    if end.load_s:
        load.start()
    came = host.echo(end.address, end.port, bytes.fromhex(end.nonce), end.limit_s)
    if end.load_s and came:  # who did not come for the echo comes for no load
        load.join((4 if end.rdma else 2) * (end.load_s + _MORE_S))
    return PairSeen(came, tool_fault=faults[0] if faults else None)


def _serve_load(host: Host, end: PairEnd, faults: List[str]) -> None:
    for port in (end.port + 1, end.port + 2):
        argv = ["iperf3", "--server", "--one-off", "--bind", end.address, "--port", str(port), "--json"]
        try:
            done = host.run(argv, end.limit_s + 2 * (end.load_s + _MORE_S))
        except Exception as error:
            faults.append("iperf3: {}".format(error))
            return
        if done is None:
            faults.append("iperf3 is not installed")
            break
    for tool in _RDMA_TOOLS if end.rdma else ():
        _, fault = _said(host, _rdma_argv(tool, end), end.limit_s + 2 * (end.load_s + _MORE_S))
        if fault:
            faults.append(fault)
            return


def _rdma_argv(tool: str, end: PairEnd) -> List[str]:
    device, _, port = (end.rdma or "").partition(":")
    argv = [tool, "-d", device, "-i", port or "1", "-p", str(end.port + 3), "-F"]
    argv += ["-x", str(end.gid_index)] if end.gid_index is not None else []
    argv += ["--report_gbits", "-D", "{:g}".format(max(1.0, end.load_s))] if tool == "ib_write_bw" else []
    return argv + ([end.peer] if end.peer else [])


def _testing(host: Host, end: PairEnd) -> PairSeen:
    peer = end.peer or ""
    nonce = bytes.fromhex(end.nonce)
    seen = host.echo_from(end.address, peer, end.port, nonce, end.mtu, end.limit_s)
    if not end.load_s or not seen.connected:
        return seen
    sent, fault = _load(host, end, end.port + 1, ())
    received, other = _load(host, end, end.port + 2, ("--reverse",)) if fault is None else (None, None)
    seen = seen._replace(sent_bits_per_s=sent, received_bits_per_s=received, tool_fault=fault or other)
    return _with_rdma(host, end, seen) if end.rdma else seen


def _with_rdma(host: Host, end: PairEnd, seen: PairSeen) -> PairSeen:
    latency, fault = _patiently(host, _rdma_argv(_RDMA_TOOLS[0], end), end)
    if fault:
        return seen._replace(tool_fault=seen.tool_fault or fault)
    bandwidth, fault = _patiently(host, _rdma_argv(_RDMA_TOOLS[1], end), end)
    return seen._replace(rdma_latency=latency, rdma_bandwidth=bandwidth, tool_fault=seen.tool_fault or fault)


def _patiently(host: Host, argv: Sequence[str], end: PairEnd) -> Tuple[Optional[str], Optional[str]]:
    """Until the server is there: it starts when iperf3's has ended."""
    last = time.monotonic() + _MORE_S
    while True:
        printed, fault = _said(host, argv, end.load_s + _MORE_S)
        if fault is None or "onnect" not in fault or time.monotonic() > last:
            return printed and printed[-MOST_PRINTED:], fault
        time.sleep(_RETRY_S)


def _load(host: Host, end: PairEnd, port: int, more: Sequence[str]) -> Tuple[Optional[float], Optional[str]]:
    """Bits a second that arrived, or why that was not measured."""
    argv = ["iperf3", "--client", end.peer or "", "--bind", end.address, "--port", str(port), "--json"]
    argv += ["--time", "{:g}".format(end.load_s), *more]
    last = time.monotonic() + _MORE_S
    while True:
        printed, fault = _said(host, argv, end.load_s + _MORE_S)
        value, fault = (None, fault) if printed is None else parse_iperf3(printed)
        if fault is None or "refused" not in fault or time.monotonic() > last:
            return value, fault
        time.sleep(_RETRY_S)  # the server starts at the same time


def parse_iperf3(text: str) -> Tuple[Optional[float], Optional[str]]:
    """What `iperf3 --json` says arrived, in bits a second; or its error."""
    plain = _json(text)
    if not isinstance(plain, dict):
        return None, "iperf3 gave no JSON"
    if plain.get("error"):
        return None, "iperf3: {}".format(plain["error"])
    value = plain.get("end", {}).get("sum_received", {}).get("bits_per_second")
    return (float(value), None) if isinstance(value, (int, float)) else (None, "iperf3 gave no figure")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
