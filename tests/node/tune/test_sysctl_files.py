"""Files of sysctl.d as both loaders read them. test_sysctl_loaders.py holds the same against the real ones."""

from typing import Any, Callable, Dict, Optional, Sequence

import pytest

from brctl.node.host.machine import Machine
from brctl.node.tune.sysctl_files import OURS, File, Line, key_path, load, read, render, spelt, winner, with_ours

Make = Callable[..., Machine]


def decided(lines: Sequence[Line], key: str) -> Optional[str]:
    """`VALUE FILE:LINE`"""
    index = winner(lines, key)
    return None if index is None else "{0.value} {0.source}".format(lines[index])


def loaded(texts: Dict[str, str]) -> Any:
    return load([File(path, text) for path, text in texts.items()])


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("net.core.rmem_max", "net/core/rmem_max"),
        ("net/core/rmem_max", "net/core/rmem_max"),
        ("/net/core/rmem_max", "net/core/rmem_max"),
        ("net.ipv4.conf.d0/100.arp_ignore", "net/ipv4/conf/d0.100/arp_ignore"),
        ("net/ipv4/conf/d0.100.200/arp_ignore", "net/ipv4/conf/d0.100.200/arp_ignore"),
        ("net.ipv4.conf.d0/100/200.arp_ignore", "net/ipv4/conf/d0.100.200/arp_ignore"),
        ("net..core.x", "net/core/x"),
        ("word", "word"),
    ],
)
def test_two_ways_to_write_a_key(key: str, path: str) -> None:
    assert key_path(key) == path


def test_a_key_as_the_config_has_it() -> None:
    assert spelt("net/ipv4/conf/d0.100.200/arp_ignore") == "net.ipv4.conf.d0/100/200.arp_ignore"


def test_sysctl_conf_is_read_by_one_loader_alone() -> None:
    found = loaded({"/etc/sysctl.d/90-brctl.conf": "net.a.b=1\n", "/etc/sysctl.conf": "# mine\nnet.a.b = 2\n"})
    assert decided(found.systemd, "net/a/b") == "1 /etc/sysctl.d/90-brctl.conf:1"
    assert decided(found.procps, "net/a/b") == "2 /etc/sysctl.conf:2"


def test_the_name_of_a_file_decides_and_not_its_folder() -> None:
    found = loaded({"/etc/sysctl.d/90-brctl.conf": "net.a.b=1", "/usr/lib/sysctl.d/99-vendor.conf": "net.a.b=2"})
    assert decided(found.systemd, "net/a/b") == "2 /usr/lib/sysctl.d/99-vendor.conf:1"
    found = loaded({"/etc/sysctl.d/99-brctl.conf": "net.a.b=1", "/etc/sysctl.d/99-sysctl.conf": "net.a.b=2"})
    assert decided(found.systemd, "net/a/b") == "2 /etc/sysctl.d/99-sysctl.conf:1"
    found = loaded({OURS: "net.a.b=1", "/etc/sysctl.d/99-sysctl.conf": "net.a.b=2"})
    assert decided(found.systemd, "net/a/b") == "1 {}:1".format(OURS)


def test_which_files_are_read(machine: Make) -> None:
    host = machine(
        [],
        {
            "/etc/sysctl.d/README": "net.a.b=0\n",
            "/etc/sysctl.d/a.conf": {"link": "/dev/null"},
            "/dev/null": "",
            "/run/sysctl.d/a.conf": "net.a.b=1\n",
            "/usr/lib/sysctl.d/a.conf": "net.a.b=2\n",
            "/usr/lib/sysctl.d/b.conf": "net.a.b=3\n",
            "/usr/lib/sysctl.d/c.conf": {"errno": "EACCES"},
            "/etc/sysctl.d/d.conf": {"link": "../nowhere"},
            "/usr/lib/sysctl.d/d.conf": "net.a.b=4\n",
            "/usr/lib/sysctl.d/.e.conf": "net.a.b=5\n",
            "/usr/local/lib/sysctl.d": {"errno": "EACCES"},
        },
    )
    files = read(host)
    assert [(file.path, file.text, file.unread) for file in files] == [
        ("/etc/sysctl.d/a.conf", "", ""),
        ("/etc/sysctl.d/d.conf", "", ""),
        ("/usr/local/lib/sysctl.d", "", "Permission denied"),
        ("/usr/lib/sysctl.d/.e.conf", "net.a.b=5\n", ""),
        ("/usr/lib/sysctl.d/b.conf", "net.a.b=3\n", ""),
        ("/usr/lib/sysctl.d/c.conf", "", "Permission denied"),
        ("/etc/sysctl.conf", "", ""),
    ]
    found = load(files)
    assert decided(found.systemd, "net/a/b") == "3 /usr/lib/sysctl.d/b.conf:1"
    assert [line.value for line in found.procps] == ["5", "3"]
    assert sorted(found.bad) == [
        "/usr/lib/sysctl.d/c.conf: cannot be read: Permission denied",
        "/usr/local/lib/sysctl.d: cannot be read: Permission denied",
    ]


