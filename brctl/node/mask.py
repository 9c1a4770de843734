"""Takes out of a recording what identifies a machine, a network or a person, and what is secret.

A value is replaced by one of the same form, so that what reads it still can: the same value by the same one throughout
a recording, different values by different ones. The stand-ins come from ranges that nobody uses: 240.0.0.0/4,
2001:db8::/32, MAC addresses that begin with 02:00:00. A secret is replaced by the word `masked`.

What has no form of its own (a host name, a serial number) is known only from the place where it is kept: `learn` every
text first, then mask.
"""

import ipaddress
import re
from typing import Callable, Dict, Match, Optional, Tuple

MASKED = "masked"

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"  # without a leading zero, which a part of a version may have
_FORMS = r"""
  (?P<secret>(?P<key>(?<![\w.-])(?i:
      [\w.-]*(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|credential|private[_-]?key|access[_-]?key)[\w.-]*
      |(?:[\w.-]*[._-])?(?:pass|psk|authorization))["']?\s*[=:]\s*)(?P<value>"[^"\n]*"|'[^'\n]*'|(?<==)\S+|[^\n]+))
| (?P<login>(?<=://)[^\s/@]+(?=@))
| (?P<serial>(?P<label>(?<![A-Za-z0-9])(?i:serial(?:[ _]?(?:number|no))?|s/n|sn|asset[ _]tag)\]?["']?\s*[:=]\s*["']?)
             (?P<number>[^\s"',]+))
| (?P<guid>(?P<title>(?i:guid)\W{1,4}(?:0x)?)(?P<digits>[0-9a-fA-F]{16})(?![0-9a-zA-Z]))
| (?P<uuid>(?<![0-9a-fA-F])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9a-fA-F]))
| (?P<hardware>(?<![0-9a-fA-F:-])[0-9a-fA-F]{2}(?P<mark>[:-])(?:[0-9a-fA-F]{2}(?P=mark)){4,18}[0-9a-fA-F]{2}
               (?![0-9a-fA-F:-]))
| (?P<interface>(?<![A-Za-z0-9])(?:enx|wlx)[0-9a-f]{12}(?![0-9A-Za-z]))
| (?P<words>(?<![0-9a-fA-F:])[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3}(?![0-9a-fA-F:]))
| (?P<ipv6>(?<![\w:.])(?:[0-9a-fA-F]{0,4}:){2,7}(?:OCTET(?:\.OCTET){3}|[0-9a-fA-F]{0,4})(?![\w:]))
| (?P<ipv4>(?<![\w.])(?:OCTET\.){3}OCTET(?!\w|\.\d))
| (?P<user>(?<=/home/)[^\s/:,"']+)
| (?P<account>(?P<name>(?<![\w.-])(?i:user(?:name)?)=["']?)(?P<who>[^\s"',]+))
| (?P<digest>(?<![0-9A-Za-z])[0-9a-f]{32,}(?![0-9A-Za-z]))
""".replace("OCTET", _OCTET)
"""What shows by its form, or by the word before it, that it must not leave: one named group for each."""
_MARKED = re.compile(_FORMS, re.VERBOSE)

_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_VERSION_FILE = re.compile(r"(?i)(?:version|firmware\w*|fw_ver|vbios\w*|release)\Z")
_VERSION_BEFORE = re.compile(
    r"""(?ix)\A[\s"\w/-]*(?:version|firmware|revision)["']?\s*[:=]  # the key of the line
    |(?:version|firmware|vbios|revision|pkg)["']?\s*[:=]?\s*\Z       # the word before"""
)
"""Of a path, or of what stands before it on a line: four numbers with dots are no address there."""
_HOSTNAME = re.compile(r"/(?:etc|proc/sys/kernel)/(?:hostname|domainname)\Z")
_OPAQUE = re.compile(
    r"/(?:[\w-]*serial(?:_number)?|[\w-]*asset_tag|product_uuid|wwid|wwn|eui|nguid|subsysnqn|hostnqn|unique_id"
    r"|machine-id|phys_(?:port|switch)_id|vpd_pg8[03])\Z"
)
"""What holds nothing but an identifier."""
_KERNEL_TREE = re.compile(r"/(?:sys|proc|dev)(?:/|\Z)")
_REMOTE = re.compile(r"(?:(?P<user>[A-Za-z_][^\s/@:]*)@)?(?P<host>[A-Za-z0-9][\w.-]*):/|//(?P<share>[\w.-]+)/")
"""What a network file system is mounted from: `server:/export`, `user@server:/`, `//server/share`."""
_NO_NUMBER = ("", "n/a", "[n/a]", "none", "unknown", "0")
_LEAST_LITERAL = 6
"""Letters of a serial number that is looked for everywhere: a shorter one would be found by chance."""

