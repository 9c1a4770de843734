"""What a file is, by how it begins."""

from __future__ import annotations

import re

from ..node.probe import log_line, log_scan

KERNEL_LOG = "kernel log"

_FORMS = (
    ("nvidia-smi", re.compile(rb"<nvidia_smi_log>|^=+NVSMI LOG=+\s*$", re.MULTILINE)),
    ("nvidia-smi nvlink", re.compile(rb"^GPU \d+: .*\(UUID: \S+\)\s*\n\s*(?:Link \d+: |NVML: )", re.MULTILINE)),
    (
        "nvidia-smi",
        re.compile(
            rb"^(?:Failed to initialize NVML|No devices were found|Unable to determine the device handle)", re.MULTILINE
        ),
    ),
    ("ethtool -S", re.compile(rb"^NIC statistics:\s*$", re.MULTILINE)),
    ("ibstat", re.compile(rb"^CA '[^']+'\s*$", re.MULTILINE)),
)
_LINES = 200
"""A log that has no line of the kernel's among so many has none."""


def kind(head: bytes) -> str | None:
    """The kind of Saved; None: none that is known."""
    if _is_log(head[:65536].splitlines()[:_LINES]):
        return KERNEL_LOG
    found = next((name for name, form in _FORMS if form.search(head)), None)
    if found is None and any(needle in head for needle in log_scan.NEEDLES):
        return KERNEL_LOG
    return found


def _is_log(lines: list[bytes]) -> bool:
    """Whether lines of it have the kernel's form, with the time in front."""
    records = [log_line.parse(line) for line in lines if line.strip()]
    return any(record and record.when for record in records)
