"""What is known of single kernel parameters."""

from typing import Callable, Optional

import pytest

from brctl.node.host.machine import Machine
from brctl.node.tune.sysctl_keys import absence, lowers, partner, refusal, same, source

Make = Callable[..., Machine]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("4096\t131072\t16777216", "4096 131072 16777216", True),
        ("0x10", "16", True),
        ("0", "0", True),
        ("", "0", False),
        ("1 2", "1", False),
        ("cubic", "bbr", False),
        ("010", "8", False),
        ("|/usr/bin/x %p", "|/usr/bin/x  %p", True),
    ],
)
def test_values_are_compared_word_by_word(one: str, other: str, equal: bool) -> None:
    assert same(one, other) is equal
    assert same(other, one) is equal


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("net/core/rmem_max", "2048", "the kernel takes 2304 to 2147483647"),
        ("net/core/rmem_max", "2147483648", "the kernel takes 2304 to 2147483647"),
        ("net/core/wmem_default", "4607", "the kernel takes 4608 to 2147483647"),
        ("net/core/rmem_max", "2147483647", None),
        ("net/core/rmem_max", "2304", None),
        ("net/ipv4/tcp_congestion_control", "bbr", "the kernel offers reno, cubic; for another: modprobe tcp_bbr"),
        ("net/ipv4/tcp_congestion_control", "reno", None),
        ("vm/dirty_bytes", "0", "0 means that vm.dirty_ratio decides: set that"),
        ("vm/dirty_bytes", "4096", None),
        ("kernel/sched_x", "anything", None),
    ],
)
def test_what_the_kernel_will_not_take(machine: Make, key: str, value: str, why: Optional[str]) -> None:
    host = machine([], {"/proc/sys/net/ipv4/tcp_available_congestion_control": "reno cubic\n"})
    assert refusal(host, key, value) == why


def test_choices_that_the_kernel_does_not_list(machine: Make) -> None:
    assert refusal(machine([]), "net/ipv4/tcp_congestion_control", "bbr") is None


def test_pairs() -> None:
    assert partner("vm/dirty_bytes") == "vm/dirty_ratio"
    assert partner("vm/dirty_background_ratio") == "vm/dirty_background_bytes"
    assert partner("vm/swappiness") is None


def test_a_limit_that_becomes_smaller() -> None:
    assert lowers("net/core/rmem_max", "2097152", "4194304") == "lowers the limit: it is 4194304 now"
    assert lowers("net/ipv4/tcp_rmem", "4096 131072 6291456", "4096\t131072\t33554432") is not None
    assert lowers("net/core/rmem_max", "67108864", "4194304") is None
    assert lowers("vm/swappiness", "10", "60") is None


def test_who_recommends_it() -> None:
    assert (source("kernel/numa_balancing", "0") or "").startswith("NVIDIA")
    assert source("kernel/numa_balancing", "1") is None


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("kernel/numa_balancing", "this kernel was built without it (CONFIG_NUMA_BALANCING)"),
        (
            "net/bridge/bridge-nf-call-iptables",
            "the module br_netfilter brings it: `modprobe br_netfilter`, and name it in /etc/modules-load.d",
        ),
        ("net/core/rmem_mx", "the kernel has no net.core.rmem_mx; nearest: net.core.rmem_max"),
        (
            "net/ipv4/conf/eth0.10/arp_ignore",
            "the kernel has no net.ipv4.conf.eth0/10; nearest: net.ipv4.conf.eth0/100",
        ),
        ("xyz/core", "the kernel has no xyz"),
        ("net/core", "the kernel does not show it here"),
    ],
)
def test_why_a_key_is_not_there(machine: Make, key: str, why: str) -> None:
    host = machine([], {"/proc/sys/net/core/rmem_max": "1\n", "/proc/sys/net/ipv4/conf/eth0.100/arp_ignore": "0\n"})
    assert absence(host, key) == why
