# SPDX-License-Identifier: Apache-2.0
"""Matmuls in steps: f64, dropout, scales of dst that are results, stochastic rounding, blocked tensors,
zero points of a floating-point src. docs/features.md has case lines for most of their forms.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm
from support_bounds import NAN_AS
from support_driver import check

SRC, WEIGHTS, BIAS, DST = zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_BIAS, zemm.ARG_DST
DST_SCALES = zemm.ARG_ATTR_SCALES | DST
MASK, ROUNDING_SEED = zemm.ARG_ATTR_DROPOUT_MASK, zemm.ARG_ATTR_ROUNDING_SEED
PROBABILITY, SEED = zemm.ARG_ATTR_DROPOUT_PROBABILITY, zemm.ARG_ATTR_DROPOUT_SEED
Descs = tuple[zemm.MemoryDesc, zemm.MemoryDesc, zemm.MemoryDesc]  # of src, weights and dst
M, K, N = 35, 70, 64
RNG = np.random.default_rng(17)
SMALL = {
    "f8_e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "f4_e2m1": np.dtype(ml_dtypes.float4_e2m1fn),
}


@dataclass
class Call:
    """A matmul of an engine: descriptors of src, weights and dst, and what is passed to it."""

    engine: zemm.Engine
    mds: Descs
    attr: zemm.Attr = field(default_factory=zemm.Attr)
    bias: zemm.MemoryDesc | None = None
    args: dict[int, zemm.Memory] = field(default_factory=dict)

    def desc(self) -> zemm.MatmulPrimitiveDesc:
        return zemm.MatmulPrimitiveDesc(self.engine, *self.mds, bias=self.bias, attr=self.attr)

    def put(self, arg: int, md: zemm.MemoryDesc, values: Any) -> zemm.Memory:
        self.args[arg] = zemm.Memory(md, self.engine)
        self.args[arg].write(np.ascontiguousarray(values).view(np.uint8).reshape(-1))
        return self.args[arg]

    def run(self, src: Any, weights: Any) -> bytes:
        """The bytes of dst."""
        pd = self.desc()
        for arg, md, values in ((SRC, self.mds[0], src), (WEIGHTS, self.mds[1], weights)):
            if arg not in self.args:
                self.put(arg, md, values)
        if DST not in self.args:
            self.args[DST] = zemm.Memory(self.mds[2], self.engine)
        if (scratchpad := pd.query_md("scratchpad_md")).ndims:
            self.args[zemm.ARG_SCRATCHPAD] = zemm.Memory(scratchpad, self.engine)
        stream = zemm.Stream(self.engine)
        zemm.Primitive(pd).execute(stream, self.args)
        stream.wait()
        return self.args[DST].read().tobytes()


def plain(*dims: int, dt: Any = "f32") -> zemm.MemoryDesc:
    return zemm.MemoryDesc(dims, dt, tag="abc"[: len(dims)])


def floats(dt: Any = "f32", m: int = M, k: int = K, n: int = N) -> Descs:
    return plain(m, k), plain(k, n), plain(m, n, dt=dt)


def small_integers(*shape: int) -> np.ndarray:
    return RNG.integers(-4, 5, shape).astype(np.float32)


def number(call: Call, arg: int, dt: Any, value: float, *, on_host: bool = False) -> None:
    if on_host:
        call.args[arg] = zemm.Memory.host_scalar(zemm.MemoryDesc.host_scalar(dt), value)
        return
    code = {"f32": np.float32, "s32": np.int32, "s64": np.int64}[dt]
    call.put(arg, plain(1, dt=dt), np.array([value], code))


def test_f64(engine: zemm.Engine) -> None:
    """Products and sums keep 53 bits, also with a bias."""
    src, weights = RNG.standard_normal((M, K)), RNG.standard_normal((K, N))
    bias = RNG.standard_normal((1, N))
    call = Call(engine, (plain(M, K, dt="f64"), plain(K, N, dt="f64"), plain(M, N, dt="f64")))
    call.bias = plain(1, N, dt="f64")
    call.put(BIAS, call.bias, bias)
    got = np.frombuffer(call.run(src, weights)).reshape(M, N)
    np.testing.assert_allclose(got, src @ weights + bias, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("types", [("f64", "f32", "f32"), ("f32", "f32", "f64"), ("f16", "f16", "f64")])
def test_f64_is_for_all_tensors(engine: zemm.Engine, types: tuple[str, str, str]) -> None:
    src, weights, dst = types
    mds = plain(M, K, dt=src), plain(K, N, dt=weights), plain(M, N, dt=dst)
    with pytest.raises((zemm.UnimplementedError, zemm.InvalidArgumentsError), match="f64"):
        zemm.MatmulPrimitiveDesc(engine, *mds)


def with_dropout(engine: zemm.Engine, probability: float, seed: int = 7, **flags: bool) -> Call:
    call = Call(engine, floats())
    call.attr.set_dropout(plain(M, N, dt="u8"), "s32", **flags)
    on_host = flags.get("use_host_scalars", False)
    number(call, PROBABILITY, "f32", probability, on_host=on_host)
    number(call, SEED, "s32", seed, on_host=on_host)
    call.put(MASK, plain(M, N, dt="u8"), np.full((M, N), 9, np.uint8))
    return call


@pytest.mark.parametrize("probability", [0.0, 0.25, 0.9, 1.0])
def test_dropout(engine: zemm.Engine, probability: float) -> None:
    """The mask says what was kept, and what was kept is scaled up. The same seed gives the same mask."""
    src, weights = small_integers(M, K), small_integers(K, N)
    call = with_dropout(engine, probability)
    got = np.frombuffer(call.run(src, weights), np.float32).reshape(M, N)
    mask = call.args[MASK].read().reshape(M, N)
    assert set(np.unique(mask)) <= {0, 1}
    assert abs(mask.mean() - (1 - probability)) < 0.1
    factor = np.float32(1 / (1 - np.float32(probability))) if probability < 1 else np.float32(0)
    np.testing.assert_allclose(got, src @ weights * factor * mask, rtol=1e-6)
    on_host = with_dropout(engine, probability, use_host_scalars=True)
    assert on_host.run(src, weights) == call.args[DST].read().tobytes()
    other = with_dropout(engine, probability, seed=8)
    other.run(src, weights)
    is_same = np.array_equal(other.args[MASK].read().reshape(M, N), mask)
    assert is_same == (probability in (0.0, 1.0))


def test_a_probability_in_a_larger_memory(engine: zemm.Engine) -> None:
    src, weights = small_integers(M, K), small_integers(K, N)
    want = with_dropout(engine, 0.25).run(src, weights)
    call = with_dropout(engine, 0.25)
    part = plain(3).submemory([1], [2])
    call.put(PROBABILITY, part, np.array([7, 7, 0.25], np.float32))
    assert call.run(src, weights) == want


@pytest.mark.parametrize("on_host", [False, True])
@pytest.mark.parametrize("probability", [-0.01, 1.5, float("nan"), float("inf")])
def test_bad_probability(engine: zemm.Engine, probability: float, on_host: bool) -> None:
    """It is refused before anything is written. The primitive still works."""
    call = with_dropout(engine, probability, use_host_scalars=on_host)
    before = np.full((M, N), 3.0, np.float32)
    call.put(DST, call.mds[2], before)
    src, weights = small_integers(M, K), small_integers(K, N)
    with pytest.raises(zemm.InvalidArgumentsError, match=r"the probability is .* from 0 to 1"):
        call.run(src, weights)
    assert call.args[DST].read().tobytes() == before.tobytes()
    assert set(call.args[MASK].read()) == {9}
    number(call, PROBABILITY, "f32", 0.0, on_host=on_host)
    assert call.run(src, weights) == (src @ weights).tobytes()


def test_dropout_with_runtime_rows(engine: zemm.Engine) -> None:
    src, weights = small_integers(M, K), small_integers(K, N)
    expected = with_dropout(engine, 0.5).run(src, weights)
    call = with_dropout(engine, 0.5)
    call.attr = zemm.Attr()
    call.attr.set_dropout(None, "s32")
    static, call.mds = call.mds, (plain(zemm.RUNTIME_DIM, K), plain(K, N), plain(zemm.RUNTIME_DIM, N))
    call.put(SRC, static[0], src)
    call.args[DST] = zemm.Memory(static[2], engine)
    del call.args[MASK]
    assert call.run(src, weights) == expected


@pytest.mark.parametrize("dt", ["bf16", "f16"])
def test_stochastic_rounding(engine: zemm.Engine, dt: str) -> None:
    """Random numbers of 8 bits are added to the last bits of an f32, as in oneDNN: values that are less
    than 2^8 of its last digits below a value of dst's type may become that value.
    """
    count, below = 4096, 100
    digit = np.float32(2.0**-7 if dt == "bf16" else 2.0**-10)
    exact = (np.float32(1 + digit).view(np.int32) - below).view(np.float32)
    call = Call(engine, floats(dt, 1, 1, count))
    call.attr.set_rounding(DST, "stochastic")
    number(call, ROUNDING_SEED, "s32", 5)
    type_ = np.dtype(ml_dtypes.bfloat16 if dt == "bf16" else np.float16)
    raw = call.run(np.array([[exact]], np.float32), np.ones((1, count), np.float32))
    got = np.frombuffer(raw, type_).astype(np.float32)
    assert set(got) == {1, 1 + digit}
    assert abs((got > 1).mean() - (256 - below) / 256) < 0.05
    assert call.run(None, None) == raw
    number(call, ROUNDING_SEED, "s32", 6)
    assert call.run(None, None) != raw


def test_stochastic_rounding_of_nan_and_large_values(engine: zemm.Engine) -> None:
    values = np.array([[np.nan, 1e6, -1e6, np.inf, -np.inf, 0.0, 1e-9]], np.float32)
    call = Call(engine, floats("f16", 1, 1, 7))
    call.attr.set_rounding(DST, "stochastic")
    number(call, ROUNDING_SEED, "s32", 5)
    got = np.frombuffer(call.run(np.ones((1, 1), np.float32), values), np.float16)
    np.testing.assert_array_equal(got, np.array([np.nan, 65504, -65504, 65504, -65504, 0, 0], np.float16))


def test_stochastic_rounding_of_f32(engine: zemm.Engine) -> None:
    """No digit is cut off, but infinities become the largest values, and subnormal values 0."""
    largest = np.finfo(np.float32).max
    values = np.array([[np.nan, np.inf, -np.inf, largest, 2.0**-126, 2.0**-127, -1e-40, 1.1]], np.float32)
    call = Call(engine, floats("f32", 1, 1, 8))
    call.attr.set_rounding(DST, "stochastic")
    number(call, ROUNDING_SEED, "s32", 5)
    got = np.frombuffer(call.run(np.ones((1, 1), np.float32), values), np.float32)
    expected = np.array([np.nan, largest, -largest, largest, 2.0**-126, 0, 0, 1.1], np.float32)
    np.testing.assert_array_equal(got, expected)


def test_stochastic_rounding_of_integers(engine: zemm.Engine) -> None:
    """7 digits stay of a value that becomes s8: 49.75 is cut to 49.5 or rounded up to 50."""
    call = Call(engine, floats("s8", 1, 1, 4096))
    call.attr.set_rounding(DST, "stochastic")
    number(call, ROUNDING_SEED, "s32", 5)
    values = np.full((1, 4096), 37.75, np.float32)
    values[0, :4] = 1000, -1000, np.nan, -128
    got = np.frombuffer(call.run(np.ones((1, 1), np.float32), values), np.int8)
    assert got[:4].tolist() == [127, -128, NAN_AS["s8"], -128]
    assert set(got[4:]) == {38}


MODES = {"dynamic_mx": ("e8m0", 32), "dynamic_fp": ("f8_e4m3", 16)}


def scaled(
    engine: zemm.Engine, mode: str, dt: str, values: np.ndarray, bias: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """dst and its scales, as floats, of a matmul whose sums are the values: one row."""
    scale_dt: Any
    scale_dt, group = MODES[mode]
    n = values.size
    call = Call(engine, floats(dt, 1, 1, n))
    call.attr.set_scales(DST, 3, (1, group), scale_dt, quantization_mode=mode)
    call.args[DST_SCALES] = zemm.Memory(plain(1, n // group, dt=scale_dt), engine)
    if bias:
        call.bias = plain(1, 1)
        call.put(BIAS, call.bias, np.float32([[bias]]))
    raw = np.frombuffer(call.run(np.ones((1, 1), np.float32), values), np.uint8)
    if dt == "f4_e2m1":
        raw = np.stack([raw & 15, raw >> 4], axis=-1).reshape(-1)
    code = ml_dtypes.float8_e8m0fnu if mode == "dynamic_mx" else ml_dtypes.float8_e4m3fn
    scales = call.args[DST_SCALES].read().view(code).astype(np.float32)
    return raw.view(SMALL[dt]).astype(np.float32), scales


@pytest.mark.parametrize("dt", SMALL)
@pytest.mark.parametrize("mode", MODES)
def test_dynamic_scales(engine: zemm.Engine, mode: str, dt: str) -> None:
    group = MODES[mode][1]
    magnitudes = np.repeat(2.0 ** np.arange(-60, 60, 15), group) if mode == "dynamic_mx" else 20.0
    values = (RNG.standard_normal(8 * group) * magnitudes).astype(np.float32)
    values[:group] = 0.0
    got, scales = scaled(engine, mode, dt, values)
    grouped, largest = values.reshape(8, group), float(ml_dtypes.finfo(SMALL[dt]).max)
    most = np.abs(grouped).max(axis=1)
    if mode == "dynamic_mx":
        exponents = np.floor(np.log2(np.maximum(most, 2.0**-127))) - np.floor(np.log2(largest))
        expected = 2.0 ** np.maximum(exponents, -127)
    else:
        ratios = np.clip(most / np.float32(largest), 0.125, 448)
        expected = ratios.astype(np.float16).astype(ml_dtypes.float8_e4m3fn)
    np.testing.assert_array_equal(scales, expected.astype(np.float32))
    inverse = np.float32(1) / np.maximum(scales, np.float32(2.0**-126))
    wanted = np.clip(grouped * inverse[:, None], -largest, largest).astype(SMALL[dt]).astype(np.float32)
    np.testing.assert_array_equal(got.reshape(8, group), wanted)


def test_dynamic_scale_is_rounded_through_f16(engine: zemm.Engine) -> None:
    """As in oneDNN: 1.1872 becomes 1.1875, which is half way, and then the even 1.25, not 1.125."""
    _, scales = scaled(engine, "dynamic_fp", "f4_e2m1", np.full(16, 1.1872 * 6, np.float32))
    assert scales.tolist() == [1.25]


@pytest.mark.parametrize("mode", MODES)
def test_dynamic_scales_beside_one_bias(engine: zemm.Engine, mode: str) -> None:
    """A bias that all columns share is larger than the values: it counts as a part of them only."""
    values = np.linspace(-255, -200, 3 * MODES[mode][1]).astype(np.float32)
    for got, wanted in zip(
        scaled(engine, mode, "f8_e4m3", values, 256.0),
        scaled(engine, mode, "f8_e4m3", values + 256),
        strict=True,
    ):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("mode", MODES)
def test_dynamic_scale_of_nan(engine: zemm.Engine, mode: str) -> None:
    """It is NaN for the group of the value, and for no other group."""
    group = MODES[mode][1]
    values = np.ones(3 * group, np.float32)
    values[group + 3] = np.nan
    got, scales = scaled(engine, mode, "f8_e4m3", values)
    assert np.isnan(scales).tolist() == [False, True, False]
    assert np.isnan(got[group + 3])
    assert not np.isnan(got[:group]).any()
    assert not np.isnan(got[2 * group :]).any()


BLOCKED = "--stag={0} --dtag={0} --bia-dt=f32 --attr-post-ops=sum:2+mul:f32:per_tensor:{0}"


@pytest.mark.parametrize("scratchpad", ["library", "user"])
def test_blocked_tensors(scratchpad: str) -> None:
    """src, dst and tensors of post-ops."""
    for tag in ("AB16b16a", "BA16a16b"):
        check(f"--matmul --attr-scratchpad={scratchpad} {BLOCKED.format(tag)} {M}x{K}:{K}x{N}")


def scales(mode: Any, dt: Any, group: tuple[int, int], mask: int = 3) -> Callable[[zemm.Attr], None]:
    return lambda a: a.set_scales(DST, mask, group, dt, quantization_mode=mode)


REFUSALS: dict[str, tuple[Callable[[zemm.Attr], None], str, str]] = {
    "mx of another type": (
        scales("dynamic_mx", "f32", (1, 32)),
        "f8_e4m3",
        "needs the mask 3, the type e8m0",
    ),
    "mx groups": (scales("dynamic_mx", "e8m0", (1, 16)), "f8_e4m3", "groups of 1x32"),
    "fp groups": (scales("dynamic_fp", "f8_e4m3", (1, 32)), "f8_e4m3", "groups of 1x16"),
    "mx of a wide dst": (scales("dynamic_mx", "e8m0", (1, 32)), "f16", "or an f8 or f4 dst, not f32 and f16"),
    "rounding of s32": (lambda a: a.set_rounding(DST, "stochastic"), "s32", "as s32 has"),
    "mask of other dims": (lambda a: a.set_dropout(plain(M, K, dt="u8")), "f32", "the mask has dims 35x70"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(engine: zemm.Engine, name: str) -> None:
    set_, dst, sentence = REFUSALS[name]
    call = Call(engine, floats(dst))
    set_(call.attr)
    with pytest.raises(zemm.UnimplementedError, match=sentence):
        call.desc()


def test_missing_arguments(engine: zemm.Engine) -> None:
    for arg in (PROBABILITY, SEED, MASK):
        call = with_dropout(engine, 0.5)
        del call.args[arg]
        with pytest.raises(zemm.InvalidArgumentsError, match=r"ARG_ATTR_DROPOUT_.* is missing"):
            call.run(small_integers(M, K), small_integers(K, N))
    call = Call(engine, floats("bf16"))
    call.attr.set_rounding(DST, "stochastic")
    with pytest.raises(zemm.InvalidArgumentsError, match="ARG_ATTR_ROUNDING_SEED is missing"):
        call.run(small_integers(M, K), small_integers(K, N))
