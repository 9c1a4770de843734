"""What one message of the kernel tells, and how repeats are folded. Pure; every message is judged from its beginning.

Forms are those of the sources: Xid and SXid as NVIDIA's driver writes them (the older ones without `PCI:`, MIG's with
`GPU-I:`), AER of drivers/pci/pcie/aer.c before and after Linux 6.10, hung tasks of kernel/hung_task.c, OOM of
mm/oom_kill.c, mlx5 of drivers/net/ethernet/mellanox/mlx5/core/{cmd,health,events}.c.
"""

import re
from typing import Callable, NamedTuple, Optional, Tuple, Union

from ..accel.nvml_words import recovery_action

# Texts, which `re` compiles when they are first used: most logs have few of these messages, and all take 5 ms.
_BUS = r"([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.([0-7]))?"
_XID = r"(?s)NVRM: Xid \((?:PCI:)?" + _BUS + r"(?: GPU-I:\d+)?\): (\d{1,5}),? ?(.*)"
_SXID = r"(?s)nvidia-nvswitch\d+: SXid \(PCI:" + _BUS + r"\): (\d{1,5}), (?:(Fatal|Non-fatal), )?(.*)"
_MORE_OF_SXID = r"(?:Severity \d|Data \{)"
_PROCESS = r"pid='?(\d{1,10}|<unknown>)'?, name=([^,]*), ?"
_SEVERITY = r"(?i)\b(Non-?fatal|Fatal)\b"
_ACTION = r"(?i)GPU recovery action changed from 0x[0-9a-f]+ \([^)]*\) to 0x([0-9a-f]{1,8})"
_OFF_THE_BUS = r"(?s)NVRM: .*fallen off the bus"
_WRAPPED = r"NVRM: The NVIDIA GPU " + _BUS + r"\s*\Z"
_ADDRESS = _BUS + r"(?![0-9a-fA-F:])"
_NAMED = r"NVRM: GPU at (?:PCI:)?" + _BUS + r": (GPU-[0-9a-f-]{36})"
_ADAPTER = r"NVRM: (?:GPU (?:at )?(?:PCI:)?" + _BUS + r": )?RmInitAdapter failed!"

_AER = (
    r"(?i)(\S+) " + _BUS + r": (?:AER: )?(?:"
    r"PCIe Bus Error: severity=(Correct\w+|Uncorrect\w+)(?: \((Fatal|Non-?Fatal)\))?"
    r"|(?:AER: )?(?:Multiple )?(Correct\w+|Uncorrect\w+)(?: \((Fatal|Non-?Fatal)\))? error (?:message )?received"
    r"(?: from|:)? ?(?:" + _BUS + r")?)"
)
_FIRST_ERROR = r"\[ ?\d+\] (\S+) +\(First\)"
_HUNG = r"INFO: task (.{1,64}):(\d{1,10}) blocked for more than \d+ seconds"
_LOCKUP = r"watchdog: BUG: soft lockup - CPU#\d+ stuck for \d+s! \[(.{1,64}):(\d{1,10})\]"
_OOM = r"(Memory cgroup out|Out) of memory: Kill(?:ed)? process (\d{1,10}) \((.{0,64}?)\)"
_OF_DRIVER = r"\[nvidia(?:_\w+)?\]|\bnvidia|\bnv_"
_CARD = r"(?s)(?:mlx5_core|bnxt_en|ice|irdma) " + _BUS + r"(?: \w+)?: (.*)"
_CARD_FAILS = (
    "Will cause a leak",
    "health compromised",
    "firmware internal error",
    "insufficient power",
)
_TRANSMIT = r"NETDEV WATCHDOG: (?:CPU: \d+: )?(\S+) \((\w+)\): transmit queue \d+ timed out"


class Sighting(NamedTuple):
    """One message, before repeats are folded."""

    kind: str
    pci: Optional[str] = None
    number: Optional[int] = None
    severity: Optional[str] = None
    process: Optional[str] = None
    pid: Optional[int] = None
    detail: Optional[str] = None
    text: Optional[str] = None
    """The message as a whole, where it is more than this line of it."""
    echo: bool = False
    """The kernel says so once more, or first: it is no further occurrence next to one."""


_STACK_LINES = 60
"""Of a hung task; the driver is among the first."""


class Message(NamedTuple):
    text: str
    after: Tuple[str, ...] = ()
    """The messages that follow, some 4 kB."""


def sighting(told: Message) -> Optional[Sighting]:
    """What a message tells. None: nothing that matters."""
    for begins, read in _READERS:
        if told.text.startswith(begins):
            found = read(told)
            if found:
                return found
    return None


def lines_after(text: str) -> int:
    """How many of the messages that follow are looked at with this one: none of most, for there may be a million."""
    if text.startswith("INFO: task "):
        return _STACK_LINES
    return 3 if text.startswith("NVRM: The NVIDIA GPU ") or "PCIe Bus Error: " in text else 0


def is_driver_start(message: str) -> bool:
    """The driver was loaded: what it said of GPUs before is past."""
    return message.startswith("NVRM: loading NVIDIA UNIX")


def is_boot(message: str) -> bool:
    return message.startswith(("Linux version ", "-- Boot ", "-- Reboot --"))


def named_gpu(message: str) -> Optional[Tuple[str, str]]:
    """PCI address and UUID of a GPU that the driver names by both."""
    found = re.match(_NAMED, message)
    return (address(found.group(1), found.group(2)), found.group(3)) if found else None


def address(bus: str, function: Optional[str]) -> str:
    """`0000:4e:00.0`: four digits of the domain, function 0 where none is told, in lower case."""
    domain, _, rest = bus.lower().partition(":")
    return "{:0>4}:{}.{}".format(domain.lstrip("0"), rest, function or "0")


