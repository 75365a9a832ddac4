# SPDX-License-Identifier: Apache-2.0
"""A src whose values have 7 bits. Products with AVX2 are exact up to both ends of the range, and other values
change nothing but numbers. Quantisation to the range gives the same bits on a device as in numpy.
"""

import os
import sys

import numpy as np
import pytest
import zemm
from support_calls import Call, fill, run_exact
from support_cases import ANY, PACKED, Problem, shape
from support_fill import RANGES
from support_process import captured
from support_rows import BY_NAME, CPU_ROWS, reads_packed_only, skip_without_feature
from support_tiers import POLICY_ROWS
from test_quantize_device import compare
from zemm import ARG_SRC, ARG_WEIGHTS

AVX2_ROWS = [row for row in CPU_ROWS if BY_NAME[row].policy == "avx2"]
ENDS = {"s8": (-64, 63), "u8": (0, 127)}
LAYOUTS = {"any": ANY, "ab": "wei_pad=3", "ba": "--wtag=ba src_pad=5", "packed": PACKED}
PAIRS = [(src, wei) for src in ENDS for wei in ("s8", "u8", "s4", "u4")]


def problem_of(src: str, wei: str, m: int, k: int, layout: str) -> Problem:
    return Problem(f"--dt={src}:{wei}:s32 --attr-reduced-range=src {LAYOUTS[layout]} {shape(m, 70, k)}")


def is_quick(row: str, pair: tuple[str, str], layout: str, bits: int) -> bool:
    if row not in POLICY_ROWS:
        return False
    if bits == 8:
        return layout == "packed" and pair == ("u8", "s8")
    return "4" not in pair[1] and layout == ("packed" if pair[0] == pair[1] else "ba")


@pytest.mark.each_value
@pytest.mark.quick(cases=is_quick)
@pytest.mark.parametrize("bits", [7, 8])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("row", AVX2_ROWS)
def test_ends_of_the_range(
    engine: zemm.Engine,
    monkeypatch: pytest.MonkeyPatch,
    row: str,
    pair: tuple[str, str],
    layout: str,
    bits: int,
) -> None:
    """The ends of src with 7 and with 8 bits by those of weights: rows and columns of one, and of any mix."""
    if reads_packed_only(BY_NAME[row]) and layout in ("ab", "ba"):
        pytest.skip("it reads packed weights only")
    skip_without_feature(engine, row)
    monkeypatch.setenv("ZEMM_KERNEL", row)
    rng = np.random.default_rng(0)
    for m, k in ((4, 260), (3, 512)) if reads_packed_only(BY_NAME[row]) else ((4, 70), (123, 256)):
        p = problem_of(*pair, m, k if layout in ("ab", "ba") else k // 4 * 4, layout)
        p = p if bits == 7 else p.but("--attr-reduced-range=")
        ends = (ENDS if bits == 7 else RANGES)[pair[0]]
        src = rng.choice(ends, p.case.problem.src)
        wei = rng.choice(RANGES[pair[1]], p.case.problem.wei)
        src[:2] = np.array(ends)[:, None]
        wei[:, :2] = RANGES[pair[1]]
        run_exact(p, {ARG_SRC: src, ARG_WEIGHTS: wei})


@pytest.mark.quick(
    cases=lambda row, layout: (
        layout == ("any" if reads_packed_only(BY_NAME[row]) else "ba") and row in POLICY_ROWS
    )
)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", AVX2_ROWS)
def test_other_values_only_give_other_numbers(
    engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, row: str, layout: str
) -> None:
    """With 8 bits nothing around dst changes. Only the row with AVX2 counts on the range: without the
    attribute, or on another CPU, the results are exact."""
    if reads_packed_only(BY_NAME[row]) and layout in ("ab", "ba"):
        pytest.skip("it reads packed weights only")
    skip_without_feature(engine, row)
    for src, wei in (("u8", "s8"), ("s8", "u8")):
        p = problem_of(src, wei, 4, 256, layout)
        plain = p.but("--attr-reduced-range=")
        data = fill(plain)
        monkeypatch.setenv("ZEMM_KERNEL", row)
        run_exact(plain, data)
        call = Call(p, data)
        call.execute()
        with pytest.raises(AssertionError, match="wrong, first"):
            call.check()
        monkeypatch.setenv("ZEMM_KERNEL", "matmul_any_any_any_64x32x64_generic")
        if layout == "any":
            run_exact(p, data)


def test_a_cpu_with_avx2_alone() -> None:
    """The whole way there: x is quantised, and the product of its 7 bits is exact."""
    environment = {**os.environ, "ZEMM_DEVICE_MASK": "avx_vnni,avx512,amx_int8,amx_bf16,amx_fp16"}
    done = captured([sys.executable, __file__], env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def main() -> None:
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((5, 256)).astype(np.float32), rng.standard_normal((256, 70))
    wq, ws, wz = zemm.quantize_weights(w, bits=8)
    real = x @ ((wq - wz.astype(np.float64)) * ws)
    layers = {
        name: zemm.Linear.from_quantized(wq, ws, wz, activation=name)  # type: ignore[arg-type]
        for name in ("int8", "int7")
    }
    for name, layer in layers.items():
        q, s, _ = zemm.quantize_activations(x, 256, reduced_range=name == "int7")
        want = (q.astype(np.float64) * s) @ ((wq - wz.astype(np.float64)) * ws)
        assert np.abs(layer(x) - want).max() < 1e-4
        again = zemm.matmul(
            q, wq, src_scales=s, weights_scales=ws, weights_zero_points=wz, reduced_range=name == "int7"
        )
        assert np.abs(again - want).max() < 1e-4
    errors = {name: np.sqrt(np.mean((layer(x) - real) ** 2)) for name, layer in layers.items()}
    assert 1.6 < errors["int7"] / errors["int8"] < 2.5


@pytest.mark.quick(cases=lambda scale_dtype, dtype: (scale_dtype, dtype) in (("f32", "s8"), ("f16", "u8")))
@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize("scale_dtype", ["f32", "f16", "bf16"])
def test_quantisation(engine: zemm.Engine, scale_dtype: str, dtype: str) -> None:
    """Bits are those of numpy, which reach both ends of the range but do not leave it."""
    rng = np.random.default_rng(0)
    for group in (1, 17, 32, 100, 384):
        x = rng.standard_normal((40, 2 * group)) * 2.0 ** rng.integers(-10, 9, (40, 1))
        compare(engine, x.astype(np.float32), group, scale_dtype, dtype, reduced_range=True)
        values = zemm.quantize_activations(
            x.astype(np.float32), group, scale_dtype, dtype=dtype, reduced_range=True, engine=engine
        ).values
        assert (values.min(), values.max()) == ((-63, 63) if dtype == "s8" else (0, 127))


if __name__ == "__main__":
    main()
