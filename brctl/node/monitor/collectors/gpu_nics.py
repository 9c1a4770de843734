"""Which network interface each GPU is nearest to, by their places on the PCI bus.

Told for the join: a GPU's `pci` is in `brctl_gpu_info`, the interface's counters bear its name.
"""

from typing import Iterator

from ...accel import NVIDIA
from ...facts import Nic, blank
from ...host import Host
from ...probe import affinity, pci
from .. import Collector, Kind, Reading, Readings
from ..previous import Previous

_NET = "/sys/class/net"
_made = Kind("gpu-nics")
_NEAREST = _made.gauge(
    "gpu_nic_info", "", "1: the interface, and its RDMA device, that a GPU is nearest to, and how far that is.",
    "/sys/bus/pci", "pci", "nic", "rdma", "path",
)  # fmt: skip


def run(host: Host, _: Previous) -> Readings:
    seen = pci.read(host)
    devices = seen.facts if seen else ()
    nics = tuple(_nics(host))
    rdma = {nic.name: nic.rdma or "" for nic in nics}
    gpus = [device.address for device in devices if NVIDIA.is_gpu(device)]
    for address, near in affinity.nearest(gpus, devices, nics).items():
        yield Reading(_NEAREST, 1.0, (address, near.nic, rdma[near.nic], near.path))


def _nics(host: Host) -> Iterator[Nic]:
    """No more of them than where they are: their firmware is not asked."""
    for name in host.listdir(_NET) or ():
        place = host.readlink("{}/{}".format(_NET, name)) or ""
        address = pci.function_above(place)
        if address:
            devices = host.listdir("{}/{}/device/infiniband".format(_NET, name)) or (None,)
            nic = blank(Nic)._replace(name=name, kind="physical", mtu=0, operstate="", lower=())
            yield nic._replace(pci=address, rdma=devices[0])


COLLECTOR = Collector(
    id="gpu-nics", title="GPUs and the NICs beside them", every_s=300.0, series=tuple(_made.all), of_host=run
)
