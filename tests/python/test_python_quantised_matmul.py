# SPDX-License-Identifier: Apache-2.0
"""zemm.matmul() accepts the output of the quantisers for every group size and shape, with right
numbers.
"""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import zemm
from zemm._library.codes import split

K, N = 84, 12
GROUPS = (
    1,
    6,
    7,
    12,
    28,
    42,
    84,
)  # odd, smaller than 16, multiples of nothing, that do not divide one another
# Types of activations and bits of weights, of which each case of the quick tier has one.
TURNS = (("s8", 8), ("u8", 4))


def per_k(parameter: np.ndarray, axis: int) -> np.ndarray:
    return np.repeat(parameter.astype(np.float64), K // parameter.shape[axis], axis=axis)


class Activations:
    """Quantised x: the arguments of zemm.matmul(), and the real values that they represent."""

    def __init__(
        self, shape: tuple[int, ...], group: int, dtype: str, scale_dtype: str = "f32", engine: Any = None
    ) -> None:
        self.x = np.random.default_rng(7).standard_normal((*shape, K)).astype(np.float32)
        made = zemm.quantize_activations(self.x, group, scale_dtype, dtype=dtype, engine=engine)
        values, scales, zero_points, reductions = made if dtype == "u8" else (*made[:2], None, made[2])
        self.arguments = {"src": values, "src_scales": scales, "reductions": reductions}
        self.real = values * per_k(scales, -1)
        if zero_points is not None:
            self.arguments["src_zero_points"] = zero_points
            self.real -= per_k(scales * zero_points.astype(np.float64), -1)


class Weights:
    """Quantised weights: as many matrices as batch says; (): one."""

    def __init__(
        self, batch: tuple[int, ...], bits: int, group: int | None, scale_dtype: str = "f32"
    ) -> None:
        rng = np.random.default_rng(8)
        matrices = [rng.standard_normal((K, N)) for _ in range(int(np.prod(batch)))]
        made = [zemm.quantize_weights(w, bits, group, scale_dtype) for w in matrices]
        values, scales, zero_points = (
            np.stack(parts).reshape(*batch, *parts[0].shape) for parts in zip(*made, strict=True)
        )
        self.w = np.stack(matrices).reshape(*batch, K, N)
        if group is None and batch:  # scales [.., N] of a batch are not [.., G, N]
            scales, zero_points = scales[..., None, :], zero_points[..., None, :]
        self.arguments = {"weights": values, "weights_scales": scales, "weights_zero_points": zero_points}
        self.arguments["weights_dtype"] = None if bits == 8 else f"u{bits}"
        codes = split(np.asarray(values), bits)
        scales, zero_points = (
            per_k(p, -2) if p.ndim > 1 else p.astype(np.float64) for p in (scales, zero_points)
        )
        self.real = (codes - zero_points) * scales


def check(engine: zemm.Engine, a: Activations, w: Weights) -> None:
    want = a.real @ w.real
    got = zemm.matmul(**a.arguments, **w.arguments, engine=engine)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())
    without = {name: value for name, value in a.arguments.items() if name != "reductions"}
    again = zemm.matmul(**without, **w.arguments, engine=engine)
    np.testing.assert_allclose(again, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


@pytest.mark.quick(
    cases=lambda group, dtype, bits: group in GROUPS[1:3] and (dtype, bits) == TURNS[GROUPS.index(group) % 2]
)
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize("group", GROUPS)
def test_groups(engine: zemm.Engine, group: int, dtype: str, bits: int) -> None:
    for weights_group in (None, *GROUPS):
        check(engine, Activations((5,), group, dtype), Weights((), bits, weights_group))


@pytest.mark.quick(cases=lambda rows, dtype, bits: (dtype, bits) == TURNS[sum(rows) % 2])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize(
    ("rows", "batch"),
    [
        ((2, 3), ()),
        ((2, 3), (1,)),
        ((2, 3), (2,)),
        ((1, 3), (2,)),
        ((3,), (2,)),
        ((1,), (1, 1)),
        ((2, 2, 3), (2, 2)),
        ((2, 1, 3), (1, 2)),
        ((2, 3), (3, 2)),
    ],
)
def test_shapes(
    engine: zemm.Engine, rows: tuple[int, ...], batch: tuple[int, ...], dtype: str, bits: int
) -> None:
    for group, weights_group in ((84, None), (28, 28), (12, 42), (42, 6)):
        check(engine, Activations(rows, group, dtype), Weights(batch, bits, weights_group))


@pytest.mark.quick(cases=lambda dtype, scale_dtype: (dtype == "s8") == (scale_dtype == "f16"))
@pytest.mark.parametrize("scale_dtype", ["f16", "bf16"])
@pytest.mark.parametrize("dtype", ["s8", "u8"])
def test_types_of_scales(engine: zemm.Engine, dtype: str, scale_dtype: str) -> None:
    for group in (7, 28):
        check(engine, Activations((5,), group, dtype, scale_dtype), Weights((), 8, group, scale_dtype))


@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize("rows", [(5,), (2, 3)])
def test_quantised_on_the_device(engine: zemm.Engine, rows: tuple[int, ...], dtype: str) -> None:
    for group in GROUPS:
        a = Activations(rows, group, dtype, engine=engine)
        check(engine, a, Weights((), 8, 12))
        check(engine, a, Weights((2,), 8, 12))


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_floating_point_activations(engine: zemm.Engine, bits: int) -> None:
    x = np.random.default_rng(9).standard_normal((2, 3, K)).astype(np.float32)
    for group in (None, *GROUPS):
        for batch in ((), (2,)):
            w = Weights(batch, bits, group)
            got = zemm.matmul(x, **w.arguments, engine=engine)
            np.testing.assert_allclose(got, x @ w.real, rtol=1e-5, atol=1e-5 * np.abs(x @ w.real).max())


def test_result_is_near_the_product(engine: zemm.Engine) -> None:
    a, w = Activations((5,), 7, "u8"), Weights((), 8, 12)
    got = zemm.matmul(**a.arguments, **w.arguments, engine=engine)
    assert np.abs(got - a.x @ w.w).max() < 0.02 * np.abs(a.x @ w.w).max()


@pytest.mark.parametrize("shape", [(N, 1), (K, 1), (4, 1)])
@pytest.mark.parametrize("name", ["weights_scales", "weights_zero_points"])
def test_columns_in_the_wrong_dimension(engine: zemm.Engine, name: str, shape: tuple[int, int]) -> None:
    """Scales [N, 1], as other libraries have for their transposed weights, are not [G, N]."""
    values = np.ones((3, 80), np.int8), np.ones((80, N), np.uint8)
    with pytest.raises(ValueError, match=rf"{name}.*{shape[0]}, 1.*\[N\]"):
        zemm.matmul(*values, **{name: np.ones(shape, np.uint8)}, engine=engine)


def test_reductions_without_zero_points(engine: zemm.Engine) -> None:
    a = Activations((5,), 28, "s8")
    with pytest.raises(NotImplementedError, match="zero points"):
        zemm.matmul(**a.arguments, weights=np.ones((K, N), np.int8), engine=engine)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
def test_quantised_weights_know_their_type(bits: int, symmetric: bool, engine: zemm.Engine) -> None:
    """Nobody who takes them needs weights_dtype, also of views and copies."""
    rng = np.random.default_rng(3)
    w, x = (rng.standard_normal(shape, np.float32) for shape in ((64, 48), (3, 64)))
    q = zemm.quantize_weights(w, bits, 16, symmetric=symmetric)
    values, scales, zero_points = q
    name: Any = f"{'s' if symmetric else 'u'}{bits}"
    plain = np.array(values)
    assert type(plain) is np.ndarray
    given = {"weights_scales": scales, "weights_zero_points": zero_points, "engine": engine}
    expected = zemm.matmul(x, plain, weights_dtype=name, **given)
    packed = zemm.pack(*q, engine=engine)
    for y in (
        zemm.matmul(x, q, engine=engine),
        zemm.matmul(x, q._replace(values=copy.deepcopy(values)), engine=engine),
        zemm.matmul(x, pickle.loads(pickle.dumps(q)), engine=engine),
        zemm.matmul(x, values[:, :], **given),
        zemm.matmul(x, values.T.copy().T, **given),
        zemm.matmul(x, packed),
        zemm.Linear.from_quantized(*q, engine=engine)(x),
    ):
        np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-5)
    assert packed.data_type == name
    if bits == 4:
        assert isinstance(values, zemm.PackedInt4)
        assert values.data_type == values[3:, ::2].data_type == name
        for made in (values & 15, values.astype(np.int32), values.max(), values == 3):
            assert getattr(made, "data_type", None) is None
        for call in (zemm.pack, zemm.Linear.from_quantized, lambda *q, **k: zemm.matmul(x, q[0], **k)):
            with pytest.raises(ValueError, match=f"weights have type {name}, weights_dtype is 'f4_e2m1'"):
                call(*q, weights_dtype="f4_e2m1")
    with pytest.raises(ValueError, match="quantised weights have their own"):
        zemm.matmul(x, q, weights_scales=scales)
