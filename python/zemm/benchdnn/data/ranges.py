# SPDX-License-Identifier: Apache-2.0
"""benchdnn's rules for the integers that fill tensors: their ranges and density keep sums over K
exact."""

import math
from dataclasses import dataclass

from zemm.benchdnn.grammar.arguments import WEI
from zemm.benchdnn.grammar.attributes import Attributes, Quantization
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import BY_NAME, SMALL_INTEGERS
from zemm.benchdnn.grammar.masks import has_one_value
from zemm.benchdnn.grammar.post_ops import Sum

Range = tuple[int, int]

_TABLE: dict[str, dict[str, Range]] = {
    "SRC": {"f64": (-64, 64), "f32": (-64, 64), "bf16": (-4, 4), "f16": (-4, 4), "f8_e5m2": (-4, 4),
            "f8_e4m3": (-4, 4), "f4_e2m1": (0, 1), "s8": (-4, 4), "u8": (0, 8)},
    "WEI": {"f64": (-128, 128), "f32": (-128, 128), "bf16": (-2, 2), "f16": (-2, 2), "f8_e5m2": (-2, 2),
            "f8_e4m3": (-2, 2), "f4_e2m1": (-1, 1), "s8": (-4, 4), "u8": (0, 8)}
           | {dt.name: (-2, 2) if dt.low else (0, min(4, int(dt.high))) for dt in SMALL_INTEGERS},
    "BIA": {"f4_e2m1": (-2, 2), "u8": (0, 8)},
    "DST": {"f16": (-4, 4), "f8_e5m2": (-4, 4), "f8_e4m3": (-4, 4), "f4_e2m1": (-2, 2), "s8": (-4, 4),
            "u8": (0, 8), "s32": (-128, 128)},
}  # fmt: skip
# Ranges of inner products, where they differ.
_IP_TABLE: dict[str, dict[str, Range]] = {
    "SRC": {"f32": (-32, 32)}, "WEI": {"f32": (-32, 32), "bf16": (-8, 8)}, "DST": {"u8": (0, 160)},
}  # fmt: skip
_OTHER: Range = (-8, 8)
# A src that zemm quantises has quarters of integers, times scales, beside the largest element of a group.
STEPS_OF_QUANTISED = 4
_LARGEST_SCALE, _STEPS_OF_SCALES = 1 / 4, 16  # several scales are 1/16, 1/8 and 1/4
_LARGEST_POINT, _STEPS_OF_POINTS = 2, 4  # several zero points and offsets; those of floats are quarters
_ACC_DIGITS = {"strict": 24, "f32": 24, "f16": 11, "relaxed": 11, "any": 11, "s32": 31}


@dataclass(frozen=True)
class Filling:
    """[min, max] of src, weights, bias and old dst, the data type of old dst, and the share of src
    that is not zero (density). src that zemm quantises is in quarters of its scales, and `peaks` is the share
    of its groups that are not zero."""

    src: Range
    wei: Range
    bia: Range
    dst: Range
    dst_dt: str
    density: float
    peaks: float = 1.0

    def line(self, case: Case) -> str:
        """The line `[FILL_CFG]` that -v6 prints."""
        rows = (("SRC", case.dt[0], self.src), ("WEI", case.dt[1], self.wei), ("DST", self.dst_dt, self.dst))
        parts = [f"{kind}_{dt}=[{low};{high}];" for kind, dt, (low, high) in rows]
        if case.has_bias:
            parts.insert(2, f"BIA_{case.bia_dt}=[{self.bia[0]};{self.bia[1]}];")
        return " ".join(["[FILL_CFG]", *parts])


