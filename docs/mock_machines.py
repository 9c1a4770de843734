"""The machines and faults of --mock: page mock.md of generate.py."""

from brctl.mock.faults import KINDS, spelling
from brctl.mock.machines import load, names
from brctl.node.facts import Inventory
from brctl.node.probe import inventory


def page() -> str:
    """docs/mock.md: every machine and every fault, a line each."""
    machines = [f"| `{name}` | {_sketch(inventory(load(name)))} |" for name in names()]
    faults = [f"| `{spelling(kind)}` | {kind.says} |" for kind in KINDS]
    return _PAGE.format(machines="\n".join(machines), faults="\n".join(faults))


def _sketch(seen: Inventory) -> str:
    gpus = [gpu.identity.name for gpu in seen.gpus or () if gpu.identity]
    driver = seen.accelerator_driver
    parts = [_counted(gpus) if gpus else "no GPU", f"driver {driver.version}" if driver else ""]
    rates = [f"{port.rate_gbps:g} Gb/s {_KINDS[port.link_layer]}" for port in seen.rdma or () if port.rate_gbps]
    parts += [_counted(sorted(rates, key=rates.count, reverse=True))]
    cpu, kernel = seen.cpu, seen.kernel
    parts += [f"{cpu.sockets} x {cpu.model}" if cpu else "", kernel.product or "" if kernel else ""]
    return ", ".join(filter(None, parts))


_KINDS = {"Ethernet": "RoCE", "InfiniBand": "InfiniBand"}


def _counted(things: list[str]) -> str:
    return ", ".join(f"{things.count(thing)} x {thing}" for thing in dict.fromkeys(things))


_PAGE = """\
# Machines that are not there

Made from the machines and faults themselves by `python docs/generate.py`.

    brctl --mock MACHINE[+FAULT[@N]...] COMMAND

does what COMMAND does, on a machine that is not there: one of those below, or one in a FILE. $BRCTL_MOCK names it too.
All of brctl runs as on a real machine, down to NVIDIA's Python binding, under which a library of brctl's own is put.
What is written to such a machine stays in $BRCTL_STATE_DIR, else in ~/.local/state/brctl, and changes nothing else.

## Machines

All are composed: figures of real hardware that belong together. Each file in brctl/mock/machines names its sources.

| machine | has |
|---|---|
{machines}

## Faults

`gpuN-` and `nicN-` say which one; without them it is the first. NICs are counted on the fastest RDMA network, in the
order of their PCI addresses. `@N`: the first N calls on a GPU, or reads of a file or command, are answered as if all
were well (not for the driver's own faults). A fault that finds nothing to act on is warned of and changes nothing.

| fault | what is wrong |
|---|---|
{faults}
"""
