"""N-best lists that Python code holds, as lattices: through the reader of files, so they are checked as these are."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...base.errors import InputError
from ...base.problems import Problems
from ...lattices.lattice import Lattices, concatenate
from ...lattices.text import DEFAULT, Normalizer
from ..format import ReadOptions
from ..inputs import Stream
from . import records

_SHAPES = (
    'Give a list of hypotheses, each {"text": "...", "score": log-probability} or with "words", or (text, score); '
    'a list of such lists; {utterance: list}; or records {"utt": ..., "nbest": list}'
)


def from_nbest(
    lists: Mapping[str, Any] | Iterable[Any], *, pick: str | None = None, normalizer: Normalizer = DEFAULT
) -> Lattices:
    """Lattices of N-best lists in Python: hypotheses of one utterance, or of many.

        wt.from_nbest([{"text": "four candles", "score": -1.2}, {"text": "fork handles", "score": -1.5}])
        wt.from_nbest({"utt-1": [("four candles", -1.2), ("fork handles", -1.5)], "utt-2": ...})

    `score` is the natural log of the probability of a hypothesis. A hypothesis may have `words` instead of a text,
    each {"word", "start", "end", "logprob"}, as in N-best files (docs/formats.md).
    """
    lines = [_line(record) for record in _records(lists)]
    if not lines:
        raise InputError("there are no N-best lists", remedy=_SHAPES)
    stream = Stream(io.BytesIO("\n".join(lines).encode()), "utterance", Path("utterance"))
    try:
        return concatenate(list(records.read(stream, ReadOptions(pick=pick, normalizer=normalizer), Problems())))
    except InputError as error:
        raise InputError(error.found, utt=error.utt, remedy=error.remedy or _SHAPES) from None


def _records(lists: Mapping[str, Any] | Iterable[Any]) -> Iterator[dict[str, Any]]:
    if isinstance(lists, str | bytes) or not isinstance(lists, Mapping | Iterable):
        raise TypeError(f"N-best lists are needed, not {type(lists).__name__}. {_SHAPES}")
    if isinstance(lists, Mapping):
        if _is_record(lists):
            yield dict(lists)
            return
        yield from ({"utt": str(utt), "nbest": _hypotheses(nbest)} for utt, nbest in lists.items())
        return
    members = list(lists)
    if members and not _is_record(members[0]) and (isinstance(members[0], Mapping) or _is_pair(members[0])):
        yield {"utt": "utterance-1", "nbest": _hypotheses(members)}
        return
    for index, member in enumerate(members):
        yield dict(member) if _is_record(member) else {"utt": f"utterance-{index + 1}", "nbest": _hypotheses(member)}


def _is_record(value: Any) -> bool:
    return isinstance(value, Mapping) and any(name in value for name in records.LISTS)


def _is_pair(value: Any) -> bool:
    return isinstance(value, Sequence) and len(value) == 2 and sum(isinstance(part, str) for part in value) == 1


def _hypotheses(nbest: Any) -> list[dict[str, Any]]:
    if isinstance(nbest, str | Mapping) or not isinstance(nbest, Iterable):
        raise TypeError(f"a list of hypotheses is needed, not {type(nbest).__name__}. {_SHAPES}")
    return [_hypothesis(each) for each in nbest]


def _hypothesis(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    if _is_pair(value):
        text, score = value if isinstance(value[0], str) else value[::-1]
        return {"text": text, "score": score}
    raise TypeError(f"a hypothesis has a text and a score, this is {type(value).__name__}. {_SHAPES}")


def _line(record: dict[str, Any]) -> str:
    try:
        return json.dumps(record, default=_plain)
    except (TypeError, ValueError) as error:
        raise TypeError(f"an N-best list holds what is no text, number or list: {error}. {_SHAPES}") from None


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # of numpy or torch
        return value.tolist()
    raise TypeError(type(value).__name__)