def test_what_a_line_may_be() -> None:
    text = "\n# c = 1\n; d = 1\n  -net.a.b = 1 \r\nnonsense\n= 5\nnet.a.c=x = y\n-net.a.d\n/net/a/e=\n"
    found = loaded({"/etc/sysctl.d/a.conf": text})
    assert [(line.key, line.value) for line in found.systemd] == [
        ("net/a/b", "1"),
        ("net/a/c", "x = y"),
        ("net/a/d", None),
        ("net/a/e", ""),
    ]
    assert found.procps[-1].key == "/net/a/e"
    assert found.bad == (
        "/etc/sysctl.d/a.conf:5: no assignment, ignored at boot: nonsense",
        "/etc/sysctl.d/a.conf:6: no assignment, ignored at boot: = 5",
    )


@pytest.mark.parametrize(
    ("text", "systemd", "procps"),
    [
        ("net.*.b = 1", "1", "1"),
        ("net.* = 1", None, None),  # no star goes beyond a slash
        ("net.?.[!x] = 1\nnet.[^b].b = 2", "2", "2"),
        ("net.a.b = 1\nnet.*.b = 2", "1", "1"),  # what is named wins over any pattern
        ("net.*.b = 2\n-net.a.b", None, None),
        ("net.a.b = 1\n-net.a.b", None, "1"),  # systemd takes it back, procps knows nothing of that
        ("net.*.b = 1\nnet.a.* = 2\nnet.*.b = 1", "2", "1"),  # the same once more moves nothing in systemd
        ("net.*.b = 1\nnet.a.* = 2\nnet.*.b = 3", "3", "3"),
        ("/net/a/b = 1\nnet.*.b = 2", "1", "2"),  # to procps the slash makes it another one
        ("/net/a/b = 1\n/net/*/b = 2", "1", "1"),
    ],
)
def test_patterns_and_exclusions(text: str, systemd: Optional[str], procps: Optional[str]) -> None:
    found = loaded({"/etc/sysctl.d/a.conf": text})
    values = [decided(lines, "net/a/b") for lines in (found.systemd, found.procps)]
    assert [value and value.split()[0] for value in values] == [systemd, procps]


def test_our_own_file() -> None:
    text = render("", "net/core/rmem_max", "67108864")
    assert text.splitlines()[2:] == ["net.core.rmem_max = 67108864"]
    assert text.splitlines()[0].startswith("# Written by `brctl tune apply --persist`")
    text = render(text, "net/ipv4/conf/d0.100.200/arp_ignore", "0")
    assert text.splitlines()[2:] == ["net.core.rmem_max = 67108864", "net/ipv4/conf/d0.100.200/arp_ignore = 0"]
    assert render(text, "net/core/rmem_max", "67108864") == text
    edited = "# a note\nvm.dirty_ratio=5\n\nvm.dirty_ratio = 20\nbroken\n-vm.swappiness\n" + text
    assert render(edited, "vm/dirty_bytes", "4096 1", drop="vm/dirty_ratio").splitlines()[2:] == [
        "net.core.rmem_max = 67108864",
        "net/ipv4/conf/d0.100.200/arp_ignore = 0",
        "vm.dirty_bytes = 4096 1",
    ]


def test_the_files_with_ours_as_it_will_be() -> None:
    files = [File("/usr/lib/sysctl.d/99-zz-brctl.conf", "net.a.b=7"), File("/etc/sysctl.d/zz.conf", "net.a.c=1")]
    then = load(with_ours(files, "net.a.b=1\nnet.a.c=2\n"))
    assert decided(then.systemd, "net/a/b") == "1 {}:1".format(OURS)
    assert decided(then.systemd, "net/a/c") == "1 /etc/sysctl.d/zz.conf:1"
