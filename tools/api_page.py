"""`python -m tools.api_page` writes docs/api.md from the docstrings of `wordtrust.__all__`; a test compares it."""

from __future__ import annotations

import inspect
import re
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import wordtrust

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
_PROPERTIES = (property, cached_property)
_HEAD = """\
# Public API

Everything that `import wordtrust as wt` offers. What is not on this page may change without notice. Made by
`python -m tools.api_page` from the docstrings; do not edit it by hand.
"""


def page() -> str:
    """The whole page: functions first, then classes, modules and errors."""
    public = {name: getattr(wordtrust, name) for name in wordtrust.__all__}
    errors = {
        name: thing for name, thing in public.items() if inspect.isclass(thing) and issubclass(thing, Exception)
    }
    classes = {name: thing for name, thing in public.items() if inspect.isclass(thing) and name not in errors}
    modules = {name: thing for name, thing in public.items() if inspect.ismodule(thing)}
    functions = {name: thing for name, thing in public.items() if name not in {*errors, *classes, *modules}}
    parts = [_HEAD]
    parts += ["## Functions\n", *(_callable(f"wt.{name}", thing) for name, thing in functions.items())]
    parts += ["## Classes\n", *(_class(f"wt.{name}", thing) for name, thing in classes.items())]
    parts += ["## Modules\n", *(_module(f"wt.{name}", thing) for name, thing in modules.items())]
    parts += ["## Errors\n", *(f"- `wt.{name}`: {_first_line(thing)}" for name, thing in errors.items())]
    return "\n".join(parts) + "\n"


def _callable(name: str, function: Any) -> str:
    return f"### `{name}`\n\n```\n{_signature(name, function)}\n```\n\n{inspect.getdoc(function)}\n"


def _class(name: str, thing: type) -> str:
    members = {
        member: value
        for base in reversed([base for base in thing.__mro__ if base.__module__.startswith("wordtrust")])
        for member, value in vars(base).items()
        if not member.startswith("_") and (inspect.isroutine(_plain(value)) or isinstance(value, _PROPERTIES))
    }
    lines = [
        f"- `{_member(member, value)}`: {_first_line(_plain(value))}" for member, value in sorted(members.items())
    ]
    return f"### `{name}`\n\n{inspect.getdoc(thing)}\n\n" + "".join(f"{line}\n" for line in lines)


def _module(name: str, module: ModuleType) -> str:
    lines = [f"- `{name}.{public}`: {_first_line(getattr(module, public))}" for public in module.__all__]
    return f"### `{name}`\n\n{inspect.getdoc(module)}\n\n" + "".join(f"{line}\n" for line in lines)


def _plain(value: Any) -> Any:
    """The function behind a class method, static method or property."""
    if isinstance(value, classmethod | staticmethod):
        return value.__func__
    return getattr(value, "fget", None) or getattr(value, "func", None) or value


def _member(name: str, value: Any) -> str:
    return name if isinstance(value, _PROPERTIES) else _signature(name, _plain(value))


def _signature(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    kept = [parameter for parameter in signature.parameters.values() if parameter.name not in ("self", "cls")]
    text = str(signature.replace(parameters=kept, return_annotation=signature.return_annotation))
    text = re.sub(r"<function .*? at 0x[0-9a-f]+>|<(?:object|factory)[^>]*>", "...", text)
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations are strings; defaults may be, and stay quoted
    return name + re.sub(
        r"= (Normalizer|ReadOptions|WriteOptions|BuildOptions)\((?:[^()]|\([^()]*\))*\)", r"= \1()", text
    )


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").split("\n", 1)[0]


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
