"""What came from a machine is text, whatever is in it. Here without rich, for stderr too."""

import re

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def clean(text: str) -> str:
    """Text without what a terminal would obey: control characters, also those that turn text around.

    Each becomes U+FFFD, so that the length stays.
    """
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
