# SPDX-License-Identifier: Apache-2.0
"""Every matmul kernel of kernels.def, forced by name, with M, N and K around each tile and group
size.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import zemm
from support_decisions import needed
from support_problem import Problem, Quant, make_data, zero_point
from support_rows import BY_NAME, CPU_ROWS, reads_packed_only
from support_run import make_pd, result, run
from support_tails import FLOATS, INTEGERS, PACKED, Variant, shapes
from support_tiers import facts, in_turns, nothing

VARIANTS = INTEGERS | FLOATS


def no_bf16(base: Problem, splits_f16: bool) -> str:
    """The refusal of a row that multiplies bf16, f32 as bf16 where that is allowed, and f16 as two bf16."""
    if base.src_dt not in ("f32", "bf16", *(["f16"] if splits_f16 else [])):
        more = "f16, " if splits_f16 else ""
        return f"multiplies bf16, {more}f8, f4 and f32 by these or integers, not {base.src_dt}"
    if base.src_dt == "f32" and (not base.fpmath or base.fpmath[0] not in ("bf16", "any")):
        return "which the fpmath mode has to allow"
    if base.wei_zp and base.wei_zp.dt == "s32":
        return "zero points have to be tensors of 8 bits"
    return ""


def scales_along_k(base: Problem) -> bool:
    """Whether the sums of groups along K are scaled."""
    return any(quant and quant.groups for quant in (base.src_scale, base.wei_scale))


def refusal(engine: zemm.Engine, row: str, variant: Variant) -> str:
    """Words of the sentence with which a row refuses a variant; "" if the row has to take it."""
    traits = BY_NAME[row]
    if traits.feature and traits.feature not in engine.features:
        return f"does not report {traits.feature}"
    if traits.src == "int8" and not variant.base.integer:
        return f"src is {variant.base.src_dt}"
    if traits.src == "bf16" and (why := no_bf16(variant.base, traits.has_tiles)):
        return why
    if traits.src == "f16" and variant.base.src_dt != "f16":
        return "multiplies f16, f8 and f4 by these or integers"
    by_integers = not variant.base.integer and variant.base.wei_dt in ("u8", "s8", "u4", "s4", "u2")
    if traits.policy == "avx512_widen" and not by_integers:
        return "multiplies floats by types of 8 and 4 bits"
    if traits.policy == "avx512_segments" and (not scales_along_k(variant.base) or variant.base.src_zp):
        return "takes sums that are scaled along K, and no zero points of src"
    if reads_packed_only(traits) and not variant.base.wei_tag:
        return "reads packed weights only"
    return ""


def run_on(row: str, problem: Problem) -> bool:
    """Run the problem on the row. Returns whether the result had to be exact."""
    call = run(problem)
    assert call.pd.impl_info == row
    return call.exact


def first_problem(row: str, name: str) -> Problem:
    return VARIANTS[name].of_shape(*next(shapes(INTEGERS if name in INTEGERS else FLOATS, name)), 0)


def facts_of(name: str) -> set[str]:
    return facts(VARIANTS[name].base)


IS_TURN = in_turns(CPU_ROWS[::4], VARIANTS, first_problem, covers=nothing)


@pytest.mark.quick(cases=IS_TURN)
@pytest.mark.decided(cases=needed(CPU_ROWS, VARIANTS, first_problem, first=IS_TURN, covers=facts_of))
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("row", CPU_ROWS)
def test_tails(engine: zemm.Engine, row: str, name: str) -> None:
    variant, variants = VARIANTS[name], INTEGERS if name in INTEGERS else FLOATS
    why = refusal(engine, row, variant)
    for seed, (m, n, k) in enumerate(shapes(variants, name)):
        problem = variant.of_shape(m, n, k, seed)
        if why:
            with pytest.raises(NotImplementedError, match=why):
                make_pd(problem)
            return
        try:
            exact = run_on(row, problem)
        except AssertionError as error:
            raise AssertionError(f"M {m}, N {n}, K {k}: {error}") from error
        assert exact, f"M {m}, N {n}, K {k}: the values are not small enough for exact sums"


ROUGH = [name for name in FLOATS if not FLOATS[name].group]
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
        inexact += not run_on(row, replace(FLOATS[name].of_shape(m, n, k, seed), rough=True))
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


REFUSED = {
    "stride of src": (Problem((5, 8), (8, 17), "s8", "u8", "s32", src_order="ba"), "whose stride is 5"),
    "groups of 6": (
        Problem((5, 12), (12, 17), "s8", "u8", "s32", wei_zp=zero_point(), reduction_group=6),
        "multiples of 4, the greatest common divisor here is 6",
    ),
    "packed, groups of 6": (
        Problem((5, 12), (12, 17), "s8", "u8", "s32", wei_zp=zero_point(), reduction_group=6, wei_tag=PACKED),
        "multiples of 4, the greatest common divisor here is 6",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("row", [row for row in CPU_ROWS if row.startswith("matmul_int8")])
def test_int8_rows_refuse(engine: zemm.Engine, row: str, name: str) -> None:
    problem, why = REFUSED[name]
    if reads_packed_only(BY_NAME[row]):
        problem = replace(problem, wei_tag=PACKED)
    if BY_NAME[row].policy != "avx512_segments":  # it refuses what it shares with the others first
        why = refusal(engine, row, Variant(problem)) or why
    with pytest.raises(NotImplementedError, match=f"{row}: [^;]*{why}"):
        make_pd(problem)


@pytest.mark.parametrize("name", ["stride of src", "groups of 6"])
def test_another_row_takes_it(name: str) -> None:
    """Without ZEMM_KERNEL, a problem that the int8 rows refuse runs on another row."""
    problem = REFUSED[name][0]
    row = make_pd(problem).impl_info
    assert not row.startswith("matmul_int8")
    run_on(row, problem)


def test_infinite_src_beside_zero_points(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each weight counts less its zero point, also where the kernel subtracts zero points afterwards."""
    row = next(name for name in CPU_ROWS if BY_NAME[name].policy == "avx512_widen")
    if "avx512" not in engine.features:
        pytest.skip("the device has no avx512")
    monkeypatch.setenv("ZEMM_KERNEL", row)
    problem = Problem(
        (2, 64),
        (64, 70),
        wei_dt="u4",
        wei_tag=PACKED,
        wei_scale=Quant(3, (32, 1)),
        wei_zp=zero_point(3, (32, 1), "u8"),
        fpmath=("strict", True),
    )
    data = make_data(problem)
    data.quants["wei_zp"] %= 16
    data.src[0, 5] = np.inf
    got = result(problem, data)
    with np.errstate(invalid="ignore"):
        factors = (data.wei[5] - data.quants["wei_zp"][0]) * data.quants["wei_scale"][0]
        np.testing.assert_array_equal(got[0], factors * np.inf)
    assert np.isfinite(got[1]).all()


