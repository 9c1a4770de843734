"""One line of a kernel log in any of its forms -> when it was written, and the kernel's own words.

Known are /dev/kmsg, dmesg with its times (since the boot, of the calendar, ISO), journalctl's short, short-monotonic,
short-iso and json, and the files of syslog. A line of any other program is none of the kernel's, whatever it quotes.
"""

import json
import re
from typing import Any, NamedTuple, Optional

_KMSG = re.compile(r"\d+,(\d{1,18}),(\d{1,18}),[^;]*;")
_SINCE_BOOT = r"(?:<\d+>)?\[ *(\d{1,12}\.\d{1,9})\](?: ?\[ *[TC]\d+\])? ?"
_MONOTONIC = re.compile(_SINCE_BOOT + r"(?:[A-Za-z0-9][A-Za-z0-9._-]* kernel: )?")
_CALENDAR = re.compile(
    r"\[?(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.\d+)?(?: (\d{4})\])? "
)
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)? ?")
_OF_KERNEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]* kernel: (?:" + _SINCE_BOOT + ")?")
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]* [^ :\[]+(?:\[\d+\])?: ")
_MONTHS = {name: number for number, name in enumerate(re.findall("...", "JanFebMarAprMayJunJulAugSepOctNovDec"), 1)}
_LEAP_YEAR = 2000
"""Of a time without a year, so that 29 February is one."""


class Record(NamedTuple):
    message: str
    when: str
    """As the log writes it; empty where it has no times."""
    seconds: Optional[float]
    """By the log's own clock: since the boot, or since the epoch."""
    number: Optional[int] = None
    """Of the record in /dev/kmsg, counted from the boot on."""
    boot: Optional[str] = None
    """The boot's id, in the journal's JSON."""


def parse(line: bytes) -> Optional[Record]:
    """None for a line that is not the kernel's. One without a time is taken as it is."""
    if line.startswith(b"{"):
        return _parse_json(line)
    text = line.decode("utf-8", "replace")
    kmsg = _KMSG.match(text)
    if kmsg:
        time_us = int(kmsg.group(2))
        message = text[kmsg.end() :].replace("\\x0a", "\n")
        return Record(message, "{:.6f}".format(time_us / 1e6), time_us / 1e6, int(kmsg.group(1)))
    monotonic = _MONOTONIC.match(text)
    if monotonic:
        return Record(text[monotonic.end() :], monotonic.group(1), float(monotonic.group(1)))
    return _parse_calendar(text)


def _parse_calendar(text: str) -> Optional[Record]:
    found, iso = _CALENDAR.match(text), _ISO.match(text)
    stamp = found or iso
    if stamp is None:
        return Record(text, "", None)
    seconds = _seconds(found.group(6), found.group(1), *found.groups()[1:5]) if found else _seconds(*stamp.groups())
    of_dmesg = text.startswith("[")
    kernel = None if of_dmesg else _OF_KERNEL.match(text, stamp.end())
    if kernel:
        since = kernel.group(1)
        message, when = text[kernel.end() :], since or stamp.group().strip()
        return Record(message, when, float(since) if since else seconds)
    if seconds is None or (not of_dmesg and (found or _PROGRAM.match(text, stamp.end()))):
        return None
    return Record(text[stamp.end() :], stamp.group().strip("[] "), seconds)


def _seconds(year: Optional[str], month: str, day: str, hour: str, minute: str, second: str) -> Optional[float]:
    import calendar  # half as long as all else here, and a log of /dev/kmsg needs none

    number = _MONTHS.get(month) or (int(month) if month.isdecimal() else 0)
    try:
        return float(
            calendar.timegm((int(year or _LEAP_YEAR), number, int(day), int(hour), int(minute), int(second), 0, 0, 0))
        )
    except ValueError:  # the 31st of February
        return None


def _parse_json(line: bytes) -> Optional[Record]:
    try:
        entry: Any = json.loads(line)
        message = entry["MESSAGE"]
        time_s = int(entry.get("_SOURCE_MONOTONIC_TIMESTAMP") or entry["__MONOTONIC_TIMESTAMP"]) / 1e6
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    is_kernel = "kernel" in (entry.get("_TRANSPORT"), entry.get("SYSLOG_IDENTIFIER"))
    if not is_kernel or not isinstance(message, str):
        return None
    return Record(message, "{:.6f}".format(time_s)[:32], time_s, boot=str(entry.get("_BOOT_ID")))
