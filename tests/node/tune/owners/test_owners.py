"""Who has a link, what the next boot gives it and why, and what is written for another MTU."""

from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

from brctl.node.host.machine import Machine
from brctl.node.tune.foreseen import Foreseen
from brctl.node.tune.links import Link
from brctl.node.tune.owners import Holding, holding

Make = Callable[..., Machine]
LINK = Link("e0", 4, "", 1500, 68, 9978, "02:00:00:00:00:04", None, None, 0)
NETWORKD = {"/run/systemd/netif/links/4": "ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/20-e.network\n"}
UNIT = "/etc/systemd/network/20-e.network"
NM = {"/run/NetworkManager/devices/4": "[device]\nmanaged=true\nconnection-uuid=u-1\n"}
PROFILE = "/etc/NetworkManager/system-connections/e0.nmconnection"
KEYFILE = "[connection]\nid=e0\nuuid=u-1\ntype=ethernet\n\n# ours\n[ethernet]\n\n[ipv4]\nmethod=auto\n"
UDEV = "/run/udev/data/n4"
DEFAULT = "/usr/lib/systemd/network/99-default.link"


def held(host: Machine, link: Link = LINK) -> Holding:
    return holding(Foreseen(host), link)


def kept(host: Machine, mtu: int, link: Link = LINK) -> Dict[str, Optional[str]]:
    """Path -> text, of what would be written."""
    keep = held(host, link).keep
    assert keep
    return {write.place.name: write.value for write in keep(mtu).writes}


def told(it: Holding) -> Tuple[Optional[int], Optional[str], Tuple[str, ...]]:
    return it.mtu, it.source, it.warnings


def test_nobody_has_it(machine: Make) -> None:
    it = held(machine([]))
    assert told(it) == (None, None, ())
    assert (it.keep, it.hindrance) == (None, "no file here says what brings it up, so its MTU cannot be made to last")


# systemd-networkd


def test_networkd(machine: Make) -> None:
    host = machine([], dict(NETWORKD, **{UNIT: "[Match]\nName=e*\n\n[Link]\nMTUBytes=9000\n"}))
    assert told(held(host)) == (9000, UNIT + ":5", ())
    drop_in = UNIT + ".d/50-brctl.conf"
    assert kept(host, 4200) == {drop_in: "# Written by brctl tune.\n[Link]\nMTUBytes=4200\n"}
    host.replace(drop_in, b"# Written by brctl tune.\n[Link]\nMTUBytes=4200\n")
    assert told(held(host)) == (4200, drop_in + ":3", ())
    assert list(kept(host, 9000)) == [drop_in]


@pytest.mark.parametrize(
    ("text", "mtu"),
    [("MTUBytes=8K", 8192), ("MTUBytes=1M", 1 << 20), ("MTUBytes=", None), ("MTUBytes=huge", None), ("Mtu=9", None)],
)
def test_sizes_of_systemd(machine: Make, text: str, mtu: Optional[int]) -> None:
    assert held(machine([], dict(NETWORKD, **{UNIT: "[Link]\n" + text + "\n"}))).mtu == mtu


def test_drop_ins_of_networkd_in_their_order(machine: Make) -> None:
    """The last name counts; of two with one name, that in /etc."""
    name = "20-e.network.d/"
    files = {
        UNIT: "[Link]\nMTUBytes=1500\n",
        "/usr/lib/systemd/network/" + name + "60-x.conf": "[Link]\nMTUBytes=9000\n",
        "/run/systemd/network/" + name + "60-x.conf": "[Link]\nMTUBytes=8000\n",
        "/etc/systemd/network/" + name + "50-a.conf": "[Link]\nMTUBytes=4000\n",
        "/etc/systemd/network/" + name + ".60-x.conf.swp": "[Link]\nMTUBytes=1\n",
    }
    host = machine([], dict(NETWORKD, **files))
    assert told(held(host)) == (8000, "/run/systemd/network/" + name + "60-x.conf:2", ())
    assert list(kept(host, 1500)) == ["/etc/systemd/network/" + name + "zz-50-brctl.conf"]


def test_links_that_share_a_file_of_networkd(machine: Make) -> None:
    files = {
        UNIT: "[Network]\nDHCP=yes\n[DHCPv4]\nUseMTU=yes\n",
        "/run/systemd/netif/links/5": NETWORKD["/run/systemd/netif/links/4"],
        "/run/systemd/netif/links/6": "ADMIN_STATE=unmanaged\n",
    }
    it = held(machine([], dict(NETWORKD, **files)))
    assert told(it) == (None, None, ("DHCP may set another MTU (UseMTU in {}:4)".format(UNIT),))
    assert it.keep
    assert it.keep(9000).effects == ("interface 5 has the same file, and gets it too",)


