import time
from typing import Dict

import pytest

from brctl.node.mask import Mask

HOST = "/proc/sys/kernel/hostname"
MOUNTS = "/proc/self/mounts"


def masked(text: str, source: str = "journalctl -k", **learnt: str) -> str:
    """`learnt`: texts of files, by their path with `_` for `/`."""
    mask = Mask()
    for path, known in learnt.items():
        mask.learn(path.replace("_", "/"), known)
    return mask.text(source, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # UUIDs: of boards, of boots, of file systems
        ("GPU UUID: GPU-1b2c3d4e-0000-4000-8000-0123456789ab", "GPU UUID: GPU-00000000-0000-4000-8000-000000000001"),
        ("MIG-1B2C3D4E-0000-4000-8000-0123456789AB/1/0", "MIG-00000000-0000-4000-8000-000000000001/1/0"),
        ("00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"),
        # MAC addresses, alone and in names
        ("link/ether 08:11:22:33:44:55 brd ff:ff:ff:ff:ff:ff", "link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff"),
        ("08-11-22-33-44-55, BOOTIF=01-08-11-22-33-44-55", "02-00-00-00-00-01, BOOTIF=01-02-00-00-00-00-01"),
        ("enx081122334455: up", "enx020000000001: up"),
        ("00:00:00:00:00:00 01:80:c2:00:00:0e", "00:00:00:00:00:00 01:80:c2:00:00:0e"),
        (
            "00:00:10:49:fe:80:00:00:00:00:00:00:94:6d:ae:03:00:ab:cd:ef",
            "00:00:10:49:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:00:01",
        ),
        # a fingerprint, which is no address, but tells as much
        ("MD5 16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48", "MD5 " + ":".join(["00"] * 15 + ["01"])),
        # IPv4, and what looks so
        ("inet 10.1.2.3/24 brd 10.1.2.255", "inet 240.0.1.3/24 brd 240.0.1.255"),
        ("mask 255.255.255.0 lo 127.0.0.1 any 0.0.0.0 mdns 224.0.0.251", None),
        ("VBIOS 96.00.74.00.1C", None),
        ("firmware-version: 218.0.169.2/pkg 21.8.1.9", None),
        ("NVRM version: 1.2.3.4", None),
        ('"nvml_version": "1.2.3.4", pkg 1.2.3.4', None),
        ("updated to firmware 1.2.3.4", None),
        ("nfs: server 10.1.2.3 version 4", "nfs: server 240.0.1.3 version 4"),
        ("firmware loaded from 10.1.2.3", "firmware loaded from 240.0.1.3"),
        ("DHCP release 10.1.2.3: version 1.2.3.4", "DHCP release 240.0.1.3: version 1.2.3.4"),
        ("x10.1.2.3 10.1.2.3x 10.1.2.3.4 300.1.2.3", None),
        # IPv6 and GIDs
        ("2a01:4f8::17 2a01:4f8:0:1::17", "2001:db8:0:1::17 2001:db8:0:2::17"),
        ("fe80::a11:22ff:fe33:4455%eth0", "fe80::ff:fe00:1%eth0"),
        ("::1 :: ff02::1 12:34:56 0000:1b:00.0 std::vector", None),
        ("::ffff:10.1.2.3", "::ffff:240.0.1.3"),
        ("0000:0000:0000:0000:0000:ffff:0a01:0203", "0000:0000:0000:0000:0000:ffff:f000:0103"),
        ("fe80:0000:0000:0000:946d:ae03:00ab:cdef", "fe80:0000:0000:0000:0200:0000:0000:0001"),
        ("0000:0000:0000:0000:0000:0000:0000:0000", None),
        ("1:2:3", None),
        # GUIDs
        ("node_guid: 946d:ae03:00ab:cdef", "node_guid: 0200:0000:0000:0001"),
        ("Node GUID: 0x946dae0300abcdef", "Node GUID: 0x0200000000000001"),
        # serial numbers by the word before them
        ("Serial Number: ABC123", "Serial Number: SERIAL-1"),
        ("\t[SN] Serial number: MT2143X00001", "\t[SN] Serial number: SERIAL-1"),
        ("Vendor SN : MT2143X00001", "Vendor SN : SERIAL-1"),
        ('{"serial": "1650000000001"}', '{"serial": "SERIAL-1"}'),
        ("Serial Number: N/A", None),
        ("serial8250: ttyS0 at I/O 0x3f8", None),
        # secrets
        ("password=abc,d", "password=masked"),
        ('password="abc', 'password="masked"'),
        ("Password: my pass phrase", "Password: masked"),
        ('{"token": "x y", "a": 1}', '{"token": "masked", "a": 1}'),
        ("export 'api_key'='x'", "export 'api_key'='masked'"),
        ("AWS_SECRET_ACCESS_KEY=abc/def+ next", "AWS_SECRET_ACCESS_KEY=masked next"),
        ("Authorization: Bearer eyJh.bGci", "Authorization: masked"),
        ("wlan.psk = x", "wlan.psk = masked"),
        ("https://me:pw@proxy.example:3128/", "https://masked@proxy.example:3128/"),
        ("iommu.passthrough=1 bypass=3 compass: north", None),
        # names
        ("/home/alice/run.sh of alice", "/home/user1/run.sh of alice"),
        ("user=alice username='bob'", "user=user1 username='user2'"),
        ("uid=1000 user_id=5", None),
        # digests, as of a container
        ("docker-" + "0123456789abcdef" * 4, "docker-" + "1".zfill(64)),
        ("f" * 31 + " " + "0" * 32, None),
    ],
)
def test_what_shows_by_its_form(text: str, expected: str) -> None:
    assert masked(text) == (text if expected is None else expected)


