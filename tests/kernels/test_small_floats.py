# SPDX-License-Identifier: Apache-2.0
"""Floats of 8 and 4 bits and e8m0, bit by bit: every code is loaded, and each value that is hard to
round is stored, by reorders and by matmuls.
"""

import itertools
import os
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest
import zemm
from support_bounds import NAN_AS
from support_calls import make_pd, refusal, result, run
from support_cases import PACKED, PACKED_FLOATS, Problem, shape
from support_decisions import needed
from support_layout import Buffer, Layout
from support_process import captured
from support_rows import BY_NAME, CPU_ROWS, reads_packed_only
from zemm import ARG_ATTR_SCALES, ARG_DST, ARG_FROM, ARG_SRC, ARG_TO
from zemm.benchdnn.grammar.arguments import BIAS, DST, SCALES, SRC, WEI, post_op_arg

Array = np.ndarray[Any, Any]
SMALL_FLOATS = ("f8_e5m2", "f8_e4m3", "f4_e2m1")
SMALL = (*SMALL_FLOATS, "e8m0")
# The first value that is no longer rounded to the type's largest one.
OVERFLOW = {"f8_e5m2": 61440.0, "f8_e4m3": float(np.nextafter(np.float32(464), np.float32(500)))}
# The rows of CPUs without those that only multiply integers.
FLOAT_ROWS = [row for row in CPU_ROWS if "int8" not in row]


def codes(dt: str) -> Array:
    """Every code of a type, in numpy's type for it."""
    return np.arange(16 if dt == "f4_e2m1" else 256, dtype=np.uint8).view(zemm.numpy_dtype(dt))


def as_f32(elements: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return elements.astype(np.float32)


def finite(dt: str) -> Array:
    every = as_f32(codes(dt))
    return every[np.isfinite(every)]


@cache
def hard_values(dt: str) -> Array:
    """All values of a type, the middles between neighbours, the f32 just beside these, the largest
    and smallest f32, infinities, NaN, and random f32.
    """
    steps = np.unique(finite(dt))
    middles = ((steps[1:].astype(np.float64) + steps[:-1]) / 2).astype(np.float32)
    limits = np.array([*OVERFLOW.values(), 448, 464, 480, 57344, 65536, 5, 6, 7, 8, 1e10], np.float32)
    info = np.finfo(np.float32)
    ends = np.array([info.max, info.tiny, info.smallest_subnormal, 0, np.inf, np.nan], np.float32)
    exact = np.concatenate([steps, middles, limits, ends])
    with np.errstate(over="ignore"):
        below, above = (np.nextafter(exact, np.float32(end)) for end in (-np.inf, np.inf))
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 20000, dtype=np.uint32).view(np.float32)
    small = np.exp2(rng.uniform(-20, 18, 20000)).astype(np.float32)
    values = np.concatenate([exact, below, above, bits, small])
    return np.concatenate([values, -values])


def stored(x: Array, dt: str) -> Array:
    """The codes of f32 values: rounded once, half to even, as ml_dtypes does. f4_e2m1 and e8m0 have
    rules of their own.
    """
    if dt == "e8m0":
        return (x.view(np.uint32) >> 23).astype(np.uint8)
    if dt == "f4_e2m1":
        x = np.where(np.isnan(x), np.copysign(np.float32(6), x), x)
    with np.errstate(over="ignore", invalid="ignore"):
        return x.astype(zemm.numpy_dtype(dt)).view(np.uint8)


def test_the_expected_codes_are_the_standard_s() -> None:
    """Limits that OCP's definitions give, written down here."""

    def bits(dt: str, *values: float) -> list[int]:
        return [int(code) for code in stored(np.array(values, np.float32), dt)]

    assert bits("f8_e5m2", 57344, 61439, 61440, -1e9, np.inf) == [0x7B, 0x7B, 0x7C, 0xFC, 0x7C]
    assert bits("f8_e5m2", 2.0**-16, 2.0**-17, 1.01 * 2.0**-17, -0.0) == [1, 0, 1, 0x80]
    assert bits("f8_e4m3", 448, 464, 465, -465, np.inf, -np.inf) == [0x7E, 0x7E, 0x7F, 0xFF, 0x7F, 0xFF]
    assert bits("f8_e4m3", 2.0**-9, 2.0**-10, 1.01 * 2.0**-10) == [1, 0, 1]
    assert bits("f4_e2m1", 6, 7, -1e9, np.inf, np.nan, -np.nan) == [7, 7, 15, 7, 7, 15]
    assert bits("f4_e2m1", 0.25, 0.26, 0.75, 5, 3.5, 2.5) == [0, 1, 2, 6, 6, 4]
    assert bits("e8m0", 1, 1.99, -2, 0, np.inf, np.nan, 2.0**-126) == [127, 127, 128, 0, 255, 255, 1]


