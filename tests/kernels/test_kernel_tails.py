# SPDX-License-Identifier: Apache-2.0
"""Every matmul kernel of kernels.def, forced by name, with M, N and K around each tile and group
size.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import zemm
from support_calls import fill, make_pd, result, run, run_exact
from support_cases import ANY, PACKED, Problem, problems, shape
from support_decisions import needed
from support_rows import BY_NAME, CPU_ROWS, reads_packed_only
from support_tiers import facts, in_turns, nothing
from zemm.benchdnn.grammar.arguments import SCALES, SRC, WEI, ZERO_POINTS

# A variant is what decides which module is compiled. Shapes are not compiled in, except for a few
# bits (K beyond a row's tile, K % 4, tiles of few rows). Integers that are scaled have limited values,
# so that every sum is exact in f32. Its words: group: elements of K in a group; units: it also runs
# UNIT_SHAPES.
INTEGERS, FLOATS = problems("tails of integers"), problems("tails of floats")
VARIANTS = INTEGERS | FLOATS
# M around the heights of tiles (264, 120, 64, 8) and of the groups of rows that are multiplied at once
# (4, 6, 8).
MS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 63, 64, 65, 119, 120, 121, 241, 263, 264, 265)
# N around vectors (8, 16), tiles (16, 32, 64) and panels (64). With eight tiles of 64 columns all
# cores are busy, so tiles are not made lower. N = 1 makes another variant of plain weights.
NS = (15, 16, 17, 63, 64, 65, 100, 130, 449)
# K around quads, vectors and tiles (16, 64, 256). Sizes of 1 make other variants: see UNIT_SHAPES.
KS = (2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 512)
UNIT_SHAPES = ((1, 1, 1), (121, 65, 1), (9, 1, 300), (121, 1, 64))


def of_shape(base: Problem, m: int, n: int, k: int, seed: int) -> Problem:
    reductions = f"--attr-precomputed-reductions=src:per_tensor:s32:1x{base.number('group', k)}"
    more = reductions if base.find("precomputed_reductions", "src") else ""
    return base.shaped(m, n, k, f"{more} seed={seed}")


def shapes(variants: dict[str, Problem], name: str) -> Iterator[tuple[int, int, int]]:
    """M, N and K of the runs.

    The variants without groups together meet all pairs of M and K, of N and K, and of M and N.
    """
    if variants[name].number("units"):
        yield from UNIT_SHAPES
    if group := variants[name].number("group"):
        for i, m in enumerate(MS):
            # At least two groups: a single group would be another variant.
            for groups in sorted({2 + i % 3, 512 // group + i % 2}):
                if groups > 1:
                    yield m, NS[(i + groups) % len(NS)], groups * group
        return
    plain = [other for other in variants if not variants[other].number("group")]
    each = -(-len(MS) // len(plain))
    first = plain.index(name) * each
    for k, length in enumerate(KS):
        for t in range(first, first + each):
            yield MS[(t + k) % len(MS)], NS[(t + 2 * k) % len(NS)], length


def no_bf16(base: Problem, splits_f16: bool) -> str:
    """The refusal of a row that multiplies bf16, f32 as bf16 where that is allowed, and f16 as two bf16."""
    src, zero_points = base.dt[0], base.find("zero_points", "wei")
    if src not in ("f32", "bf16", *(["f16"] if splits_f16 else [])):
        more = "f16, " if splits_f16 else ""
        return f"multiplies bf16, {more}f8, f4 and f32 by these or integers, not {src}"
    if src == "f32" and base.case.attributes.fpmath.mode not in ("bf16", "any"):
        return "which the fpmath mode has to allow"
    if zero_points and zero_points.data_type == "s32":
        return "zero points have to be tensors of 8 bits"
    return ""


def refusal(engine: zemm.Engine, row: str, base: Problem) -> str:
    """Words of the sentence with which a row refuses a variant; "" if the row has to take it."""
    traits, (src, wei, _) = BY_NAME[row], base.dt
    if traits.feature and traits.feature not in engine.features:
        return f"does not report {traits.feature}"
    if traits.src == "int8" and not base.is_integer:
        return f"src is {src}"
    if traits.src == "bf16" and (why := no_bf16(base, traits.has_tiles)):
        return why
    if traits.src == "f16" and src != "f16":
        return "multiplies f16, f8 and f4 by these or integers"
    by_integers = not base.is_integer and wei in ("u8", "s8", "u4", "s4", "u2")
    if traits.policy == "avx512_widen" and not by_integers:
        return "multiplies floats by types of 8 and 4 bits"
    if traits.policy == "avx512_segments" and (not base.scales_groups or base.find("zero_points", "src")):
        return "takes sums that are scaled along K, and no zero points of src"
    if reads_packed_only(traits) and not base.is_packed:
        return "reads packed weights only"
    return ""


def first_problem(row: str, name: str) -> Problem:
    return of_shape(VARIANTS[name], *next(shapes(INTEGERS if name in INTEGERS else FLOATS, name)), 0)


def facts_of(name: str) -> set[str]:
    return facts(VARIANTS[name])


IS_TURN = in_turns(CPU_ROWS[::6], VARIANTS, first_problem, covers=nothing)


@pytest.mark.quick(cases=IS_TURN)
@pytest.mark.decided(cases=needed(CPU_ROWS, VARIANTS, first_problem, first=IS_TURN, covers=facts_of))
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("row", CPU_ROWS)
def test_tails(engine: zemm.Engine, row: str, name: str) -> None:
    variant, variants = VARIANTS[name], INTEGERS if name in INTEGERS else FLOATS
    why = refusal(engine, row, variant)
    for seed, (m, n, k) in enumerate(shapes(variants, name)):
        problem = of_shape(variant, m, n, k, seed)
        if why:
            with pytest.raises(NotImplementedError, match=why):
                make_pd(problem)
            return
        assert run_exact(problem).pd.impl_info == row


ROUGH = [name for name in FLOATS if not FLOATS[name].number("group")]
FLOAT_ROWS = [row for row in CPU_ROWS if BY_NAME[row].src != "int8"]


@pytest.mark.quick(cases=in_turns(FLOAT_ROWS[::4], ROUGH, first_problem, covers=nothing))
@pytest.mark.parametrize("name", ROUGH)
@pytest.mark.parametrize("row", FLOAT_ROWS)
def test_rough_tails(engine: zemm.Engine, row: str, name: str) -> None:
    """Floats with all their digits. Each product and each addition may round once, in any order."""
    if refusal(engine, row, FLOATS[name]):
        return  # test_tails has checked the reason
    inexact = 0
    for seed, (m, n, k) in enumerate(itertools.islice(shapes(FLOATS, name), 0, None, 4)):
        call = run(of_shape(FLOATS[name], m, n, k, seed).but("rough"))
        assert call.pd.impl_info == row
        inexact += not call.is_exact
    assert inexact > 5


def test_each_row_takes_variants_on_its_device(engine: zemm.Engine) -> None:
    """Every refusal above has a valid reason, and each row still takes enough types and layouts."""
    for row in CPU_ROWS:
        whys = [refusal(engine, row, variant) for variant in VARIANTS.values()]
        taken = whys.count("")
        assert taken == (0 if "report" in "".join(whys) else taken)
        if taken:
            least = {"plain": 7, "packed": 8 if reads_packed_only(BY_NAME[row]) else 13}[BY_NAME[row].weights]
            least = {"bf16": 3, "f16": 3, "float": 4}.get(BY_NAME[row].src, least)
            assert taken >= (1 if BY_NAME[row].policy == "avx512_segments" else least)


SIXES = Problem(
    "--dt=s8:u8:s32 --attr-zero-points=wei:common:1 --attr-precomputed-reductions=src:3:s32:1x6 5x12:12x17"
)
REFUSED = {
    "stride of src": (Problem("--dt=s8:u8:s32 --stag=ba 5x8:8x17"), "whose stride is 5"),
    "groups of 6": (SIXES, "multiples of 4, the greatest common divisor here is 6"),
    "packed, groups of 6": (SIXES.but(PACKED), "multiples of 4, the greatest common divisor here is 6"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("row", [row for row in CPU_ROWS if row.startswith("matmul_int8")])
def test_int8_rows_refuse(engine: zemm.Engine, row: str, name: str) -> None:
    problem, why = REFUSED[name]
    if reads_packed_only(BY_NAME[row]):
        problem = problem.but(PACKED)
    said = refusal(engine, row, problem)
    if (
        BY_NAME[row].policy != "avx512_segments" or "report" in said
    ):  # it refuses what it shares with the others first
        why = said or why
    with pytest.raises(NotImplementedError, match=f"{row}: [^;]*{why}"):
        make_pd(problem)


@pytest.mark.parametrize("name", ["stride of src", "groups of 6"])
def test_another_row_takes_it(name: str) -> None:
    """Without ZEMM_KERNEL, a problem that the int8 rows refuse runs on another row."""
    problem = REFUSED[name][0]
    row = make_pd(problem).impl_info
    assert not row.startswith("matmul_int8")
    assert run(problem).pd.impl_info == row


def test_infinite_src_beside_zero_points(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each weight counts less its zero point, also where the kernel subtracts zero points afterwards."""
    row = next(name for name in CPU_ROWS if BY_NAME[name].policy == "avx512_widen")
    if "avx512" not in engine.features:
        pytest.skip("the device has no avx512")
    monkeypatch.setenv("ZEMM_KERNEL", row)
    problem = Problem(
        f"{PACKED} --dt=f32:u4:f32 --attr-scales=wei:3:f32:32x1 --attr-zero-points=wei:3:u8:32x1"
        " --attr-fpmath=strict:true 2x64:64x70"
    )
    data = fill(problem)
    points, scales = data[ZERO_POINTS | WEI], data[SCALES | WEI]
    points %= 16
    data[SRC][0, 5] = np.inf
    got = result(problem, data)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got[0], (data[WEI][5] - points[0]) * scales[0] * np.inf)
    assert np.isfinite(got[1]).all()


