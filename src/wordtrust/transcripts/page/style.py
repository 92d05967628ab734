"""What every HTML page shares: colours on light and dark pages, the style sheet, the content security policy.

Pages load nothing from anywhere. The hues are those of Okabe and Ito, which people with any kind of colour blindness
can tell apart. Lines differ in their dashes as well.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Colour:
    """The colour of one role on both kinds of pages, and the dashes of its lines."""

    light: str  # on a light page, and on paper
    dark: str
    dash: tuple[int, ...] = ()


PAGE = {
    "ground": Colour("#fbfaf8", "#16181c"),
    "card": Colour("#ffffff", "#1e2126"),
    "ink": Colour("#1d232b", "#e6e6e3"),
    "soft": Colour("#5b6570", "#a3abb4"),
    "rule": Colour("#e3e1dc", "#343a42"),
    "accent": Colour("#005f99", "#6cbcf2"),
}
ROLES = {
    "posterior": Colour("#7d5a3c", "#c9a27e", (5, 3)),
    "calibrated_posterior": Colour("#a3467f", "#e090bd", (2, 2)),
    "confidence": Colour("#0072b2", "#5fb4ee"),
    "calibrated": Colour("#00805f", "#35c79b", (9, 2)),
    "right": Colour("#0072b2", "#5fb4ee"),
    "wrong": Colour("#c65102", "#f5904d"),
    "ideal": Colour("#9aa1a9", "#6d757e", (1, 3)),
    "plain": Colour("#5b6570", "#a3abb4"),
}


def role(name: str) -> str:
    """The name itself, or `plain` for what has no colour of its own."""
    return name if name in ROLES else "plain"


def style_sheet() -> str:
    """The style of every page: variables for both themes, a class for each role, and style.css."""
    light, dark = (
        "".join(f"--{name}:{getattr(colour, theme)};" for name, colour in (PAGE | ROLES).items())
        for theme in ("light", "dark")
    )
    rules = [
        f":root{{color-scheme:light;{light}}}",
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}",
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}",
        f"@media print{{:root:root:root{{color-scheme:light;{light}}}}}",
    ]
    rules += [f".r-{name}{{--c:var(--{name})}}" for name in ROLES]
    rules += [
        f".line.r-{name}{{stroke-dasharray:{' '.join(map(str, colour.dash))}}}"
        for name, colour in ROLES.items()
        if colour.dash
    ]
    rules.append((files(__package__) / "style.css").read_text("utf-8"))
    return "\n".join(rules)


def security_policy(style: str, script: str, *more: str) -> str:
    """A Content-Security-Policy under which nothing but this style and this script acts, whatever the words say."""
    style_hash, script_hash = (base64.b64encode(sha256(text.encode()).digest()).decode() for text in (style, script))
    return "; ".join(
        [
            "default-src 'none'", f"style-src 'sha256-{style_hash}'", f"script-src 'sha256-{script_hash}'", *more,
            "base-uri 'none'", "form-action 'none'",
        ]
    )  # fmt: skip
