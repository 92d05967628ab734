"""What readers do with bad input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .errors import InputError


@dataclass(slots=True)
class Problems:
    """What to do with bad input: raise the first (the default), or keep them all and go on."""

    skip: bool = False
    errors: list[InputError] = field(default_factory=list)
    notify: Callable[[InputError], None] | None = None

    def report(self, error: InputError) -> None:
        """Raise `error`, or note it when bad input is to be skipped."""
        if not self.skip:
            raise error
        self.errors.append(error)
        if self.notify:
            self.notify(error)
