"""What functions of the mocked NVML answer instead of their values: rules by name, count and chance."""

import time
from fnmatch import fnmatchcase
from typing import Any, Dict, Mapping, Optional, Tuple
from zlib import crc32

from .nvml_answer import RefusedError
from .nvml_words import CODES, HANG

HANG_S = 3600.0
"""As long as `hang` keeps a call: for ever, to anyone who waits."""

_OPENING = "nvmlDeviceGetHandle"


class _Rule:
    def __init__(self, pattern: str, answer: Any) -> None:
        given: Mapping[str, Any] = {"error": answer} if isinstance(answer, str) else answer
        self.pattern = pattern
        self._error: str = given["error"]
        self._after: int = given.get("after", 0)
        self._until: Optional[int] = given.get("until")
        self._probability: float = given.get("probability", 1.0)
        self._calls = 0

    def fits(self, name: str) -> bool:
        opens = name.startswith(_OPENING)
        return fnmatchcase(name, self.pattern) and (not opens or self.pattern.startswith(_OPENING))

    def act(self, seed: int) -> None:
        number, self._calls = self._calls, self._calls + 1
        if number < self._after or (self._until is not None and number >= self._until):
            return
        if crc32("{} {} {}".format(seed, self.pattern, number).encode()) / 2**32 >= self._probability:
            return
        if self._error == HANG:
            time.sleep(HANG_S)
        else:
            raise RefusedError(CODES[self._error])


class Errors:
    """The `errors` of one GPU, or of the library."""

    def __init__(self, rules: Mapping[str, Any], seed: int) -> None:
        self._rules: Tuple[_Rule, ...] = tuple(_Rule(pattern, answer) for pattern, answer in rules.items())
        self._seed = seed
        self._by_name: Dict[str, Optional[_Rule]] = {}

    def suffer(self, name: str) -> None:
        """One call of `name`. Returns where it is to be answered; raises RefusedError, or does not return."""
        if not self._rules:
            return
        if name not in self._by_name:
            self._by_name[name] = next((rule for rule in self._rules if rule.fits(name)), None)
        rule = self._by_name[name]
        if rule:
            rule.act(self._seed)