def check_codes(got: Array, x: Array, dt: str) -> None:
    want = stored(x, dt)
    wrong = np.flatnonzero(got != want)
    at = wrong[:5]
    assert not wrong.size, f"{wrong.size} of {x.size} wrong: {x[at]} became {got[at]}, not {want[at]}"


def check_values(got: Array, want: Array) -> None:
    """Compare f32, bit by bit where they are numbers: the signs of zeros count."""
    got, want = (np.ascontiguousarray(a, np.float32) for a in np.broadcast_arrays(got, want))
    numbers = ~np.isnan(want)
    assert np.array_equal(np.isnan(got), ~numbers)
    np.testing.assert_array_equal(got[numbers].view(np.uint32), want[numbers].view(np.uint32))


def reordered(engine: zemm.Engine, values: Array, src_dt: str, dst_dt: str) -> Array:
    """A row of elements converted by a reorder."""
    src = Buffer(Layout(values.shape, src_dt, "a"), engine, 1)
    dst = Buffer(Layout(values.shape, dst_dt, "a"), engine, 2)
    src.put(values)
    stream = zemm.Stream(engine)
    pd = zemm.ReorderPrimitiveDesc(engine, src.layout.md(), dst.layout.md())
    zemm.Primitive(pd).execute(stream, {ARG_FROM: src.memory, ARG_TO: dst.memory})
    stream.wait()
    return dst.elements()[: values.size]


@pytest.mark.parametrize("dt", SMALL)
def test_reorder_loads_every_code(engine: zemm.Engine, dt: str) -> None:
    check_values(reordered(engine, codes(dt), dt, "f32"), as_f32(codes(dt)))


@pytest.mark.parametrize("dt", SMALL)
def test_reorder_rounds(engine: zemm.Engine, dt: str) -> None:
    x = hard_values(dt)
    check_codes(reordered(engine, x, "f32", dt).view(np.uint8), x, dt)


OTHERS = (*SMALL, "f16", "bf16", "s8", "u8", "s32")


@pytest.mark.each_value
@pytest.mark.parametrize("dst_dt", SMALL)
@pytest.mark.parametrize("src_dt", OTHERS)
def test_reorder_between_types(engine: zemm.Engine, src_dt: str, dst_dt: str) -> None:
    """Every value of a type becomes another type. f16 is not rounded twice."""
    if src_dt in ("f16", "bf16"):
        values = np.arange(2**16, dtype=np.uint16).view(zemm.numpy_dtype(src_dt))
    elif src_dt == "s32":
        values = np.concatenate([np.arange(-70000, 70000), [2**31 - 1, -(2**31)]]).astype(np.int32)
    else:
        values = codes(src_dt)
    got = reordered(engine, values, src_dt, dst_dt).view(np.uint8)
    x = as_f32(values)
    if src_dt == dst_dt:  # a copy, which keeps all bits
        np.testing.assert_array_equal(got, values.view(np.uint8))
        return
    check_codes(got, x, dst_dt)