def filling(case: Case) -> Filling:
    """The filling of a case. It depends on data types, K, fpmath mode, accumulation mode, sum
    post-op and, unlike benchdnn's, on offsets of weights."""
    group = case.attributes.src_dyn_quant
    src_dt, wei_dt, dst_dt = "s8" if group else case.dt[0], *case.dt[1:]
    total = next((op for op in case.attributes.post_ops if isinstance(op, Sum)), None)
    old_dst_dt = total.data_type if total and total.data_type != "undef" else dst_dt
    src = _lookup("SRC", _under_fpmath(src_dt, case), case)
    wei = _lookup("WEI", _under_fpmath(wei_dt, case), case)
    dst = _lookup("DST", old_dst_dt, case)
    dst_is_wide = BY_NAME[dst_dt].bits >= 32
    if src_dt == "u8" and BY_NAME[wei_dt].bits == 8 and dst_is_wide:
        src = (src[0], 160)
    if (src_dt, wei_dt) == ("s8", "s8"):
        wei = (-2, 2)
    if (src_dt, wei_dt) == ("u8", "u8"):
        src = (src[0], 1)
        if not dst_is_wide:
            wei = (wei[0], 8)
    digits = _ACC_DIGITS[case.attributes.acc_mode]
    if not group:
        digits = min(BY_NAME[dst_dt].digits, digits)
    halve_src = True
    while _safe_terms(digits, src, wei) < 1 and max(*_magnitudes(src, wei)) > 1:
        src, wei = (_halved(src), wei) if halve_src else (src, _halved(wei))
        halve_src = not halve_src
    boost = 3 if BY_NAME[wei_dt].bits <= 8 and dst_dt != "s32" else 1
    k, peaks = max(case.problem.k, 1), 1.0
    reach = _in_steps(case, wei) if group or case.attributes.find("offsets", WEI) else wei
    if group:
        src = (STEPS_OF_QUANTISED * src[0], STEPS_OF_QUANTISED * src[1])
        scaled = int(largest_quantized(case.attributes) * _LARGEST_SCALE * _STEPS_OF_SCALES)
        peaks = min(1.0, _safe_terms(digits, (-scaled, scaled), reach) / -(-k // min(group, k)))
    density = min(1.0, _safe_terms(digits, src, reach) / k * boost)
    return Filling(src, wei, _lookup("BIA", case.bia_dt, case), dst, old_dst_dt, density, peaks)


def largest_quantized(attributes: Attributes) -> int:
    """The largest integer that zemm quantises src to."""
    return 63 if attributes.reduced_range else 127


def _lookup(kind: str, dt: str, case: Case) -> Range:
    found = _TABLE[kind].get(dt, _OTHER)
    return _IP_TABLE.get(kind, {}).get(dt, found) if case.is_inner_product else found


def _under_fpmath(dt: str, case: Case) -> str:
    by_mode = {"bf16": "bf16", "tf32": "bf16", "f16": "f16"}
    return by_mode.get(case.attributes.fpmath.mode, dt) if dt == "f32" else dt


def _magnitudes(*ranges: Range) -> list[int]:
    return [max(abs(low), abs(high)) for low, high in ranges]


def _safe_terms(digits: int, src: Range, wei: Range) -> float:
    """How many products of the largest values a sum may have without exceeding the given binary
    digits."""
    if digits <= 4:
        return 1 if digits <= 2 else 2
    a, b = _magnitudes(src, wei)
    return 2.0**digits / (a * b)


def _in_steps(case: Case, wei: Range) -> Range:
    """The range of (w - zero point) * scale + offset for weights w of the range `wei`, as multiples of a
    step that divides all of these. A single scale counts as 1."""
    kinds = ("scales", "zero_points", "offsets")
    scale, point, offset = (case.attributes.find(kind, WEI) for kind in kinds)
    are_scaled = scale is not None and not has_one_value(scale.mask)
    largest = (max(_magnitudes(wei)) + _largest(point)) * (_LARGEST_SCALE if are_scaled else 1)
    has_quarters = offset or (point and not BY_NAME[point.data_type].integral)
    steps = max(_STEPS_OF_SCALES if are_scaled else 1, _STEPS_OF_POINTS if has_quarters else 1)
    reach = math.ceil((largest + _largest(offset)) * steps)
    return -reach, reach


def _largest(entry: Quantization | None) -> float:
    """The largest zero point or offset."""
    if entry is None:
        return 0
    return abs(entry.value) if has_one_value(entry.mask) else _LARGEST_POINT


def _halved(values: Range) -> Range:
    low, high = values
    return -(-low // 2), high // 2 if high > 1 else high
