"""What combination learns from held-out data, in one folder: ROVER's settings, error regression, joint model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from ..base import json_checks
from ..base.errors import InputError, OptionError
from ..base.files import atomic_folder, atomic_text
from ..confidence.joint_outputs import FILE as FILE_OF_JOINT
from ..confidence.shipped import COMBINATION
from .error_regression import ErrorRegression
from .joint import JointModel, load_joint, save_joint
from .rover import RoverSettings, tune_rover
from .system_output import SystemOutputs

KIND = "wordtrust combination"
VERSION = 1
FILE, JOINT = COMBINATION, FILE_OF_JOINT
_MAX_BYTES = 1 << 27

NameSet = frozenset[str]


@dataclass(frozen=True)
class FittedCombination:
    """What combination learned on held-out data, for the subsets that it names."""

    order: tuple[str, ...]  # systems, the one with the fewest errors first
    rover: Mapping[NameSet, RoverSettings]
    informed: ErrorRegression
    joint: JointModel | None = None
    utterances: frozenset[int] = frozenset()  # what it was fitted on, as checksums of their names
    name: str = ""  # of the folder that it is in

    @classmethod
    def fit(cls, outputs: SystemOutputs, subsets: Sequence[Sequence[int]]) -> FittedCombination:
        """Learn from outputs by models that were trained without the speakers.

        Calibrators may have been fitted on just these words: in a study they are, on the same scores out of fold.
        """
        ordered = outputs.subset(outputs.by_errors())
        members = [frozenset(outputs.names[member] for member in subset) for subset in subsets]
        in_order = [sorted(map(ordered.names.index, names)) for names in members]
        rover = dict(zip(members, tune_rover(ordered, in_order), strict=True))
        return cls(ordered.names, rover, ErrorRegression.fit(outputs, subsets), utterances=_checksums(outputs))

    def require(self, names: Sequence[str]) -> None:
        """Raise an error if one of these systems is unknown."""
        unknown = sorted(set(names) - set(self.order))
        if unknown:
            known = ", ".join(self.order)
            raise OptionError(
                f"nothing was fitted for {', '.join(unknown)}; names before the = must be among {known}"
            )

    def seen(self, outputs: SystemOutputs) -> int:
        """How many of these utterances it was fitted on."""
        return len(self.utterances & _checksums(outputs))

    def settings(self, names: Sequence[str], subsets: Sequence[Sequence[int]]) -> list[RoverSettings]:
        """ROVER's settings for every subset of these recognizers."""
        settings = []
        for subset in subsets:
            members = [names[member] for member in subset]
            if frozenset(members) not in self.rover:
                raise OptionError(f"nothing was fitted for {' and '.join(members)}")
            settings.append(self.rover[frozenset(members)])
        return settings

    def save(self, folder: Path) -> None:
        """Write the folder, whole or not at all; it replaces a combination that was there, and nothing else."""
        refuse_to_overwrite(folder)
        with atomic_folder(folder) as draft:
            self.write(draft)

    def write(self, folder: Path) -> None:
        """Write combination.json and, where there is one, the joint model into a new folder."""
        record: dict[str, Any] = {
            "kind": KIND, "version": VERSION, "order": list(self.order),
            "rover": [{"members": sorted(members), **settings.to_dict()} for members, settings in self.rover.items()],
            "utterances": sorted(self.utterances), "informed": self.informed.to_dict(),
        }  # fmt: skip
        if self.joint is not None:
            save_joint(self.joint, folder / JOINT)
        with atomic_text(folder / FILE) as file:
            file.write(json.dumps(record) + "\n")

    @classmethod
    def load(cls, folder: Path, *, with_joint: bool = True) -> FittedCombination:
        """Read it; anything else is an `InputError`."""
        path = folder / FILE
        remedy = "Make it with: wordtrust combine NAME=MODEL,STORE ... --fit NAME=STORE ... --out FOLDER"
        try:
            record = json_checks.record(json_checks.load(path, most=_MAX_BYTES), "the combination")
            if record.get("kind") != KIND or record.get("version") != VERSION:
                raise InputError(f"no {KIND} of version {VERSION}", remedy=remedy)
            rover = dict(_rover(json_checks.objects_of(record, "rover")))
            order = tuple(str(name) for name in json_checks.list_of(record, "order"))
            joint = load_joint(folder / JOINT) if with_joint and (folder / JOINT).is_file() else None
            seen = frozenset(map(int, json_checks.list_of(record, "utterances")))
            return cls(order, rover, ErrorRegression.from_dict(record.get("informed")), joint, seen, folder.name)
        except OSError as error:
            raise InputError(f"cannot be opened: {error.strerror}", file=str(path), remedy=remedy) from None
        except (TypeError, KeyError, ValueError, OverflowError, OptionError) as error:
            raise InputError(f"not a whole combination: {error}", file=str(path), remedy=remedy) from None
        except InputError as error:
            raise error.at(file=str(path)) from None


def refuse_to_overwrite(folder: Path) -> None:
    """Only a combination is ever replaced: a wrong path must not cost anybody a folder of other files."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not (folder / FILE).is_file()):
        raise OptionError(f"{folder}: exists and is no combination; name another folder")


def _checksums(outputs: SystemOutputs) -> frozenset[int]:
    return frozenset(crc32(utt.encode("utf-8", "replace")) for utt in outputs.utts)


def _rover(rows: Iterable[Mapping[str, Any]]) -> Iterable[tuple[NameSet, RoverSettings]]:
    for row in rows:
        values = {name: value for name, value in row.items() if name != "members"}
        yield frozenset(map(str, row["members"])), RoverSettings(**values)