def _xid(told: Message) -> Optional[Sighting]:
    found = re.match(_XID, told.text)
    if found is None:
        return None
    bus, function, number, rest = found.groups()
    process = re.match(_PROCESS, rest)
    action = re.search(_ACTION, rest) if number == "154" else None
    severity = re.search(_SEVERITY, rest) if 144 <= int(number) <= 150 else None
    return Sighting(
        "xid",
        address(bus, function),
        int(number),
        _severity(severity.group(1)) if severity else None,
        *_names(process),
        detail=recovery_action(int(action.group(1), 16)) if action else None,
    )


def _names(found: "Optional[re.Match[str]]") -> Tuple[Optional[str], Optional[int]]:
    if found is None or not found.group(1).isdecimal():
        return None, None
    return found.group(2).strip() or None, int(found.group(1))


def _severity(word: str) -> str:
    return "non-fatal" if word.lower().startswith("non") else "fatal"


def _off_the_bus(told: Message) -> Optional[Sighting]:
    """Also where it takes three lines, of which the first has the address."""
    wrapped = re.match(_WRAPPED, told.text)
    if wrapped:
        rest = [line for line in told.after[:2] if line.startswith("NVRM: ")]
        text = " ".join([told.text, *(line[len("NVRM: ") :] for line in rest)])
        lost = any(re.match(_OFF_THE_BUS, line) for line in rest)
        return Sighting("xid", address(*wrapped.groups()), 79, text=text, echo=True) if lost else None
    if not re.match(_OFF_THE_BUS, told.text):
        return None
    found = re.search(_ADDRESS, told.text)
    return Sighting("xid", address(*found.groups()), 79, echo=True) if found else None


def _adapter(told: Message) -> Optional[Sighting]:
    found = re.match(_ADAPTER, told.text)
    if found is None:
        return None
    return Sighting("adapter-init", address(*found.groups()) if found.group(1) else None)


def _mismatch(told: Message) -> Optional[Sighting]:
    return Sighting("version-mismatch") if "API mismatch:" in told.text else None


def _sxid(told: Message) -> Optional[Sighting]:
    found = re.match(_SXID, told.text)
    if found is None or re.match(_MORE_OF_SXID, found.group(5)):
        return None
    bus, function, number, severity, _ = found.groups()
    return Sighting("sxid", address(bus, function), int(number), _severity(severity) if severity else None)


def _aer(told: Message) -> Optional[Sighting]:
    found = re.match(_AER, told.text) if "error" in told.text.lower() else None  # it takes longest to compile
    if found is None:
        return None
    _, bus, function, severity, fatal, announced, its_fatal, of_bus, of_function = found.groups()
    if announced and of_bus:
        bus, function = of_bus, of_function
    word = (severity or announced).lower()
    grave = "corrected" if word.startswith("correct") else _severity(fatal or its_fatal or "Fatal")
    first = next((re.search(_FIRST_ERROR, line) for line in told.after[:3] if re.search(_FIRST_ERROR, line)), None)
    return Sighting(
        "aer", address(bus, function), severity=grave, detail=first.group(1) if first else None, echo=bool(announced)
    )


def _hung(told: Message) -> Optional[Sighting]:
    found = re.match(_HUNG, told.text)
    if found is None:
        return None
    name, pid = found.groups()
    end = next((place for place, line in enumerate(told.after) if re.match(_HUNG, line)), None)
    of_driver = re.search(_OF_DRIVER, name) or any(re.search(_OF_DRIVER, line) for line in told.after[:end])
    return Sighting("hung-task", process=name, pid=int(pid), detail="nvidia" if of_driver else None)


def _lockup(told: Message) -> Optional[Sighting]:
    found = re.match(_LOCKUP, told.text)
    return Sighting("soft-lockup", process=found.group(1), pid=int(found.group(2))) if found else None


def _oom(told: Message) -> Optional[Sighting]:
    found = re.match(_OOM, told.text)
    if found is None:
        return None
    scope = "cgroup" if found.group(1).startswith("Memory") else None
    return Sighting("oom", process=found.group(3), pid=int(found.group(2)), detail=scope)


def _card(told: Message) -> Optional[Sighting]:
    found = re.match(_CARD, told.text)
    if found is None or not any(words in found.group(3) for words in _CARD_FAILS):
        return None
    return Sighting("nic-firmware", address(found.group(1), found.group(2)))


def _transmit(told: Message) -> Optional[Sighting]:
    found = re.match(_TRANSMIT, told.text)
    return Sighting("nic-timeout", detail=found.group(1)) if found else None


def _peermem(told: Message) -> Optional[Sighting]:
    return Sighting("peermem") if "ERROR detected invalid context" in told.text else None


_READERS: Tuple[Tuple[Union[str, Tuple[str, ...]], Callable[[Message], Optional[Sighting]]], ...] = (
    ("NVRM: Xid ", _xid),
    ("NVRM: ", _off_the_bus),
    ("NVRM: ", _adapter),
    ("NVRM: ", _mismatch),
    ("nvidia-nvswitch", _sxid),
    ("INFO: task ", _hung),
    ("watchdog: BUG: soft lockup", _lockup),
    ("NETDEV WATCHDOG: ", _transmit),
    (("nvidia-peermem ", "nvidia_peermem "), _peermem),
    (("Out of memory: Kill", "Memory cgroup out of memory: Kill"), _oom),
    (("mlx5_core ", "bnxt_en ", "ice ", "irdma "), _card),
    ("", _aer),
)
"""By what the message begins with."""