def test_a_private_key() -> None:
    key = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb\n"
    assert masked(key) == "a\nmasked\nb\n"
    assert masked(key[:40]) == "a\nmasked"


def test_equal_stays_equal_and_different_stays_different() -> None:
    mask = Mask()
    one, other, same = (mask.text("", text) for text in ("08:11:22:33:44:55", "08:11:22:33:44:56", "0A:11:22:33:44:55"))
    assert (one, other, same) == ("02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03")
    # the same address in five forms: as such, with dashes, in a name, in a GID, in an EUI-64
    again = "08-11-22-33-44-55 enx081122334455 fe80::a11:22ff:fe33:4455 0a:11:22:ff:fe:33:44:55"
    assert mask.text("", again) == "02-00-00-00-00-01 enx020000000001 fe80::ff:fe00:1 00:00:00:ff:fe:00:00:01"
    assert (
        mask.text("", "10.1.2.3 10.1.2.4 10.1.3.3 ::ffff:10.1.3.4") == "240.0.1.3 240.0.1.4 240.0.2.3 ::ffff:240.0.2.4"
    )
    assert mask.counts() == ("2 IPv4 networks", "3 MAC addresses")


def test_what_is_masked_is_not_masked_again() -> None:
    text = "10.1.2.3 ::ffff:10.1.2.3 GPU-1b2c3d4e-0000-4000-8000-0123456789ab Serial: 12345678"
    first = masked(text)
    again = masked(first)
    assert again == first


@pytest.mark.parametrize("name", ["gpu17.corp.example", "gpu17"])
def test_host_names(name: str) -> None:
    mask = Mask()
    mask.learn(HOST, name + "\n")
    assert mask.text(HOST, name + "\n") in ("host1\n", "host1.domain1.example\n")
    assert mask.text("", "GPU17 kernel: gpu17-a gpu170 gpu17:x") == "host1 kernel: gpu17-a gpu170 host1:x"
    # An interface may be called as the host is; the paths of the kernel are not searched.
    assert mask.path("/sys/class/net/gpu17/mtu") == "/sys/class/net/gpu17/mtu"
    assert mask.path("../../gpu17", folder="/sys/class/net") == "../../gpu17"
    assert mask.path("/var/crash/gpu17/dmesg") == "/var/crash/host1/dmesg"


@pytest.mark.parametrize("name", ["localhost", "localhost.localdomain", "(none)", "10.1.2.3", ""])
def test_names_that_tell_nothing(name: str) -> None:
    mask = Mask()
    mask.learn(HOST, name)
    assert mask.text("", "localhost (none)") == "localhost (none)"


