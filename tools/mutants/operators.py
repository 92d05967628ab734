"""Small bugs that can be put into a module: comparisons, arithmetic, numbers, conditions, statements left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.MatMult: ast.Mult,
}  # fmt: skip
_PAIRS = (
    ("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all"), ("floor", "ceil"),
    ("zeros", "ones"), ("logaddexp", "maximum"), ("add", "maximum"), ("cumsum", "asarray"), ("left", "right"),
)  # fmt: skip
_NAMES = {**dict(_PAIRS), **{b: a for a, b in reversed(_PAIRS)}}
_NOT_CODE = {"annotation", "returns", "decorator_list", "type_comment", "format_spec"}
_REMOVABLE = (ast.Expr, ast.AugAssign, ast.Raise, ast.Break, ast.Continue)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One bug in one module."""

    path: str  # of the module, from the root of the repository
    line: int
    column: int
    text: str  # of the line
    change: str  # what was there, and what is there instead
    slot: int  # which node, counted through the module
    variant: int

    @property
    def name(self) -> str:
        """The same as long as its line is."""
        return f"{Path(self.path).name}: {self.text} | {self.column}: {self.change}"


@dataclass(frozen=True, slots=True)
class _Slot:
    parent: ast.AST
    field: str
    index: int | None
    node: ast.AST

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def mutants(root: Path, path: str) -> list[Mutant]:
    """All bugs that can be put into a module."""
    text = (root / path).read_text("utf-8")
    lines, found = text.splitlines(), []
    for number, slot in enumerate(_slots(ast.parse(text))):
        for variant, bug in enumerate(_bugs(slot)):
            line, column = slot.node.lineno, slot.node.col_offset  # type: ignore[attr-defined]
            own, indent = lines[line - 1].strip(), len(lines[line - 1]) - len(lines[line - 1].lstrip())
            change = f"{_short(slot.node)} -> {_short(bug)}"
            found.append(Mutant(path, line, column - indent, own, change, number, variant))
    return found


def mutated(root: Path, mutant: Mutant) -> ast.Module:
    """The module with the bug in it."""
    tree = ast.parse((root / mutant.path).read_text("utf-8"))
    slot = list(_slots(tree))[mutant.slot]
    bug = list(_bugs(slot))[mutant.variant]
    slot.put(ast.copy_location(bug, slot.node))
    return ast.fix_missing_locations(tree)


def _short(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())[:90]


def _slots(parent: ast.AST) -> Iterator[_Slot]:
    """The nodes that may be changed; neither annotations nor messages, nor what is asserted."""
    for field, value in ast.iter_fields(parent):
        if field in _NOT_CODE:
            continue
        many = value if isinstance(value, list) else [value]
        for index, node in enumerate(many):
            if not isinstance(node, ast.AST) or _is_left_alone(node):
                continue
            yield _Slot(parent, field, index if isinstance(value, list) else None, node)
            if not isinstance(node, ast.Raise):
                yield from _slots(node)


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring
    if isinstance(node, ast.keyword) and node.arg in ("strict", "remedy"):
        return True
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom)


def _bugs(slot: _Slot) -> Iterator[ast.AST]:
    """What may stand there instead."""
    node = slot.node
    if isinstance(node, ast.expr):
        yield from _operators(node)
        yield from _values(node)
        if slot.field == "test" and isinstance(slot.parent, ast.If | ast.IfExp | ast.While):
            yield ast.UnaryOp(ast.Not(), node)
    elif isinstance(node, _REMOVABLE) or (
        isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name | ast.Tuple)
    ):
        yield ast.Pass()
    if isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC:
        yield ast.AugAssign(node.target, _ARITHMETIC[type(node.op)](), node.value)


def _operators(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in _COMPARE[type(node.ops[0])]:
            yield ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def _values(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool):
            yield ast.Constant(not value)
        elif isinstance(value, int):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        elif isinstance(value, float):
            yield ast.Constant(2 * value if value else 1.0)
        elif isinstance(value, str) and value in _NAMES:
            yield ast.Constant(_NAMES[value])
    elif isinstance(node, ast.Name) and node.id in _NAMES and isinstance(node.ctx, ast.Load):
        yield ast.Name(_NAMES[node.id], ast.Load())
    elif isinstance(node, ast.Attribute) and node.attr in _NAMES and isinstance(node.ctx, ast.Load):
        yield ast.Attribute(node.value, _NAMES[node.attr], ast.Load())
