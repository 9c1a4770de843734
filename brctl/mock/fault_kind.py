"""The form of a fault: what it makes of a machine, as data."""

from typing import Any, Callable, List, Mapping, NamedTuple, Tuple, Union

Values = Mapping[str, Any]
"""The `nvml` keys of one GPU."""


class Kind(NamedTuple):
    """What a name stands for. In paths and log lines `{pci}` is the address of the GPU or NIC, `{bus}` that without the
    function, `{uuid}` the GPU's, `{port}` the PCIe port above it, `{nic}` the NIC's interface and `{rdma}` its RDMA
    device."""

    name: str
    of: str
    """`gpu`, `nic`, `host`, or `driver`: NVIDIA's, as a whole."""
    says: str
    """For the documentation, in one line."""
    needs: str = ""
    """A key of the GPU, a path, or a counter: without it there is nothing to act on."""
    values: Mapping[str, Union[int, str, List[Any], Callable[[Values], Any]]] = {}
    """What these keys become: a constant, or what follows from the values before. What a GPU lacks it does not get."""
    per_second: Mapping[str, int] = {}
    errors: Mapping[str, str] = {}
    """As the key `errors` of nvml.py: the GPU's, of the kind `driver` the library's."""
    files: Mapping[str, Union[str, int]] = {}
    """What is read there: a text, or an errno."""
    statistics: Mapping[str, int] = {}
    """Counters of the NIC in `ethtool -S`, and how much they grow in a second."""
    outputs: Mapping[str, str] = {}
    """What these commands print, from the start."""
    grows: Mapping[str, int] = {}
    """Counters that are files, and how much they grow in a second."""
    log: Tuple[str, ...] = ()
    """Records in the kernel log. An Xid there is an event of NVML too, when the fault is there from the start."""


def more(key: str, number: int) -> Mapping[str, Callable[[Values], int]]:
    """So much more than it was."""
    return {key: lambda gpu: int(gpu[key]) + number}