@pytest.mark.quick(cases=lambda dst_dt: dst_dt in ("s8", "u4", "f16"))
@pytest.mark.each_value
@pytest.mark.parametrize("dst_dt", ["s8", "u8", "s4", "u4", "s32", "f16", "bf16"])
@pytest.mark.parametrize("src_dt", SMALL)
def test_reorder_to_other_types(engine: zemm.Engine, src_dt: str, dst_dt: str) -> None:
    x = as_f32(codes(src_dt))
    got = reordered(engine, codes(src_dt), src_dt, dst_dt)
    if dst_dt in ("f16", "bf16"):
        with np.errstate(over="ignore", under="ignore"):
            want = x.astype(zemm.numpy_dtype(dst_dt))
        if dst_dt == "bf16":  # denormals are flushed
            tiny = np.abs(x) < 2.0**-126
            want[tiny] *= 0
        check_values(got, want)
        return
    low, high = {"s8": (-128, 127), "u8": (0, 255), "s4": (-8, 7), "u4": (0, 15)}.get(
        dst_dt, (-(2**31), 2147483520)
    )
    np.testing.assert_array_equal(
        got, np.rint(np.nan_to_num(x, nan=NAN_AS.get(dst_dt, 0))).clip(low, high).astype(got.dtype)
    )


@pytest.mark.each_value
@pytest.mark.parametrize("arg", [ARG_SRC, ARG_DST])
@pytest.mark.parametrize("dt", ["e8m0", "f8_e4m3"])
def test_reorder_reads_every_scale(engine: zemm.Engine, dt: str, arg: int) -> None:
    scales = codes(dt)
    attr = zemm.Attr()
    attr.set_scales(arg, 1, (), dt)
    md = zemm.MemoryDesc(scales.shape, "f32")
    pd = zemm.ReorderPrimitiveDesc(engine, md, md, attr)
    src, dst, entry = (
        zemm.Memory(md, engine),
        zemm.Memory(md, engine),
        zemm.Memory(zemm.MemoryDesc(scales.shape, dt), engine),
    )
    src.write(np.full(scales.shape, 1.5, np.float32))
    entry.write(scales)
    stream = zemm.Stream(engine)
    zemm.Primitive(pd).execute(stream, {ARG_FROM: src, ARG_TO: dst, ARG_ATTR_SCALES | arg: entry})
    stream.wait()
    with np.errstate(all="ignore"):
        x = as_f32(scales)
        want = np.float32(1.5) * x if arg == ARG_SRC else np.float32(1.5) / x
    check_values(dst.as_numpy(), want)


# ---- matmuls


def skip_unless_taken(p: Problem) -> None:
    """Skip a row that this CPU does not have, or that is for other problems."""
    if why := refusal(p):
        pytest.skip(why)


@pytest.mark.quick(cases=lambda row, dt: row == CPU_ROWS[-1] and dt == "f8_e4m3")
@pytest.mark.parametrize("dt", SMALL_FLOATS)
@pytest.mark.parametrize("row", FLOAT_ROWS)
def test_matmul_loads_every_code(row: str, dt: str) -> None:
    """As src and weights, each code times 1, and with finite codes the product with the identity."""
    x = as_f32(codes(dt)).astype(np.float64) + 0.0  # a sum has no negative zero
    column = Problem(f"--dt={dt}:f32:f32 {x.size}x1:1x2")
    skip_unless_taken(column)
    check_values(result(column, {SRC: x[:, None], WEI: 1}), x[:, None])
    line = Problem(f"--dt=f32:{dt}:f32 2x1:1x{x.size}")
    check_values(result(line, {SRC: 1, WEI: x}), x[None, :])
    n = 4 if dt == "f4_e2m1" else 16
    square = np.resize(finite(dt), (n, n)).astype(np.float64)
    tags = [f"--stag={order} --wtag={order}" for order in ("ab", "ba")]
    for tag in tags:
        left = Problem(f"--dt={dt}:f32:f32 {tag} {shape(n, n, n)}")
        np.testing.assert_array_equal(result(left, {SRC: square, WEI: np.eye(n)}), square)
    # The rows that are called generic read plain weights only.
    for tag in tags + [PACKED] * (not row.endswith("_generic")):
        right = Problem(f"--dt=f32:{dt}:f32 {tag} {shape(n, n, n)}")
        np.testing.assert_array_equal(result(right, {SRC: np.eye(n), WEI: square}), square)


# Rows that multiply 16 bits take no f32 beside a small float.
PARTNER = {"bf16": "bf16", "f16": "f16"}
PLACES = 70  # of a code along K


def spread(dt: str, count: int) -> tuple[Array, Array]:
    """`count` codes of a type, and a matrix with one of them in each column, at different rows of K. The
    other elements are 0.
    """
    every = np.resize(as_f32(codes(dt)).astype(np.float64), count)
    matrix = np.zeros((PLACES, count))
    matrix[np.arange(count) * 7 % PLACES, np.arange(count)] = every
    return every + 0.0, matrix  # a sum has no negative zero


