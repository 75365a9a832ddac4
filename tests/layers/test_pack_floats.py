# SPDX-License-Identifier: Apache-2.0
"""Weights that are quantised and packed piece by piece are those of one piece, and need little memory."""

import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm
from support_process import captured
from zemm._arrays import weight_codes
from zemm._layers import pack_floats

RNG = np.random.default_rng(0)
ORDERS = ["rows of N", "rows of K", "reversed", "experts"]


def weights(order: str, k: int = 96, n: int = 148, dtype: Any = np.float32) -> np.ndarray:
    w = RNG.standard_normal((k, n)).astype(dtype)
    if order == "rows of K":
        return np.ascontiguousarray(w.T).T
    if order == "experts":
        return np.stack([w, -3 * w])
    return w[::-1, ::-1] if order == "reversed" else w


PACK: dict[int, Any] = {8: lambda values: values, 4: zemm.pack_int4, 2: zemm.pack_int2}


def in_one_piece(w: np.ndarray, bits: int, group: int, is_signed: bool) -> tuple[Any, ...]:
    """The formulas of zemm.quantize_weights(), on all weights at once. Values of 4 bits are not packed."""
    wide = w.astype(np.float64)
    *leading, k, n = w.shape
    grouped = wide.reshape(*leading, k // group, group, n)
    if is_signed:
        top = 2 ** (bits - 1) - 1
        scales = (np.abs(grouped).max(axis=-2) / top).astype(np.float32)
        codes = np.rint(grouped / scales[..., None, :].astype(np.float64)).clip(-top, top)
        return codes.reshape(w.shape).astype(np.int8), scales, None
    top = 2**bits - 1
    low = grouped.min(axis=-2, initial=0)
    scales = ((grouped.max(axis=-2, initial=0) - low) / top).astype(np.float32)
    steps = scales.astype(np.float64)
    zero_points = np.rint(-low / steps).clip(0, top)
    codes = (np.rint(grouped / steps[..., None, :]) + zero_points[..., None, :]).clip(0, top)
    return codes.reshape(w.shape).astype(np.uint8), scales, zero_points.astype(np.uint8)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64])
@pytest.mark.parametrize("order", ORDERS)
def test_values(order: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of slices of any size, against the formula."""
    w = weights(order, dtype=dtype)
    for elements in (1, 1000, 1 << 16):
        monkeypatch.setattr(weight_codes, "_ELEMENTS", elements)
        for bits, group, is_signed in (
            (8, 32, False),
            (8, 3, True),
            (4, 96, False),
            (4, 16, True),
            (2, 32, False),
        ):
            values, scales, zero_points = in_one_piece(w, bits, group, is_signed)
            made = zemm.quantize_weights(w, bits, group, symmetric=is_signed)
            assert np.array_equal(made.values, PACK[bits](values))
            assert np.array_equal(made.scales, scales)
            assert (made.zero_points is None) == (zero_points is None)
            assert zero_points is None or np.array_equal(made.zero_points, zero_points)


@pytest.mark.parametrize("activation", ["f32", "int8"])
@pytest.mark.parametrize("order", ORDERS)
def test_packed(engine: zemm.Engine, order: str, activation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers of pieces of columns have the bytes of zemm.pack()."""
    w = weights(order)
    monkeypatch.setattr(pack_floats, "_ELEMENTS", 1)
    for bits, group, symmetric in (
        (8, 32, False),
        (8, None, True),
        (4, 32, False),
        (4, 3, True),
        (2, 32, False),
    ):
        options: dict[str, Any] = {"activation": activation, "engine": engine}
        made = zemm.Linear.from_float(w, bits=bits, group=group, symmetric=symmetric, **options)
        quantized = zemm.quantize_weights(w, bits, group, symmetric=symmetric)
        dtype: Any = f"{'s' if symmetric else 'u'}{bits}"
        whole = zemm.Linear.from_quantized(*quantized, weights_dtype=dtype, **options)
        assert repr(made) == repr(whole)
        assert np.array_equal(made.weights.memory.read(), whole.weights.memory.read())
        state = whole.state_dict()
        for name, array in made.state_dict().items():
            assert np.array_equal(array, state[name]), name


@pytest.mark.parametrize("order", ["rows of N", "rows of K"])
def test_odd_n_of_4_bits(engine: zemm.Engine, order: str) -> None:
    """The vocabulary of GPT-2 has 50,257 words. A byte has two values along K then."""
    w = weights(order, n=151)
    layer = zemm.Linear.from_float(w, bits=4, group=32, engine=engine)
    even = zemm.Linear.from_float(np.hstack([w, w[:, :1]]), bits=4, group=32, engine=engine)
    x = RNG.standard_normal((3, 96)).astype(np.float32)
    assert np.array_equal(layer(x), even(x)[:, :-1])
    copy = zemm.Linear.from_state_dict(layer.state_dict(), engine=engine)
    assert np.array_equal(copy(x), layer(x))


@pytest.mark.parametrize("order", ORDERS)
def test_an_element_that_is_not_finite(order: str) -> None:
    """The first one in the order of the indices is named, whatever the order of the slices."""
    w = weights(order)
    w[..., 40, 147], w[..., 41, 2] = np.inf, np.nan
    where = r"0, 40, 147" if order == "experts" else r"40, 147"
    for call in (lambda: zemm.quantize_weights(w, 8, 32), lambda: zemm.Linear.from_float(w, group=32)):
        with pytest.raises(ValueError, match=rf"w\[{where}\] is inf; all must be finite"):
            call()


PEAK = """
import numpy as np, zemm

def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1e3

w = np.full((4096, 4096), 0.5, np.float32)
zemm.Linear.from_float(w[:128, :64])
before = peak()
layer = zemm.Linear.from_float(w, bits=8, transposed=True)
print(peak() - before - layer.weights.nbytes / 1e6)
"""


def test_peak_of_memory() -> None:
    """In MB above the result, of a layer of 67 MB as f32 and 134 MB as f64. Slices and what the first call
    allocates need 50 to 62 MB, so another copy of the layer would be seen."""
    done = captured([sys.executable, "-c", PEAK], timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 80
