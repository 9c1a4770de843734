"""One GPU of the mock as brctl reads it, and pynvml functions that are put in the place of its own."""

from typing import Any, Callable, Dict

import pytest

Plain = Dict[str, Any]


@pytest.fixture
def gpu() -> Callable[..., Any]:
    """Opens a GPU, the first or another, of an `nvml` object."""
    from brctl.mock.nvml import install
    from brctl.node.accel.nvml import Nvml

    def opened(plain: Plain, index: int = 0) -> Any:
        install(plain)
        return Nvml().open(index)

    return opened


@pytest.fixture
def refuses() -> Callable[[int], Callable[..., Any]]:
    """Makes a pynvml function that fails with a code."""
    import pynvml

    def refusal(code: int) -> Callable[..., Any]:
        def function(*arguments: Any) -> Any:
            raise pynvml.NVMLError(code)

        return function

    return refusal


@pytest.fixture
def gives() -> Callable[[Any], Callable[..., Any]]:
    """Makes a pynvml function that always gives one value."""

    def giver(value: Any) -> Callable[..., Any]:
        def function(*arguments: Any) -> Any:
            return value

        return function

    return giver
