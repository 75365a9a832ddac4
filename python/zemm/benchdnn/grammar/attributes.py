# SPDX-License-Identifier: Apache-2.0
"""Attributes of a case line (`--attr-*`): parsing, values and printing."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from zemm._library.library import ARG
from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar import atoms, dtypes
from zemm.benchdnn.grammar.masks import has_one_value, parse_mask
from zemm.benchdnn.grammar.post_ops import PostOp
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
    """Scales, zero points, offsets or reductions of the argument `arg` (ZEMM_ARG_...). `value` is used with
    mask 0."""

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
    """All attributes of one case."""

    scales: tuple[Quantization, ...] = ()
    zero_points: tuple[Quantization, ...] = ()
    offsets: tuple[Quantization, ...] = ()
    reductions: tuple[Quantization, ...] = ()
    post_ops: tuple[PostOp, ...] = ()
    scratchpad: str = "library"
    fpmath: Fpmath = Fpmath()
    acc_mode: str = "strict"
    deterministic: bool = False
    dropout: Dropout = Dropout()
    rounding: tuple[Rounding, ...] = ()
    reduced_range: str = ""
    src_dyn_quant: int = 0  # elements of src along K that zemm quantises together; 0: it does not
    saturation: bool = False

    def find(self, kind: str, arg: int) -> Quantization | None:
        """The entry of `kind` (scales, zero_points, offsets or reductions) for an argument, or None."""
        entries: tuple[Quantization, ...] = getattr(self, kind)
        return next((e for e in entries if e.arg == arg), None)

    def knobs(self) -> list[tuple[str, str, str]]:
        """(option, value, default) of every attribute, in the order of repro lines."""
        return [
            ("--attr-scales", _show_quantizations(self.scales, "f32"), ""),
            ("--attr-zero-points", _show_quantizations(self.zero_points, "s32"), ""),
            ("--attr-offsets", _show_quantizations(self.offsets, "f32"), ""),
            ("--attr-precomputed-reductions", _show_quantizations(self.reductions, ""), ""),
            ("--attr-post-ops", "+".join(map(str, self.post_ops)), ""),
            ("--attr-scratchpad", self.scratchpad, "library"),
            ("--attr-fpmath", str(self.fpmath), str(Fpmath())),
            ("--attr-acc-mode", self.acc_mode, "strict"),
            ("--attr-rounding-mode", "+".join(map(str, self.rounding)), ""),
            ("--attr-deterministic", atoms.show_boolean(self.deterministic), "false"),
            ("--attr-dropout", str(self.dropout), str(Dropout())),
            ("--attr-reduced-range", self.reduced_range, ""),
            ("--attr-src-dyn-quant", str(self.src_dyn_quant or ""), ""),
            ("--attr-saturation", atoms.show_boolean(self.saturation), "false"),
        ]

    def changed(self) -> list[str]:
        """`option=value` of every attribute that is not at its default."""
        return [f"{knob}={value}" for knob, value, default in self.knobs() if value != default]


def argument_name(arg: int) -> str:
    """The name that a case line has for an execution argument."""
    return _NAMES.get(arg) or f"msrc{arg - _MULTIPLE_SRC}"


def parse_scales(text: str, what: str) -> tuple[Quantization, ...]:
    """`ARG:MASK_INPUT[:SCALE][:DT[:G0xG1]]` joined by `+`. Entries `common:1` are dropped: that is
    the default."""
    entries = [_parse_quantization(e, f"{what}={text}", "f32", 1.0) for e in atoms.split(text, "+", what)]
    return _by_argument(e for e in entries if e != Quantization(e.arg, "common", 1.0, "f32"))


def parse_zero_points(text: str, what: str) -> tuple[Quantization, ...]:
    """As `parse_scales`, but with type s32 and the default `common:0`. Values of integer types are
    integers."""
    entries = [_parse_quantization(e, f"{what}={text}", "s32", 0.0) for e in atoms.split(text, "+", what)]
    return _by_argument(e for e in entries if e != Quantization(e.arg, "common", 0.0, "s32"))


def parse_offsets(text: str, what: str) -> tuple[Quantization, ...]:
    """As `parse_scales`, but with the default `common:0`, and values may be negative."""
    entries = [
        _parse_quantization(e, f"{what}={text}", "f32", 0.0, may_be_negative=True)
        for e in atoms.split(text, "+", what)
    ]
    return _by_argument(e for e in entries if e != Quantization(e.arg, "common", 0.0, "f32"))


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
    entry: str, what: str, data_type: str, value: float, may_be_negative: bool = False
) -> Quantization:
    fields = atoms.split(entry, ":", what)
    if len(fields) < 2:
        raise UsageError(f"{what}: '{entry}' is not of the form ARG:MASK_INPUT[:VALUE][:DT[:G0xG1]]")
    arg, mask = _parse_argument(fields[0], what), parse_mask(fields[1], what)
    rest = fields[2:]
    number = rest.pop(0) if rest and has_one_value(mask) else None
    atoms.at_most(rest, 2, what)
    may_be_negative = may_be_negative or data_type == "s32"
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


def _show_quantizations(entries: tuple[Quantization, ...], default_type: str) -> str:
    return "+".join(_show_quantization(entry, default_type) for entry in entries)


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
