"""The mock has every C function that brctl, gpustat and nvitop may call, found in their sources."""

import inspect
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Set

import pynvml
import pytest

from brctl.mock.nvml_functions import FUNCTIONS
from brctl.mock.nvml_library import OF_THE_LIBRARY
from brctl.mock.nvml_setters import SETTERS

MOCKED = {*FUNCTIONS, *OF_THE_LIBRARY, *SETTERS, "nvmlErrorString"}
ASKS = re.compile(r"_nvmlGetFunctionPointer\(['\"](nvml\w+)['\"]\)")


def words(package: str) -> Set[str]:
    """Every name of an NVML function in the sources of a package."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(package + " is not installed")
    (folder,) = spec.submodule_search_locations
    return {word for path in Path(folder).rglob("*.py") for word in re.findall(r"\bnvml[A-Z]\w+", path.read_text())}


def asked(name: str, seen: Set[str]) -> Set[str]:
    """C functions that pynvml's function `name` asks for, also by others of its functions."""
    function = getattr(pynvml, name, None)
    if not inspect.isfunction(function) or name in seen:
        return set()
    seen.add(name)
    source = inspect.getsource(inspect.unwrap(function))
    found = set(ASKS.findall(source))
    for other in set(re.findall(r"\bnvml[A-Z]\w+(?=\()", source)):
        found |= asked(other, seen)
    return found


def called(package: str) -> Set[str]:
    seen: Set[str] = set()
    return {function for word in words(package) for function in asked(word, seen)}


@pytest.mark.parametrize(("package", "least"), [("brctl.node.accel", 40), ("gpustat", 15), ("nvitop", 40)])
def test_every_function_that_may_be_called_is_mocked(package: str, least: int) -> None:
    found = called(package)
    assert len(found) >= least
    assert found - MOCKED == set()


def test_names_that_go_round_pynvml_are_mocked() -> None:
    """brctl asks the library for functions by itself where pynvml has no structure for them."""
    names = {name for name in words("brctl.node.accel") if name.startswith("nvmlDevice") and not hasattr(pynvml, name)}
    assert "nvmlDeviceGetCount_v2" in names
    assert [name for name in names if not any(mocked.startswith(name) for mocked in MOCKED)] == []
