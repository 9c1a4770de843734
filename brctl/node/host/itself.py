"""What of brctl runs on a node, as one zip that Python runs: to be installed where it shall start by itself."""

import io
import pkgutil
import zipfile
from functools import lru_cache
from importlib.util import find_spec
from typing import Iterator, Tuple

from ... import node

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the zip format has no earlier date


@lru_cache(maxsize=None)
def archive(main: str) -> bytes:
    """The zip, the same wherever it is made: brctl/node with all its modules, and pynvml where that is installed.

    `main` is the text of its `__main__`. It is read the way Python imports it, so from a zip too.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in sorted([("__main__.py", main.encode()), *_modules()]):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix
            made.writestr(entry, data)
    return buffer.getvalue()


def _modules() -> Iterator[Tuple[str, bytes]]:
    top = node.__name__.rpartition(".")[0]
    names = [module.name for module in pkgutil.walk_packages(node.__path__, node.__name__ + ".")]
    for name in (top, node.__name__, *names, "pynvml"):
        spec = find_spec(name)
        loader = spec.loader if spec else None
        if spec and spec.origin and loader and hasattr(loader, "get_data"):
            folder = name.replace(".", "/")
            path = folder + ("/__init__.py" if spec.submodule_search_locations is not None else ".py")
            yield path, loader.get_data(spec.origin)
