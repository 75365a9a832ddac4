# SPDX-License-Identifier: Apache-2.0
"""K groups that do not divide K, of which the last one is shorter: every row of kernels.def takes such a
problem if it takes that with whole groups, and the results are those of the whole groups with zeros in src.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import zemm
from reference import has_float_zero_points
from support_problem import Data, Problem, Quant, make_data, zero_point
from support_rows import BY_NAME, ROWS
from support_run import make_pd, run

PACKED = "BA16a64b4a"
PLAIN = {"wei_order": "ba"}


def problem(k: int, src_dt: str = "s8", wei_dt: str = "u8", m: int = 37, n: int = 70, **more: Any) -> Problem:
    return Problem((m, k), (k, n), src_dt, wei_dt, **more)


def quantised(group: int, zp: str | None = "u8", scale: str = "f16", wei_group: int = 0) -> dict[str, Any]:
    """Scales of src and of the weights along K, and zero points of the weights."""
    groups = (wei_group or group, 1)
    return {
        "src_scale": Quant(3, (1, group), scale),
        "wei_scale": Quant(3, groups, scale),
        "wei_zp": zero_point(3, groups, zp) if zp else None,
    }


def weight_only(group: int, zp: str | None = "u8", scale: str = "f16") -> dict[str, Any]:
    return quantised(group, zp, scale) | {"src_scale": None, "fpmath": ("strict", True)}


APPLIED = ("bf16", True)
PROBLEMS = {
    "packed": problem(330, wei_tag=PACKED, **quantised(64)),
    "packed_u4": problem(4304, wei_dt="u4", m=26, wei_tag=PACKED, **quantised(128, "u4")),
    "packed_few_rows": problem(400, m=3, wei_tag=PACKED, **quantised(48)),
    "two_dst": problem(1044, dst_dt="bf16", wei_tag=PACKED, src_scale=Quant(3, (1, 128)), wei_zp=zero_point(2)),
    "plain": problem(300, m=7, n=64, **quantised(128)),
    "plain_along_k": problem(448, wei_dt="s8", m=2, **PLAIN, **quantised(128, None)),
    "plain_along_k_tail": problem(460, m=2, **PLAIN, **quantised(128)),
    "no_quads": problem(87, src_dt="u8", wei_dt="s8", wei_tag=PACKED, **quantised(20, "s8")),
    "odd_groups": problem(50, src_dt="u8", wei_dt="s4", m=5, **quantised(7, "s8")),
    "coprime": problem(100, **quantised(24, wei_group=35)),
    "gcd": problem(200, wei_tag=PACKED, **quantised(32, wei_group=48)),
    "one_group_of_src": problem(200, wei_tag=PACKED, **quantised(256, wei_group=48)),
    "larger_groups": problem(100, wei_tag=PACKED, **quantised(128)),
    "src_zero_points": problem(
        330, "u8", wei_tag=PACKED, src_zp=zero_point(3, (1, 32), "u8"), **quantised(64), reduction_group=32
    ),
    "reductions": problem(330, wei_tag=PACKED, **quantised(128), reduction_group=64),
    "reductions_of_a_group": problem(330, m=130, wei_tag=PACKED, **quantised(64), reduction_group=64),
    "zero_points_only": problem(
        150, "u8", "s8", dst_dt="s32", src_zp=zero_point(3, (1, 32), "u8"), wei_zp=zero_point(3, (64, 1), "s8")
    ),
    "ranges": problem(5000, m=1, n=48, wei_tag=PACKED, **quantised(128)),
    "ranges_of_zero_points": problem(
        5000, "u8", "u8", m=1, n=40, src_zp=zero_point(0), wei_zp=zero_point(3, (96, 1), "u8")
    ),
    "float_zero_points": problem(330, wei_dt="u4", wei_tag=PACKED, **quantised(64, "f16")),
    "cut_float_zero_points": problem(1100, m=4, wei_tag=PACKED, **quantised(512, "f32")),
    "offsets": problem(
        330, wei_dt="u4", wei_tag=PACKED, wei_scale=Quant(3, (32, 1)), wei_offset=Quant(3, (64, 1))
    ),
    "offsets_and_floats": problem(
        210, "f32", "u8", m=3, wei_tag=PACKED, wei_scale=Quant(3, (32, 1)),
        wei_offset=Quant(3, (32, 1)), fpmath=("strict", True)
    ),
    "batch": Problem((3, 9, 100), (3, 100, 40), "s8", "u8", src_scale=Quant(7, (1, 32)),
                     wei_scale=Quant(7, (32, 1)), wei_zp=zero_point(7, (32, 1), "s8")),
    "f32_by_u4": problem(330, "f32", "u4", m=3, wei_tag=PACKED, **weight_only(32, "u4")),
    "f32_by_u8": problem(330, "f32", "u8", m=2, wei_tag=PACKED, **weight_only(128)),
    "f32_by_s8_plain": problem(333, "f32", "s8", m=9, n=64, **weight_only(48, None)),
    "f16_by_u4": problem(330, "f16", "u4", dst_dt="f16", wei_tag=PACKED, **weight_only(64, "u4")),
    "bf16_by_s4": problem(330, "bf16", "s4", wei_tag=PACKED, **weight_only(64, "s8") | {"fpmath": APPLIED}),
    "bf16_by_f8": problem(330, "bf16", "f8_e5m2", wei_tag=PACKED, wei_scale=Quant(3, (64, 1))),
    "f8_by_f8": problem(330, "f8_e4m3", "f8_e4m3", src_scale=Quant(3, (1, 32), "e8m0"),
                        wei_scale=Quant(3, (32, 1), "e8m0")),
    "f4_by_f4": problem(330, "f4_e2m1", "f4_e2m1", src_scale=Quant(3, (1, 16), "f8_e4m3"),
                        wei_scale=Quant(3, (16, 1), "f8_e4m3")),
}  # fmt: skip


def k_groups(p: Problem) -> list[int]:
    found = [p.reduction_group or 1]
    for name, axis in (("src_scale", 1), ("src_zp", 1), ("wei_scale", 0), ("wei_zp", 0), ("wei_offset", 0)):
        quant: Quant | None = getattr(p, name)
        if quant and quant.groups:
            found.append(quant.groups[axis])
    return found


def with_whole_groups(p: Problem) -> Problem:
    """The problem with as many elements of K as whole groups have."""
    k = -(-p.k // int(np.lcm.reduce(k_groups(p)))) * int(np.lcm.reduce(k_groups(p)))
    return replace(p, src_dims=(*p.src_dims[:-1], k), wei_dims=(*p.wei_dims[:-2], k, p.wei_dims[-1]))


def reason(engine: zemm.Engine, p: Problem) -> str:
    """Why the device does not take the forced kernel; "" if it does."""
    try:
        make_pd(engine, p)
    except NotImplementedError as error:
        return str(error)
    return ""


def may_refuse(row: str, p: Problem) -> bool:
    """Whether the row takes whole groups of the problem, but not K."""
    traits = BY_NAME[row]
    return (traits.policy == "avx512_segments" and p.k % 4 != 0) or traits.is_xe


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("row", ROWS)
def test_row(
    engine: zemm.Engine, stream: zemm.Stream, monkeypatch: pytest.MonkeyPatch, row: str, name: str
) -> None:
    monkeypatch.setenv("ZEMM_KERNEL", row)
    p = PROBLEMS[name]
    assert any(p.k % group for group in k_groups(p))
    if why := reason(engine, p):
        assert may_refuse(row, p) or reason(engine, with_whole_groups(p)), why
        return
    traits = BY_NAME[row]
    p = replace(p, rounds_to_bf16=traits.src == "bf16" and has_float_zero_points(p))
    if traits.is_xe and p.integer:
        p = replace(p, scaled_at_once=32)
    assert run(engine, stream, p).pd.impl_info == row