def test_networkd_leaves_it_alone(machine: Make) -> None:
    assert held(machine([], {"/run/systemd/netif/links/4": "ADMIN_STATE=unmanaged\n"})).keep is None


# NetworkManager


def test_network_manager(machine: Make) -> None:
    host = machine([], dict(NM, **{PROFILE: KEYFILE}))
    assert told(held(host)) == (None, None, ())
    assert kept(host, 9000) == {PROFILE: KEYFILE.replace("[ethernet]\n", "[ethernet]\nmtu=9000\n")}
    keep = held(host).keep
    assert keep
    assert keep(9000).after == (("nmcli", "connection", "load", PROFILE),)
    assert keep(9000).at_once == (("nmcli", "device", "reapply", "e0"),)


@pytest.mark.parametrize(
    ("before", "after", "mtu"),
    [
        ("[connection]\nuuid=u-1\n[802-3-ethernet]\nmtu=1500", "[802-3-ethernet]\nmtu=9000\n", 1500),
        ("[connection]\nuuid=u-1\n[ethernet]\nmtu=0\n", "[ethernet]\nmtu=9000\n", None),
        ("[connection]\nuuid=u-1\ntype=infiniband\n", "\n[infiniband]\nmtu=9000\n", None),
        ("[connection]\nuuid=u-1\ntype=vlan\n[vlan]\nid=7\n", "[vlan]\nid=7\n\n[ethernet]\nmtu=9000\n", None),
    ],
)
def test_keyfiles(machine: Make, before: str, after: str, mtu: Optional[int]) -> None:
    """One line changes; a missing section is added; 0 is `auto`."""
    host = machine([], dict(NM, **{PROFILE: before}))
    (text,) = kept(host, 9000).values()
    assert held(host).mtu == mtu
    assert text
    assert text.startswith("[connection]\nuuid=u-1\n")
    assert text.endswith(after)


def test_network_manager_with_an_ifcfg_file(machine: Make) -> None:
    path = "/etc/sysconfig/network-scripts/ifcfg-Wired"
    text = '# Generated by cloud-init\nDEVICE=e0\nUUID="u-1"\nMTU="1500"\n'
    host = machine([], dict(NM, **{path: text}))
    warning = "cloud-init wrote {}, and writes it anew for a new instance".format(path)
    assert told(held(host)) == (1500, path + ":4", (warning,))
    assert kept(host, 9000) == {path: text.replace('MTU="1500"', "MTU=9000")}


@pytest.mark.parametrize("path", [None, "/run/NetworkManager/system-connections/e0.nmconnection"])
def test_a_profile_that_is_in_no_file_of_the_operators(machine: Make, path: Optional[str]) -> None:
    it = held(machine([], dict(NM, **({path: KEYFILE} if path else {}))))
    assert (it.keep, it.hindrance) == (None, "its profile of NetworkManager is in no file of /etc: save it with nmcli")


# netplan

YAML = """\
# the rails
network:
  version: 2
  ethernets:
    rail0:
      match: {macaddress: "02:00:00:00:00:04"}
      set-name: e0
      mtu: 1500  # for now
    "e1":
      mtu: 9000
  bonds:
    bond0:
      interfaces: [e1, e2]
      mtu: 9000
    bond1:
      interfaces:
        - e3
        - "e4"
      parameters:
        mode: 802.3ad
"""


def netplan(name: str, **files: str) -> Dict[str, Any]:
    state = "ADMIN_STATE=configured\nNETWORK_FILE=/run/systemd/network/10-netplan-{}.network\n".format(name)
    there: Dict[str, Any] = {"/run/systemd/netif/links/4": state, "/etc/netplan/50-x.yaml": YAML}
    there.update({"/etc/netplan/" + key.replace("_", "-") + ".yaml": text for key, text in files.items()})
    return there


def test_netplan(machine: Make) -> None:
    """Its definition is not called as the interface is."""
    host = machine([], netplan("rail0"))
    assert told(held(host)) == (1500, "/etc/netplan/50-x.yaml:8", ())
    text = "# Written by brctl tune.\nnetwork:\n  version: 2\n  ethernets:\n    rail0:\n      mtu: 9000\n"
    assert kept(host, 9000) == {"/etc/netplan/90-brctl-rail0.yaml": text}
    host.replace("/etc/netplan/90-brctl-rail0.yaml", text.encode())
    assert told(held(host)) == (9000, "/etc/netplan/90-brctl-rail0.yaml:6", ())