@pytest.mark.parametrize("wei", ["u8", "s8"])
def test_far_zero_points(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, wei: str) -> None:
    """Zero points of bytes of any size. Up to 2^22 they are subtracted together with a power of 2."""
    row = next(name for name in CPU_ROWS if BY_NAME[name].policy == "avx512_widen")
    if "avx512" not in engine.features:
        pytest.skip("the device has no avx512")
    monkeypatch.setenv("ZEMM_KERNEL", row)
    wei_zp = zero_point(3, (32, 1), "s32")
    problem = Problem((3, 96), (96, 64), wei_dt=wei, wei_tag=PACKED, wei_zp=wei_zp, fpmath=("strict", True))
    data = make_data(problem)
    data.quants["wei_zp"][0, 0::2], data.quants["wei_zp"][0, 1::2] = 1 << 22, -(1 << 22)
    data.quants["wei_zp"][1] = (1 << 22) + 1
    data.quants["wei_zp"][2] = -(1 << 23)
    one_of_each = (5, 39, 94)
    data.src[:] = 0
    data.src[range(3), one_of_each] = 2
    got = result(problem, data)
    differences = data.wei[one_of_each, :].astype(np.int64) - data.quants["wei_zp"]
    np.testing.assert_array_equal(got, 2.0 * differences)


def test_few_rows_choose(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to 4 rows are limited by reading the weights, more by multiplying."""
    monkeypatch.delenv("ZEMM_KERNEL", raising=False)
    if "avx512" not in engine.features:
        pytest.skip("the device has no avx512")
    more = "avx512_bf16" if "avx512_bf16" in engine.features else "avx512"
    for m in (1, 4, 5, 6, 7, 15):
        weight_only = Problem((m, 256), (256, 64), wei_dt="u4", any_tags=True, fpmath=("any", True))
        bf16 = Problem((m, 256), (256, 64), "bf16", "bf16", "f32", any_tags=True)
        chosen = [BY_NAME[make_pd(p).impl_info].policy for p in (weight_only, bf16)]
        assert chosen[0] == ("avx512_widen" if m <= 4 else "avx512" if m <= 6 else more)
        assert chosen[1] == ("avx512" if m <= 4 else more)
        strict = BY_NAME[make_pd(replace(weight_only, fpmath=("strict", True))).impl_info]
        assert strict.policy == ("avx512_widen" if m <= 4 else "avx512")
