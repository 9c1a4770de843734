"""A healthy node with 8 GPUs and 8 rails, to be broken with `_replace`, and what a config would declare of it.

Figures: GPUs as in a recorded `nvidia-smi -q -x` of 8 x H100 80GB HBM3; cards as ConnectX-7 in /sys of such a node.
"""

from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import pytest

from brctl.node.diagnose import Earlier, engine
from brctl.node.facts import (
    AcceleratorDriver,
    AcsPort,
    Clock,
    Counter,
    Cpu,
    CpuGovernor,
    Filesystem,
    Gpu,
    GpuErrors,
    GpuFabric,
    GpuHealth,
    GpuIdentity,
    GpuLimits,
    GpuLink,
    GpuLinkErrors,
    GpuPcie,
    GpuTelemetry,
    Inventory,
    Kernel,
    KernelLog,
    LinkSettings,
    Memory,
    MemoryController,
    MemoryLock,
    Mount,
    Nic,
    NodeTime,
    NumaNode,
    PciDevice,
    Peermem,
    PortCounters,
    RdmaPort,
    Sysctl,
    Tasks,
)
from brctl.node.probe import kernel_log
from brctl.node.report import Finding
from brctl.node.request import Expected, ExpectedAccelerator, ExpectedCpu, ExpectedNics, Override

GIB = 2**30
SLOTS = ("53", "64", "75", "86", "97", "a8", "b9", "ca")


def a_gpu(index: int) -> Gpu:
    return Gpu(
        gpu_index=index,
        uuid="GPU-{:08d}-1111-2222-3333-444444444444".format(index),
        pci="0000:{}:00.0".format(SLOTS[index]),
        numa_node=index // 4,
        nearest_nic="ens{}np0".format(index + 1),
        nearest_nic_path="PIX",
        identity=GpuIdentity("NVIDIA H100 80GB HBM3", None, "96.00.99.00.01", 81559 * 2**20, False, True),
        links=tuple(GpuLink(link, True, "4.0") for link in range(18)),
    )


def a_whole_gpu(index: int) -> Gpu:
    """With all that `diagnose` judges."""
    return a_gpu(index)._replace(
        telemetry=TELEMETRY,
        pcie=GpuPcie(5, 16, 5, 16, 150, 5),
        errors=ERRORS,
        limits=GpuLimits(700.0, 700.0, 700.0, 200.0, 700.0, 1980, 2619, None, None, -2, -8),
        processes=(),
        vendor="nvidia",
        fabric=GpuFabric("completed", "Success", 0, None, None),
        health=GpuHealth(
            100.0, True, False, "580.105.08", True, True, tuple(GpuLinkErrors(link, 2, 1, 4000) for link in range(18))
        ),
    )


TELEMETRY = GpuTelemetry(
    gpu_utilization_percent=0,
    memory_utilization_percent=0,
    memory_used_bytes=0,
    memory_reserved_bytes=603 * 2**20,
    memory_free_bytes=80956 * 2**20,
    temperature_celsius=29,
    memory_temperature_celsius=41,
    power_watts=68.6,
    sm_clock_mhz=345,
    memory_clock_mhz=2619,
    performance_state=0,
    clocks_event_reasons=("gpu_idle",),
    temperature_margin_celsius=58,
    sw_power_cap_ns=10**12,
    sw_thermal_slowdown_ns=10**12,
    hw_thermal_slowdown_ns=10**12,
    hw_power_brake_slowdown_ns=10**12,
)
ERRORS = GpuErrors(
    ecc_enabled=True,
    volatile_corrected=1000000,
    volatile_uncorrected=0,
    aggregate_corrected=30000000,
    aggregate_uncorrected=0,
    remapped_rows_correctable=3,
    remapped_rows_uncorrectable=2,
    remap_pending=False,
    remap_failure=False,
    retired_pages_sbe=0,
    retired_pages_dbe=0,
    recovery_action="none",
    retired_pages_pending=False,
    sram_volatile_parity=0,
    sram_volatile_secded=0,
    sram_aggregate_parity=0,
    sram_aggregate_secded=0,
    sram_threshold_exceeded=False,
    inforom_valid=True,
)
"""With totals of a long life, which are no fault."""


def a_device(address: str, vendor: str, device: str, pci_class: str, driver: Any) -> PciDevice:
    return PciDevice(address, vendor, device, pci_class, driver, None, None, None, None, None, ())


def a_rail(index: int) -> Nic:
    return Nic(
        name="ens{}np0".format(index + 1),
        kind="physical",
        mac="b8:3f:d2:00:00:{:02x}".format(index),
        mtu=9000,
        operstate="up",
        carrier=True,
        speed_mbps=400000,
        driver="mlx5_core",
        firmware="28.41.1000",
        pci="0000:{}:00.0".format(hex(0x18 + index)[2:]),
        numa_node=index // 4,
        master=None,
        lower=(),
        rdma="mlx5_{}".format(index),
    )


