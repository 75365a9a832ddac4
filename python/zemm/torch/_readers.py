# SPDX-License-Identifier: Apache-2.0
"""Finds layers whose weights other modules of a model read or write when they are called.

zemm's layers would have to dequantise their weights at each such call, and cannot be written to, so these
layers stay as they are. The source of forward(), and of the methods that it calls, is read for
`self.layer.weight`; a branch that the settings of the module exclude, or that training alone takes, does not
count. Reads that are not found are right all the same, but slow; writes are refused (zemm.torch._stand_in).
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

import torch

# Attributes that need no values, and functions that look at an object alone.
_CHEAP = ("dtype", "device", "shape", "ndim", "size", "dim", "numel", "is_meta", "requires_grad")
_LOOKS = ("isinstance", "hasattr", "getattr", "type", "id")
_OF_TESTS = (ast.Attribute, ast.Name, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Call)


@dataclass(frozen=True)
class _Use:
    """path: of the layer, from the module on, or the end of one. when: tests, and what they must be."""

    path: str
    is_own: bool
    method: str
    is_write: bool
    when: tuple[tuple[ast.expr, bool], ...]


def readers(model: torch.nn.Module, *, writes_only: bool = False) -> dict[int, str]:
    """The layers of a model whose weights a module reads or writes itself, by their id, and the sentence."""
    found: dict[int, str] = {}
    for module in model.modules():
        kind = type(module)
        for use in _uses_of(kind):  # type: ignore[arg-type]
            if (writes_only and not use.is_write) or any(
                _truth(test, module) is (not wanted) for test, wanted in use.when
            ):
                continue
            for layer in _layers(module, use):
                verb = "writes to" if use.is_write else "reads"
                found.setdefault(id(layer), f"{kind.__name__}.{use.method}() {verb} its weight")
    return found


def _layers(module: torch.nn.Module, use: _Use) -> Iterator[torch.nn.Module]:
    for name, layer in module.named_modules():
        if name == use.path or (not use.is_own and name.endswith(f".{use.path}")):
            yield layer


@lru_cache(maxsize=1024)
def _uses_of(kind: type[torch.nn.Module]) -> tuple[_Use, ...]:
    """The uses that forward() of a class makes of weights of its layers, and the methods that it calls."""
    if kind.__module__.partition(".")[0] in ("torch", "zemm", "peft"):
        return ()
    found: list[_Use] = []
    left, seen = ["forward"], set()
    while left:
        method = left.pop()
        function = inspect.unwrap(getattr(kind, method))
        code = getattr(function, "__code__", None)
        if method in seen or code is None:
            continue
        seen.add(method)
        names = set(_names_in(code))
        left += [name for name in names if inspect.isfunction(getattr(kind, name, None))]
        if "weight" in names:
            try:
                tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
            except (OSError, SyntaxError, TypeError):
                continue  # there is no source
            found += _uses_in(tree, method)
    return tuple(found)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _uses_in(tree: ast.AST, method: str) -> Iterator[_Use]:
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node.attr != "weight":
            continue
        root, _, path = ast.unparse(node.value).partition(".")
        parent = parents[node]
        if not path or not root.isidentifier() or _is_look(node, parent):
            continue
        is_write = isinstance(parent, ast.Attribute) and parent.attr.endswith("_") and parent.attr[:1] != "_"
        when = tuple(_tests_around(node, parents))
        yield _Use(path, root == "self", method, is_write, when)


def _is_look(node: ast.Attribute, parent: ast.AST) -> bool:
    if isinstance(parent, ast.Attribute):
        return parent.attr in _CHEAP or parent.attr.isupper()  # "SCB": of others' quantised weights
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id in _LOOKS
    return isinstance(parent, ast.Compare) and all(isinstance(op, ast.Is | ast.IsNot) for op in parent.ops)


def _tests_around(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[tuple[ast.expr, bool]]:
    """The tests of if and of conditional expressions that lead to a node."""
    while node in parents:
        child, node = node, parents[node]
        if isinstance(node, ast.If | ast.IfExp) and child is not node.test:
            body = node.body if isinstance(node.body, list) else [node.body]
            yield node.test, child in body


def _truth(test: ast.expr, module: Any) -> bool | None:
    """The result of a test for a module that is not trained. None: it is not known before a call."""
    if isinstance(test, ast.BoolOp):
        decides = isinstance(test.op, ast.Or)
        values = [_truth(part, module) for part in test.values]
        return decides if decides in values else None if None in values else not decides
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        value = _truth(test.operand, module)
        return None if value is None else not value
    if ast.unparse(test) == "self.training":
        return False
    nodes = [n for n in ast.walk(test) if isinstance(n, ast.expr)]
    names = {n.id for n in nodes if isinstance(n, ast.Name)}
    calls = {ast.unparse(n.func) for n in nodes if isinstance(n, ast.Call)}
    if (
        not all(isinstance(n, _OF_TESTS) for n in nodes)
        or not names <= {"self", "hasattr"}
        or calls - {"hasattr"}
    ):
        return None
    try:
        return bool(eval(ast.unparse(test), {"self": module, "hasattr": hasattr}))
    except Exception:
        return None
