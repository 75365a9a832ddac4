# SPDX-License-Identifier: Apache-2.0
"""Post-ops of a case line, `OP[:args]` joined by `+`: parsing, values and printing."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from zemm._library.library import ARG
from zemm._library.lists import KINDS, algorithms_of
from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar import atoms, dtypes
from zemm.benchdnn.grammar.masks import parse_mask, post_op_mask
from zemm.benchdnn.grammar.tags import parse_tag

ELTWISE = tuple(name.replace("_use_dst_for_bwd", "_dst") for name in algorithms_of("eltwise"))
BINARY = tuple(name for name in algorithms_of("binary") if name != "select")
COMPARISONS = ("eq", "ge", "gt", "le", "lt", "ne")
_DEPTHWISE = re.compile(r"k[0-9]+s[0-9]+p[0-9]+(:\w+)?")


@dataclass(frozen=True)
class Operand:
    """The tensor of a post-op: MASK_INPUT ('' if not given), and its layout by strides or else by tag."""

    mask: str = ""
    tag: str = "any"
    strides: tuple[int, ...] = ()


Operands = dict[int, tuple[str, Operand, str]]


class _PostOp:
    """A kind of post-op: its text, its call of the library, its tensors."""

    def operands(self) -> Operands:
        """(role, tensor, data type) of the tensors, by their ARG."""
        return {}

    def append(self, chain: Any, ndims: int, mds: list[Any]) -> None:
        """Append it to a list of the library. ndims: of dst; mds: the descriptors of its tensors."""
        raise NotImplementedError


@dataclass(frozen=True)
class Sum(_PostOp):
    """x + scale * (old dst - zero_point). The old dst is read as `data_type`; undef means dst's
    type."""

    scale: float = 1.0
    zero_point: int = 0
    data_type: str = "undef"

    def __str__(self) -> str:
        tail = [atoms.show_number(self.scale), str(self.zero_point), self.data_type]
        return _trimmed("sum", tail, ["1", "0", "undef"])

    def append(self, chain: Any, *_: Any) -> None:
        chain.append_sum(self.scale, self.zero_point, self.data_type)


@dataclass(frozen=True)
class Eltwise(_PostOp):
    """An eltwise operation: one of ELTWISE, with alpha and beta."""

    name: str
    alpha: float = 0.0
    beta: float = 0.0

    def __str__(self) -> str:
        tail = [atoms.show_number(self.alpha), atoms.show_number(self.beta)]
        return _trimmed(self.name, tail, ["0", "0"])

    def append(self, chain: Any, *_: Any) -> None:
        base = self.name.removesuffix("_dst")
        chain.append_eltwise(
            f"eltwise_{base}{'_use_dst_for_bwd' * (base != self.name)}", self.alpha, self.beta
        )


@dataclass(frozen=True)
class Binary(_PostOp):
    """A binary operation: one of BINARY, or select. `condition` is the second tensor of a select;
    None means one with the dims of dst."""

    name: str
    data_type: str
    operand: Operand
    condition: Operand | None = None

    def __str__(self) -> str:
        separator = "." if self.name == "select" else ":"
        mask_default = "" if self.operand.tag == "any" and not self.operand.strides else "common"
        strides = atoms.show_dims(self.operand.strides) if self.operand.strides else ""
        tail = [self.operand.mask or mask_default, self.operand.tag, strides]
        text = f"{self.name}:" + _trimmed(self.data_type, tail, ["", "any", ""], separator)
        if self.condition is None:
            return text
        return f"{text}:" + _trimmed(self.condition.mask, [self.condition.tag], ["any"], ".")

    def operands(self) -> Operands:
        found = {ARG["SRC_1"]: (self.name, self.operand, self.data_type)}
        if self.name == "select":
            found[ARG["SRC_2"]] = ("condition", self.condition or Operand("per_tensor"), "s8")
        return found

    def append(self, chain: Any, ndims: int, mds: list[Any]) -> None:
        chain.append_binary(f"binary_{self.name}", *mds)


@dataclass(frozen=True)
class Prelu(_PostOp):
    """x >= 0 ? x : x * w. w is an f32 tensor with the dims of `mask`."""

    mask: str = "common"
    name: ClassVar = "prelu"

    def __str__(self) -> str:
        return _trimmed("prelu", [self.mask], ["common"])

    def operands(self) -> Operands:
        return {ARG["WEIGHTS"]: ("prelu", Operand(self.mask, "axb"), "f32")}

    def append(self, chain: Any, ndims: int, mds: list[Any]) -> None:
        chain.append_prelu(post_op_mask(self.mask, ndims))


@dataclass(frozen=True)
class Depthwise(_PostOp):
    """A depthwise convolution, which zemm refuses."""

    text: str  # kKsSpP, perhaps with a data type

    def __str__(self) -> str:
        return f"dw:{self.text}"

    def append(self, chain: Any, *_: Any) -> None:
        chain.append_dw()


PostOp = Sum | Eltwise | Binary | Prelu | Depthwise


def parse_post_ops(text: str, what: str) -> tuple[PostOp, ...]:
    """The post-ops in one element of the option's list. UsageError names the entry that is
    wrong."""
    return tuple(_parse_one(entry, f"{what}={text}") for entry in atoms.split(text, "+", what))


def _parse_one(entry: str, what: str) -> PostOp:
    name, *rest = atoms.split(entry, ":", what)
    name = name.lower()
    if name == "sum":
        atoms.at_most(rest, 3, what)
        scale, zero_point, data_type = rest + ["1", "0", "undef"][len(rest) :]
        zero = atoms.integer(zero_point, what, -(2**31), 2**31 - 1)
        return Sum(_number(what)(scale), zero, _data_type(what)(data_type))
    if name == "prelu":
        atoms.at_most(rest, 1, what)
        return Prelu(*(parse_mask(t, what) for t in rest))
    if name == "dw":
        return _parse_depthwise(":".join(rest), what)
    eltwise = _eltwise_name(name)
    if eltwise:
        atoms.at_most(rest, 3, what)
        return Eltwise(eltwise, *map(_number(what), rest[:2]))
    short = name.removeprefix("binary_")
    if short in (*BINARY, "select"):
        return _parse_binary(short, rest, what)
    known = (*KINDS, "dw", "select", *ELTWISE, *BINARY)
    raise UsageError(f"{what}: {atoms.unknown('post-op', short.removeprefix('eltwise_'), known)}")


def _eltwise_name(name: str) -> str:
    short = name.removeprefix("eltwise_")
    if short != name and short.endswith("_use_dst_for_bwd"):
        short = short.removesuffix("_use_dst_for_bwd") + "_dst"
    short = "soft_relu" if short == "srelu" else short
    return short if short in ELTWISE else ""


def _parse_binary(name: str, rest: list[str], what: str) -> Binary:
    if not rest:
        raise UsageError(f"{what}: {name} needs a data type")
    if name == "select":
        atoms.at_most(rest, 2, what)
        first, *second = [atoms.split(field, ".", what) for field in rest]
        atoms.at_most(first, 4, what)
        condition = None
        if second:
            atoms.at_most(second[0], 2, what)
            condition = _operand(second[0], what)
    else:
        first, condition = rest, None
        atoms.at_most(first, 4, what)
    return Binary(name, _data_type(what)(first[0]), _operand(first[1:], what), condition)


def _operand(fields: list[str], what: str) -> Operand:
    mask = parse_mask(fields[0], what) if fields else ""
    tag = "any"
    if len(fields) > 1:
        tag = fields[1] if fields[1] == "grouped" else parse_tag(fields[1], what, False, 1)
    return Operand(mask, tag, atoms.dims(fields[2], what, 1) if len(fields) > 2 else ())


def _parse_depthwise(text: str, what: str) -> Depthwise:
    if not _DEPTHWISE.fullmatch(text):
        raise UsageError(f"{what}: dw needs kKsSpP, such as k3s1p1")
    return Depthwise(text)


def _number(what: str) -> Callable[[str], float]:
    return lambda text: atoms.number(text, what)


def _data_type(what: str) -> Callable[[str], str]:
    return lambda text: dtypes.parse_data_type(text, what)


def _trimmed(head: str, fields: list[str], defaults: list[str], separator: str = ":") -> str:
    """`head` and `fields` joined, without trailing fields that are at their default."""
    kept = list(fields)
    while kept and kept[-1] == defaults[len(kept) - 1]:
        kept.pop()
    return separator.join([head, *kept])
