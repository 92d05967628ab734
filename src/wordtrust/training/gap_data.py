"""The gaps between the words of paths as training data: where words are missing, and what does not depend on weights.

Needs numpy alone, as `dataset` does. Two paths of each utterance have gaps: what the recognizer itself would print,
and the words that gain most by their posteriors. What a trained model decodes lies between these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import concatenate_offsets, csr_items, csr_offsets
from ..base.tensors import typed
from ..confidence.gap_inputs import FIXED

_PREFIX = "gap_"  # of the names in a packed file
_TAUGHT = _PREFIX + "taught"
_TYPES: Mapping[str, type[np.generic]] = {
    "offsets": np.int64, "before": np.int32, "after": np.int32, "missing": np.int8, "fixed": np.float32,
    "near_offsets": np.int64, "near": np.int32, "is_rival": np.bool_, "is_inside": np.bool_,
}  # fmt: skip


@dataclass(frozen=True)
class GapData:
    """The gaps of all paths of every utterance, end to end. Arcs are counted within the utterance."""

    offsets: NDArray[np.int64]  # [utterances + 1]
    before: NDArray[np.int32]  # [gaps] the word before each, -1 at the start
    after: NDArray[np.int32]  # [gaps] the word after each, -1 at the end
    missing: NDArray[np.int8]  # [gaps] 1 where words are missing, or 0
    fixed: NDArray[np.float32]  # [gaps, FIXED] inputs that do not depend on weights
    near_offsets: NDArray[np.int64]  # [gaps + 1]
    near: NDArray[np.int32]  # the words near each gap
    is_rival: NDArray[np.bool_]  # [near] which of them would say another word there
    is_inside: NDArray[np.bool_]  # [near] and fit between the two words
    teacher_targets: NDArray[np.float16] | None = None  # [gaps] probability that words are missing, by teachers

    @classmethod
    def concatenated(cls, parts: Sequence[GapData]) -> Self:
        """Those of several datasets as one."""
        joined: dict[str, Any] = {}
        for column in fields(cls):
            arrays = [getattr(part, column.name) for part in parts]
            if any(array is None for array in arrays):  # only the teachers' targets may be missing
                joined[column.name] = None
            elif column.name.endswith("offsets"):
                joined[column.name] = concatenate_offsets(arrays)
            else:
                joined[column.name] = np.concatenate(arrays)
        return cls(**joined)

    def targets(self, teacher_weight: float) -> NDArray[np.float32]:
        """[gaps] what to learn: labels, mixed with the teachers' probabilities where there are such."""
        labels = self.missing.astype(np.float32)
        if self.teacher_targets is None:
            return labels
        return (1 - np.float32(teacher_weight)) * labels + np.float32(teacher_weight) * self.teacher_targets

    def of(self, utterances: NDArray[np.int64], first: NDArray[np.int64]) -> GapData:
        """Those of some utterances; to the numbers of their arcs is added `first`, one number an utterance."""
        gaps = csr_items(self.offsets, utterances)
        near = csr_items(self.near_offsets, gaps)
        counts, sizes = np.diff(self.offsets)[utterances], np.diff(self.near_offsets)[gaps]
        shift = np.repeat(first, counts)
        before, after = (
            np.where(words[gaps] >= 0, words[gaps] + shift, -1).astype(np.int32)
            for words in (self.before, self.after)
        )
        return GapData(
            csr_offsets(counts), before, after, self.missing[gaps], self.fixed[gaps], csr_offsets(sizes),
            (self.near[near] + np.repeat(shift, sizes)).astype(np.int32),
            self.is_rival[near], self.is_inside[near],
            None if self.teacher_targets is None else self.teacher_targets[gaps],
        )  # fmt: skip

    def check(self, arcs: NDArray[np.int64]) -> None:
        """Raise a `ValueError` unless all fits together; `arcs` has the number of arcs of every utterance."""
        for offsets, rows in ((self.offsets, len(arcs)), (self.near_offsets, len(self.before))):
            if offsets.shape != (rows + 1,) or offsets[0] != 0 or not (np.diff(offsets) >= 0).all():
                raise ValueError("offsets of gaps do not rise from 0")
        gaps, near = (int(self.offsets[-1]),), (int(self.near_offsets[-1]),)
        shapes = {"before": gaps, "after": gaps, "missing": gaps, "fixed": (*gaps, len(FIXED))}
        for name, shape in (shapes | dict.fromkeys(("near", "is_rival", "is_inside"), near)).items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} of gaps has the shape {getattr(self, name).shape}, not {shape}")
        most = np.repeat(arcs, np.diff(self.offsets))
        for words, least, limit in ((self.before, -1, most), (self.after, -1, most),
                                    (self.near, 0, np.repeat(most, np.diff(self.near_offsets)))):  # fmt: skip
            if not ((words >= least) & (words < limit)).all():
                raise ValueError("a word beside a gap is not in its utterance")
        if not (((self.missing == 0) | (self.missing == 1)).all() and np.isfinite(self.fixed).all()):
            raise ValueError("a gap has no label, or an input that is no number")
        targets = self.teacher_targets
        if targets is not None and not (targets.shape == gaps and ((targets >= 0) & (targets <= 1)).all()):
            raise ValueError("a teacher's target of a gap is no probability")

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """For a packed file."""
        arrays = {f"{prefix}{_PREFIX}{name}": getattr(self, name) for name in _TYPES}
        if self.teacher_targets is not None:
            arrays[f"{prefix}{_TAUGHT}"] = self.teacher_targets
        return {name: array.view(np.uint8) if array.dtype == np.bool_ else array for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], prefix: str) -> Self | None:
        """Of a packed file; None if it was made before gaps were known."""
        if f"{prefix}{_PREFIX}offsets" not in arrays:
            return None
        columns: dict[str, Any] = {
            name: typed(arrays, f"{prefix}{_PREFIX}{name}", kind) for name, kind in _TYPES.items()
        }
        taught = typed(arrays, f"{prefix}{_TAUGHT}", np.float16) if f"{prefix}{_TAUGHT}" in arrays else None
        return cls(**columns, teacher_targets=taught)
