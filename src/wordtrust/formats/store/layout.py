"""How a store is laid out: the columns of its parquet files, and its store.json.

A store comes in shards of two files. In `utterances-00000.parquet` one row is an utterance, in `arcs-00000.parquet`
one row is an arc: those of the first utterance, then those of the second, `arcs` of each; row groups go together.
(Lists of arcs in one file were tried: they took a third longer to read, and twice the memory.) A score that an
utterance lacks is null on its arcs. Words are strings to every reader of parquet; on disk they are numbers in a
dictionary, one for each row group. `surface` is null where it is the word itself, or for an arc without a word what
its utterance has as `silence`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from ...base import json_checks
from ...base.errors import InputError
from ...lattices.lattice import ARC_SCORES, Origin
from ...lattices.weights import Scales
from ..inputs import STORE_FILE

KIND: Final = "wordtrust store"
VERSION: Final = 1
EXTRA: Final = "extra."  # begins the names of columns with further evidence
NOTE: Final = "note."  # begins the names of columns with what else is known of an utterance, as text

TEXT = pa.dictionary(pa.int32(), pa.string())
SCALE: Final = "scale."  # begins the names of the columns with `Scales`
SCALES = tuple(SCALE + name for name in Scales.__slots__)
COUNTS = ("trimmed_nodes", "trimmed_arcs", "spread_words")
ORIGIN = ("file", "format", "times")
# The columns of both files by name, with the types that we write.
ROWS: Mapping[str, pa.DataType] = {
    "utt": pa.string(),
    "arcs": pa.int32(),
    "time": pa.list_(pa.field("element", pa.float64(), nullable=False)),
    **dict.fromkeys((*ORIGIN, "silence"), TEXT),
    "frame_length": pa.float64(),
    "place": pa.int64(),
    **dict.fromkeys(COUNTS, pa.int32()),
    **dict.fromkeys(SCALES, pa.float64()),
}
ARCS: Mapping[str, pa.DataType] = {
    "utt": TEXT,
    **dict.fromkeys(("source", "target"), pa.int32()),
    **dict.fromkeys(("word", "surface"), TEXT),
    **dict.fromkeys(ARC_SCORES, pa.float32()),
    "picked": pa.bool_(),
}
# Names of arrays that mean something already; evidence of such a name would take their place.
RESERVED_NAMES = frozenset({*ARCS, "time", "token"})

_NAME = re.compile("[0-9A-Za-z_-]{1,80}")  # nothing that leads out of the folder
_NAMED_FILES = 100  # store.json names so many of the files that a store came from; each row has its own


def row_schema(notes: Iterable[str] = ()) -> pa.Schema:
    """The columns of utterances, with notes by these names."""
    own = [pa.field(name, kind, nullable=name == "frame_length") for name, kind in ROWS.items()]
    return pa.schema(own + [pa.field(NOTE + name, pa.string()) for name in notes])


def arc_schema(extra: Iterable[str] = ()) -> pa.Schema:
    """The columns of arcs, with further evidence by these names."""
    own = [
        pa.field(name, kind, nullable=name not in ("utt", "source", "target", "word")) for name, kind in ARCS.items()
    ]
    return pa.schema(own + [pa.field(EXTRA + name, pa.float32()) for name in extra])


@dataclass(frozen=True, slots=True)
class Shard:
    """Two parquet files of a store, and what is in them."""

    name: str
    utterances: int
    nodes: int
    arcs: int
    utterances_bytes: int
    arcs_bytes: int

    @property
    def files(self) -> tuple[str, str]:
        """The names of the files of utterances and of arcs."""
        return f"utterances-{self.name}.parquet", f"arcs-{self.name}.parquet"


@dataclass(slots=True)
class StoreInfo:
    """What store.json says: what is in a store and where it came from."""

    recognizer: str | None = None
    shards: list[Shard] = field(default_factory=list)
    scales: set[Scales] = field(default_factory=set)
    scores: set[str] = field(default_factory=set)
    extra: set[str] = field(default_factory=set)
    notes: set[str] = field(default_factory=set)
    picked: bool = False
    times: set[str] = field(default_factory=set)
    formats: set[str] = field(default_factory=set)
    files: dict[str, None] = field(default_factory=dict)  # in the order in which they came
    network: dict[str, object] | None = None  # how networks were built: tolerance, labels, pruning

    def totals(self) -> dict[str, int]:
        """How many utterances, nodes and arcs are in the shards."""
        return {name: sum(getattr(shard, name) for shard in self.shards) for name in ("utterances", "nodes", "arcs")}

    def dumps(self, wordtrust: str, named_files: int | None = _NAMED_FILES) -> str:
        """The text of store.json; `wordtrust` is the version that writes it.

        It names so many of the files that the lattices came from; None for all, which resuming needs.
        """
        record = {
            "kind": KIND,
            "version": VERSION,
            "wordtrust": wordtrust,
            "recognizer": self.recognizer,
            **self.totals(),
            "scores": [name for name in ARC_SCORES if name in self.scores],
            "picked": self.picked,
            "extra": sorted(self.extra),
            "notes": sorted(self.notes),
            "scales": sorted(map(asdict, self.scales), key=lambda scales: tuple(scales.values())),
            "times": sorted(self.times),
            "from": {
                "formats": sorted(self.formats),
                "files": list(self.files)[:named_files],
                "number_of_files": len(self.files),
            },
            **({} if self.network is None else {"network": self.network}),
            "shards": [asdict(shard) for shard in self.shards],
        }
        return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class Contents:
    """What reading a store needs of its store.json; the files of the shards are in the folder."""

    shards: list[Shard]
    recognizer: str
    tolerance: float | None  # of networks
    equate: str = ""  # by their labels

    def origin_of(self, row: Origin) -> Origin:
        """Where a row's lattices come from, with what is the same for all of them."""
        return replace(row, recognizer=self.recognizer, tolerance=self.tolerance, equate=self.equate)