def test_mounts() -> None:
    text = (
        "data:/x /data nfs4 rw,addr=10.9.0.5,clientaddr=10.9.0.6 0 0\n"
        "alice@srv.lab.example:/ /mnt fuse.sshfs ro,user=bob,password=a'b,allow_other 0 0\n"
        "//files/share /share cifs rw,username=carol,uid=1000 0 0\n"
        "10.9.0.7@o2ib:10.9.0.8@o2ib:/lustre /lustre lustre rw 0 0\n"
        "/dev/sda1 /home/dave ext4 rw 0 0\n"
    )
    assert masked(text, MOUNTS, **{MOUNTS: text}) == (
        "server1:/x /data nfs4 rw,addr=240.0.1.5,clientaddr=240.0.1.6 0 0\n"
        "user1@server2.domain1.example:/ /mnt fuse.sshfs ro,user=user2,password=masked,allow_other 0 0\n"
        "//server3/share /share cifs rw,username=user3,uid=1000 0 0\n"
        "240.0.1.7@o2ib:240.0.1.8@o2ib:/lustre /lustre lustre rw 0 0\n"
        "/dev/sda1 /home/user4 ext4 rw 0 0\n"
    )
    # The folder /data is called as its server; a server is masked where it stands for itself.
    assert masked("nfs: server data not responding, /data", **{MOUNTS: text}) == (
        "nfs: server server1 not responding, /data"
    )


def test_serial_numbers_are_found_everywhere() -> None:
    mask = Mask()
    for path, text in FILES.items():
        mask.learn(path, text)
    assert [mask.text(path, text) for path, text in FILES.items()] == [
        "SERIAL-1\n",
        "SERIAL-2\n",
        "1".zfill(32) + "\n",
        "00000000-0000-4000-8000-000000000001\n",
        "\n",
    ]
    assert mask.text("dmidecode", "Board ABC1234567, X1") == "Board SERIAL-1, X1"
    mask.learn_serial("1650000000001")
    mask.learn_serial("short")
    assert mask.text("", "1650000000001 short") == "SERIAL-3 short"


FILES: Dict[str, str] = {
    "/sys/class/dmi/id/product_serial": "ABC1234567\n",
    "/sys/class/dmi/id/chassis_asset_tag": "X1\n",
    "/etc/machine-id": "1b2c3d4e000040008000ffff456789ab\n",
    "/sys/class/dmi/id/product_uuid": "1b2c3d4e-0000-4000-8000-0123456789ab\n",
    "/sys/class/dmi/id/board_serial": "\n",
}


def test_the_kernel_command_line() -> None:
    text = (
        "BOOT_IMAGE=/vmlinuz-6.8 root=UUID=1b2c3d4e-0000-4000-8000-0123456789ab ro quiet iommu=pt pci=realloc "
        "intel_iommu=on,sm_on nvidia-drm.modeset=1 hugepages=64 ip=10.0.0.5::10.0.0.1:255.255.255.0:gpu17:eth0 "
        'ds=nocloud;s=http://10.0.0.9/ luks.key=/k "dyndbg=file a +p" systemd.set_credential=a:b token=x -- my secret\n'
    )
    assert masked(text, "/proc/cmdline") == (
        "BOOT_IMAGE=/vmlinuz-6.8 root=masked ro quiet iommu=pt pci=realloc "
        "intel_iommu=on,sm_on nvidia-drm.modeset=1 hugepages=64 ip=masked "
        'ds=masked luks.key=masked "dyndbg=masked systemd.set_credential=masked token=masked\n'
    )


def test_paths_are_masked_name_by_name() -> None:
    mask = Mask()
    mask.learn(MOUNTS, "data:/x /data nfs4 rw 0 0\n")
    assert mask.path("/home/alice/.ssh") == "/home/user1/.ssh"
    assert mask.path("/home/alice").rpartition("/")[2] == "user1"  # as it is named in the folder /home
    assert mask.path("/home") == "/home"
    assert mask.path("/data/x") == "/data/x"
    assert mask.path("/sys/class/net/enx081122334455/mtu") == "/sys/class/net/enx020000000001/mtu"


def test_a_file_that_tells_a_version() -> None:
    assert masked("218.0.169.2\n", "/sys/class/infiniband/bnxt_re0/fw_ver") == "218.0.169.2\n"
    assert masked("GPU-1b2c3d4e-0000-4000-8000-0123456789ab", "x version").startswith("GPU-00000000")


@pytest.mark.parametrize("part", ["a", "token ", ":", "1.", "ab:", "passw", "serial number ", "/home/"])
def test_time_grows_with_the_text_alone(part: str) -> None:
    began = time.monotonic()
    masked(part * (60_000 // len(part)))
    assert time.monotonic() - began < 5  # by its square it would be minutes
