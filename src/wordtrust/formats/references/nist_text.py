"""Texts in NIST's notation, as STM and filtered CTM have them.

- `{ a / b c / @ }`: any of these may have been said; alternatives nest, and `@` is no word;
- `(uh)`: an optional word, which may be left out; `(a b)` is two of them, though sclite takes its parentheses for
  letters (NIST's filters, which come with a GLM, write `(a) (b)` first);
- `th-`, `-ink`: a fragment, right for every word that begins (ends) with it;
- `%hesitation`: a sound that is no word of any language, a word like any other to sclite;
- `word;tag;tag`: what follows the first `;` is about the word (`\\;` is a semicolon); a `*` at its end is left out.

A text becomes a row of parts: words, and lists of alternatives that are rows of parts themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...lattices.text import DEFAULT, JOINER, UNKNOWN, Normalizer

NO_WORD = "@"
MAX_DEPTH = 50  # of alternatives within alternatives

Part = str | list["Parts"]  # a word, or alternatives
Parts = list[Part]

_PIECES = re.compile(r"[{}]|[^\s{}]+")
_OPTIONAL_GROUP = re.compile(r"\(([^()]*)\)")
HESITATION = re.compile(r"%[^\W\d]")
_TAGS = re.compile(r"(?<!\\);")


@dataclass(frozen=True, slots=True)
class SpelledWord:
    """A word as it is compared."""

    word: str
    optional: bool = False
    fragment: bool = False
    unknown: bool = False  # right for nothing, not even for itself


Spelling = Callable[[str], Sequence[SpelledWord]]  # what is compared for a word as it is written; perhaps nothing


def parse_text(text: str) -> Parts:
    """The parts of a text; ValueError for braces that do not fit."""
    parts: Parts = []
    if "(" in text:
        text = _OPTIONAL_GROUP.sub(_each_optional, text)
    if "{" not in text and "}" not in text:
        parts.extend(text.split())
        return parts
    groups: list[list[Parts]] = [[parts]]  # alternatives that are being read; the outermost is the text itself
    for piece in _PIECES.findall(text):
        if piece == "{":
            groups.append([[]])
            if len(groups) > MAX_DEPTH:
                raise ValueError(f"alternatives are nested more than {MAX_DEPTH} deep")
        elif piece == "}":
            if len(groups) == 1:
                raise ValueError("there is a } without a {")
            alternatives = groups.pop()
            groups[-1][-1].extend(_group(alternatives))
        else:
            _add_words(groups, piece)
    if len(groups) > 1:
        raise ValueError("there is a { without a }")
    return parts


def _each_optional(group: re.Match[str]) -> str:
    """The words of `(a b)` as optional words, marked where they had no parenthesis."""
    first, *others = group[1].split() or [""]
    if not others:
        return f"({first})"
    words = [f"({first}", *(f"({JOINER}{word}" for word in others)]
    return f"{f'{JOINER}) '.join(words)})"


def _add_words(groups: list[list[Parts]], piece: str) -> None:
    """Add a word; within alternatives, slashes begin the next one."""
    if len(groups) == 1:
        groups[0][0].append(piece)
        return
    for cut, word in enumerate(piece.split("/")):
        if cut:
            groups[-1].append([])
        if word:
            groups[-1][-1].append(word)


def _group(alternatives: list[Parts]) -> Parts:
    """The alternatives of a group; a single word in braces stays what it is written as, such as {breath}."""
    given = [row for row in alternatives if row]
    if not given:
        return []
    if len(alternatives) == 1:
        only = given[0]
        return ["{" + only[0] + "}"] if len(only) == 1 and isinstance(only[0], str) else only
    return [given]


def first_words(parts: Parts) -> list[str]:
    """The plain text: the first of all alternatives, without optional words."""
    words: list[str] = []
    for part in parts:
        if isinstance(part, list):
            words += first_words(part[0])
        elif part != NO_WORD and not _is_optional(part):
            words.append(part)
    return words


def as_written(token: str) -> tuple[SpelledWord, ...]:
    """The word as sclite compares it: in lower case, without tags, otherwise as it is written."""
    text = _without_tags(token)
    if len(text) > 2 and text[0] == "{" and text[-1] == "}":
        text = text[1:-1]
    if len(text) > 1 and text[-1] == "*":
        text = text[:-1]
    if JOINER in text:  # one of several optional words: sclite takes what it had of parentheses for letters
        text = text.replace(f"({JOINER}", "").replace(f"{JOINER})", "")
    if not text:
        return ()
    text = text.lower()
    optional = _is_optional(text)
    fragment = text[0] == "-" or text[-1] == "-" or (optional and len(text) > 2 and text[-2] == "-")
    return (SpelledWord(text[1:-1] if optional else text, optional, fragment),)


def normalised(token: str, normalizer: Normalizer = DEFAULT) -> tuple[SpelledWord, ...]:
    """The words as wordtrust compares them everywhere else: by default without punctuation, marks and accents."""
    if token == NO_WORD:
        return (SpelledWord(NO_WORD),)
    plain = _TAGS.split(token, maxsplit=1)[0] if ";" in token else token
    optional = _is_optional(plain) or HESITATION.match(plain) is not None
    fragment = len(plain) > 1 and (plain[0] == "-" or plain[-1] == "-")
    words = normalizer.words(plain[1:-1] if _is_optional(plain) else plain)
    if fragment and len(words) == 1:
        cut = f"-{words[0]}" if plain[0] == "-" else f"{words[0]}-"
        return (SpelledWord(cut, optional, fragment=True),)
    return tuple(SpelledWord(word, optional, unknown=word == UNKNOWN) for word in words)


@dataclass(frozen=True, slots=True)
class NistNormalizer(Normalizer):
    """Words as NIST's programs compare them: whole, in lower case, without tags."""

    as_written: bool = True

    def pieces(self, token: str) -> list[tuple[str, str]]:
        """The word of a token, if it is one, and how it is written without tags."""
        text = _without_tags(token)
        return Normalizer.pieces(self, text[:-1] if len(text) > 1 and text[-1] == "*" else text)


def _without_tags(token: str) -> str:
    return _TAGS.split(token, maxsplit=1)[0].replace("\\;", ";") if ";" in token else token


def cached(spelling: Spelling) -> Spelling:
    """The same, remembering words, most of which come again and again."""
    known: dict[str, Sequence[SpelledWord]] = {}

    def spelled(token: str) -> Sequence[SpelledWord]:
        words = known.get(token)
        if words is None:
            words = known[token] = spelling(token)
        return words

    return spelled


def is_same(reference: SpelledWord, hypothesis: SpelledWord) -> bool:
    """Whether one word is right for the other; a fragment is right for what begins or ends with it."""
    ours, theirs = reference.word, hypothesis.word
    if reference.fragment or hypothesis.fragment:
        if len(ours) > 1 and ours[0] == "-":
            return theirs.endswith(ours[1:])
        if len(ours) > 1 and ours[-1] == "-":
            return theirs.startswith(ours[:-1])
        if len(theirs) > 1 and theirs[0] == "-":
            return ours.endswith(theirs[1:])
        if len(theirs) > 1 and theirs[-1] == "-":
            return ours.startswith(theirs[:-1])
    return ours == theirs


def _is_optional(word: str) -> bool:
    return len(word) > 2 and word[0] == "(" and word[-1] == ")"