_KEPT_PARAMETER = re.compile(
    r"""(?:
    BOOT_IMAGE|amd_iommu|amd_pstate|audit|cgroup_enable|cgroup_no_v1|console|cpufreq.default_governor|cpuidle.off
    |crashkernel|default_hugepagesz|earlyprintk|efi|hpet|hugepages|hugepagesz|idle|init_on_alloc|init_on_free
    |intel_idle.max_cstate|intel_iommu|intel_pstate|iommu|iommu.passthrough|iommu.strict|irqaffinity|isolcpus|kpti|l1tf
    |loglevel|maxcpus|mce|mem|mitigations|module_blacklist|modprobe.blacklist|nmi_watchdog|nohz|nohz_full|nosmt|nr_cpus
    |numa|numa_balancing|panic|preempt|processor.max_cstate|psi|rcu_nocbs|rd.driver.blacklist|retbleed|selinux|skew_tick
    |spec_store_bypass_disable|spectre_v2|split_lock_detect|swiotlb|systemd.unified_cgroup_hierarchy
    |transparent_hugepage|tsc|tsx
    |(?:pci|nvidia|nouveau|mlx|ib_|rdma_|nvme|vfio|kvm|bnxt_|irdma)\w*(?:\..*)?
    )\Z""",
    re.VERBOSE,
)
"""Kernel parameters whose values decide how a machine performs; the last line has modules of that kind. Any other may
hold a password, the address of an installer or the key of a disk, and its name does not tell."""
_PARAMETER = re.compile(r'(?:[^\s"]|"[^"]*"?)+')

_V4_MAPPED = bytes(10) + b"\xff\xff"