def read_contents(folder: Path) -> Contents:
    """What is in a store."""
    file = folder / STORE_FILE
    record = _read_json(file)
    shards = _shards(record, file)
    try:
        name = json_checks.string_or_none(record, "recognizer") or ""
        network = json_checks.object_of(record, "network") if record.get("network") is not None else {}
        tolerance = json_checks.number_or_none(network, "tolerance", "network")
        equate = json_checks.string_or_none(network, "equate", "network") or ""
    except InputError as error:
        raise error.at(file=str(file)) from None
    return Contents(shards, name, tolerance, equate)


def read_info(file: Path) -> StoreInfo:
    """All that `StoreInfo.dumps` wrote."""
    record = _read_json(file)
    try:
        names = {name: {str(item) for item in record[name]} for name in ("scores", "extra", "notes", "times")}
        return StoreInfo(
            recognizer=record["recognizer"],
            shards=_shards(record, file),
            scales={Scales(**scales) for scales in record["scales"]},
            picked=bool(record["picked"]),
            network=record.get("network"),
            formats=set(record["from"]["formats"]),
            files=dict.fromkeys(record["from"]["files"]),
            **names,
        )
    except (KeyError, TypeError) as error:
        raise InputError(f"not what wordtrust wrote: {error}", file=str(file)) from None


def _read_json(file: Path) -> dict[str, Any]:
    try:
        record = json_checks.record(json_checks.load(file), "store.json")
        _check_kind(record)
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", file=str(file)) from None
    except InputError as error:
        raise error.at(file=str(file)) from None
    return record


def _shards(record: dict[str, Any], file: Path) -> list[Shard]:
    try:
        items = json_checks.objects_of(record, "shards")
        return [_shard(item, f"shards[{index}]") for index, item in enumerate(items)]
    except InputError as error:
        raise error.at(file=str(file)) from None


def _check_kind(record: dict[str, Any]) -> None:
    kind, version = json_checks.string(record, "kind"), json_checks.number(record, "version")
    if kind != KIND:
        raise InputError(f"this is {kind[:40]!r}, not {KIND!r}", remedy="Name the files in the folder instead")
    if version != VERSION:
        raise InputError(
            f"the store has version {version:g}, this wordtrust reads version {VERSION}",
            remedy="Use a newer wordtrust, or make the store again",
        )


def _shard(record: dict[str, Any], where: str) -> Shard:
    name = json_checks.string(record, "name", where)
    if not _NAME.fullmatch(name):
        found = f"{where}.name is {name[:80]!r}, which is no part of a file name"
        raise InputError(found, remedy="The store is damaged")
    return Shard(name, *(_count(record, count, where) for count in Shard.__slots__[1:]))


def _count(record: dict[str, Any], name: str, where: str) -> int:
    value = json_checks.number(record, name, where)
    if value < 0 or value != int(value):
        raise InputError(f"{where}.{name} is {value:g}, not a count", remedy="The store is damaged")
    return int(value)