ORDERS = ["ab", "ba", "packed"]


def check_weights(row: str, dt: str, order: str) -> None:
    """Every code as a weight, on the row that ZEMM_KERNEL names: at each place in a vector, in columns
    behind the last whole tile, with so many rows of src that they are multiplied one by one, some at
    once, and as a whole tile. For the most rows, plain weights are packed first.
    """
    values, wei = spread(dt, 322)
    for m in (1, 3, 6, 40, 520):
        p = of_weights(row, dt, order, shape(m, wei.shape[1], PLACES))
        check_values(result(p, {SRC: 1, WEI: wei}), values[None, :])


def of_weights(row: str, dt: str, order: str, dims: str = "1x4:4x64") -> Problem:
    tag = PACKED if order == "packed" else f"--wtag={order}"
    return Problem(f"--dt={PARTNER.get(BY_NAME[row].src, 'f32')}:{dt}:f32 {tag} {dims}")


WEIGHTS_NEEDED = needed(
    FLOAT_ROWS, list(itertools.product(SMALL_FLOATS, ORDERS)), lambda row, name: of_weights(row, *name)
)


@pytest.mark.each_value
@pytest.mark.quick(cases=lambda row, dt, order: row in FLOAT_ROWS[:2] and order == "packed")
@pytest.mark.decided(cases=lambda row, dt, order: WEIGHTS_NEEDED(row, (dt, order)))
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dt", SMALL_FLOATS)
@pytest.mark.parametrize("row", FLOAT_ROWS)
def test_matmul_weights_of_every_code(row: str, dt: str, order: str) -> None:
    skip_unless_taken(of_weights(row, dt, order))
    check_weights(row, dt, order)


def main() -> None:
    """Run in a process with a mask of features: every code as a weight, on the rows with AVX512."""
    for row in (row for row in FLOAT_ROWS if BY_NAME[row].feature == "avx512"):
        os.environ["ZEMM_KERNEL"] = row
        for order in ("packed",) if reads_packed_only(BY_NAME[row]) else ORDERS:
            for dt in SMALL_FLOATS:
                check_weights(row, dt, order)
                print(row, order, dt)


