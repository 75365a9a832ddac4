# SPDX-License-Identifier: Apache-2.0
"""Attributes of a case line (`--attr-*`): parsing, values and printing."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, NamedTuple

from zemm._library.library import ARG, names_of
from zemm._library.lists import ATTRIBUTES, Attribute
from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar import atoms, dtypes
from zemm.benchdnn.grammar.masks import has_one_value, parse_mask
from zemm.benchdnn.grammar.post_ops import PostOp, parse_post_ops
from zemm.benchdnn.grammar.tags import parse_tag

_ARGUMENTS = {
    "src": ARG["SRC"],
    "src0": ARG["SRC"],
    "src1": ARG["SRC_1"],
    "dst": ARG["DST"],
    "wei": ARG["WEIGHTS"],
}
_NAMES = {arg: name for name, arg in _ARGUMENTS.items() if name != "src0"}
_MULTIPLE_SRC = ARG["MULTIPLE_SRC"]


@dataclass(frozen=True)
class Quantization:
    """Scales, zero points, offsets, factors of these or reductions of the argument `arg` (ZEMM_ARG_...).
    `value` is used with mask 0."""

    arg: int
    mask: str
    value: float
    data_type: str
    groups: tuple[int, ...] = ()

    @property
    def on_host(self) -> bool:
        """Whether the value is passed as a host scalar memory."""
        return self.mask == "host_scalar"

    @property
    def quantization_mode(self) -> str:
        """oneDNN's quantization mode of scales."""
        return {"mx": "dynamic_mx", "dynamic_fp": "dynamic_fp"}.get(self.mask, "static_sazp")


@dataclass(frozen=True)
class Dropout:
    """Dropout with probability `p`; 0 means none. An offset of 0 is not passed to the library."""

    p: float = 0.0
    seed: int = 0
    tag: str = "any"
    offset: int = 0
    on_host: bool = False

    def __str__(self) -> str:
        fields = [str(self.seed), self.tag, str(self.offset), str(int(self.on_host))]
        defaults = ["0", "any", "0", "0"]
        while fields and fields[-1] == defaults[len(fields) - 1]:
            fields.pop()
        return ":".join([atoms.show_number(self.p), *fields])


@dataclass(frozen=True)
class Rounding:
    """The rounding mode of one argument. The seed is the same for all arguments."""

    arg: int
    mode: str
    seed: int = 0xFFFFFFFF

    def __str__(self) -> str:
        seed = f":{self.seed}" if self.mode == "stochastic" and self.seed != 0xFFFFFFFF else ""
        return f"{argument_name(self.arg)}:{self.mode}{seed}"


@dataclass(frozen=True)
class Fpmath:
    """The fpmath mode, and whether integer weights are converted to floating point
    (apply_to_int)."""

    mode: str = "strict"
    apply_to_int: bool = False

    def __str__(self) -> str:
        return f"{self.mode}:true" if self.apply_to_int else self.mode


@dataclass(frozen=True)
class Attributes:
    """All attributes of one case, in the order of benchdnn's loops. The names are those of the options."""

    scales: tuple[Quantization, ...] = ()
    zero_points: tuple[Quantization, ...] = ()
    offsets: tuple[Quantization, ...] = ()
    scale_factors: tuple[Quantization, ...] = ()
    offset_factors: tuple[Quantization, ...] = ()
    precomputed_reductions: tuple[Quantization, ...] = ()
    post_ops: tuple[PostOp, ...] = ()
    scratchpad: str = "library"
    fpmath: Fpmath = Fpmath()
    acc_mode: str = "strict"
    deterministic: bool = False
    dropout: Dropout = Dropout()
    rounding_mode: tuple[Rounding, ...] = ()
    reduced_range: str = ""
    src_dyn_quant: int = 0  # elements of src along K that zemm quantises together; 0: it does not
    saturation: bool = False

    def find(self, kind: str, arg: int) -> Quantization | None:
        """The entry of `kind` (such as scales) for an argument, or None."""
        entries: tuple[Quantization, ...] = getattr(self, kind)
        return next((e for e in entries if e.arg == arg), None)

    def knobs(self) -> list[tuple[str, str, str]]:
        """(option, value, default) of every attribute, in the order of repro lines."""
        found = []
        for name in _PRINTED:
            knob = KNOBS[name]
            found.append((f"--{knob.option}", knob.show(getattr(self, name)), knob.show(DEFAULTS[name])))
        return found

    def changed(self) -> list[str]:
        """`option=value` of every attribute that is not at its default."""
        return [f"{knob}={value}" for knob, value, default in self.knobs() if value != default]


