# SPDX-License-Identifier: Apache-2.0
"""The row that multiplies several segments in a row: the same bits as the row after it."""

import pytest
import zemm
from support_calls import check_same_bits, make_pd
from support_cases import ANY, Problem, shape

SEGMENTS = "matmul_int8_any_any_264x64x1024_avx512_segments"
NEXT = "matmul_int8_any_any_264x64x256_avx512_vnni"


def problem(
    m: int,
    n: int,
    k: int,
    group: int,
    wei_dt: str = "u8",
    dst_dt: str = "f16",
    src_dt: str = "s8",
    zp: str | None = "u8",
    scale_dt: str = "f16",
    wei_group: int = 0,
    scales_src: bool = True,
) -> Problem:
    """Groups of the weights along K are as long as wei_group, if that is not 0."""
    mask, groups = (3, f":{wei_group}x1") if wei_group else (2, "")
    src_scale = f"src:3:{scale_dt}:1x{group}" if scales_src else "src:1"
    wei_scale = f"wei:{mask}:{scale_dt if wei_group else 'f32'}{groups}"
    zero_points = f"wei:{mask}:{zp}{groups}" if zp else ""
    return Problem(
        f"{ANY} --dt={src_dt}:{wei_dt}:{dst_dt} --attr-scales={src_scale}+{wei_scale}"
        f" --attr-zero-points={zero_points} {shape(m, n, k)} rough"
    )


# Rows that make groups of 1 to 6, columns of half a tile, ranges that end within a block of segments.
PROBLEMS = {
    "whole": problem(120, 64, 1024, 128),
    "two_blocks": problem(121, 128, 1536, 128),
    "last_block_short": problem(64, 65, 1152, 128),
    "short_groups": problem(49, 96, 480, 32, wei_dt="u4", zp="u4"),
    "long_groups": problem(50, 64, 2048, 1024, wei_dt="s8"),
    "quads": problem(53, 100, 180, 12, dst_dt="f32", zp="s32"),
    "u8_src": problem(55, 64, 768, 256, wei_dt="s4", src_dt="u8", zp=None, scale_dt="f32"),
    "bf16_scales": problem(1, 64, 8192, 128, dst_dt="bf16", zp=None, scale_dt="bf16"),
    "f32_scales": problem(51, 64, 1024, 128, scale_dt="f32"),
    "f32_terms": problem(52, 64, 1024, 128, dst_dt="f32", scale_dt="f32"),
    "e8m0_scales": problem(54, 64, 1024, 128, scale_dt="e8m0"),
    "seven_rows": problem(7, 192, 640, 64),
    "wei_groups": problem(61, 130, 1152, 128, wei_group=128, dst_dt="f32"),
    "wei_groups_u4": problem(35, 64, 1024, 32, wei_dt="u4", wei_group=32),
    "wei_groups_without_zero_points": problem(29, 64, 512, 64, wei_dt="s8", zp=None, wei_group=64),
    "wei_groups_bare_u8": problem(32, 64, 512, 64, wei_dt="s8", src_dt="u8", zp=None, wei_group=64),
    "longer_wei_groups": problem(26, 70, 768, 32, wei_dt="u4", wei_group=128),
    "shorter_wei_groups": problem(25, 64, 768, 256, wei_group=64),
    "wei_groups_alone": problem(31, 64, 1280, 0, wei_dt="u4", wei_group=128, scales_src=False),
    "wei_groups_s32": problem(33, 64, 1024, 512, zp="s32", wei_group=512),
    "wei_groups_float": problem(30, 64, 1024, 128, wei_dt="u4", zp="f16", wei_group=128, dst_dt="f32"),
}


@pytest.mark.quick(
    cases=lambda name: (
        name in ("seven_rows", "wei_groups_u4", "wei_groups_without_zero_points", "shorter_wei_groups")
    )
)
@pytest.mark.parametrize("name", PROBLEMS)
def test_same_bits(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if "avx512_vnni" not in engine.features:
        pytest.skip("the device does not report avx512_vnni")
    check_same_bits(PROBLEMS[name], (SEGMENTS, NEXT), monkeypatch)


CHOSEN = {
    "rfc": (problem(24, 64, 2560, 128), True),
    "too_few_rows": (problem(23, 64, 2560, 128), False),
    "wei_groups": (problem(24, 64, 2560, 128, wei_dt="u4", wei_group=128), True),
    "wei_groups_alone": (problem(24, 64, 2560, 0, wei_dt="u4", wei_group=128, scales_src=False), True),
    "long_panel_of_bytes": (problem(95, 64, 2560, 128, wei_dt="s8"), False),
    "short_panel_of_bytes": (problem(24, 64, 2560, 32, wei_dt="s8", zp=None, wei_group=32), True),
    "not_scaled": (problem(120, 64, 2560, 0, scales_src=False), False),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_chosen(engine: zemm.Engine, name: str) -> None:
    if "avx512_vnni" not in engine.features or "amx_int8" in engine.features:
        pytest.skip("the device has no avx512_vnni, or tiles")
    p, is_chosen = CHOSEN[name]
    assert make_pd(p).impl_info.endswith(SEGMENTS) == is_chosen
