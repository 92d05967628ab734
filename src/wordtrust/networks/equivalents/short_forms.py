"""Contractions, abbreviations and titles, and what they are short for."""

from __future__ import annotations

from functools import lru_cache

Reading = tuple[str, ...]

_ENDINGS = {"'m": ("am",), "'re": ("are",), "'ve": ("have",), "'ll": ("will", "shall"), "'d": ("would", "had")}
# Words after which 's is short for is or has; elsewhere it is mostly a possessive.
_IS_OR_HAS = frozenset(
    """
it he she that this what who where there here how when why everything something nothing anything everyone someone
everybody somebody nobody one
""".split()
)
_NOT = {"won't": "will not", "can't": "can not", "shan't": "shall not"}
_WORDS = {
    "gonna": "going to", "wanna": "want to", "gotta": "got to", "hafta": "have to", "oughta": "ought to",
    "kinda": "kind of", "sorta": "sort of", "outta": "out of", "lotta": "lot of", "lemme": "let me",
    "gimme": "give me", "dunno": "don't know", "coulda": "could have", "shoulda": "should have",
    "woulda": "would have", "musta": "must have", "let's": "let us", "y'all": "you all", "c'mon": "come on",
    "d'you": "do you", "tis": "it is", "twas": "it was", "cannot": "can not", "alright": "all right",
    "em": "them", "til": "till", "cuz": "because", "coz": "because",
    "ok": "okay", "mr": "mister", "mrs": "missus", "dr": "doctor", "prof": "professor", "sgt": "sergeant",
    "capt": "captain", "lt": "lieutenant", "gen": "general", "sen": "senator", "gov": "governor", "rev": "reverend",
    "jr": "junior", "sr": "senior", "vs": "versus", "etc": "et cetera", "etcetera": "et cetera", "mt": "mount",
    "approx": "approximately", "dept": "department", "km": "kilometers", "kg": "kilograms", "cm": "centimeters",
    "mm": "millimeters", "mph": "miles per hour", "kph": "kilometers per hour", "lbs": "pounds", "ave": "avenue",
    "blvd": "boulevard", "&": "and", "+": "plus", "@": "at", "%": "percent",
}  # fmt: skip
_ALSO = {"st": ("saint", "street"), "dr": ("drive",), "%": ("per cent",), "gotta": ("have got to",),
         "percent": ("per cent",), "ok": ("o k",), "okay": ("o k",), "phd": ("ph d",)}  # fmt: skip


@lru_cache(maxsize=1 << 14)
def long_forms(word: str) -> tuple[Reading, ...]:
    """What a word is short for; nothing for most words."""
    forms = [*([_WORDS[word]] if word in _WORDS else []), *_ALSO.get(word, ())]
    stem, mark, ending = word.rpartition("'")
    if word in _NOT:
        forms.append(_NOT[word])
    elif word.endswith("n't") and word != "ain't":
        forms.append(f"{word[:-3]} not")
    elif mark and mark + ending in _ENDINGS:
        forms += [f"{stem} {verb}" for verb in _ENDINGS[mark + ending]]
    elif mark and ending == "s" and stem in _IS_OR_HAS:
        forms += [f"{stem} is", f"{stem} has"]
    return tuple(tuple(form.split()) for form in forms)


def is_read_as_written(word: str) -> bool:
    """Whether a word with long forms is a word of its own as well."""
    return word not in _WORDS