def a_port(index: int) -> RdmaPort:
    return RdmaPort(
        device="mlx5_{}".format(index),
        port=1,
        state="ACTIVE",
        physical_state="LinkUp",
        rate_gbps=400.0,
        link_layer="Ethernet",
        rdma_mtu=4096,
        firmware="28.41.1000",
        board_id="MT_0000000838",
        hca_type="MT4129",
        pci="0000:{}:00.0".format(hex(0x18 + index)[2:]),
        netdev="ens{}np0".format(index + 1),
        gids=(),
    )


def a_nic(name: str, kind: str = "physical", **fields: Any) -> Nic:
    """An interface without RDMA and without a link."""
    empty = Nic(name, kind, None, 1500, "down", False, None, None, None, None, None, None, (), None)
    return empty._replace(**fields)


def condition() -> Dict[str, Any]:
    """What only `diagnose` reads of a host that is well."""
    return {
        "kernel_log": KernelLog("/dev/kmsg", True, "0.000000", ()),
        "transparent_hugepage": "madvise",
        "cpu_governors": (CpuGovernor("performance", tuple(range(224))),),
        "memlocks": (MemoryLock("brctl", None, None),),
        "peermem": Peermem(("nvidia_peermem",), True),
        "iommu": (),
        "acs": (AcsPort("0000:50:01.0", ("SrcValid",)),),
        "clock": Clock(True, "timedatectl show", "tsc"),
        "memory_controllers": (MemoryController("mc0", 0, 0),),
        "filesystems": (Filesystem("/", "/dev/nvme0n1p2", "ext4", 400 * GIB, 1300 * GIB, 10**8, 10**6),),
        "fstab": ("/",),
        "tasks": Tasks(2000, 0, ()),
        "port_counters": (PortCounters("ens1np0", "ethtool -S ens1np0", 100.0, (Counter("rx_discards_phy", 5),)),),
        "cpu_times": (NodeTime(0, 10**6, 10**8), NodeTime(1, 10**6, 10**8)),
    }


@pytest.fixture
def dgx() -> Inventory:
    cards = [a_device(a_rail(index).pci or "", "15b3", "1021", "0200", "mlx5_core") for index in range(8)]
    boards = [a_device("0000:{}:00.0".format(slot), "10de", "2330", "0302", "nvidia") for slot in SLOTS]
    return Inventory(
        kernel=Kernel("gpu001", "5.15.0", "x86_64", "Ubuntu 22.04.4 LTS", None, 86400.0, "NVIDIA DGXH100", False),
        cpu=Cpu("Intel(R) Xeon(R) Platinum 8480C", 2, 112, 224),
        numa=(NumaNode(0, "0-55,112-167", 1024 * GIB, (10, 21)), NumaNode(1, "56-111,168-223", 1024 * GIB, (21, 10))),
        memory=Memory(2015 * GIB, 1900 * GIB, 0),
        pci=(*cards, *boards, a_device("0000:07:00.0", "10de", "22a3", "0680", "nvidia-nvswitch")),
        nics=(
            a_nic("eno1", carrier=True, speed_mbps=1000),
            *(a_rail(index) for index in range(8)),
            a_nic("lo", "loopback"),
        ),
        rdma=tuple(a_port(index) for index in range(8)),
        mounts=(Mount("/", "/dev/nvme0n1p2", "ext4", False), Mount("/data", "nas:/data", "nfs4", False)),
        sysctls=(Sysctl("kernel.numa_balancing", "0"),),
        accelerator_driver=AcceleratorDriver("nvidia", "580.105.08", None, "13.0"),
        gpus=tuple(a_gpu(index) for index in range(8)),
        **condition(),
    )


@pytest.fixture
def well(dgx: Inventory) -> Inventory:
    """The same, with all that `diagnose` judges of its GPUs."""
    return dgx._replace(gpus=tuple(a_whole_gpu(index) for index in range(8)))


@pytest.fixture
def declared() -> Expected:
    """All that a config can declare, as the healthy node is."""
    return Expected(
        accelerator=ExpectedAccelerator(
            "nvidia", "NVIDIA H100 80GB HBM3", 8, 81559 * 2**20, ">=550,<600", "96.00.99.*", 18
        ),
        nics=ExpectedNics("ens*np*", 8, 400000, "roce", "28.*"),
        cpu=ExpectedCpu(2, 2, 224),
        memory_bytes=2048 * GIB,
        mounts=("/data",),
        mtu=9000,
        mtu_interfaces="ens*np*",
    )


@pytest.fixture
def logged(dgx: Inventory) -> Callable[..., Inventory]:
    """The node with these lines in its kernel log: logged("[5.0] NVRM: Xid ..."); whole=False: begun after the boot."""

    def change(*lines: str, whole: bool = True, seen: Inventory = dgx) -> Inventory:
        first = ("[    0.000000] Linux version 5.15.0",) if whole else ("[ 9.000000] br0: up",)
        return seen._replace(kernel_log=kernel_log.parse(["\n".join((*first, *lines)).encode()], "/dev/kmsg"))

    return change


