# SPDX-License-Identifier: Apache-2.0
"""Compares an output tensor with its expected values: they must be equal, with benchdnn's
exceptions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zemm.benchdnn.grammar.arguments import DST
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import BY_NAME, Floats, rounded
from zemm.benchdnn.grammar.post_ops import COMPARISONS, Binary, Eltwise

_F32_EPSILON = 2.0**-23
_F32_MIN = float(np.finfo(np.float32).tiny)
_INT_MAX_FLOAT = 2147483520.0
_MAY_OVERFLOW = ("log", "pow", "sqrt", "exp", "square")
_TRUST_ELEMENTS, _TRUST_ZEROS = 10, 0.9
_SHOWN = 10

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Rules:
    """The facts that decide which exceptions hold: the output's data type, the post-ops and the
    device."""

    data_type: str
    eltwise: tuple[str, ...] = ()
    binary: tuple[str, ...] = ()
    divides_by_f32_scale: bool = False
    dynamic: bool = False
    on_cpu: bool = True
    is_scales: bool = False

    @property
    def allows_nonfinite(self) -> bool:
        """Whether a NaN passes where a NaN is expected."""
        types = ("f16",) if self.dynamic else ("f16", "f8_e5m2", "f8_e4m3")
        risky = any(name.removesuffix("_dst") in _MAY_OVERFLOW for name in self.eltwise)
        return self.data_type in types or "div" in self.binary or risky


def rules_for(case: Case) -> Rules:
    """The rules for dst of a case."""
    ops = case.attributes.post_ops
    scale = case.attributes.find("scales", DST)
    dynamic = scale is not None and scale.quantization_mode != "static_sazp"
    return Rules(
        case.dt[2],
        tuple(op.name for op in ops if isinstance(op, Eltwise)),
        tuple(op.name for op in ops if isinstance(op, Binary)),
        scale is not None and scale.data_type == "f32" and not dynamic,
        dynamic,
        case.options.engine[0] == "cpu",
    )


@dataclass
class Comparison:
    """The number of wrong and of all elements of a tensor, and the lines to print. `mistrusted`:
    nearly all expected values are 0, so that the comparison proves little."""

    errors: int
    total: int
    mistrusted: bool
    lines: list[str]


def compare(
    exact: Floats, expected: Floats, got: Floats, rules: Rules, verbose: int, name: str = "DST"
) -> Comparison:
    """Compare `got` with the expected values: `exact` before and `expected` after rounding to the
    data type.

    `expected` and `got` have the same shape; `exact` broadcasts to it.
    """
    total = expected.size
    if total == 0:
        return Comparison(0, 0, False, [])
    points = np.flatnonzero(~(expected == got))
    flat = [np.broadcast_to(a, expected.shape).reshape(-1)[points] for a in (exact, expected, got)]
    diff, rdiff = differences(flat[1], flat[2])
    bad = ~accepted(flat[0], flat[1], flat[2], rules)
    zeros = float(np.count_nonzero(expected == 0)) / total
    mistrusted = total >= _TRUST_ELEMENTS and zeros > _TRUST_ZEROS
    lines = []
    shown = np.flatnonzero(bad) if verbose < 99 else np.arange(len(points))
    for at in shown if verbose >= 10 else shown[:_SHOWN]:
        index = int(points[at])
        place = ":".join(map(str, np.unravel_index(index, expected.shape)))
        lines.append(
            f"[{index}][{place}] exp_f32:{flat[0][at]:12g} exp:{flat[1][at]:12g} "
            f"got:{flat[2][at]:12g} diff:{diff[at]:8g} rdiff:{rdiff[at]:8g}"
        )
    if bad.any() or verbose >= 6:
        lines.append(f"[COMPARE_STATS][{name}]: trh=0 {_stats(diff, rdiff, bad)}")
    if (mistrusted and verbose >= 2) or verbose >= 6:
        lines.append(
            f"[COMPARE_TRUST][{name}]: z:{100 * zeros:.0f}% (>{100 * _TRUST_ZEROS:.0f}%) total:{total}"
        )
    return Comparison(int(bad.sum()), total, mistrusted, lines)


def differences(expected: Floats, got: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """|expected - got|, and the same divided by |expected| (1 where |expected| is not a normal f32
    number)."""
    with np.errstate(all="ignore"):
        size = np.abs(expected.astype(np.float64))
        diff = np.abs(expected.astype(np.float64) - got)
        rdiff = np.where(size > _F32_MIN, diff / np.where(size > 0, size, 1), 1.0)
    return diff, rdiff


def accepted(exact: Floats, expected: Floats, got: Floats, rules: Rules) -> Mask:
    """Which points pass: those that are equal and those with an exception. All arrays have the same
    shape.

    benchdnn has another bound for exp and for values above 1e5. The bound for eltwise here includes
    it.
    """
    info = BY_NAME[rules.data_type]
    diff, rdiff = differences(expected, got)
    ok: Mask = expected == got
    with np.errstate(all="ignore"):
        if info.integral:
            ok |= np.isnan(exact)
            ok |= _half_way(exact, expected, got)
        if rules.data_type != "e8m0":
            ok |= (np.abs(expected) <= 1e-5) & (diff < _F32_EPSILON)
        if rules.allows_nonfinite:
            ok |= np.isnan(expected) & np.isnan(got)
            if set(rules.binary) & {"max", "min", *COMPARISONS}:
                # As benchdnn: any value passes, because implementations differ in which operand a
                # NaN selects.
                ok |= np.isnan(expected) | np.isnan(got)
        if rules.on_cpu and rules.data_type == "s32":
            ok |= (expected >= _INT_MAX_FLOAT) & (got >= _INT_MAX_FLOAT)
        if rules.eltwise and not rules.is_scales:
            ok |= (diff <= max(info.epsilon, 2e-5)) | (rdiff <= max(info.epsilon, 8e-6))
        if rules.divides_by_f32_scale:
            ok |= rdiff <= max(info.epsilon, 1e-5)
        if set(rules.binary) & {"add", "sub", "mul", "div"}:
            if rules.data_type == "f16":
                ok |= diff <= 5e-3
            elif rules.data_type == "f32":
                ok |= (diff <= 4e-6) | (rdiff <= 1e-5)
        if not info.integral and info.bits <= 8:
            ok |= _narrow_neighbours(exact, expected, got, rules.data_type)
    return ok


def _half_way(exact: Floats, expected: Floats, got: Floats) -> Mask:
    """Where the exact value is within 9e-6 of the middle of two integers, and `got` is the other
    one of these."""
    wide = exact.astype(np.float64)
    floor = np.floor(wide)
    near: Mask = np.abs(wide - (floor + 0.5)) <= 9e-6
    other: Mask = ((got == floor) | (got == floor + 1)) & (np.abs(got - expected) == 1)
    return near & other


def _narrow_neighbours(exact: Floats, expected: Floats, got: Floats, data_type: str) -> Mask:
    """Where `expected` and `got` are the roundings of exact - epsilon / 2 and exact + epsilon / 2,
    in either order, and exact had to be rounded. For floating-point types of at most 8 bits."""
    half = np.float32(BY_NAME[data_type].epsilon / 2)
    low, high = rounded(exact - half, data_type), rounded(exact + half, data_type)
    swapped: Mask = ((got == low) & (expected == high)) | ((got == high) & (expected == low))
    return swapped & (exact != expected)


def _stats(diff: NDArray[np.float64], rdiff: NDArray[np.float64], bad: Mask) -> str:
    def largest(values: NDArray[np.float64]) -> float:
        return float(np.max(values, initial=0.0))

    return (
        f"err_max_diff:{largest(diff[bad]):g} err_max_rdiff:{largest(rdiff[bad]):g} "
        f"all_max_diff:{largest(diff):g} all_max_rdiff:{largest(rdiff):g}"
    )
