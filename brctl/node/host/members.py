"""What modules a folder of checks, settings or collectors has: a new file there needs no line elsewhere."""

import os
from importlib import import_module
from types import ModuleType
from typing import Any, List, Protocol, Sequence, Tuple, TypeVar


class _Member(Protocol):
    @property
    def id(self) -> str: ...


M = TypeVar("M", bound=_Member)


def of_ids(known: Sequence[M], ids: Sequence[str]) -> Tuple[M, ...]:
    """Those of these ids; all where none is given."""
    return tuple(member for member in known if not ids or member.id in ids)


def members(package: ModuleType, name: str) -> List[Any]:
    """What is called `name` in every module of `package`, also where that lies in a zip."""
    return [getattr(import_module("{}.{}".format(package.__name__, each)), name) for each in _modules(package)]


def _modules(package: ModuleType) -> List[str]:
    (folder,) = package.__path__
    if os.path.isdir(folder):
        return [file[:-3] for file in os.listdir(folder) if file.endswith(".py") and file != "__init__.py"]
    import pkgutil  # to look into a folder it imports all of inspect, 9 ms

    return [module.name for module in pkgutil.iter_modules(package.__path__)]
