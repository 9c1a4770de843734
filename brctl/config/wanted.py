"""What `tune` of the config, and of `--set KEY=VALUE`, comes to for one node."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from ..node.request import Clocks, KernelParameter, PowerLimit, Wanted
from . import source
from .mistake import ConfigError, Mistake
from .models import Settings, Sysctl, Tune
from .resolve import Config, Merge
from .source import Document, Loc, Marks
from .words import mistakes

_OPEN = (("sysctl",), ("gpu", "power_limit"))
"""Below these the rest of a key is one name: kernel parameters have dots, and so may models of GPUs."""


def wanted(config: Config | None, name: str, sets: Sequence[str] = ()) -> Wanted:
    """Of a node; what the config says of the cluster as a whole holds for one that it does not know.

    `sets` are laid over it, the last one on top. Raises ConfigError: one of them is none, or not valid.
    """
    node = config.node(name) if config else None
    tune = _with(config, name, sets) if sets or node is None else node.tune
    nics = node.hardware.nics.interfaces if node else None
    gpu, clocks = tune.gpu, tune.gpu.locked_clocks
    return Wanted(
        mtu=tune.network.mtu,
        interfaces=tune.network.interfaces or nics,
        sysctls=tuple(_parameters(tune.sysctl)),
        numa_balancing=tune.numa_balancing,
        power_limits=tuple(_limits(gpu.power_limit or {})),
        persistence_mode=gpu.persistence_mode,
        locked_clocks=Clocks(clocks.min, clocks.max) if clocks else None,
        cpu_governor=tune.cpu_governor,
        transparent_hugepage=tune.transparent_hugepage,
        memlock=None if tune.memlock is None else "unlimited" if tune.memlock < 0 else str(tune.memlock),
    )


def _parameters(sysctl: Sysctl) -> Iterator[KernelParameter]:
    for name, field in Sysctl.model_fields.items():
        value = getattr(sysctl, name)
        if value is not None:
            words = value if isinstance(value, tuple) else (value,)
            yield KernelParameter(field.alias or name, " ".join(map(str, words)))
    for key, value in (sysctl.__pydantic_extra__ or {}).items():
        yield KernelParameter(key, value)


def _limits(limits: Mapping[str, Any]) -> Iterator[PowerLimit]:
    for model, amount in limits.items():
        percent = amount.unit == "%"
        yield PowerLimit(
            None if model == "*" else model,
            None if percent else float(amount.value),
            float(amount.value) if percent else None,
        )


def _with(config: Config | None, name: str, sets: Sequence[str]) -> Tune:
    """The tune section with `sets` over it."""
    values = config.merged(config.layers_of.get(name, ())).values.get("tune", {}) if config else {}
    merge = Merge({})
    for text in sets:
        key, value = _assigned(text)
        for part in reversed(key):
            value = {part: value}
        values = merge.overlay(values, value, (), ())
    plain = {"version": 1, "cluster": {"name": "any", "nodes": name or "any"}, "tune": values}
    try:
        return Settings.model_validate(plain).tune
    except ValidationError as error:
        nowhere = Document("--set", [""], plain, {(): Marks((0, 0), (0, 0))}, [])
        found = mistakes(error.errors(include_url=False), nowhere)
        raise ConfigError([mistake._replace(place=None, path=f"--set: {mistake.path}") for mistake in found]) from None


def _assigned(text: str) -> tuple[Loc, Any]:
    """Key and value of `network.mtu=9000`; the value is written as in the file. Raises ConfigError."""
    name, equals, value = text.partition("=")
    name = name.strip().removeprefix("tune.")
    if not equals or not name:
        raise ConfigError([Mistake(f"--set {text}: KEY=VALUE is expected", hint="for example: --set network.mtu=9000")])
    document = source.parse(f"value: {value}".encode("utf-8", "surrogateescape"), f"--set {name}")
    if document.mistakes:
        raise ConfigError([mistake._replace(path="") for mistake in document.mistakes])
    return _location(name), document.data["value"]


def _location(name: str) -> Loc:
    parts = tuple(name.split("."))
    for above in _OPEN:
        if parts[: len(above)] == above and len(parts) > len(above):
            return (*above, ".".join(parts[len(above) :]))
    return parts
