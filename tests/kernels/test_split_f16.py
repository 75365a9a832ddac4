# SPDX-License-Identifier: Apache-2.0
"""f16 by tiles of bf16: each value is split into two bf16, which are exact together, and all pairs of parts
are multiplied. The row runs with tiles in software where the CPU has no AMX.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import zemm
from support_problem import Data, Problem, Quant, make_data
from support_rows import BY_NAME
from support_run import check_dst, get, make_attr, make_call, make_pd, run

ROW = next(name for name, row in BY_NAME.items() if row.policy == "amx_bf16")


@pytest.fixture(autouse=True)
def _row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZEMM_KERNEL", ROW)


def problem(src: tuple[int, ...], wei: tuple[int, ...], wei_dt: str, **more: Any) -> Problem:
    """Values have all digits of their types."""
    return Problem(src, wei, "f16", wei_dt, "f32", fpmath=("f16", True), rough=True, **more)


def f16_by(wei_dt: str, m: int, k: int, **more: Any) -> Problem:
    return problem((m, k), (k, 70), wei_dt, any_tags=True, **more)


def grouped(wei_dt: str, m: int, groups: int, group: int, zp_dt: str = "u8") -> Problem:
    scale, zero_point = (Quant(3, (group, 1), dt) for dt in ("f16", zp_dt))
    return f16_by(wei_dt, m, groups * group, wei_scale=scale, wei_zp=zero_point)


PLAIN = replace(grouped("u4", 33, 2, 64), any_tags=False)
PROBLEMS = {
    "1 row": grouped("u4", 1, 3, 64),
    "16 rows": grouped("u4", 16, 2, 128),
    "17 rows": grouped("s4", 17, 3, 32, "s8"),
    "31 rows": grouped("s8", 31, 2, 96, "s4"),
    "33 rows": grouped("u8", 33, 2, 64),
    "groups that fill no step": grouped("u4", 33, 5, 20),
    "groups of several blocks": grouped("u4", 20, 2, 544),
    "odd K": f16_by("s8", 33, 161, wei_scale=Quant(2), wei_zp=Quant(2, (), "s4")),
    "a block and a bit": f16_by("u4", 40, 515),
    "f8_e4m3": f16_by("f8_e4m3", 33, 130, wei_scale=Quant(2)),
    "f4_e2m1": f16_by("f4_e2m1", 33, 64, wei_scale=Quant(3, (32, 1))),
    "f8_e5m2": f16_by("f8_e5m2", 17, 65),
    "f16": f16_by("f16", 33, 545, bias_dt="f16", bias_mask=2),
    "f16, 1 row": f16_by("f16", 1, 64),
    "f16 along K": problem((40, 130), (130, 128), "f16", wei_order="ba"),
    "f16 along N": problem((40, 130), (130, 128), "f16"),
    "bf16 by f16": replace(f16_by("f16", 40, 130), src_dt="bf16"),
    "f8 by f16": replace(f16_by("f16", 17, 66), src_dt="f8_e4m3"),
    "f8 by f16 in groups": replace(f16_by("f16", 50, 192, src_scale=Quant(3, (1, 48))), src_dt="f8_e4m3"),
    "rows apart": replace(PLAIN, wei_order="ab", src_pad=3, bias_dt="f32", bias_mask=2),
    "weights along K": replace(PLAIN, wei_order="ba", dst_dt="f16"),
    "batch": problem((2, 3, 9, 96), (1, 1, 96, 70), "s8", wei_scale=Quant(8)),
    "batch of rows": problem((40, 1, 96), (1, 96, 70), "s8"),
    "one src": problem((1, 1, 96), (40, 96, 70), "s8"),
}


# Sizes, and what other tests have, too, of weights in other layouts.
FULL = ("1 row", "16 rows", "groups of several blocks", "odd K", "f8_e5m2", "f16, 1 row", "f16 along N")


@pytest.mark.quick(cases=lambda name: name not in FULL)
@pytest.mark.parametrize("name", PROBLEMS)
def test_all_digits(name: str) -> None:
    case = PROBLEMS[name]
    call = run(case)
    assert call.pd.impl_info == ROW
    if case.src_dt == "f16":
        assert "widen_src" in [module.kernel for module in call.pd.modules()]


def test_runtime_rows(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """A primitive for any number of rows."""
    p = grouped("u4", 33, 2, 64)
    src, dst = (zemm.MemoryDesc((zemm.RUNTIME_DIM, n), dt) for n, dt in ((p.k, "f16"), (70, "f32")))
    wei = zemm.MemoryDesc(p.wei_dims, "u4", "any")
    pd = zemm.MatmulPrimitiveDesc(engine, src, wei, dst, None, make_attr(p))
    primitive = zemm.Primitive(pd)
    for m in (33, 1, 16):
        known = replace(p, src_dims=(m, p.k))
        data = make_data(known)
        call = make_call(known, data)
        primitive.execute(stream, call.args)
        stream.wait()
        check_dst(known, data, call)


@pytest.mark.parametrize("m", [1, 17])
def test_scratchpad(engine: zemm.Engine, m: int) -> None:
    """Both parts of all rows fit into it."""
    p = replace(f16_by("u4", m, 8200), scratchpad="user")
    data = make_data(p)
    call = make_call(p, data)
    md = call.pd.query_md("scratchpad_md")
    buffer = np.full(md.size + (1 << 16), 0xA5, np.uint8)
    call.args[zemm.ARG["SCRATCHPAD"]] = zemm.Memory(md, engine, buffer[: md.size])
    call.execute()
    check_dst(p, data, call)
    assert (buffer[md.size :] == 0xA5).all()


def results(p: Problem, data: Data) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # NaN that signals
        call = make_call(p, data)
    assert call.pd.impl_info == ROW
    call.execute()
    return get(call.dst, p.dst_dims, "f32", call.dst_strides)


@pytest.mark.parametrize(("wei_dt", "zero_point"), [("s8", 0), ("u8", 128)])
def test_every_value(wei_dt: str, zero_point: int) -> None:
    """Each f16 by an integer: the sum has no other product, so that it is exact."""
    p = problem((512, 128), (128, 128), wei_dt, wei_zp=Quant(0, (), "u8") if zero_point else None)
    data = make_data(p)
    if zero_point:
        data.quants["wei_zp"][...] = zero_point
    factors = np.arange(-63, 65) * 2 - 1  # of the columns; none is 0
    data.src = np.arange(2**16, dtype=np.uint16).view(np.float16).reshape(512, 128).astype(np.float64)
    data.wei = np.diag(factors) + zero_point
    got = results(p, data)
    with np.errstate(invalid="ignore"):
        expected = (data.src @ np.diag(factors).astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.quick(cases=lambda wei_dt, groups: groups == 3)
@pytest.mark.parametrize(
    ("wei_dt", "groups"), [("u4", 1), ("u4", 3), ("f8_e5m2", 1), ("f8_e5m2", 3), ("f16", 1)]
)
def test_infinities(wei_dt: str, groups: int) -> None:
    """An infinity gives an infinity, or NaN beside 0 and beside an infinity of the other sign. Results that
    it does not meet stay as they are.
    """
    k = 96 * groups
    scale = Quant(3, (96, 1)) if groups > 1 else None
    zero_point = Quant(0, (), "u8") if wei_dt == "u4" else None
    p = problem((50, k), (k, 64), wei_dt, wei_zp=zero_point, wei_scale=scale)
    data = make_data(p)
    if p.wei_zp:
        data.quants["wei_zp"][...] = 7
    else:
        data.wei[k - 40, 3] = np.inf
        data.wei[70, 3:5] = -np.inf
        data.wei[k - 1, 9] = np.nan
        data.src[7, 70] = data.src[9, k - 1] = 0
    if scale:
        data.quants["wei_scale"][...] = 0.5
    before = results(p, replace(data, src=data.src.copy()))
    data.src[::2, 5], data.src[1::4, k - 1], data.src[3, k - 1] = np.inf, -np.inf, np.nan
    got = results(p, data)
    with np.errstate(invalid="ignore"):
        expected = data.src @ (data.wei - (7.0 if p.wei_zp else 0.0))
    special = ~np.isfinite(expected)
    assert np.isinf(expected).any()
    np.testing.assert_array_equal(got[special], expected[special].astype(np.float32))
    np.testing.assert_array_equal(got[~special], before[~special])


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (grouped("s8", 33, 2, 64), "reach 383"),
        (f16_by("u4", 33, 64, wei_zp=Quant(2, (), "f16")), "zero points have to be"),
        (problem((1 << 14, 1 << 14), (1 << 14, 70), "u4", any_tags=True), "too many elements: 268435456"),
    ],
)
def test_refusals(case: Problem, reason: str) -> None:
    with pytest.raises(NotImplementedError, match=f"{ROW}: [^;]*{reason}"):
        make_pd(case)


def test_choice(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row is for CPUs without tiles of f16, for 16 rows and more, where splitting pays."""
    monkeypatch.delenv("ZEMM_KERNEL")
    has_tiles = "amx_bf16" in engine.features and "amx_fp16" not in engine.features
    for wei_dt, m, k, is_for_tiles in (
        ("u4", 15, 4096, False),
        ("u4", 16, 4096, True),
        ("u4", 16, 64, False),
        ("u4", 500, 4096, True),
        ("f16", 31, 4096, False),
        ("f16", 32, 4096, True),
    ):
        chosen = make_pd(f16_by(wei_dt, m, k)).impl_info
        assert (chosen == ROW) == (has_tiles and is_for_tiles)
