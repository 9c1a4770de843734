"""The typed values of a kernel log, by the rules of facts.py: what of it matters, repeats folded."""

from typing import NamedTuple, Optional, Tuple


class LogEvent(NamedTuple):
    """What the kernel told once or many times, in the order of the first time."""

    kind: str
    """`xid`, `sxid`, `aer`, `hung-task`, `soft-lockup`, `nic-firmware`, `nic-timeout`, `oom`, `peermem`, `adapter-init`
    (the driver could not start a GPU) or `version-mismatch` (driver and library)."""
    text: str
    """The first message, cut at 240 letters."""
    occurrences: int
    first: str
    """The time of the first, as the log writes it: `1200.100000`, `Feb 23 16:24:18`; empty where it has none."""
    last: str
    first_s: Optional[float]
    """The same in seconds of the log's own clock: since the boot, or since the epoch."""
    last_s: Optional[float]
    pci: Optional[str] = None
    """The function that it is about, `0000:4e:00.0`."""
    number: Optional[int] = None
    """Of an Xid or SXid. 79 is also `fallen off the bus` without a number."""
    severity: Optional[str] = None
    """`fatal`, `non-fatal` or `corrected`, where the line says it."""
    process: Optional[str] = None
    """The name of the first process that the line names: a victim as often as a culprit."""
    pid: Optional[int] = None
    detail: Optional[str] = None
    """Of AER the first error (`SDES`), of Xid 154 the recovery action by NVML's name (`drain-and-reset`), of a hung
    task `nvidia` where the driver is in its stack, of memory `cgroup` where the limit is a container's, of a NIC that
    does not transmit its name."""
    past: bool = False
    """The driver was loaded again or the GPU reset since; or it is from a boot before the last one in the log."""
    boot: int = 0
    """How many boots before the last one in the log."""


class KernelLog(NamedTuple):
    source: str
    """`/dev/kmsg`, `journalctl -k -b`, or a file."""
    complete: bool
    """It begins with the boot. False: older messages were overwritten, and what they told is unknown."""
    begins: str
    """The time of the first message, as `LogEvent.first`; empty for a log without times."""
    events: Tuple[LogEvent, ...]
    left_out: int = 0
    """Messages beyond the number of different ones that are kept."""
    uuids: Tuple[Tuple[str, ...], ...] = ()
    """PCI address and UUID of the GPUs that the log names by both."""
