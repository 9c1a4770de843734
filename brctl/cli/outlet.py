"""Where Prometheus gets what is measured, as the command line says it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import NamedTuple

from .errors import CommandError

DEFAULT_LISTEN = "127.0.0.1:9836"


class Compat(str, Enum):
    """Whose names are served too."""

    dcgm = "dcgm"


class HostnameLabel(str, Enum):
    """dcgm-exporter wrote `Hostname` up to 4.8.2, and `hostname` since."""

    hostname = "hostname"
    Hostname = "Hostname"
    both = "both"


class Outlet(NamedTuple):
    """Where Prometheus gets it, as the command line says; None where it says nothing."""

    listen: str | None
    textfile: Path | None
    compat: str | None
    hostname_label: str | None
    tls_cert: Path | None
    tls_key: Path | None
    client_ca: Path | None


class Tls(NamedTuple):
    """Files in PEM."""

    cert: Path
    key: Path | None = None
    """None: in `cert` too."""
    client_ca: Path | None = None
    """Clients must show a certificate that this one has signed."""


class Serving(NamedTuple):
    """What `brctl monitor` was asked for; at least one of `listen` and `textfile`."""

    interval_s: float
    listen: str | None = DEFAULT_LISTEN
    """ADDRESS:PORT; no address: all of this host's; port 0: a free one."""
    textfile: Path | None = None
    dcgm_hostname: str | None = None
    """Serve dcgm-exporter's series beside our own: a key of dcgm.HOSTNAME_LABELS."""
    tls: Tls | None = None


def serving(outlet: Outlet, interval_s: float, declared: str) -> Serving:
    """`declared`: where to listen, if nothing else is said. Raises CommandError: options that do not fit."""
    if outlet.hostname_label and not outlet.compat:
        raise CommandError("--dcgm-hostname-label is of use with --compat dcgm alone")
    if (outlet.tls_key or outlet.client_ca) and not outlet.tls_cert:
        raise CommandError("--tls-key and --tls-client-ca need --tls-cert")
    listen = outlet.listen or (None if outlet.textfile else declared)
    if outlet.tls_cert and listen is None:
        raise CommandError("--tls-cert is of use with --listen alone")
    return Serving(
        interval_s,
        listen,
        outlet.textfile,
        (outlet.hostname_label or "hostname") if outlet.compat else None,
        Tls(outlet.tls_cert, outlet.tls_key, outlet.client_ca) if outlet.tls_cert else None,
    )
