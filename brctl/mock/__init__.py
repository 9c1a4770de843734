"""Machines that are not there: whole ones, from JSON, with faults on demand and writes that stay."""


class MockError(ValueError):
    """A mocked machine that cannot be had as asked."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