@pytest.mark.parametrize(("bond", "members"), [("bond0", ["e1", "e2"]), ("bond1", ["e3", "e4"])])
def test_netplan_sets_a_bond_and_its_members(machine: Make, bond: str, members: List[str]) -> None:
    (text,) = kept(machine([], netplan(bond)), 4200).values()
    lines = ["  bonds:", "    {}:".format(bond), "      mtu: 4200", "  ethernets:"]
    for member in members:
        lines += ["    {}:".format(member), "      mtu: 4200"]
    assert text == "\n".join(["# Written by brctl tune.", "network:", "  version: 2", *lines, ""])


def test_netplan_files_in_their_order(machine: Make) -> None:
    later = "network:\n  ethernets:\n    rail0:\n      mtu: 8000\n"
    files = netplan("rail0", **{"99_z": later})
    files["/run/netplan/50-x.yaml"] = "network: {}\n"  # hides that of /etc
    host = machine([], files)
    assert told(held(host)) == (8000, "/etc/netplan/99-z.yaml:4", ())
    assert list(kept(host, 9000)) == ["/etc/netplan/zz-90-brctl-rail0.yaml"]


def test_netplan_by_network_manager(machine: Make) -> None:
    files = dict(NM, **{"/run/NetworkManager/system-connections/netplan-e1.nmconnection": KEYFILE})
    host = machine([], dict(files, **{"/etc/netplan/50-x.yaml": YAML}))
    assert told(held(host)) == (9000, "/etc/netplan/50-x.yaml:10", ())
    assert list(kept(host, 1500)) == ["/etc/netplan/90-brctl-e1.yaml"]


def test_netplan_quotes_a_name_that_is_no_word(machine: Make) -> None:
    text = 'network:\n  ethernets:\n    "0a":\n      dhcp4: true\n'
    (new,) = kept(machine([], netplan("0a", **{"60_y": text})), 9000).values()
    assert new == '# Written by brctl tune.\nnetwork:\n  version: 2\n  ethernets:\n    "0a":\n      mtu: 9000\n'


# ifupdown

MAIN = "/etc/network/interfaces"
STANZA = "auto lo e0\niface lo inet loopback\n\n# rail\niface e0 inet static\n    address 10.0.0.4/24\n"


@pytest.mark.parametrize(
    ("before", "after", "mtu", "line"),
    [
        (STANZA, STANZA.replace("static\n", "static\n    mtu 9000\n"), None, None),
        (STANZA + "\tmtu 1500 # x\n", STANZA + "\tmtu 9000 # x\n", 1500, 7),
        ("iface e0 inet dhcp", "iface e0 inet dhcp\n    post-up ip link set dev e0 mtu 9000\n", None, None),
        (
            "iface e0 inet dhcp\n  up ip link set e0 mtu 1500 || true\n",
            "iface e0 inet dhcp\n  up ip link set e0 mtu 9000 || true\n",
            1500,
            2,
        ),
        (
            "iface e0 inet6 auto\niface e1 inet static\n  mtu 1500\n",
            "iface e0 inet6 auto\n    post-up ip link set dev e0 mtu 9000\niface e1 inet static\n  mtu 1500\n",
            None,
            None,
        ),
    ],
)
def test_ifupdown(machine: Make, before: str, after: str, mtu: Optional[int], line: Optional[int]) -> None:
    """A method that does not take `mtu` gets a command."""
    host = machine([], {MAIN: before})
    assert told(held(host)) == (mtu, "{}:{}".format(MAIN, line) if line else None, ())
    assert kept(host, 9000) == {MAIN: after}


@pytest.mark.parametrize("include", ["source interfaces.d/*", "source-directory /etc/network/interfaces.d"])
def test_ifupdown_with_files_taken_in(machine: Make, include: str) -> None:
    path = "/etc/network/interfaces.d/50-cloud-init"
    host = machine([], {MAIN: "auto lo\n" + include + "\n", path: "auto e0\niface e0 inet manual\n"})
    warning = "cloud-init wrote {}, and writes it anew for a new instance".format(path)
    assert told(held(host)) == (None, None, (warning,))
    assert kept(host, 9000) == {path: "auto e0\niface e0 inet manual\n    mtu 9000\n"}


