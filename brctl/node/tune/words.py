"""A value of a Place in words."""

from typing import Optional

from . import Place

_LONGEST = 60
_GPU = {"power_limit": "{} W", "locked_clocks": "{} to {} MHz"}


def shown(place: Place, value: Optional[str]) -> str:
    """A value for people: with its unit, `absent`, or of a whole file how long it is."""
    if value is None:
        return "not locked" if place.item == "locked_clocks" else "absent"
    words = " ".join(value.split())
    if place.item == "persistence_mode":
        return "on" if words == "1" else "off"
    if place.item in _GPU:
        return _GPU[place.item].format(*words.split())
    if value.startswith("sha256:"):
        return words[:15]
    return "{} bytes".format(len(value)) if "\n" in value or len(words) > _LONGEST else words