@pytest.mark.parametrize("wei", ["u8", "s8"])
def test_far_zero_points(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, wei: str) -> None:
    """Zero points of bytes of any size. Up to 2^22 they are subtracted together with a power of 2."""
    row = next(name for name in CPU_ROWS if BY_NAME[name].policy == "avx512_widen")
    if "avx512" not in engine.features:
        pytest.skip("the device has no avx512")
    monkeypatch.setenv("ZEMM_KERNEL", row)
    problem = Problem(
        f"{PACKED} --dt=f32:{wei}:f32 --attr-zero-points=wei:3:s32:32x1 --attr-fpmath=strict:true 3x96:96x64"
    )
    data = fill(problem)
    points = data[ZERO_POINTS | WEI]
    points[0, 0::2], points[0, 1::2] = 1 << 22, -(1 << 22)
    points[1] = (1 << 22) + 1
    points[2] = -(1 << 23)
    one_of_each = (5, 39, 94)
    data[SRC][:] = 0
    data[SRC][range(3), one_of_each] = 2
    np.testing.assert_array_equal(result(problem, data), 2.0 * (data[WEI][one_of_each, :] - points))


def test_few_rows_choose(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to 4 rows are limited by reading the weights, more by multiplying."""
    monkeypatch.delenv("ZEMM_KERNEL", raising=False)
    if "avx512" not in engine.features:
        pytest.skip("the device has no avx512")
    more = "avx512_bf16" if "avx512_bf16" in engine.features else "avx512"
    for m in (1, 4, 5, 6, 7, 15):
        weight_only = Problem(f"{ANY} --dt=f32:u4:f32 --attr-fpmath=any:true {shape(m, 64, 256)}")
        bf16 = Problem(f"{ANY} --dt=bf16:bf16:f32 {shape(m, 64, 256)}")
        chosen = [BY_NAME[make_pd(p).impl_info].policy for p in (weight_only, bf16)]
        assert chosen[0] == ("avx512_widen" if m <= 4 else "avx512" if m <= 6 else more)
        assert chosen[1] == ("avx512" if m <= 4 else more)
        strict = BY_NAME[make_pd(weight_only.but("--attr-fpmath=strict:true")).impl_info]
        assert strict.policy == ("avx512_widen" if m <= 4 else "avx512")
