# SPDX-License-Identifier: Apache-2.0
"""f16 by tiles of bf16: each value is split into two bf16, which are exact together, and all pairs of parts
are multiplied. The row runs with tiles in software where the CPU has no AMX.
"""

from collections.abc import Mapping

import numpy as np
import pytest
import zemm
from support_calls import Call, fill, make_pd, run
from support_cases import ANY, Problem, shape
from support_rows import BY_NAME
from zemm.benchdnn.data import build
from zemm.benchdnn.grammar.arguments import SCALES, SRC, WEI, ZERO_POINTS

ROW = next(name for name, row in BY_NAME.items() if row.policy == "amx_bf16")


@pytest.fixture(autouse=True)
def _row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZEMM_KERNEL", ROW)


def problem(wei_dt: str, dims: str, more: str = "") -> Problem:
    """Values have all digits of their types."""
    return Problem(f"--dt=f16:{wei_dt}:f32 --attr-fpmath=f16:true {dims} rough").but(more)


def f16_by(wei_dt: str, m: int, k: int, more: str = "") -> Problem:
    return problem(wei_dt, shape(m, 70, k), f"{ANY} {more}")


def grouped(wei_dt: str, m: int, groups: int, group: int, zp_dt: str = "u8") -> Problem:
    parameters = f"--attr-scales=wei:3:f16:{group}x1 --attr-zero-points=wei:3:{zp_dt}:{group}x1"
    return f16_by(wei_dt, m, groups * group, parameters)


COLUMNS = "--attr-scales=wei:2"
PLAIN = grouped("u4", 33, 2, 64).but("--stag=abx --wtag=abx --dtag=abx")
PROBLEMS = {
    "1 row": grouped("u4", 1, 3, 64),
    "16 rows": grouped("u4", 16, 2, 128),
    "17 rows": grouped("s4", 17, 3, 32, "s8"),
    "31 rows": grouped("s8", 31, 2, 96, "s4"),
    "33 rows": grouped("u8", 33, 2, 64),
    "groups that fill no step": grouped("u4", 33, 5, 20),
    "groups of several blocks": grouped("u4", 20, 2, 544),
    "odd K": f16_by("s8", 33, 161, f"{COLUMNS} --attr-zero-points=wei:2:s4"),
    "a block and a bit": f16_by("u4", 40, 515),
    "f8_e4m3": f16_by("f8_e4m3", 33, 130, COLUMNS),
    "f4_e2m1": f16_by("f4_e2m1", 33, 64, "--attr-scales=wei:3:f32:32x1"),
    "f8_e5m2": f16_by("f8_e5m2", 17, 65),
    "f16": f16_by("f16", 33, 545, "--bia-dt=f16 --bia_mask=2"),
    "f16, 1 row": f16_by("f16", 1, 64),
    "f16 along K": problem("f16", "40x130:130x128", "--wtag=ba"),
    "f16 along N": problem("f16", "40x130:130x128"),
    "bf16 by f16": f16_by("f16", 40, 130, "--dt=bf16:f16:f32"),
    "f8 by f16": f16_by("f16", 17, 66, "--dt=f8_e4m3:f16:f32"),
    "f8 by f16 in groups": f16_by("f16", 50, 192, "--dt=f8_e4m3:f16:f32 --attr-scales=src:3:f32:1x48"),
    "rows apart": PLAIN.but("--bia-dt=f32 --bia_mask=2 src_pad=3"),
    "weights along K": PLAIN.but("--wtag=ba --dt=f16:u4:f16"),
    "batch": problem("s8", "2x3x9x96:1x1x96x70", "--attr-scales=wei:8"),
    "batch of rows": problem("s8", "40x1x96:1x96x70"),
    "one src": problem("s8", "1x1x96:40x96x70"),
}


# Sizes, and what other tests have, too, of weights in other layouts.
FULL = (
    "1 row", "16 rows", "31 rows", "groups of several blocks", "odd K", "a block and a bit", "f8_e5m2",
    "f16, 1 row", "f16 along N", "f8 by f16", "rows apart", "batch of rows",
)  # fmt: skip


