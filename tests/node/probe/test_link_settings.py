from typing import Any

import pytest

from brctl.node.facts import LinkSettings, Ring
from brctl.node.probe import link_settings as probe

QOS = """\
DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:3 dscp:31,30,29,28,27,26,25,24,
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   1   0   0   0
\tbuffer      0   0   0   1   0   0   0   0
"""


def test_a_node(dgx: Any) -> None:
    reading = probe.read(dgx)
    assert reading is not None
    found = {one.interface: one for one in reading.facts}
    assert found["ens1np0"] == LinkSettings("ens1np0", Ring(1024, 8192), (), "mq", (3,), "dscp")
    assert found["eno1"] == LinkSettings("eno1")
    assert "bond0" not in found


def test_nothing_is_installed(machine: Any) -> None:
    files = {
        "/sys/class/net/eth0": {"link": "../../devices/pci0000:00/0000:00:03.0/net/eth0"},
        "/sys/devices/pci0000:00/0000:00:03.0/net/eth0/mtu": "1500\n",
    }
    reading = probe.read(machine(files))
    assert reading is not None
    assert reading.facts == (LinkSettings("eth0"),)
    assert probe.read(machine({})) is None


def test_by_dcb_where_there_is_no_mlnx_qos(machine: Any) -> None:
    files = {
        "/sys/class/net/eth0": {"link": "../../devices/pci0000:00/0000:00:03.0/net/eth0"},
        "/sys/devices/pci0000:00/0000:00:03.0/net/eth0/mtu": "1500\n",
    }
    flags = "[false,false,false,true,false,false,false,false]"
    commands = {
        "dcb -j pfc show dev eth0": {"stdout": '{"pfc_cap":8,"prio_pfc":' + flags + "}"},
        "dcb -j app show dev eth0": {"stdout": '{"dscp_prio":[[26,3]]}'},
    }
    reading = probe.read(machine(files, commands))
    assert reading is not None
    (found,) = reading.facts
    assert (found.lossless, found.trust) == ((3,), "dscp")


def test_mlnx_qos() -> None:
    assert probe.parse_qos_pfc(QOS) == (3, 4)
    assert probe.parse_qos_trust(QOS) == "dscp"
    assert probe.parse_qos_pfc("DCBX mode: OS controlled") is None
    assert probe.parse_qos_trust("") is None


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}", '{"prio_pfc": 3}'])
def test_what_dcb_does_not_say(text: str) -> None:
    assert probe.parse_dcb_pfc(text) is None
    assert probe.parse_dcb_trust(text) is None


def test_dcb_with_words() -> None:
    assert probe.parse_dcb_pfc('{"prio_pfc": ["off", "on"]}') == (1,)


def test_rings() -> None:
    text = "Pre-set maximums:\nRX:\t\t8192\nRX Mini:\tn/a\nTX:\t\t8192\nCurrent hardware settings:\nRX:\t\t1024\n"
    assert probe.parse_ring(text) == Ring(1024, 8192)
    assert probe.parse_ring("RX:\tn/a\n") is None


def test_offloads_that_are_off_and_need_not_be() -> None:
    text = (
        "Features for eth0:\nrx-checksumming: off [fixed]\ntx-checksumming: on\n\ttx-checksum-ipv4: off\n"
        "tcp-segmentation-offload: off\ngeneric-receive-offload: off [requested on]\n"
    )
    assert probe.parse_features(text) == ("tcp-segmentation-offload",)
    assert probe.parse_features("") is None


def test_root_qdisc() -> None:
    listed = '[{"kind":"fq_codel","handle":"0:","parent":":1"},{"kind":"mq","handle":"0:","root":true}]'
    assert probe.parse_qdisc(listed) == "mq"
    assert probe.parse_qdisc("[]") is None
    assert probe.parse_qdisc("{") is None