def argument_name(arg: int) -> str:
    """The name that a case line has for an execution argument."""
    return _NAMES.get(arg) or f"msrc{arg - _MULTIPLE_SRC}"


Parser = Callable[[str, str], Any]


def _quantization_parser(data_type: str, value: float, may_be_negative: bool) -> Parser:
    """A parser of `ARG:MASK_INPUT[:VALUE][:DT[:G0xG1]]` joined by `+`. Entries `common:VALUE` with the
    default value and type are dropped. Values of integer zero points are integers."""

    def parse(text: str, what: str) -> tuple[Quantization, ...]:
        entries = [
            _parse_quantization(entry, f"{what}={text}", data_type, value, may_be_negative)
            for entry in atoms.split(text, "+", what)
        ]
        return _by_argument(e for e in entries if e != Quantization(e.arg, "common", value, data_type))

    return parse


def parse_reductions(text: str, what: str) -> tuple[Quantization, ...]:
    """`ARG:MASK_INPUT:DT:G0xG1` joined by `+`. MASK_INPUT is a number or per_tensor."""
    entries = []
    for entry in atoms.split(text, "+", what):
        fields = atoms.split(entry, ":", what)
        if len(fields) != 4:
            raise UsageError(f"{what}: '{entry}' is not of the form ARG:MASK_INPUT:DT:G0xG1")
        arg, mask, data_type, groups = fields
        if not (mask.isdigit() or mask.lower() == "per_tensor"):
            raise UsageError(f"{what}: '{mask}' in '{entry}' is neither a mask nor per_tensor")
        entries.append(
            Quantization(
                _parse_argument(arg, what), parse_mask(mask, what), 0.0,
                dtypes.parse_data_type(data_type, what), _parse_groups(groups, what),
            )
        )  # fmt: skip
    return _by_argument(entries)


def parse_fpmath(text: str, what: str) -> Fpmath:
    """`MODE[:BOOL]`."""
    fields = atoms.split(text, ":", what)
    atoms.at_most(fields, 2, what)
    mode = atoms.choice(fields[0], what, ("strict", "bf16", "f16", "tf32", "any"))
    return Fpmath(mode, len(fields) > 1 and atoms.boolean(fields[1], what))


def parse_dropout(text: str, what: str) -> Dropout:
    """`P[:SEED[:TAG[:OFFSET[:HOST]]]]`. Probability 0 means no dropout."""
    what = f"{what}={text}"
    fields = atoms.split(text, ":", what)
    atoms.at_most(fields, 5, what)
    fields += ["0", "0", "any", "0", "false"][len(fields) :]
    p = atoms.number(fields[0], what)
    if not 0 <= p <= 1:
        raise UsageError(f"{what}: probability {fields[0]} is outside of [0, 1]")
    if p == 0:
        return Dropout()
    tag = parse_tag(fields[2], what, False, 1)
    seed, offset = atoms.integer(fields[1], what), atoms.integer(fields[3], what, 0)
    return Dropout(p, seed, tag, offset, atoms.boolean(fields[4], what))


def parse_rounding(text: str, what: str) -> tuple[Rounding, ...]:
    """`ARG:environment|stochastic[:SEED]` joined by `+`. A seed is for all arguments."""
    modes, seeds = {}, set()
    for entry in atoms.split(text, "+", what):
        fields = atoms.split(entry, ":", what)
        if not 2 <= len(fields) <= 3:
            raise UsageError(f"{what}: '{entry}' is not of the form ARG:MODE[:SEED]")
        mode = atoms.choice(fields[1], what, ("environment", "stochastic"))
        modes[_parse_argument(fields[0], what)] = mode
        seeds |= {atoms.integer(seed, what, 0, 2**32 - 1) for seed in fields[2:]}
    if len(seeds) > 1:
        raise UsageError(f"{what}: '{text}' has different seeds, but there is one for all arguments")
    seed = seeds.pop() if seeds else Rounding.seed
    return tuple(Rounding(arg, modes[arg], seed) for arg in sorted(modes))


def _parse_quantization(
    entry: str, what: str, data_type: str, value: float, may_be_negative: bool
) -> Quantization:
    fields = atoms.split(entry, ":", what)
    if len(fields) < 2:
        raise UsageError(f"{what}: '{entry}' is not of the form ARG:MASK_INPUT[:VALUE][:DT[:G0xG1]]")
    arg, mask = _parse_argument(fields[0], what), parse_mask(fields[1], what)
    rest = fields[2:]
    number = rest.pop(0) if rest and has_one_value(mask) else None
    atoms.at_most(rest, 2, what)
    if rest:
        data_type = dtypes.parse_data_type(rest[0], what)
    if number is not None:
        value = _parse_value(number, what, data_type, may_be_negative)
    return Quantization(arg, mask, value, data_type, _parse_groups(rest[1], what) if len(rest) > 1 else ())


