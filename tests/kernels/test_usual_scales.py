# SPDX-License-Identifier: Apache-2.0
"""Layers quantise src with f32 scales: kernels are built for the scales' types, whatever the weights' are."""

import pytest
import zemm
from support_calls import make_pd
from support_cases import ANY, Problem
from support_rows import constant_id

IN_BLOCK = 255  # TYPE_IN_BLOCK of src/kernels/args/matmul_args.h: the kernel asks for the type at each group


@pytest.mark.parametrize("scale_dt", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("wei_dt", ["s8", "u8", "s4"])
def test_types_are_constants(engine: zemm.Engine, wei_dt: str, scale_dt: str) -> None:
    """A kernel that asks takes 2.4 times as long for one row of s8 by s8 in groups of 32."""
    if not {"avx_vnni", "avx512_vnni"} & set(engine.features):
        pytest.skip("the device reports no VNNI")
    problem = Problem(
        f"{ANY} --dt=s8:{wei_dt}:f32 --attr-scales=src:3:f32:1x32+wei:3:{scale_dt}:32x1 1x256:256x64"
    )
    main = next(m for m in make_pd(problem).modules() if m.name.startswith("matmul"))
    types = [main.constants[constant_id(f"SPEC_{name}_SCALE_DT")] for name in ("SRC", "WEI")]
    assert IN_BLOCK not in types
