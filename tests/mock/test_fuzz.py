"""Any function of NVML may answer with any error or any odd value: brctl says what it can and ends properly."""

import ctypes
from typing import Any, Dict, NamedTuple, Optional, Set

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brctl.mock.machines import load
from brctl.mock.nvml_functions import FUNCTIONS
from brctl.mock.nvml_library import OF_THE_LIBRARY
from brctl.node import agent
from brctl.node.codec import dumps, loads
from brctl.node.report import Report
from brctl.node.request import Expected, Request

MACHINES = ("h100-mig", "l40s-pcie", "old-driver", "vgpu-guest")
TEXTS = (b"", b"N/A", b"\xff\xfe\xfd", b"\x1b[31m\n\x00", b"0000:zz:00.0", b"\xe2\x82\xac" * 200)


class Odd(NamedTuple):
    """How a function misbehaves."""

    code: Optional[int] = None
    """What it returns; None: what it returns by itself."""
    number: Optional[int] = None
    """What is in all numbers that it gives: 0, 1, or so many of the highest bits set."""
    text: Optional[bytes] = None
    missing: bool = False


ODD = st.one_of(
    st.builds(Odd, code=st.one_of(st.integers(1, 30), st.sampled_from((31, 999, 1000, -1, 2**31 - 1)))),
    st.builds(Odd, number=st.integers(-2, 3), text=st.sampled_from(TEXTS)),
    st.builds(Odd, code=st.just(0), number=st.integers(-2, 3), text=st.sampled_from(TEXTS)),
    st.just(Odd(missing=True)),
)
PLANS = st.dictionaries(st.sampled_from(sorted({*FUNCTIONS, *OF_THE_LIBRARY})), ODD, min_size=1, max_size=12)


class OddLibrary:
    def __init__(self, library: Any, plan: Dict[str, Odd]) -> None:
        self._library = library
        self._plan = plan

    def __getattr__(self, name: str) -> Any:
        odd, function = self._plan.get(name), getattr(self._library, name)
        if odd is None or name == "nvmlErrorString":
            return function
        if odd.missing:
            raise AttributeError(name)

        def misbehave(*arguments: Any) -> Any:
            code = function(*arguments)
            if odd.number is not None:
                for argument in arguments:
                    spoil(getattr(argument, "_obj", argument), odd)
            return code if odd.code is None else odd.code

        return misbehave


def spoil(output: Any, odd: Odd) -> None:
    """Overwrite what a function gave; handles and pointers stay, for a real driver would crash by those too."""
    if isinstance(output, ctypes.Array) and output._type_ is ctypes.c_char:
        output.raw = (odd.text or b"")[: len(output) - 1].ljust(len(output), b"\0")
    elif isinstance(output, ctypes.Array):
        for item in output if isinstance(output[0], ctypes.Structure) else ():
            spoil(item, odd)
    elif isinstance(output, ctypes.Structure):
        for name, kind, *_ in output._fields_:
            if issubclass(kind, ctypes._SimpleCData) and kind is not ctypes.c_void_p:
                setattr(output, name, in_bits(kind, odd))
            elif issubclass(kind, ctypes.Array) and kind._type_ is ctypes.c_char:
                setattr(output, name, (odd.text or b"")[: kind._length_ - 1])
            elif issubclass(kind, ctypes.Union):  # as a double it is not a number
                ctypes.memset(ctypes.addressof(output) + getattr(type(output), name).offset, 0xFF, ctypes.sizeof(kind))
    elif isinstance(output, ctypes._SimpleCData) and not isinstance(output, (ctypes.c_void_p, ctypes.c_char_p)):
        output.value = in_bits(type(output), odd)


def in_bits(kind: Any, odd: Odd) -> Any:
    if kind is ctypes.c_double:
        return (0.0, 1.0, float("inf"), float("nan"))[(odd.number or 0) % 4]
    bits = 8 * ctypes.sizeof(kind)
    return {-2: -1, -1: 1 << (bits - 1), 0: 0, 1: 1, 2: (1 << (bits - 1)) - 1, 3: (1 << bits) - 2}[odd.number or 0]


def answer(machine: str, plan: Dict[str, Odd]) -> Report:
    import pynvml

    host = load(machine)
    host.accelerators()  # from here on the mock is under pynvml
    load_library = pynvml.CDLL
    pynvml.CDLL = lambda name: OddLibrary(load_library(name), plan)
    return agent.answer(host, Request("gpu001", "check", Expected(), ()))


@pytest.mark.parametrize("machine", MACHINES)
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=PLANS)
def test_whatever_nvml_answers(machine: str, plan: Dict[str, Odd]) -> None:
    ends_properly(answer(machine, plan))


def ends_properly(report: Report) -> None:
    assert loads(Report, dumps(report)) == report
    assert report.elapsed_s < 20
    assert [finding.summary for finding in report.findings if "itself failed" in finding.summary] == []


def test_each_function_by_itself() -> None:
    """Of those that brctl calls: an error that nobody expects, the least and greatest numbers, no such function."""
    called: Set[str] = set()
    answer("h100-mig", Listening(called))
    assert len(called) > 40
    for name in sorted(called - {"nvmlErrorString"}):
        for odd in (
            Odd(code=999),
            Odd(number=3, text=TEXTS[2]),
            Odd(code=0, number=-2, text=TEXTS[4]),
            Odd(missing=True),
        ):
            ends_properly(answer("h100-mig", {name: odd}))


class Listening(Dict[str, Odd]):
    """A plan under which all is well, and which notes what is called."""

    def __init__(self, called: Set[str]) -> None:
        super().__init__()
        self._called = called

    def get(self, name: str, default: Any = None) -> Any:
        self._called.add(name)
        return default