class Mask:
    """The stand-ins of one recording."""

    def __init__(self) -> None:
        self._numbers: Dict[str, Dict[str, int]] = {}
        self._literals: Dict[str, str] = {}
        self._search: Optional["re.Pattern[str]"] = None

    def learn(self, source: str, text: str) -> None:
        """Remember the host names and serial numbers that `text` holds; `source` is its path, or its command."""
        if _HOSTNAME.search(source):
            self._learn_host(text.strip(), "host name")
        elif _OPAQUE.search(source):
            self.learn_serial(text.strip())
        elif source.endswith("/mounts"):
            for remote in filter(None, map(_REMOTE.match, text.splitlines())):
                self._learn_host(remote.group("host") or remote.group("share"), "server name")

    def learn_serial(self, serial: str) -> None:
        """Find it everywhere from now on, unless it will be found by its form."""
        if len(serial) >= _LEAST_LITERAL and not _MARKED.fullmatch(serial):
            self._learn(serial, "serial number")

    def path(self, path: str, folder: str = "") -> str:
        """A path; or a link, which lies in `folder`. Each name on it is masked by itself, as it is in a list of names.

        The kernel's own keep what looks like a host name: an interface may be called so.
        """
        pattern = _MARKED if _KERNEL_TREE.match(folder or path) else self._pattern()
        names = path.split("/")
        masked = (pattern.sub(self._replace_in_path, name) for name in names)
        users = (above == "home" and name for above, name in zip(["", *names], names))
        return "/".join(self._user(user) if user else name for user, name in zip(users, masked))

    def text(self, source: str, text: str) -> str:
        """What a file or a command gave; `source` is its path, or its command."""
        if _OPAQUE.search(source) and text.strip() and not _MARKED.fullmatch(text.strip()):
            return text.replace(text.strip(), self._serial(text.strip()))
        if source.endswith("/proc/cmdline"):
            return _PARAMETER.sub(self._parameter, text.partition(" -- ")[0].rstrip("\n")) + "\n"
        if source.endswith("/mounts"):
            return "".join(map(self._mount, text.splitlines(True)))
        if _VERSION_FILE.search(source):
            return self._pattern().sub(self._replace_in_version, text)
        return "".join(map(self._line, _PEM.sub(self._secret, text).splitlines(True)))

    def counts(self) -> Tuple[str, ...]:
        """What was masked, by kind: `1 UUID`, `3 serial numbers`."""
        return tuple(_counted(kind, len(values)) for kind, values in sorted(self._numbers.items()))

    def _learn_host(self, name: str, kind: str) -> None:
        if re.fullmatch(r"[\d.]*|localhost(?:\..*)?|\(none\)", name):
            return
        short, _, domain = name.partition(".")
        self._learn(short, kind)
        if domain:
            self._learn(domain, "domain name")

    def _learn(self, literal: str, kind: str) -> None:
        self._literals.setdefault(literal.lower(), kind)
        self._search = None

    def _pattern(self) -> "re.Pattern[str]":
        """Of all that must not leave."""
        if self._search is None:
            longest_first = sorted(self._literals, key=lambda literal: (-len(literal), literal))
            literals = "|".join(map(re.escape, longest_first)) or "(?!)"
            whole = r"|(?P<literal>(?<![A-Za-z0-9_-])(?i:{})(?![A-Za-z0-9_-]))".format(literals)
            self._search = re.compile(_FORMS + whole, re.VERBOSE)
        return self._search

    def _line(self, line: str) -> str:
        return self._pattern().sub(self._replace, line)

    def _mount(self, line: str) -> str:
        """A line in the form of fstab(5). An option ends at a comma, be it a password."""
        remote = _REMOTE.match(line)
        user = remote.group("user") if remote else None
        if user:
            line = self._user(user) + line[len(user) :]
        return "".join(map(self._line, re.split(r"([ ,])", line)))

    def _parameter(self, found: Match[str]) -> str:
        name, is_set, _ = found.group().partition("=")
        if is_set and not _KEPT_PARAMETER.match(name.replace("-", "_")):
            return name + "=" + self._stand_in("kernel parameter", MASKED, found.group())
        return self._line(found.group())

    def _replace(self, found: Match[str]) -> str:
        return _REPLACE[found.lastgroup or ""](self, found)

    def _replace_in_version(self, found: Match[str]) -> str:
        return found.group() if found.lastgroup == "ipv4" else self._replace(found)

    def _replace_in_path(self, found: Match[str]) -> str:
        return found.group() if self._kind(found) == "server name" else self._replace(found)

    def _kind(self, found: Match[str]) -> str:
        """Of a literal; empty for what shows by its form."""
        return self._literals[found.group().lower()] if found.lastgroup == "literal" else ""

    def _secret(self, found: Match[str]) -> str:
        return self._stand_in("secret", MASKED, found.group())

    def _keyed_secret(self, found: Match[str]) -> str:
        quote = found.group("value")[0] if found.group("value")[0] in "\"'" else ""
        return found.group("key") + quote + self._secret(found) + quote

    def _literal(self, found: Match[str]) -> str:
        name, kind = found.group(), self._kind(found)
        before = found.string[max(0, found.start() - 2) : found.start()]
        if kind == "server name" and before.endswith("/") and before != "//":
            return name  # a folder that is called as the server: what is mounted at /data comes from data:/
        form = {"serial number": "SERIAL-{}", "domain name": "domain{}.example", "host name": "host{}"}
        return self._stand_in(kind, form.get(kind, "server{}"), name.lower())

    def _labelled_serial(self, found: Match[str]) -> str:
        return found.group("label") + self._serial(found.group("number"))

    def _serial(self, number: str) -> str:
        return number if number.lower() in _NO_NUMBER else self._stand_in("serial number", "SERIAL-{}", number.lower())

    def _user(self, name: str) -> str:
        return self._stand_in("user name", "user{}", name)

    def _user_of_home(self, found: Match[str]) -> str:
        return self._user(found.group())

    def _account(self, found: Match[str]) -> str:
        return found.group("name") + self._user(found.group("who"))

    def _uuid(self, found: Match[str]) -> str:
        if not found.group().strip("0-"):
            return found.group()
        return self._stand_in("UUID", "00000000-0000-4000-8000-{:012x}", found.group().lower())

    def _digest(self, found: Match[str]) -> str:
        if not found.group().strip("0"):
            return found.group()
        return self._stand_in("identifier", "{:0" + str(len(found.group())) + "x}", found.group())

    def _labelled_guid(self, found: Match[str]) -> str:
        return found.group("title") + self._guid(bytes.fromhex(found.group("digits"))).hex()

    def _guid_in_words(self, found: Match[str]) -> str:
        return _words(self._guid(bytes.fromhex(found.group().replace(":", ""))))

    def _interface(self, found: Match[str]) -> str:
        return found.group()[:3] + self._mac(bytes.fromhex(found.group()[3:])).hex()

    def _hardware(self, found: Match[str]) -> str:
        """An Ethernet address, one with its type before it (DHCP), an EUI-64, or InfiniBand's, which ends with one."""
        mark, address = found.group("mark"), bytes.fromhex(found.group().replace(found.group("mark"), ""))
        if len(address) in (8, 20):
            masked = address[:-8] + self._guid(address[-8:])
        elif len(address) in (6, 7):
            masked = address[:-6] + self._mac(address[-6:])
        else:
            masked = self._number("identifier", found.group()).to_bytes(len(address), "big")
        return mark.join("{:02x}".format(octet) for octet in masked)

    def _ipv4_text(self, found: Match[str]) -> str:
        if _VERSION_BEFORE.search(found.string[: found.start()]):
            return found.group()
        return str(ipaddress.IPv4Address(self._ipv4(ipaddress.IPv4Address(found.group()).packed)))

    def _ipv6_text(self, found: Match[str]) -> str:
        text = found.group()
        try:
            masked = self._ipv6(ipaddress.IPv6Address(text).packed)
        except ValueError:
            return text  # a time of day, the start of a PCI address
        if "." in text and masked.startswith(_V4_MAPPED):
            return "::ffff:{}".format(ipaddress.IPv4Address(masked[12:]))
        return _words(masked) if len(text) == len(_words(masked)) else str(ipaddress.IPv6Address(masked))

    def _mac(self, address: bytes) -> bytes:
        if address[0] & 1 or not any(address):  # a group, known to all; none
            return address
        return b"\x02\0\0" + self._number("MAC address", address.hex()).to_bytes(3, "big")

    def _guid(self, guid: bytes) -> bytes:
        """An EUI-64, perhaps made of a MAC address (RFC 4291, appendix A), or the host's part of an IPv6 address."""
        if not any(guid[:7]):  # a number that a person gave
            return guid
        if guid[3:5] == b"\xff\xfe":
            mac = self._mac(bytes((guid[0] ^ 2,)) + guid[1:3] + guid[5:])
            return bytes((mac[0] ^ 2,)) + mac[1:3] + b"\xff\xfe" + mac[3:]
        return b"\x02" + self._number("GUID", guid.hex()).to_bytes(7, "big")

    def _ipv4(self, address: bytes) -> bytes:
        """Hosts of one /24 stay together, each with its last number."""
        if address[0] in (0, 127) or address[0] >= 224:  # none, this host; groups, network masks, stand-ins
            return address
        network = self._number("IPv4 network", address[:3].hex())
        return bytes((240 | network >> 16 & 15, network >> 8 & 255, network & 255, address[3]))

    def _ipv6(self, address: bytes) -> bytes:
        """Hosts of one /64 stay together."""
        if address.startswith(_V4_MAPPED):
            return _V4_MAPPED + self._ipv4(address[12:])
        if not any(address[:15]) or address[0] == 0xFF:  # none, this host; groups
            return address
        if address[0] == 0xFE and address[1] & 0xC0 == 0x80:  # link-local, also InfiniBand's default
            return address[:8] + self._guid(address[8:])
        network = self._number("IPv6 network", address[:8].hex())
        return b"\x20\x01\x0d\xb8" + network.to_bytes(4, "big") + self._guid(address[8:])

    def _number(self, kind: str, value: str) -> int:
        """From 1 on, in the order in which values come; the same for the same value."""
        numbers = self._numbers.setdefault(kind, {})
        return numbers.setdefault(value, len(numbers) + 1)

    def _stand_in(self, kind: str, form: str, value: str) -> str:
        return form.format(self._number(kind, value))


def _words(address: bytes) -> str:
    """As the kernel writes GIDs and GUIDs: `fe80:0000:...`."""
    return ":".join(address[place : place + 2].hex() for place in range(0, len(address), 2))


def _counted(kind: str, count: int) -> str:
    plural = "" if count == 1 else "es" if kind.endswith("s") else "s"
    return "{} {}{}".format(count, kind, plural)


_REPLACE: Dict[str, Callable[[Mask, Match[str]], str]] = {
    "secret": Mask._keyed_secret,
    "login": Mask._secret,
    "serial": Mask._labelled_serial,
    "guid": Mask._labelled_guid,
    "uuid": Mask._uuid,
    "hardware": Mask._hardware,
    "interface": Mask._interface,
    "words": Mask._guid_in_words,
    "ipv6": Mask._ipv6_text,
    "ipv4": Mask._ipv4_text,
    "user": Mask._user_of_home,
    "account": Mask._account,
    "digest": Mask._digest,
    "literal": Mask._literal,
}
