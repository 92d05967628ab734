"""Which kinds of different spellings count as the same words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...base.errors import InputError, OptionError
from ...lattices.lattice import Origin

KINDS = ("numbers", "compounds", "apostrophes", "spelling", "contractions")


@dataclass(frozen=True, slots=True)
class Equate:
    """The kinds of spellings that are equated, in the order of `KINDS`."""

    kinds: tuple[str, ...] = ()

    @classmethod
    def parse(cls, given: Equate | str) -> Equate:
        """What an option says: `all`, `none`, or kinds with commas between them."""
        if isinstance(given, Equate):
            return given
        if given in ("all", "none"):
            return ALL if given == "all" else NONE
        return cls.of(given.split(","))

    @classmethod
    def of(cls, names: Iterable[str]) -> Equate:
        """These kinds."""
        names = [name.strip() for name in names]
        unknown = [name for name in names if name not in KINDS]
        if unknown:
            raise OptionError(f"{unknown[0]!r} cannot be equated, only all, none, or some of {', '.join(KINDS)}")
        return cls(tuple(kind for kind in KINDS if kind in names))

    @classmethod
    def of_networks(cls, origin: Origin) -> Equate:
        """The kinds that the labels of networks equate."""
        if not origin.equate:
            return NONE
        try:
            return cls.of(origin.equate.split(","))
        except OptionError as error:
            raise InputError(f"what the labels equate is not known: {error}", file=origin.file) from None

    def __bool__(self) -> bool:
        return bool(self.kinds)

    def __contains__(self, kind: str) -> bool:
        return kind in self.kinds

    def __str__(self) -> str:
        return ",".join(self.kinds)


ALL = Equate(KINDS)
NONE = Equate()
