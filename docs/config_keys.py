"""Every key of the config, from its models: page config.md of generate.py."""

from brctl.config.models import NodeValues
from brctl.config.reference import ORDER, Explanation, keys, lookup

_HEAD = """# The config

Made from the models in brctl/config by `python docs/generate.py`; `brctl config explain KEY` shows the same.

A quantity carries its unit, as a bare number could be misread, and is more than 0. NAME is a name that you choose.
A shell pattern has `*`, `?` and `[ ]`, or is a name in full; of several, with commas between them, one must fit.
"""


def page() -> str:
    """docs/config.md"""
    lines = [_HEAD]
    for section in ORDER:
        told = [lookup(loc) for loc in ((section,), *keys((section,))) if _is_told(loc)]
        found = [it for it in told if it]
        lines += [f"## {section}", "", found[0].meaning, "", "| key | value | default | meaning |", "|---|---|---|---|"]
        lines += [*(_row(it) for it in found if not it.kind.endswith("section")), ""]
    return "\n".join(lines)


def _is_told(loc: tuple[str | int, ...]) -> bool:
    """Not the items of a plain list, and not what an override repeats."""
    repeated = loc[0] == "overrides" and loc[2:3] and loc[2] in NodeValues.model_fields
    return not (isinstance(loc[-1], int) or repeated)


def _row(it: Explanation) -> str:
    default = "required" if it.required else f"`{it.default}`" if it.default else ""
    notes = (it.meaning, it.example and f"Example: `{it.example}`.", it.source and f"({it.source})")
    cells = (f"`{it.key.replace('[0]', '[]')}`", it.kind, default, " ".join(filter(None, notes)))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
