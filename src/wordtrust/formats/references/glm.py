"""GLM, NIST's files of global mappings: rules that rewrite texts before they are compared.

A rule is a line `A => B` or `A => B / C __ D`, where any of them may stand in [brackets] or "quotes" to keep its
spaces and B may hold alternatives `{ a / b }`. From left to right, the first rule whose A is there, between C and D,
writes B; what no rule fits is copied. The first token of the file begins comments (`;;` if its first line is a rule);
lines that begin with `*` are settings (`copy_no_hit`); `;; INPUT_DEPENDENT_APPLICATION = "REGEX"` limits the rules
after it to stm or ctm, ref or hyp.

As in NIST's evaluations (csrfilt.sh, hubscr.pl), rules see references as whole texts and hypotheses word by word, and
hyphens between letters become spaces afterwards. Unlike there, case never counts, and a rule may be of any length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..inputs import Stream, streams
from .nist_text import Parts, parse_text
from .reference import line_error, text_lines

MAX_RULES = 100_000
_APPLIES = re.compile(r';;\s+INPUT_DEPENDENT_APPLICATION\s*=\s*"([^"]*)"')
_PLAIN_PATTERN = re.compile(r"\^?(?:\([a-z|^$ ]*\)|[a-z|^$ ]*)\$?")
_QUOTED = re.compile(r"""["']([^"']*)["']""")
_HYPHEN = re.compile(r"(?<=[^( ])-(?=[^) ])")
_PARENTHESES = re.compile(r"\(([^()]*)\)")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, in capitals."""

    source: str
    target: str
    left: str = ""
    right: str = ""

    def fits(self, text: str, at: int) -> bool:
        """Whether the rule applies at this place of a text in capitals."""
        if not text.startswith(self.source, at) or not text.startswith(self.right, at + len(self.source)):
            return False
        return not self.left or (at >= len(self.left) and text.startswith(self.left, at - len(self.left)))


@dataclass(slots=True)
class RuleSet:
    """Rules by the first character of what they rewrite."""

    rules: dict[str, list[Rule]] = field(default_factory=dict)
    copies: bool = True  # what no rule fits

    def add(self, rule: Rule) -> None:
        """Add a rule after the others."""
        self.rules.setdefault(rule.source[0], []).append(rule)

    def apply(self, text: str) -> str:
        """The text in capitals, rewritten."""
        text, at, written = text.upper(), 0, []
        while at < len(text):
            rule = next((rule for rule in self.rules.get(text[at], ()) if rule.fits(text, at)), None)
            if rule is not None:
                written.append(rule.target)
                at += len(rule.source)
            else:
                if self.copies:
                    written.append(text[at])
                at += 1
        return "".join(written)


@dataclass(slots=True)
class Glm:
    """The rules for references and those for hypotheses."""

    of_references: RuleSet
    of_hypotheses: RuleSet
    _words: dict[str, Parts] = field(default_factory=dict)

    def reference(self, text: str) -> Parts:
        """What a text of a reference stands for; ValueError for braces that do not fit."""
        return parse_text(_filtered(self.of_references, text))

    def hypothesis(self, word: str) -> Parts:
        """What a word of a hypothesis stands for."""
        parts = self._words.get(word)
        if parts is None:
            text = _filtered(self.of_hypotheses, word)
            try:
                parts = parse_text(text)
            except ValueError:  # a word of a recognizer may be a brace
                parts = list(text.split())
            self._words[word] = parts
        return parts


def _filtered(rules: RuleSet, text: str) -> str:
    """As csrfilt.sh does: parentheses stand alone, and hyphens between letters become spaces."""
    padded = f" {' '.join(text.replace('(', '( ').replace(')', ' )').split())} "
    split = _HYPHEN.sub(" ", rules.apply(padded))
    return _PARENTHESES.sub(lambda match: " ".join(f"({word})" for word in match[1].split()), split)


def read_glm(path: str | Path) -> Glm:
    """Read a file of rules, packed or not."""
    glm = Glm(RuleSet(), RuleSet())
    for stream in streams([path]):
        _read_rules(stream, glm)
    return glm


def _read_rules(stream: Stream, glm: Glm) -> None:
    comment, applying = "", [glm.of_references, glm.of_hypotheses]
    for line_number, line in text_lines(stream):
        if line_number == 1:
            comment = ";;" if "=>" in line else line.split()[0]
        limit = _APPLIES.match(line)
        if limit:
            applying = _limited(stream, line_number, limit[1], glm)
        if limit or line.startswith(comment):
            continue
        if line.startswith("*"):
            _set(line, (glm.of_references, glm.of_hypotheses))
            continue
        data = line.partition(comment)[0]
        if not data.strip():
            continue
        rule = _rule(stream, line_number, data)
        for rules in applying:
            rules.add(rule)
        if line_number > MAX_RULES:
            raise line_error(stream, line_number, f"there are more than {MAX_RULES:,} lines", "Is this a GLM?")


def _limited(stream: Stream, line_number: int, pattern: str, glm: Glm) -> list[RuleSet]:
    """The rule sets that are meant: names, or parts of them, with `|` between, perhaps in parentheses.

    NIST's programs take any regular expression; one that tries everything would take forever.
    """
    plain = pattern.lower().replace(".*", "")
    pieces = _PLAIN_PATTERN.fullmatch(plain)
    if pieces is None:
        found = f"the rules are limited by {pattern[:40]!r}"
        raise line_error(stream, line_number, found, "Write stm, ctm, ref or hyp, with | between")
    wanted = [piece.strip("^$ ") for piece in plain.strip("^$ ").removeprefix("(").removesuffix(")").split("|")]
    kinds = ((glm.of_references, ("stm", "ref")), (glm.of_hypotheses, ("ctm", "hyp")))
    return [rules for rules, names in kinds if any(piece in name for piece in wanted for name in names)]


def _set(line: str, rule_sets: Iterable[RuleSet]) -> None:
    value = _QUOTED.search(line)
    if value and "COPY_NO_HIT" in line.upper():
        for rules in rule_sets:
            rules.copies = value[1].upper() in ("T", "TRUE", "YES")


def _rule(stream: Stream, line_number: int, line: str) -> Rule:
    source, arrow, rest = line.partition("=>")
    if not arrow:
        raise line_error(stream, line_number, f"no rule: {line.strip()[:40]!r}", "A rule is: A => B / [C] __ [D]")
    target, left, right = rest, "", ""
    slash = rest.rfind("/")
    if slash >= 0 and "_" in rest[slash:] and "}" not in rest[slash:].partition("_")[0]:
        target, context = rest[:slash], rest[slash + 1 :]
        left, right = _context(context)
    if not _bare(source):
        raise line_error(stream, line_number, "the rule rewrites nothing", "A rule is: A => B / [C] __ [D]")
    return Rule(_bare(source).upper(), _bare(target).upper(), left.upper(), right.upper())


def _context(text: str) -> tuple[str, str]:
    """What comes before and after the slot `__`, which may have a name: `__A`."""
    left, _, rest = text.partition("_")
    slot, _, right = rest.partition(" ")
    return _bare(left), _bare(right) if slot.startswith("_") or not slot or right else ""


def _bare(text: str) -> str:
    """The text without the brackets or quotes that keep its spaces."""
    text = text.strip()
    if len(text) >= 2 and (text[0], text[-1]) in (("[", "]"), ('"', '"')):
        return text[1:-1]
    return text
