from typing import Any

from brctl.node.monitor.collectors.hwmon import COLLECTOR

CHIP = "/sys/class/hwmon/hwmon2/"


def test_sensors_with_their_labels(look: Any, machine: Any) -> None:
    host = machine(
        {
            CHIP + "name": "coretemp\n",
            CHIP + "temp1_label": "Package id 0\n",
            CHIP + "temp1_input": "45000\n",
            CHIP + "temp2_input": "-3500\n",
            CHIP + "temp3_input": {"errno": "ENODATA"},
            CHIP + "fan1_input": "8820\n",
            CHIP + "power1_average": "250000000\n",
            CHIP + "in0_input": "1200\n",
        }
    )
    chip = "coretemp-2"
    assert look(COLLECTOR).at(1.0, host) == {
        ("hwmon_temperature_celsius", (chip, "Package id 0")): 45,
        ("hwmon_temperature_celsius", (chip, "temp2")): -3.5,
        ("hwmon_fan_rpm", (chip, "fan1")): 8820,
        ("hwmon_power_watts", (chip, "power1")): 250,
    }


def test_a_machine_without_any(look: Any, machine: Any) -> None:
    assert look(COLLECTOR).at(1.0, machine({})) == {}