def _parse_value(text: str, what: str, data_type: str, may_be_negative: bool) -> float:
    if may_be_negative and not _is_float(data_type):
        return float(atoms.integer(text, what, -(2**31), 2**31 - 1))
    value = atoms.number(text, what)
    if value < 0 and not may_be_negative:
        raise UsageError(f"{what}: scale {text} is negative")
    return value


def _is_float(data_type: str) -> bool:
    found = dtypes.BY_NAME.get(data_type)
    return found is not None and not found.integral


def _parse_groups(text: str, what: str) -> tuple[int, ...]:
    groups = atoms.dims(text, what, 1)
    if len(groups) != 2:
        raise UsageError(f"{what}: groups '{text}' are not two numbers G0xG1")
    return groups


def _parse_argument(text: str, what: str) -> int:
    if text in _ARGUMENTS:
        return _ARGUMENTS[text]
    match = re.fullmatch("msrc([0-9]{1,4})", text)
    if not match:
        raise UsageError(f"{what}: {atoms.unknown('argument', text, (*_ARGUMENTS, 'msrcN'))}")
    return _MULTIPLE_SRC + int(match[1])


def _by_argument(entries: Iterable[Quantization]) -> tuple[Quantization, ...]:
    """The entries sorted by argument. Of several for one argument the last one counts."""
    unique = {entry.arg: entry for entry in entries}
    return tuple(unique[arg] for arg in sorted(unique))


def _quantization_printer(default_type: str) -> Callable[[Any], str]:
    return lambda entries: "+".join(_show_quantization(entry, default_type) for entry in entries)


def _show_quantization(entry: Quantization, default_type: str) -> str:
    fields = [argument_name(entry.arg), entry.mask]
    if default_type and has_one_value(entry.mask):
        is_integer = default_type == "s32" and not _is_float(entry.data_type)
        fields.append(str(int(entry.value)) if is_integer else atoms.show_number(entry.value))
    if entry.data_type != default_type or entry.groups:
        fields.append(entry.data_type)
    if entry.groups:
        fields.append(atoms.show_dims(entry.groups))
    return ":".join(fields)


class Knob(NamedTuple):
    """The option of an attribute: the row of the list, the parser of a value (text, what) and its printer."""

    row: Attribute
    parse: Parser
    show: Callable[[Any], str]

    @property
    def option(self) -> str:
        return self.row.option


def _show_list(values: Any) -> str:
    return "+".join(map(str, values))


_OWN: dict[str, tuple[Parser, Callable[[Any], str]]] = {
    "scales": (_quantization_parser("f32", 1.0, False), _quantization_printer("f32")),
    "zero_points": (_quantization_parser("s32", 0.0, True), _quantization_printer("s32")),
    "precomputed_reductions": (parse_reductions, _quantization_printer("")),
    "post_ops": (parse_post_ops, _show_list),
    "fpmath_mode": (parse_fpmath, str),
    "rounding": (parse_rounding, _show_list),
    "dropout": (parse_dropout, str),
    "reduced_range": (partial(atoms.choice, choices=("src",)), str),
}


def _knob(row: Attribute) -> Knob:
    """The option of a row, whose kind says what values look like unless it is in _OWN."""
    if row.name in _OWN:
        return Knob(row, *_OWN[row.name])
    if row.kind == "flag":
        return Knob(row, atoms.boolean, atoms.show_boolean)
    if row.kind == "mode":
        return Knob(row, partial(atoms.choice, choices=names_of(row.name)), str)
    if row.kind == "size":
        return Knob(row, partial(atoms.integer, low=0), lambda size: str(size or ""))
    return Knob(row, _quantization_parser("f32", 0.0, True), _quantization_printer("f32"))


KNOBS = {row.option.removeprefix("attr-").replace("-", "_"): _knob(row) for row in ATTRIBUTES.values()}
DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(Attributes)}
# benchdnn prints rounding modes before deterministic, and loops over them inside of it.
_PRINTED = [name for name in DEFAULTS if name != "rounding_mode"]
_PRINTED.insert(_PRINTED.index("deterministic"), "rounding_mode")
