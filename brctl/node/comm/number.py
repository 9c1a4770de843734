"""How NCCL reads a number: strtoll(text, NULL, 0), where what follows the number is never looked at (its
src/misc/param.cc), so that `1G` is 1."""

import re

_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_HIGH, _LOW = 2**63 - 1, -(2**63)


def strtoll(text: str) -> int:
    """What C makes of it: blanks and a sign are allowed, 0x is hexadecimal, a leading 0 octal; no number is 0, and one
    beyond 64 bits the last that fits. (There NCCL takes its default, as errno is set.)"""
    found = _NUMBER.match(text)
    if found is None:
        return 0
    sign, digits = found.groups()
    base = 16 if digits[:2].lower() == "0x" else 8 if digits.startswith("0") else 10
    value = int(digits, base)
    return max(_LOW, -value) if sign == "-" else min(_HIGH, value)


def rest(text: str) -> str:
    """What NCCL does not look at: `G` of `1G`; all of it where there is no number."""
    found = _NUMBER.match(text)
    return text[found.end() :] if found else text
