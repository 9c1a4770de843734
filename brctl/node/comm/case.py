"""What a rule of the linter looks at, and the form of what it finds."""

from typing import Callable, Iterator, NamedTuple, Tuple

from ..facts import Inventory
from ..report import Evidence, Finding, Status, Subject
from ..request import Communication, Expected
from .settings import Setting


class Case(NamedTuple):
    """What a rule looks at."""

    settings: Tuple[Setting, ...]
    where: str
    """What the settings were read from: a path, `process 4242`."""
    conf: bool
    """NCCL reads it letter by letter."""
    comm: Communication
    want: Expected
    seen: Inventory
    """The machine that it is for; empty: that is not known."""

    @property
    def known(self) -> Iterator[Setting]:
        """Those with a value that stands there, and is not computed when a script runs."""
        return (setting for setting in self.settings if not setting.computed)

    def of(self, name: str) -> Iterator[Setting]:
        return (setting for setting in self.known if setting.name == name)

    def finding(
        self, rule: str, status: Status, setting: Setting, summary: str, remedy: str, *more: Evidence
    ) -> Finding:
        """About one variable, which the summary names first, with the line that sets it as evidence."""
        place = self.where if setting.line is None else "{}:{}".format(self.where, setting.line)
        name = setting.name.strip()
        shown = Evidence(name, setting.value, place)
        text = "{}: {}".format(name, summary)
        subject = Subject("variable", name, name)
        return Finding("comm-" + rule, status, subject, text, (shown, *more), remedy, fold=text)


Rule = Callable[[Case], Iterator[Finding]]