def test_two_links_in_one_file(machine: Make) -> None:
    """The second is planned on what the first one leaves."""
    draft = Foreseen(machine([], {MAIN: "iface e0 inet manual\niface e1 inet manual\n"}))
    for name in ("e0", "e1"):
        keep = holding(draft, LINK._replace(name=name)).keep
        assert keep
        last = keep(9000).writes[0]
    assert last.value == "iface e0 inet manual\n    mtu 9000\niface e1 inet manual\n    mtu 9000\n"


# ifcfg


@pytest.mark.parametrize("folder", ["network-scripts", "network"])
def test_ifcfg(machine: Make, folder: str) -> None:
    path = "/etc/sysconfig/{}/ifcfg-e0".format(folder)
    host = machine([], {path: "BOOTPROTO='static'\nMTU='1500'\n# caf\u00e9\n"})
    assert told(held(host)) == (1500, path + ":2", ())
    assert kept(host, 9000) == {path: "BOOTPROTO='static'\nMTU=9000\n# caf\u00c3\u00a9\n"}  # bytes, as latin-1
    host = machine([], {path: "BOOTPROTO=dhcp"})
    assert kept(host, 9000) == {path: "BOOTPROTO=dhcp\nMTU=9000\n"}


# udev


def test_a_link_file_of_our_own_comes_before_the_default_one(machine: Make) -> None:
    """Only one .link file counts, so ours keeps what that one says of names; it fits no VLAN."""
    text = "[Match]\nOriginalName=*\n\n[Link]\nNamePolicy=keep kernel\nMACAddressPolicy=persistent\n"
    host = machine([], {UDEV: "I:1\nE:ID_NET_LINK_FILE={}\n".format(DEFAULT), DEFAULT: text})
    assert told(held(host)) == (None, None, ())
    assert kept(host, 9000) == {
        "/etc/systemd/network/10-brctl-e0.link": "# Written by brctl tune; the rest of [Link] is that of {}.\n"
        "[Match]\nPermanentMACAddress=02:00:00:00:00:04\nType=ether\n"
        "[Link]\nNamePolicy=keep kernel\nMACAddressPolicy=persistent\nMTUBytes=9000\n".format(DEFAULT)
    }
    keep = held(host).keep
    assert keep
    made = keep(9000)
    assert made.after == (("udevadm", "control", "--reload"),)
    assert made.effects == ("udev gives it when the interface appears, at the next boot and not before",)


def test_an_operators_own_link_file_is_edited(machine: Make) -> None:
    path = "/etc/systemd/network/10-e0.link"
    text = "[Match]\nMACAddress=02:00:00:00:00:04\n[Link]\nName=e0\nMTUBytes=1500\n"
    host = machine([], {UDEV: "E:ID_NET_LINK_FILE={}\n".format(path), path: text})
    assert told(held(host)) == (1500, path + ":5", ())
    assert kept(host, 9000) == {path: text.replace("1500", "9000")}


def test_udev_has_no_links_without_hardware(machine: Make) -> None:
    host = machine([], {UDEV: "E:ID_NET_LINK_FILE={}\n".format(DEFAULT), DEFAULT: "[Link]\nMTUBytes=9000\n"})
    assert held(host, LINK._replace(kind="vlan")).keep is None


# Two of them


def test_the_owner_keeps_it_and_another_that_names_an_mtu_is_told(machine: Make) -> None:
    files = dict(NETWORKD, **{UNIT: "[Link]\nMTUBytes=9000\n", MAIN: "iface e0 inet static\n  mtu 1500\n"})
    host = machine([], files)
    warning = "systemd-networkd has the link, but ifupdown names 1500 for it too ({}:2)".format(MAIN)
    assert told(held(host)) == (9000, UNIT + ":2", (warning,))
    assert list(kept(host, 4200)) == [UNIT + ".d/50-brctl.conf"]


def test_what_udev_gave_stays_where_the_owner_names_none(machine: Make) -> None:
    path = "/etc/systemd/network/10-e0.link"
    files = {UNIT: "[Match]\nName=e0\n", UDEV: "E:ID_NET_LINK_FILE={}\n".format(path), path: "[Link]\nMTUBytes=9000\n"}
    host = machine([], dict(NETWORKD, **files))
    assert told(held(host)) == (9000, path + ":2", ())
    assert list(kept(host, 4200)) == [UNIT + ".d/50-brctl.conf"]


