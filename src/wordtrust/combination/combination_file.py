"""What combination learns from held-out data, in one folder: ROVER's settings, informed choice, joint model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from ..base import json_checks
from ..base.errors import InputError, OptionError
from ..base.files import atomic_text
from .error_regression import ErrorRegression
from .joint import JointModel, load_joint, save_joint
from .rover import RoverSettings, tune_rover
from .system_output import SystemOutputs

KIND = "wordtrust combination"
VERSION = 1
FILE, JOINT = "combination.json", "joint.safetensors"
_LARGEST = 1 << 27

Members = frozenset[str]


@dataclass(frozen=True)
class FittedCombination:
    """FittedCombination for the subsets that it names."""

    order: tuple[str, ...]  # recognizers, the one with the fewest errors first
    rover: Mapping[Members, RoverSettings]
    informed: ErrorRegression
    joint: JointModel | None = None
    utterances: frozenset[int] = frozenset()  # what it was fitted on, as checksums of their names

    @classmethod
    def fit(cls, together: SystemOutputs, subsets: Sequence[Sequence[int]]) -> FittedCombination:
        """Learn from outputs by models that were trained without the speakers.

        Calibrators may have been fitted on just these words: in a study they are, on the same scores out of fold.
        """
        ordered = together.subset(together.by_errors())
        turned = [sorted(ordered.names.index(together.names[each]) for each in subset) for subset in subsets]
        settings = tune_rover(ordered, turned)
        rover = {
            frozenset(ordered.names[n] for n in subset): each for subset, each in zip(turned, settings, strict=True)
        }
        return cls(ordered.names, rover, ErrorRegression.fit(together, subsets), utterances=_checksums(together))

    def require(self, names: Sequence[str]) -> None:
        """Raise an error if one of these systems is unknown."""
        unknown = sorted(set(names) - set(self.order))
        if unknown:
            known = ", ".join(self.order)
            raise OptionError(
                f"nothing was fitted for {', '.join(unknown)}; names before the = must be among {known}"
            )

    def seen(self, together: SystemOutputs) -> int:
        """How many of these utterances it was fitted on."""
        return len(self.utterances & _checksums(together))

    def settings(self, names: Sequence[str], subsets: Sequence[Sequence[int]]) -> list[RoverSettings]:
        """ROVER's settings for every subset of these recognizers."""
        found = [self.rover.get(frozenset(names[number] for number in subset)) for subset in subsets]
        for subset, each in zip(subsets, found, strict=True):
            if each is None:
                raise OptionError(f"nothing was fitted for {' and '.join(names[number] for number in subset)}")
        return [each for each in found if each is not None]

    def save(self, folder: Path) -> None:
        """Write the folder's combination.json."""
        folder.mkdir(parents=True, exist_ok=True)
        rover = [{"members": sorted(members), **each.to_dict()} for members, each in self.rover.items()]
        found: dict[str, Any] = {"kind": KIND, "version": VERSION, "order": list(self.order), "rover": rover}
        found["utterances"] = sorted(self.utterances)
        (folder / JOINT).unlink(missing_ok=True)  # what was fitted before does not go with this
        if self.joint is not None:
            save_joint(self.joint, folder / JOINT)
        with atomic_text(folder / FILE) as file:
            file.write(json.dumps(found | {"informed": self.informed.to_dict()}) + "\n")

    @classmethod
    def load(cls, folder: Path, *, with_joint: bool = True) -> FittedCombination:
        """Read it; anything else is an `InputError`."""
        path = folder / FILE
        remedy = "Make it with: wordtrust combine NAME=MODEL,STORE ... --fit NAME=STORE ... --out FOLDER"
        try:
            if path.stat().st_size > _LARGEST:
                raise InputError("too large to be a combination", remedy=remedy)
            found = json_checks.record(json_checks.parse(path.read_bytes()), "the combination")
            if found.get("kind") != KIND or found.get("version") != VERSION:
                raise InputError(f"no {KIND} of version {VERSION}", remedy=remedy)
            rover = dict(_rover(json_checks.objects_of(found, "rover")))
            order = tuple(str(name) for name in json_checks.list_of(found, "order"))
            joint = load_joint(folder / JOINT) if with_joint and (folder / JOINT).is_file() else None
            seen = frozenset(int(each) for each in json_checks.list_of(found, "utterances"))
            return cls(order, rover, ErrorRegression.from_dict(found.get("informed")), joint, seen)
        except OSError as error:
            raise InputError(f"cannot be opened: {error.strerror}", file=str(path), remedy=remedy) from None
        except (TypeError, KeyError, ValueError, OverflowError, OptionError) as error:
            raise InputError(f"not a whole combination: {error}", file=str(path), remedy=remedy) from None
        except InputError as error:
            raise error.at(file=str(path)) from None


def _checksums(together: SystemOutputs) -> frozenset[int]:
    return frozenset(crc32(utt.encode("utf-8", "replace")) for utt in together.utts)


def _rover(rows: Iterable[Mapping[str, Any]]) -> Iterable[tuple[Members, RoverSettings]]:
    for row in rows:
        values = {name: value for name, value in row.items() if name != "members"}
        yield frozenset(map(str, row["members"])), RoverSettings(**values)
