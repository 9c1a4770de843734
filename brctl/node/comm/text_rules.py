"""Rules that need no more than the text: how NCCL reads it, and what its values do."""

from typing import Dict, Iterator, Tuple

from ..report import Evidence, Finding, Status
from . import variables, words
from .case import Case, Rule
from .number import rest, strtoll
from .settings import Setting

_QUOTES = ("'", '"')


def _form(case: Case) -> Iterator[Finding]:
    """Blanks and quotes, which NCCL takes as they are."""
    for setting in case.settings if case.conf else ():
        name, value = setting.name, setting.value
        if name != name.strip():
            remedy = "write {}={}".format(name.strip(), value.strip())
            text = "NCCL looks for {!r}, blanks and all, which nobody reads".format(name)
            yield case.finding("file", Status.CRIT, setting, text, remedy)
        elif value != value.strip() or value[:1] in _QUOTES:
            bare = value.strip().strip("'\"")
            text = "the value is {!r}: blanks and quotes are part of it".format(value)
            yield case.finding("file", Status.CRIT, setting, text, "write {}={}".format(name, bare))
        elif name.startswith("CUDA_"):
            text = "CUDA has read its variables before NCCL reads this file"
            yield case.finding("file", Status.WARN, setting, text, "set it in the job's script")


def _twice(case: Case) -> Iterator[Finding]:
    last: Dict[str, Setting] = {}
    for setting in case.known:
        other = last.get(setting.name)
        last.setdefault(setting.name, setting)
        if other and other.value != setting.value:
            wins = other if case.conf else setting
            text = "set twice, and {!r} of line {} wins".format(wins.value, wins.line)
            remedy = "leave one of lines {} and {}".format(other.line, setting.line)
            yield case.finding("twice", Status.WARN, setting, text, remedy)


_MOST_NEAREST = 100
"""Names for which the nearest one is looked for, 1 ms each; a text with more that are unknown is no environment."""


def _names(case: Case) -> Iterator[Finding]:
    unknown = 0
    for setting in case.settings:
        name = setting.name.strip()
        if name.startswith("BR_"):
            near = variables.nearest("NCCL_" + name.split("_")[-1])
            remedy = "see what {} does".format(near[0]) if near else "leave it out, unless a library of yours reads it"
            yield case.finding("name", Status.WARN, setting, "no public library reads BR_ names", remedy)
        elif not variables.known(name):
            unknown += 1
            nearest = variables.nearest(name) if unknown <= _MOST_NEAREST else ()
            remedy = "write {}".format(nearest[0]) if nearest else "leave it out, or see the notes of your NCCL"
            text = "{} does not read it".format(variables.SOURCE)
            yield case.finding("name", Status.WARN, setting, text, remedy)


def _computed(case: Case) -> Iterator[Finding]:
    for setting in case.settings:
        if setting.computed:
            text = "its value is computed when the script runs, and is not judged"
            yield case.finding("computed", Status.INFO, setting, text, "give --lint the PID of a process of the job")


def _numbers(case: Case) -> Iterator[Finding]:
    for setting in case.known:
        variable = variables.VARIABLES.get(setting.name)
        if variable is None or not variable.numeric or not setting.value.strip():
            continue
        if case.conf and setting.value[0] in _QUOTES:
            continue  # said by _form
        value, left = strtoll(setting.value), rest(setting.value).strip()
        meaning = variables.MEANINGS.get(setting.name)
        if left:
            why = (
                "knows numbers alone" if left == setting.value.strip() else "knows no units and stops at " + repr(left)
            )
            text = "NCCL reads {!r} as {}: it {}".format(setting.value, value, why)
            yield case.finding("number", Status.CRIT, setting, text, _plainly(setting))
        elif meaning and not _within(meaning, value) and value != variable.default:
            text = "{} is out of range: {}".format(value, meaning.text)
            remedy = "{} to {}, or leave it out".format(meaning.low, meaning.high) if meaning.high else "leave it out"
            yield case.finding("number", Status.WARN, setting, text, remedy)


def _within(meaning: variables.Meaning, value: int) -> bool:
    low, high = meaning.low, meaning.high
    return (low is None or value >= low) and (high is None or value <= high)


_TRUTH = {"true": 1, "yes": 1, "on": 1, "false": 0, "no": 0, "off": 0}


def _plainly(setting: Setting) -> str:
    """The number that was meant; where that would be no good either, why."""
    if setting.value.strip().lower() in _TRUTH:
        return "write {}".format(_TRUTH[setting.value.strip().lower()])
    unit = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(rest(setting.value).strip()[:1].lower())
    size = strtoll(setting.value) * (unit or 0)
    if setting.name == "NCCL_BUFFSIZE" and size > 4 * _MIB:
        return "leave it out: a true {} would cost {}".format(setting.value, _cost(size))
    return "write {}".format(size) if unit else "write a plain number"


