"""Sensors of the board: temperatures, fans, power (Documentation/hwmon/sysfs-interface.rst).

One that answers with an error is left out, and the others are read; some take long, so they are read seldom.
"""

import re
from typing import Optional

from ...host import Host
from .. import Collector, Kind, Reading, Readings
from ..previous import Previous

_FOLDER = "/sys/class/hwmon"
_made = Kind("hwmon", ("chip", "sensor"))
_KINDS = {
    kind: (_made.gauge("hwmon_{}".format(name), unit, text, _FOLDER + "/*/{}*_input".format(kind)), factor)
    for kind, name, unit, text, factor in (
        ("temp", "temperature_celsius", "celsius", "Temperature.", 1e-3),
        ("fan", "fan_rpm", "revolutions per minute", "Speed of a fan.", 1.0),
        ("power", "power_watts", "watts", "Power.", 1e-6),
    )
}
_INPUT = re.compile(r"(temp|fan|power)(\d+)_(?:input|average)\Z")


def run(host: Host, _: Previous) -> Readings:
    for place in host.listdir(_FOLDER) or ():
        folder = "{}/{}/".format(_FOLDER, place)
        chip = "{}-{}".format((host.reread(folder + "name") or "").strip(), place[len("hwmon") :])
        for file in host.listdir(folder) or ():
            match = _INPUT.match(file)
            if match:
                kind, number = match.groups()
                label = (_word(host, "{}{}{}_label".format(folder, kind, number)) or kind + number).strip()
                value = _word(host, folder + file)
                series, factor = _KINDS[kind]
                if value and value.strip().lstrip("-").isdecimal():
                    yield Reading(series, int(value) * factor, (chip, label))


def _word(host: Host, path: str) -> Optional[str]:
    try:
        return host.reread(path)
    except OSError:  # a sensor that is not fitted, or is asleep
        return None


COLLECTOR = Collector(id="hwmon", title="Sensors of the board", every_s=10.0, series=tuple(_made.all), of_host=run)