@pytest.mark.quick(cases=lambda name: name not in FULL)
@pytest.mark.parametrize("name", PROBLEMS)
def test_all_digits(name: str) -> None:
    case = PROBLEMS[name]
    call = run(case)
    assert call.pd.impl_info == ROW
    if case.dt[0] == "f16":
        assert "widen_src" in [module.kernel for module in call.pd.modules()]


def test_runtime_rows(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """A primitive for any number of rows."""
    p = grouped("u4", 33, 2, 64)
    src, dst = (zemm.MemoryDesc((zemm.RUNTIME_DIM, n), dt) for n, dt in ((p.k, "f16"), (70, "f32")))
    wei = zemm.MemoryDesc((p.k, 70), "u4", "any")
    pd = zemm.MatmulPrimitiveDesc(engine, src, wei, dst, None, build.attributes(zemm, p.case))
    primitive = zemm.Primitive(pd)
    for m in (33, 1, 16):
        call = Call(p.shaped(m, 70, p.k))
        primitive.execute(stream, call.args)
        stream.wait()
        call.check()


@pytest.mark.parametrize("m", [1, 17])
def test_scratchpad(m: int) -> None:
    """Both parts of all rows fit into it."""
    run(f16_by("u4", m, 8200, "--attr-scratchpad=user"))  # it lies between guards


def results(p: Problem, given: Mapping[int, object]) -> np.ndarray:
    call = Call(p, given)
    assert call.pd.impl_info == ROW
    call.execute()
    return call.dst


@pytest.mark.parametrize(("wei_dt", "zero_point"), [("s8", 0), ("u8", 128)])
def test_every_value(wei_dt: str, zero_point: int) -> None:
    """Each f16 by an integer: the sum has no other product, so that it is exact."""
    p = problem(wei_dt, "512x128:128x128", f"--attr-zero-points={'wei:common:1:u8' if zero_point else ''}")
    factors = np.diag(np.arange(-63, 65) * 2 - 1)  # of the columns; none is 0
    src = np.arange(2**16, dtype=np.uint16).view(np.float16).reshape(512, 128).astype(np.float64)
    got = results(p, {SRC: src, WEI: factors + zero_point, ZERO_POINTS | WEI: zero_point})
    with np.errstate(invalid="ignore"):
        expected = (src @ factors.astype(np.float64)).astype(np.float32)
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
    is_u4 = wei_dt == "u4"
    p = problem(wei_dt, shape(50, 64, k), "--attr-zero-points=wei:common:1:u8" if is_u4 else "")
    p = p.but("--attr-scales=wei:3:f32:96x1" if groups > 1 else "")
    data = fill(p, {ZERO_POINTS | WEI: 7, SCALES | WEI: 0.5})
    src, wei = data[SRC], data[WEI]
    if not is_u4:
        wei[k - 40, 3] = np.inf
        wei[70, 3:5] = -np.inf
        wei[k - 1, 9] = np.nan
        src[7, 70] = src[9, k - 1] = 0
    before = results(p, data)
    src[::2, 5], src[1::4, k - 1], src[3, k - 1] = np.inf, -np.inf, np.nan
    got = results(p, data)
    with np.errstate(invalid="ignore"):
        expected = src @ (wei - (7.0 if is_u4 else 0.0))
    special = ~np.isfinite(expected)
    assert np.isinf(expected).any()
    np.testing.assert_array_equal(got[special], expected[special].astype(np.float32))
    np.testing.assert_array_equal(got[~special], before[~special])


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (grouped("s8", 33, 2, 64), "reach 383"),
        (f16_by("u4", 33, 64, "--attr-zero-points=wei:2:f16"), "zero points have to be"),
        (f16_by("u4", 1 << 14, 1 << 14), "too many elements: 268435456"),
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
