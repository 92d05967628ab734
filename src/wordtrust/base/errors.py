"""Everything wordtrust raises on purpose.

WordtrustError
├── InputError          a file, or an utterance in it, is not what it should be
│   └── UnknownFormat   no known format fits the file
└── OptionError         an option does not fit the input or another option
"""

from __future__ import annotations

from functools import partial

from .visible_text import visible


class WordtrustError(Exception):
    """The root of all errors of this package; its text is meant for the user: one line, in which nothing acts."""

    def __str__(self) -> str:
        return visible(super().__str__())


class OptionError(WordtrustError):
    """An option has a value that cannot be used."""


class InputError(WordtrustError):
    """Bad input: says which file, which utterance, where in it, what was found, and what to do."""

    def __init__(self, found: str, *, file: str = "", utt: str = "", place: str = "", remedy: str = "") -> None:
        super().__init__(found, file, utt, place, remedy)
        self.found = found
        self.file = file
        self.utt = utt
        self.place = place
        self.remedy = remedy

    def __reduce__(self) -> tuple[object, ...]:
        """Errors travel between processes."""
        kind = partial(type(self), file=self.file, utt=self.utt, place=self.place, remedy=self.remedy)
        return kind, (self.found,)

    def at(self, *, file: str = "", utt: str = "", place: str = "") -> InputError:
        """The same error, with what it lacked about where it happened."""
        return type(self)(
            self.found, file=self.file or file, utt=self.utt or utt, place=self.place or place, remedy=self.remedy
        )

    def __str__(self) -> str:
        where = [part for part in (self.file, self.place, self.utt and f"utterance {self.utt}") if part]
        text = ", ".join(where) + (": " if where else "") + self.found
        return visible(f"{text}. {self.remedy}" if self.remedy else text)


class WordtrustWarning(UserWarning):
    """What Python code is told by a warning where the command line writes a line on stderr."""


class UnknownFormat(InputError):
    """No format of ours fits this file."""
