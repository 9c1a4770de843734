"""One end of a test between two nodes, for `diagnose comm`; and what a node has to be tested by.

Latency, path MTU and loss are measured by an echo of our own (host/pair.py); bandwidth by iperf3, in each direction. A
tool that is missing or fails says nothing of the path.
"""

import json
import threading
import time
from typing import Any, List, Optional, Sequence, Tuple

from .. import ports
from ..facts import Inventory
from ..host import Host
from ..probe import inventory
from ..probe.route import default_route
from ..report import Endpoint, NodeError, PairSeen, Report
from ..request import Expected, PairEnd, Request

_MORE_S = 3.0
"""For iperf3 to start, connect and report, beside its load."""
_RETRY_S = 0.2


def answer(host: Host, request: Request) -> Report:
    """`endpoints` or `pair`."""
    blank = Report(request.node, 0.0, 0.0, host.mock)
    try:
        if request.action == "endpoints":
            seen = inventory(host)
            return blank._replace(inventory=seen, endpoints=endpoints(host, seen, request.expected))
        if request.pair is None:
            return blank._replace(errors=(NodeError("invalid-request", "no pair is named"),))
        return blank._replace(pair=(_echoing if request.pair.peer is None else _testing)(host, request.pair))
    except OSError as error:
        return blank._replace(errors=(NodeError("pair-error", error.strerror or str(error)),))


def endpoints(host: Host, seen: Inventory, want: Expected) -> Tuple[Endpoint, ...]:
    """The interfaces that carry jobs, in the order of the rails: those of `hardware.nics`, else those with RDMA, else
    that of the default route. Raises OSError."""
    shown = host.run(["ip", "-j", "address", "show"])
    addresses = parse_addresses(shown.stdout if shown else "")
    named = [port.nic.name for port in ports.expected(seen, want) if port.nic]
    nics = {nic.name: nic for nic in seen.nics or ()}
    chosen = named or [name for name in [default_route(host)] if name in nics]
    return tuple(
        Endpoint(name, addresses.get(name), nics[name].mtu, nics[name].operstate in ("up", "unknown"))
        for name in chosen
        if nics[name].master is None or name in addresses
    )


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
        load.join(2 * (end.load_s + _MORE_S))
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
            return


def _testing(host: Host, end: PairEnd) -> PairSeen:
    peer = end.peer or ""
    nonce = bytes.fromhex(end.nonce)
    echoed = host.echo_from(end.address, peer, end.port, nonce, end.mtu, end.limit_s)
    seen = PairSeen(
        echoed.connected,
        echoed.rtt_s,
        echoed.rtt_p99_s,
        echoed.small_answered,
        echoed.large_answered,
        echoed.sent,
        echoed.returned,
        fault=echoed.fault,
    )
    if not end.load_s or not echoed.connected:
        return seen
    sent, fault = _load(host, end, end.port + 1, ())
    received, other = _load(host, end, end.port + 2, ("--reverse",)) if fault is None else (None, None)
    return seen._replace(sent_bits_per_s=sent, received_bits_per_s=received, tool_fault=fault or other)


def _load(host: Host, end: PairEnd, port: int, more: Sequence[str]) -> Tuple[Optional[float], Optional[str]]:
    """Bits a second that arrived, or why that was not measured."""
    argv = ["iperf3", "--client", end.peer or "", "--bind", end.address, "--port", str(port), "--json"]
    argv += ["--time", "{:g}".format(end.load_s), *more]
    last = time.monotonic() + _MORE_S
    while True:
        done = host.run(argv, end.load_s + _MORE_S)
        if done is None:
            return None, "iperf3 is not installed"
        value, fault = parse_iperf3(done.stdout)
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