@pytest.fixture
def with_gpu(dgx: Inventory) -> Callable[..., Inventory]:
    """The node with fields of one GPU replaced: with_gpu(3, links=None)."""

    def change(index: int, **fields: Any) -> Inventory:
        return dgx._replace(gpus=replaced(dgx.gpus or (), index, **fields))

    return change


@pytest.fixture
def with_values(well: Inventory) -> Callable[..., Inventory]:
    """`well` with single values of one GPU replaced: with_values(3, errors={"remap_pending": True})."""

    def change(index: int, **parts: Any) -> Inventory:
        gpu = (well.gpus or ())[index]
        fields = {part: getattr(gpu, part)._replace(**values) for part, values in parts.items()}
        return well._replace(gpus=replaced(well.gpus or (), index, **fields))

    return change


@pytest.fixture
def later() -> Callable[[Inventory, float], Inventory]:
    """later(seen, 0.1): the machine as it was seen so many seconds later."""
    return _later


def _later(seen: Inventory, seconds: float) -> Inventory:
    gpus = tuple(
        gpu._replace(health=gpu.health._replace(read_at_s=gpu.health.read_at_s + seconds)) if gpu.health else gpu
        for gpu in seen.gpus or ()
    )
    return seen._replace(gpus=gpus)


@pytest.fixture
def with_nic(dgx: Inventory) -> Callable[..., Inventory]:
    """The node with fields of one rail replaced: with_nic(3, mtu=1500)."""

    def change(rail: int, **fields: Any) -> Inventory:
        return dgx._replace(nics=replaced(dgx.nics or (), rail + 1, **fields))

    return change


def replaced(rows: Sequence[Any], index: int, **fields: Any) -> Tuple[Any, ...]:
    return (*rows[:index], rows[index]._replace(**fields), *rows[index + 1 :])


@pytest.fixture
def examine(request: pytest.FixtureRequest) -> Callable[..., Tuple[Finding, ...]]:
    """examine(seen, want, *overrides, before=...): what the check that the test's file is named after finds."""
    name = request.node.path.stem[len("test_") :].replace("_", "-")
    (check,) = [check for check in engine.registry() if check.id == name]

    def run(
        seen: Inventory, want: Optional[Expected] = None, *overrides: Override, before: Optional[Inventory] = None
    ) -> Tuple[Finding, ...]:
        earlier = (Earlier(before, "the first sample"),) if before else ()
        return engine.examine(check, seen, want or Expected(), overrides, earlier)

    return run


Counts = Dict[str, Dict[str, int]]


@pytest.fixture
def counted(dgx: Inventory) -> Callable[..., Inventory]:
    """The node with counters of ports at a time: counted({"ens1np0": {"carrier_changes": 3}}, at_s=5)."""

    def change(counts: Counts, at_s: float = 0.0, seen: Inventory = dgx) -> Inventory:
        rows = tuple(
            PortCounters(port, "source of " + port, at_s, tuple(Counter(*each) for each in values.items()))
            for port, values in counts.items()
        )
        return seen._replace(port_counters=rows)

    return change


@pytest.fixture
def grow(counted: Callable[..., Inventory], examine: Callable[..., Tuple[Finding, ...]]) -> Callable[..., Any]:
    """grow({"ens1np0": {"rx_discards_phy": 500}}, seconds=5): what is found where counters grew by so much."""

    def run(growth: Counts, seconds: float = 5.0, *overrides: Override, **seen: Any) -> Tuple[Finding, ...]:
        base = {port: dict.fromkeys(values, 10**9) for port, values in growth.items()}
        later = {port: {name: 10**9 + value for name, value in values.items()} for port, values in growth.items()}
        now = counted(later, 100.0 + seconds)._replace(**seen)
        return examine(now, None, *overrides, before=counted(base, 100.0))

    return run


@pytest.fixture
def with_settings(dgx: Inventory) -> Callable[..., Inventory]:
    """The node whose rails are set so, and one of them in another way: with_settings(WELL, 2, qdisc="tbf")."""

    def change(well: LinkSettings, rail: int = 0, **fields: Any) -> Inventory:
        rows = tuple(well._replace(interface="ens{}np0".format(place + 1)) for place in range(8))
        return dgx._replace(link_settings=replaced(rows, rail, **fields))

    return change


@pytest.fixture
def with_port(dgx: Inventory) -> Callable[..., Inventory]:
    """The node with fields of one RDMA port replaced: with_port(3, rdma_mtu=1024)."""

    def change(rail: int, **fields: Any) -> Inventory:
        return dgx._replace(rdma=replaced(dgx.rdma or (), rail, **fields))

    return change
