"""What tuning reads of a composed machine: which files decide its next boot. All of it is our own."""

from compose_parts import Cpu, Files, sysctl_files

_GOVERNORS = "conservative ondemand userspace powersave performance schedutil"
_OF_THE_HARDWARE = "performance powersave"
"""All that intel_pstate has in its active mode."""

_SYSCTLS = {
    "net.ipv4.tcp_available_congestion_control": "reno cubic",
    "vm.dirty_background_bytes": "0",
    "vm.dirty_background_ratio": "10",
    "vm.dirty_bytes": "0",
    "vm.dirty_ratio": "20",
}


def distribution_files(release: str, cpu: Cpu) -> Files:
    """As Ubuntu 24.04 leaves them."""
    policies = range(cpu.sockets * cpu.cores * cpu.threads) if cpu.governor else ()
    is_active = cpu.vendor == "GenuineIntel" and cpu.governor in _OF_THE_HARDWARE
    folder = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_available_governors"
    return {
        "/proc/cmdline": f"BOOT_IMAGE=/vmlinuz-{release} root=/dev/mapper/root ro iommu=pt\n",
        "/run/systemd/system": {"names": []},
        "/etc/sysctl.conf": "# Kernel parameters; see sysctl.conf(5).\n#net.ipv4.tcp_syncookies=1\n",
        "/etc/sysctl.d/10-network-security.conf": "net.ipv4.conf.default.rp_filter=2\nnet.ipv4.conf.all.rp_filter=2\n",
        "/etc/sysctl.d/99-sysctl.conf": {"link": "../sysctl.conf"},
        "/usr/lib/sysctl.d/50-pid-max.conf": "# 64-bit systems have room for many.\nkernel.pid_max = 4194304\n",
        "/etc/security/limits.conf": "#<domain> <type> <item> <value>\n#* soft core 0\n",
        "/etc/systemd/system.conf": "[Manager]\n#DefaultLimitMEMLOCK=\n",
        **{folder.format(number): (_OF_THE_HARDWARE if is_active else _GOVERNORS) + "\n" for number in policies},
        **sysctl_files(_SYSCTLS),
    }


def kept_files(sysctls: dict[str, str]) -> Files:
    """What whoever looks after a GPU node has put there."""
    lines = "".join(f"{key} = {value}\n" for key, value in sysctls.items() if key != "kernel.pid_max")
    return {
        "/etc/sysctl.d/60-gpu-node.conf": "# GPU nodes\n" + lines.replace("\t", " "),
        "/etc/systemd/system.conf.d/50-memlock.conf": "[Manager]\nDefaultLimitMEMLOCK=infinity\n",
    }


def persistenced_files(on: bool) -> Files:
    """NVIDIA's daemon, whose package leaves persistence mode off, and what turns it on where a node has it on."""
    unit = "usr/lib/systemd/system/nvidia-persistenced.service"
    command = "ExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced"
    text = (
        f"[Unit]\nDescription=NVIDIA Persistence Daemon\n\n[Service]\nType=forking\n{command} --no-persistence-mode\n"
    )
    override = f"[Service]\nExecStart=\n{command} --persistence-mode\n"
    kept: Files = {"/etc/systemd/system/nvidia-persistenced.service.d/override.conf": override} if on else {}
    return {f"/{unit}": text, **kept}
