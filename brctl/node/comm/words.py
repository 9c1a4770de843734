"""Variables of NCCL that are read as words of a set, and what becomes of a word that is none of them.

Source: NCCL 2.30.7 as in variables.py: src/debug.cc and src/include/param/ (debugging), src/graph/tuning.cc (parseList:
algorithms and protocols), src/graph/paths.cc (ncclGetLevel) and topo.cc, src/init.cc, src/misc/socket.cc,
src/transport/net_ib/connect.cc.
"""

import re
from typing import Dict, Iterator, NamedTuple, Optional, Tuple


class Words(NamedTuple):
    """What a variable takes."""

    words: Tuple[str, ...]
    instead: str
    """What NCCL does where it knows a word not."""
    exact: bool = False
    """In capitals or not makes a difference."""
    between: Optional[str] = None
    """What stands between several. None: it takes one alone."""
    without: bool = False
    """`^` before them: all but these."""
    by_function: bool = False
    """`allreduce:ring;broadcast:tree`, where blanks count; NCCL starts with no word that it does not know."""
    also: str = "(?!)"
    """Pattern of what else it takes, from the beginning of the word."""


class Unknown(NamedTuple):
    word: str
    known: Tuple[str, ...]
    nearest: Optional[str]


_FUNCTIONS = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")
_LEVELS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
_MERGED = ("LOC", "PORT", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
_SUBSYSTEMS = (
    *("INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "ALLOC_HOST", "CALL", "PROXY", "NVLS"),
    *("BOOTSTRAP", "REG", "PROFILE", "RAS", "DESTROY", "ALL"),
)
_SEVERITIES = ("VERSION", "WARN", "INFO", "ABORT", "TRACE")
_REFUSED = "NCCL refuses to start"
_BY_ITSELF = "NCCL leaves it aside, and chooses by itself"

_TRUTH = Words(("1", "T", "TRUE", "0", "F", "FALSE"), "NCCL takes it for 0")
_FAMILY = Words(("AF_INET", "AF_INET6"), _BY_ITSELF, exact=True)
_LEVEL = Words(_LEVELS, _BY_ITSELF, exact=True, also="[0-9]")

WORDS: Dict[str, Words] = {
    "NCCL_DEBUG": Words(_SEVERITIES, "NCCL writes nothing", also="(?i)none$"),
    "NCCL_DEBUG_SUBSYS": Words(_SUBSYSTEMS, "NCCL writes of INIT,BOOTSTRAP,ENV", between=",", without=True),
    "NCCL_DEBUG_TIMESTAMP_LEVELS": Words(
        (*_SEVERITIES, "ALL"), "NCCL gives the time with WARN alone", between=",", without=True
    ),
    "NCCL_ALGO": Words(
        ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"),
        _REFUSED,
        between=",",
        without=True,
        by_function=True,
    ),
    "NCCL_PROTO": Words(("LL", "LL128", "Simple"), _REFUSED, between=",", without=True, by_function=True),
    "NCCL_P2P_LEVEL": _LEVEL,
    "NCCL_NET_GDR_LEVEL": _LEVEL,
    "NCCL_NET_MERGE_LEVEL": Words(_MERGED, "NCCL merges no ports, as with LOC", exact=True, also="|".join(_MERGED)),
    "NCCL_NET_MERGE_POLICY": Words(("RAIL", "ALL"), "NCCL takes it for ALL"),
    "NCCL_NETDEVS_POLICY": Words(("AUTO", "ALL", "MAX:N"), "NCCL takes it for AUTO", also="(?i)max:0*[1-9]"),
    "NCCL_LAUNCH_MODE": Words(("PARALLEL", "GROUP"), "NCCL takes it for PARALLEL"),
    "NCCL_CHECK_MODE": Words(("DEFAULT", "DEBUG_LOCAL", "DEBUG_GLOBAL"), "NCCL takes it for DEFAULT"),
    "NCCL_CTA_POLICY": Words(("DEFAULT", "EFFICIENCY", "ZERO"), "NCCL leaves it aside", between="|", also="[0-2]"),
    "NCCL_SOCKET_FAMILY": _FAMILY,
    "NCCL_IB_ADDR_FAMILY": _FAMILY._replace(instead="NCCL takes it for AF_INET"),
    "NCCL_SET_THREAD_NAME": _TRUTH,
    "NCCL_WARN_ENABLE_DEBUG_INFO": _TRUTH,
    "NCCL_PARAM_DUMP_ALL": _TRUTH,
}


def unknown(name: str, value: str) -> Optional[Unknown]:
    """The first word of a value that NCCL does not know; None: there is none, or the variable takes anything."""
    spec = WORDS.get(name)
    if spec is None or not value.strip():
        return None
    for word, known in _read(spec, value):
        if not _takes(spec, word, known):
            return Unknown(word, known, _nearest(word, known))
    return None


def _read(spec: Words, value: str) -> Iterator[Tuple[str, Tuple[str, ...]]]:
    """Each word, and the words that can stand there."""
    for text in value.split(";") if spec.by_function else (value.strip(),):
        function, colon, words = text.partition(":")
        if spec.by_function and colon:
            yield function, _FUNCTIONS
            text = words
        text = text[1:] if spec.without and text.startswith("^") else text
        for word in text.split(spec.between) if spec.between else (text,):
            if word:
                yield word if spec.by_function else word.strip(), spec.words


def _takes(spec: Words, word: str, known: Tuple[str, ...]) -> bool:
    if re.match(spec.also, word):
        return True
    return word in known if spec.exact else word.lower() in [one.lower() for one in known]


def _nearest(word: str, known: Tuple[str, ...]) -> Optional[str]:
    """In capitals or not."""
    from difflib import get_close_matches  # few write a wrong one

    capitals = {one.upper(): one for one in known}
    found = get_close_matches(word.strip().upper(), capitals, 1)
    return capitals[found[0]] if found else None