@pytest.mark.full
def test_matmul_without_tables(engine: zemm.Engine) -> None:
    """Rows of f32 look f8 up in tables on CPUs with AVX512_VBMI, which avx512_bf16 implies. Others convert
    it through f16.
    """
    if "avx512_bf16" not in engine.features:
        pytest.skip("the processor has no avx512_bf16: the other tests run without tables")
    environment = {**os.environ, "ZEMM_DEVICE_MASK": "avx512_bf16"}
    done = captured([sys.executable, __file__], env=environment, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    orders = 2 * len(ORDERS) + 1  # one of the three rows takes packed weights only
    assert len(done.stdout.splitlines()) == orders * len(SMALL_FLOATS)


@pytest.mark.quick(cases=lambda row, dt, n: n == 16 and row in FLOAT_ROWS[::3])
@pytest.mark.each_value
@pytest.mark.parametrize("n", [16, 320])
@pytest.mark.parametrize("dt", SMALL_FLOATS)
@pytest.mark.parametrize("row", FLOAT_ROWS)
def test_matmul_src_of_every_code(row: str, dt: str, n: int) -> None:
    """With 320 columns, src becomes wider before the matmul runs: that takes scratchpad."""
    values, src = spread(dt, 256)
    traits = BY_NAME[row]
    wei = "f8_e4m3" if traits.predicate == "widened_on" else PARTNER.get(traits.src, "f32")
    packed = PACKED if wei == "f8_e4m3" else PACKED_FLOATS
    tag = packed if traits.weights == "packed" else ""
    p = Problem(f"--dt={dt}:{wei}:f32 {tag} --attr-scratchpad=user {shape(256, n, PLACES)}")
    skip_unless_taken(p)
    check_values(result(p, {SRC: src.T, WEI: 1}), values[:, None])
    assert bool(make_pd(p).query_md("scratchpad_md").ndims) == (n > 64)


@pytest.mark.quick(cases=lambda row, dt: row == CPU_ROWS[-1])
@pytest.mark.parametrize("dt", SMALL_FLOATS)
@pytest.mark.parametrize("row", CPU_ROWS)
def test_matmul_rounds(row: str, dt: str) -> None:
    """Products of ones, scaled: each column of dst has its value. Then a dst with columns that lie
    side by side, which are stored one by one.
    """
    x = np.resize(hard_values(dt), (hard_values(dt).size + 63) // 64 * 64)
    types = "f32:f32" if row in FLOAT_ROWS else "s8:s8"
    for order in ("ab", "ba"):
        p = Problem(f"--dt={types}:{dt} --dtag={order} --attr-scales=wei:2 2x1:1x{x.size}")
        skip_unless_taken(p)
        with np.errstate(invalid="ignore"):
            scales = x.astype(np.float64)
        for dst in result(p, {SRC: 1, WEI: 1, SCALES | WEI: scales}):
            check_codes(dst.view(np.uint8), x, dt)


@pytest.mark.each_value
@pytest.mark.parametrize("dt", ["e8m0", "f8_e4m3"])
@pytest.mark.parametrize("tensor", ["src", "wei", "dst"])
def test_matmul_reads_every_scale(tensor: str, dt: str) -> None:
    scales = as_f32(codes(dt)).astype(np.float64)
    n = scales.size
    m, dims = (n, (n, 1)) if tensor == "src" else (2, (1, n))
    mask, arg = (1, SRC) if tensor == "src" else (2, {"wei": WEI, "dst": DST}[tensor])
    for kind in ("f32", "s8"):
        p = Problem(f"--dt={kind}:{kind}:f32 --attr-scales={tensor}:{mask}:{dt} {m}x1:1x{n}")
        got = result(p, {SRC: 1, WEI: 1, SCALES | arg: scales.reshape(dims)})
        with np.errstate(divide="ignore"):
            want = scales.astype(np.float32) if tensor != "dst" else np.float32(1) / scales.astype(np.float32)
        check_values(got, want.reshape(dims))


@pytest.mark.parametrize("dt", SMALL_FLOATS)
def test_matmul_reads_every_code_elsewhere(dt: str) -> None:
    """As bias, as the tensor of a binary post-op, and as dst that a sum adds."""
    x = as_f32(codes(dt)).astype(np.float64)
    x = x[~np.isnan(x)]  # adding would lose the sign of a NaN
    n = x.size - x.size % 2
    x = x[:n]
    want = np.float32(0) + x.astype(np.float32)
    places = {
        f"--bia-dt={dt} --bia_mask=2": BIAS,
        f"--attr-post-ops=add:{dt}:2": post_op_arg(0, 2),
        f"--dt=f32:f32:{dt} --attr-post-ops=sum:1": DST,
    }
    for options, arg in places.items():
        if arg != BIAS or dt != "f4_e2m1":  # no type of a bias
            check_values(result(Problem(f"{options} 2x1:1x{n}"), {SRC: 0, WEI: 0, arg: x}), want)


# Parts that begin in the middle of a byte, and columns of dst whose elements share bytes with those
# of the next tile.
SHARED_BYTES = {
    "src": "--dt=f4_e2m1:f8_e4m3:f32 7x21:21x10 src_within=9x40@1x3",
    "weights": "--dt=f32:f4_e2m1:f32 7x21:21x33 wei_within=30x80@2x5",
    "weights_k_unit": "--dt=f16:f4_e2m1:f32 --wtag=ba 7x21:21x33 wei_within=30x80@3x5",
    "dst": "--dt=f32:f32:f4_e2m1 --dtag=ba --attr-scales=dst:2 251x3:3x129",
    "dst_batch": "--dt=f32:f32:f4_e2m1 --dtag=bca --attr-scales=dst:4 3x31x3:3x3x65",
}


@pytest.mark.quick(cases=lambda row: row)
@pytest.mark.parametrize("row", ["", CPU_ROWS[-1]])
@pytest.mark.parametrize("name", SHARED_BYTES)
def test_elements_that_share_bytes(name: str, row: str) -> None:
    run(Problem(SHARED_BYTES[name]))


if __name__ == "__main__":
    main()
