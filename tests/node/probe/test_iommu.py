from typing import Any, Dict

from brctl.node.facts import IommuDomain
from brctl.node.probe.iommu import read


def device(address: str, pci_class: str, group: str) -> Dict[str, Any]:
    folder = "/sys/bus/pci/devices/" + address
    files: Dict[str, Any] = {folder + "/class": pci_class + "\n"}
    if group:
        files[folder + "/iommu_group"] = {"link": "../../../../kernel/iommu_groups/" + group}
    return files


def test_gpus_and_nics(machine: Any) -> None:
    files = {
        **device("0000:1a:00.0", "0x030200", "7"),
        **device("0000:1b:00.0", "0x020700", "8"),
        **device("0000:1c:00.0", "0x010802", "8"),
        **device("0000:1d:00.0", "0x030200", ""),
        **device("0000:1e:00.0", "0x030200", "9"),
        "/sys/kernel/iommu_groups/7/type": "identity\n",
        "/sys/kernel/iommu_groups/8/type": "DMA-FQ\n",
    }
    assert read(machine(files)) == (IommuDomain("0000:1a:00.0", "identity"), IommuDomain("0000:1b:00.0", "DMA-FQ"))


def test_none(machine: Any) -> None:
    assert read(machine({})) is None
    assert read(machine(device("0000:1d:00.0", "0x030200", ""))) == ()
