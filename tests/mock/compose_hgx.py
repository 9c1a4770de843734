"""The server around an eight-GPU baseboard: what those of several makers have in common.

Each GPU has a PCIe switch to itself, with a drive at port 0, the GPU at 1, its rail at 2, and perhaps another card at
3. So it is in an 8 x H100 server, by `lspci -vvv` in leptonai/gpud, pkg/pci/testdata. Vendor and device ids are those
of pci.ids. Interface names and addresses are our own.
"""

from typing import NamedTuple

from compose_parts import Card, Interface, Pci, driver_info, gids, port_gid

MLX5_VERSION = "24.10-1.1.4"
INFINIBAND = 32
NDR = Card("28.41.1000", "MT_0000000838", "MT4129", "400 Gb/sec (4X NDR)")
"""ConnectX-7, from leptonai/gpud, components/accelerator/nvidia/infiniband/class/testdata."""
HDR = Card("20.40.1000", "MT_0000000223", "MT4123", "200 Gb/sec (4X HDR)")
"""ConnectX-6, of our own."""


class Baseboard(NamedTuple):
    gpu_id: str
    modules: tuple[str, ...]
    """Bus of the root port over each GPU's switch; the first half is on socket 0."""
    drive_ids: tuple[str, str] = ("0x8086", "0x0b60")

    def place(self, number: int, port: int, function: int = 0) -> tuple[str, ...]:
        """The way from the host bridge to what stands at a port of a GPU's PCIe switch."""
        bus = int(self.modules[number], 16)
        switch = (f"0000:{bus:02x}:01.0", f"0000:{bus + 1:02x}:00.0", f"0000:{bus + 2:02x}:0{port}.0")
        return (f"pci0000:{self.modules[number]}", *switch, f"0000:{bus + 3 + port:02x}:00.{function}")

    def numa_node(self, number: int) -> int:
        return number * 2 // len(self.modules)

    def gpus(self) -> list[Pci]:
        numbers = range(len(self.modules))
        return [gpu_pci(self.place(number, 1), self.gpu_id, self.numa_node(number), 5) for number in numbers]

    def drives(self) -> list[Pci]:
        numbers = range(len(self.modules))
        return [drive_pci(self.place(number, 0), self.numa_node(number), *self.drive_ids) for number in numbers]

    def rails(self) -> list[Pci]:
        numbers = range(len(self.modules))
        return [mlx5_pci(self.place(number, 2), "0x1021", self.numa_node(number), 5) for number in numbers]


def gpu_pci(path: tuple[str, ...], device: str, numa_node: int, generation: int, width: int = 16) -> Pci:
    return Pci(path, "0x030200", "0x10de", device, "nvidia", numa_node, generation, width, 16)


def mlx5_pci(path: tuple[str, ...], device: str, numa_node: int, generation: int) -> Pci:
    return Pci(path, "0x020000", "0x15b3", device, "mlx5_core", numa_node, generation, 16, 16)


def drive_pci(path: tuple[str, ...], numa_node: int, vendor: str, device: str) -> Pci:
    return Pci(path, "0x010802", vendor, device, "nvme", numa_node, 4, 4, 4)


def nvswitches(device: str, number: int) -> list[Pci]:
    """Two lanes are all that an NVSwitch has on PCI Express: they only manage it."""
    above = ("pci0000:80", "0000:80:01.0", "0000:81:00.0")
    places = [(*above, f"0000:82:0{port}.0", f"0000:{0x83 + port:02x}:00.0") for port in range(number)]
    return [Pci(place, "0x068000", "0x10de", device, "nvidia-nvswitch", 1, 4, 2, 2) for place in places]


def roce_rail(number: int, pci: Pci, card: Card, speed: int) -> Interface:
    name, mac = f"ens{number + 1}np0", f"02:b0:7d:00:01:0{number}"
    table = gids(name, mac, (name, f"10.0.{number + 1}.1"))
    info = driver_info("mlx5_core", MLX5_VERSION, f"{card.firmware} ({card.board})", pci)
    return Interface(name, 4 + number, mac, 9000, "up", speed, pci, info, card=card, gids=table)


def infiniband_rail(number: int, pci: Pci, card: Card, speed: int) -> Interface:
    pci, octets = pci._replace(pci_class="0x020700"), f"02:b0:7d:03:00:00:01:0{number}"
    mac = f"00:00:10:49:fe:80:00:00:00:00:00:00:{octets}"
    info = driver_info("mlx5_core[ib_ipoib]", MLX5_VERSION, f"{card.firmware} ({card.board})", pci)
    name = f"ibp{int(pci.address[5:7], 16)}s0"
    interface = Interface(name, 4 + number, mac, 4092, "up", speed, pci, info, arp_type=INFINIBAND, card=card)
    pairs = octets.replace(":", "")
    return interface._replace(gids=port_gid(":".join(pairs[place : place + 4] for place in range(0, 16, 4))))


def management(
    release: str, driver: str, ids: tuple[str, str], firmware: str, root: str = "00", bus: str = "01"
) -> list[Interface]:
    """Two ports of 1 Gb/s; the second one has no cable and is off."""
    found = []
    for function in (0, 1):
        where = (f"pci0000:{root}", f"0000:{root}:0c.0", f"0000:{bus}:00.{function}")
        pci = Pci(where, "0x020000", *ids, driver, 0, 2, 1, 2)
        mac, info = f"02:b0:7d:00:00:0{function}", driver_info(driver, release, firmware, pci)
        state = "down" if function else "up"
        found.append(Interface(f"eno{function + 1}", 2 + function, mac, 1500, state, 1000, pci, info))
    return found


def screen(vendor: str, device: str, driver: str, root: str = "00", buses: tuple[str, str] = ("02", "03")) -> Pci:
    bridge, bus = buses
    where = (f"pci0000:{root}", f"0000:{root}:0e.0", f"0000:{bridge}:00.0", f"0000:{bus}:00.0")
    return Pci(where, "0x030000", vendor, device, driver, 0)