def _words(case: Case) -> Iterator[Finding]:
    for setting in case.known:
        wrong = words.unknown(setting.name, setting.value)
        if wrong is None or (case.conf and (setting.value != setting.value.strip() or setting.value[0] in _QUOTES)):
            continue  # the latter is said by _form
        spec = words.WORDS[setting.name]
        text = "{!r} is none of its values: {}".format(wrong.word, spec.instead)
        if wrong.nearest is None:
            remedy = "one of {}; or leave it out".format(", ".join(wrong.known))
        else:
            alone = wrong.word == setting.value.strip()
            remedy = ("write {}" if alone else "write {} for {}").format(wrong.nearest, wrong.word.strip())
        status = Status.CRIT if spec.by_function else Status.WARN
        yield case.finding("value", status, setting, text, remedy)


def _debugging(case: Case) -> Iterator[Finding]:
    for setting in case.known:
        why = variables.DEBUGGING.get(setting.name)
        if why and variables.is_on(setting.name, setting.value):
            status = Status.INFO if setting.name == "NCCL_DEBUG" else Status.WARN
            yield case.finding("debugging", status, setting, "left on: " + why, "leave it out when the fault is found")


_LL128 = 4915200
"""NCCL's own size: 120 x 640 threads x 8 steps x 8 bytes (its src/init.cc)."""
_MIB, _GIB = 1 << 20, 1 << 30
_CHANNELS = (16, 32)
"""Of rings on 8 GPUs with NVSwitch; each has such a buffer of its own (NCCL src/transport/p2p.cc, net.cc)."""


def _cost(size: int) -> str:
    amounts = " to ".join("{:g}".format(size * channels / _GIB) for channels in _CHANNELS)
    return "{} GiB of GPU memory for each communicator, at {} to {} channels".format(amounts, *_CHANNELS)


def _buffers(case: Case) -> Iterator[Finding]:
    for setting in case.of("NCCL_BUFFSIZE"):
        if rest(setting.value).strip():
            continue  # said by _numbers
        size = strtoll(setting.value)
        if size >= 2 * _GIB:
            text = "{} bytes overflow NCCL's 32-bit size".format(size)
            yield case.finding("buffer", Status.CRIT, setting, text, "leave it out: 4 MiB is NCCL's own")
        elif size > 4 * _MIB:
            text = "costs {}".format(_cost(size))
            remedy = "leave it out: 4 MiB is NCCL's own, and its maintainers advise against others (nccl#285, #1739)"
            yield case.finding("buffer", Status.WARN, setting, text, remedy)
        elif 0 <= size < _MIB:
            text = "{} bytes: a step is an eighth of it".format(size)
            yield case.finding("buffer", Status.CRIT, setting, text, "leave it out: 4 MiB is NCCL's own")
    for setting in case.of("NCCL_LL128_BUFFSIZE"):
        size = strtoll(setting.value)
        if size not in (-2, _LL128) and (size < 120 or size % 120 or size // 120 & (size // 120 - 1)):
            text = "{} is not 120 times a power of two: LL128 hangs (nccl#1739)".format(size)
            yield case.finding("buffer", Status.CRIT, setting, text, "leave it out")


def _framework(case: Case) -> Iterator[Finding]:
    for setting in case.of("CUDA_DEVICE_MAX_CONNECTIONS"):
        value = strtoll(setting.value)
        declared = Evidence("framework", case.comm.framework or "none", "comm.framework")
        if case.comm.framework == "megatron-tp" and value != 1:
            text = "Megatron refuses tensor parallelism with {}, up to Hopper (Megatron-LM#533)".format(value)
            yield case.finding("framework", Status.CRIT, setting, text, "write 1", declared)
        elif case.comm.framework == "fsdp" and value == 1:
            text = "with one queue FSDP cannot overlap gathering and computing (torchtitan#1147)"
            yield case.finding("framework", Status.WARN, setting, text, "leave it out", declared)
        elif value == 8 and case.comm.framework != "megatron-tp":
            text = "8 is CUDA's own: it does nothing"
            yield case.finding("framework", Status.INFO, setting, text, "leave it out", declared)
    names = {setting.name for setting in case.settings}
    missing = case.comm.framework == "megatron-tp" and "CUDA_DEVICE_MAX_CONNECTIONS" not in names
    if missing and not case.conf and case.settings:
        absent = Setting("CUDA_DEVICE_MAX_CONNECTIONS", "not set", None, "")
        text = "Megatron refuses tensor parallelism without 1, up to Hopper (Megatron-LM#533)"
        yield case.finding("framework", Status.WARN, absent, text, "write CUDA_DEVICE_MAX_CONNECTIONS=1")


RULES: Tuple[Rule, ...] = (_form, _twice, _names, _computed, _numbers, _words, _debugging, _buffers, _framework)