# Words of the operator's language: two of the bytes of their UTF-8 are a line's end, or blank, to Python in latin-1

WORDS = pytest.mark.parametrize(
    "word", ["\u0445\u043e\u0441\u0442", "\u00c5ngstr\u00f6m", "voil\u00e0", "form\x0cfeed\x1c"]
)


def written(host: Machine, link: Link = LINK) -> str:
    """The only file that 9000 would need, as text."""
    (text,) = kept(host, 9000, link).values()
    return (text or "").encode("latin-1").decode()


@WORDS
def test_a_profile_with_any_words(machine: Make, word: str) -> None:
    profile = KEYFILE.replace("id=e0", "id=" + word).replace("# ours", "# " + word)
    assert written(machine([], dict(NM, **{PROFILE: profile}))) == profile.replace(
        "[ethernet]\n", "[ethernet]\nmtu=9000\n"
    )
    profile = profile.replace("[ethernet]\n", "[ethernet]\nmtu=1500\n")
    host = machine([], dict(NM, **{PROFILE: profile}))
    assert told(held(host)) == (1500, PROFILE + ":8", ())
    assert written(host) == profile.replace("1500", "9000")


@WORDS
def test_an_ifcfg_file_with_any_words(machine: Make, word: str) -> None:
    text = "NAME={}\nMTU=1500\nTYPE=Ethernet\n".format(word)
    host = machine([], {"/etc/sysconfig/network/ifcfg-e0": text})
    assert told(held(host))[1] == "/etc/sysconfig/network/ifcfg-e0:2"
    assert written(host) == text.replace("1500", "9000")


@WORDS
def test_a_link_file_with_any_words(machine: Make, word: str) -> None:
    path = "/etc/systemd/network/10-{}.link".format(word.split()[0])
    text = "[Match]\nMACAddress=02:00:00:00:00:04\n[ Link ]\nAlias={}\nName=e0\n".format(word)
    state = {UDEV: "E:ID_NET_LINK_FILE={}\n".format(path)}
    assert written(machine([], dict(state, **{path: text}))) == text + "MTUBytes=9000\n"


@WORDS
def test_what_is_taken_over_of_a_link_file_keeps_its_words(machine: Make, word: str) -> None:
    path = "/usr/lib/systemd/network/50-{}.link".format(word.split()[0])
    files = {UDEV: "E:ID_NET_LINK_FILE={}\n".format(path), path: "[Link]\nAlias=x {}|\nName=e0\n".format(word)}
    assert written(machine([], files)) == (
        "# Written by brctl tune; the rest of [Link] is that of {}.\n[Match]\nPermanentMACAddress=02:00:00:00:00:04\n"
        "Type=ether\n[Link]\nAlias=x {}|\nName=e0\nMTUBytes=9000\n".format(path, word)
    )


@WORDS
def test_interfaces_with_any_words(machine: Make, word: str) -> None:
    text = "# {} mtu 4200\niface e0 inet static\n    # {} mtu 4200\n    address 10.0.0.4/24\n".format(word, word)
    host = machine([], {MAIN: text})
    assert told(held(host))[0] is None
    assert written(host) == text.replace("static\n", "static\n    mtu 9000\n")
    assert told(held(machine([], {MAIN: text + "    mtu 1500\n"})))[1] == MAIN + ":5"


@WORDS
def test_netplan_with_any_words(machine: Make, word: str) -> None:
    host = machine([], dict(netplan("rail0"), **{"/etc/netplan/50-x.yaml": "# " + word + "\n" + YAML}))
    assert told(held(host))[1] == "/etc/netplan/50-x.yaml:9"


def test_netplan_with_a_name_beyond_ascii(machine: Make) -> None:
    text = 'network:\n  ethernets:\n    "h\u00f6st":\n      mtu: 1500\n'
    host = machine([], netplan("h\u00f6st", **{"60_y": text}))
    assert told(held(host)) == (1500, "/etc/netplan/60-y.yaml:4", ())
    assert "    h\u00f6st:\n      mtu: 9000\n" in written(host)


def test_ifupdown_with_a_name_beyond_ascii(machine: Make) -> None:
    host = machine([], {MAIN: "iface h\u00f6st inet dhcp\n"})
    assert written(host, LINK._replace(name="h\u00f6st")) == (
        "iface h\u00f6st inet dhcp\n    post-up ip link set dev h\u00f6st mtu 9000\n"
    )
