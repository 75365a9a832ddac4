# SPDX-License-Identifier: Apache-2.0
"""zemm.matmul(), packed weights and layers accept the output of the quantisers for every group size and
shape, with right numbers. The last group of K may be shorter."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import zemm
from zemm._arrays.operands import inferred_group
from zemm._library.codes import split

N = 48
# K, and groups that divide it: odd, smaller than 16, multiples of nothing, that do not divide one another.
K, GROUPS = 84, (1, 6, 7, 12, 28, 42, 84)
SHORTER = [(340, 64), (290, 128), (100, 128), (50, 7), (4304, 128)]
# Types of activations and bits of weights, of which each case of the quick tier has one.
TURNS = (("s8", 8), ("u8", 4))


def floats(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def of_k(parameter: Any, group: int | None, k: int, axis: int) -> np.ndarray:
    """Parameters of groups, repeated to one value for each element of K."""
    wide = np.repeat(np.asarray(parameter, np.float64), group or k, axis)
    return np.take(wide, range(k), axis)


class Activations:
    """Quantised x: the arguments of zemm.matmul(), and the real values that they represent."""

    def __init__(self, x: Any, group: int, dtype: Any, scale_dtype: Any = "f32", engine: Any = None) -> None:
        made = zemm.quantize_activations(x, group, scale_dtype, dtype=dtype, engine=engine)
        values, scales, zero_points, reductions = made if dtype == "u8" else (*made[:2], None, made[2])
        self.x, k = x, x.shape[-1]
        self.arguments = {"src": values, "src_scales": scales, "reductions": reductions, "src_group": group}
        self.real = values * of_k(scales, group, k, -1)
        if zero_points is not None:
            self.arguments["src_zero_points"] = zero_points
            self.real -= of_k(scales * zero_points.astype(np.float64), group, k, -1)


class Weights:
    """Quantised weights: as many matrices as batch says; (): one."""

    def __init__(
        self, k: int, batch: tuple[int, ...], bits: int, group: int | None, scale_dtype: Any = "f32"
    ) -> None:
        self.w = floats(int(np.prod(batch)), k, N)
        made = [zemm.quantize_weights(w, bits, group, scale_dtype) for w in self.w]
        self.q = made[0]
        values, scales, zero_points = (
            np.stack(parts).reshape(*batch, *parts[0].shape) for parts in zip(*made, strict=True)
        )
        if group is None and batch:  # scales [.., N] of a batch are not [.., G, N]
            scales, zero_points = scales[..., None, :], zero_points[..., None, :]
        self.w = self.w.reshape(*batch, k, N)
        self.arguments = {"weights": values, "weights_scales": scales, "weights_zero_points": zero_points}
        self.arguments |= {"weights_dtype": None if bits == 8 else f"u{bits}", "weights_group": group}
        codes = split(np.asarray(values), bits).astype(np.float64)
        scales, zero_points = (of_k(p, group, k, -2) if p.ndim > 1 else p for p in (scales, zero_points))
        self.real = (codes - zero_points) * scales


def near(got: Any, want: Any) -> None:
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


def check(engine: zemm.Engine, a: Activations, w: Weights) -> None:
    want = a.real @ w.real
    near(zemm.matmul(**a.arguments, **w.arguments, engine=engine), want)
    without = {name: value for name, value in a.arguments.items() if name != "reductions"}
    near(zemm.matmul(**without, **w.arguments, engine=engine), want)


@pytest.mark.quick(
    cases=lambda size, dtype, bits: (
        size in ((K, 6), (K, 7), (340, 64), (50, 7)) and (dtype, bits) == TURNS[size[1] % 2]
    )
)
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize("size", [*((K, group) for group in GROUPS), *SHORTER])
def test_groups(engine: zemm.Engine, size: tuple[int, int], dtype: Any, bits: int) -> None:
    k, group = size
    for weights_group in (None, *GROUPS) if k == K else (None, group):
        check(engine, Activations(floats(5, k), group, dtype), Weights(k, (), bits, weights_group))


@pytest.mark.quick(cases=lambda rows, dtype, bits: (dtype, bits) == TURNS[sum(rows) % 2])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize(
    ("rows", "batch"),
    [
        ((2, 3), ()), ((2, 3), (1,)), ((2, 3), (2,)), ((1, 3), (2,)), ((3,), (2,)), ((1,), (1, 1)),
        ((2, 2, 3), (2, 2)), ((2, 1, 3), (1, 2)), ((2, 3), (3, 2)),
    ],
)  # fmt: skip
def test_shapes(
    engine: zemm.Engine, rows: tuple[int, ...], batch: tuple[int, ...], dtype: Any, bits: int
) -> None:
    for group, weights_group in ((84, None), (28, 28), (12, 42), (42, 6)):
        check(engine, Activations(floats(*rows, K), group, dtype), Weights(K, batch, bits, weights_group))


@pytest.mark.quick(cases=lambda dtype, scale_dtype: (dtype, scale_dtype) == ("s8", "f16"))
@pytest.mark.parametrize("scale_dtype", ["f16", "bf16"])
@pytest.mark.parametrize("dtype", ["s8", "u8"])
def test_types_of_scales(engine: zemm.Engine, dtype: Any, scale_dtype: Any) -> None:
    """Also quantised on the device."""
    for group, on in ((7, None), (28, None), (28, engine)):
        a = Activations(floats(2, 3, K), group, dtype, scale_dtype, on)
        check(engine, a, Weights(K, (), 8, group, scale_dtype))
        check(engine, a, Weights(K, (2,), 8, 12))


@pytest.mark.each_value
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("k", [K, 340, 50])
def test_floating_point_activations(engine: zemm.Engine, k: int, bits: int) -> None:
    x = floats(2, 3, k)
    for group in (None, *GROUPS) if k == K else (64, 7):
        for batch in ((), (2,)):
            w = Weights(k, batch, bits, group)
            near(zemm.matmul(x, **w.arguments, engine=engine), x @ w.real)


def test_result_is_near_the_product(engine: zemm.Engine) -> None:
    a, w = Activations(floats(5, K), 7, "u8"), Weights(K, (), 8, 12)
    got = zemm.matmul(**a.arguments, **w.arguments, engine=engine)
    assert np.abs(got - a.x @ w.w).max() < 0.02 * np.abs(a.x @ w.w).max()


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("symmetric", [False, True])
def test_nothing_to_multiply(engine: zemm.Engine, bits: int, symmetric: bool) -> None:
    """Scales, zero points and reductions of no groups, and those of one or of each column."""
    nothing = np.ones((3, 0), np.float32)
    values, scales, sums = zemm.quantize_activations(nothing)
    quantized = zemm.quantize_weights(np.ones((0, 4), np.float32), bits, 128, symmetric=symmetric)
    dtype: Any = {4: "s4" if symmetric else "u4", 8: None}[bits]
    names = ("weights_scales", "weights_zero_points")
    for of_src in ({"src_scales": scales, "reductions": sums}, {"src_scales": 2.0}, {}):
        for of_weights in (dict(zip(names, quantized[1:], strict=True)), {names[0]: np.ones(4, np.float32)}):
            given: Any = {**of_src, **of_weights, "weights_dtype": dtype}
            y = zemm.matmul(values, quantized.values, **given, engine=engine)
            assert np.array_equal(y, np.zeros((3, 4)))
    values, scales, zero_points, _ = zemm.quantize_activations(nothing, dtype="u8")
    parameters = {"src_scales": scales, "src_zero_points": zero_points}
    y = zemm.matmul(values, np.ones((0, 4), np.int8), **parameters, engine=engine)
    assert np.array_equal(y, np.zeros((3, 4)))


@pytest.mark.parametrize("activation", ["f32", "int8"])
def test_layers_of_no_rows(engine: zemm.Engine, activation: Any) -> None:
    """Weights have elements; x may have none."""
    given: Any = {"activation": activation, "group": 32, "engine": engine}
    one, experts = (zemm.Linear.from_float(floats(*shape), **given) for shape in ((32, 4), (2, 32, 4)))
    for shape in ((0, 32), (3, 0, 32), (0, 3, 32)):
        assert one(floats(*shape)).shape == (*shape[:-1], 4)
        assert experts(floats(*shape), expert=1).shape == (*shape[:-1], 4)
    assert experts(floats(2, 0, 32)).shape == (2, 0, 4)
    assert experts(floats(0, 32), group_sizes=[0, 0]).shape == (0, 4)


@pytest.mark.each_value
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
def test_quantised_weights_know_their_type(bits: int, symmetric: bool, engine: zemm.Engine) -> None:
    """Nobody who takes them needs weights_dtype, also of views and copies."""
    w, x = floats(64, 48), floats(3, 64)
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


# ---- groups of which the last one is shorter


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize(("k", "group"), SHORTER)
def test_activations(engine: zemm.Engine, k: int, group: int, dtype: Any) -> None:
    """numpy and the engine make the same bits, those of each group alone."""
    x = floats(5, k)
    got = zemm.quantize_activations(x, group, dtype=dtype)
    on_device = zemm.quantize_activations(x, group, dtype=dtype, engine=engine)
    assert all(np.array_equal(one, two) for one, two in zip(got, on_device, strict=True))
    for number, begin in enumerate(range(0, k, group)):
        part = x[:, begin : begin + group]
        values, *others = zemm.quantize_activations(part, part.shape[1], dtype=dtype)
        np.testing.assert_array_equal(got.values[:, begin : begin + group], values)
        for all_of, own in zip(got[1:], others, strict=True):
            np.testing.assert_array_equal(all_of[:, number], own[:, 0])


@pytest.mark.each_value
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("k", "group"), SHORTER)
def test_weights(k: int, group: int, bits: int, symmetric: bool) -> None:
    """Each group as it is alone, whatever the order of the array."""
    w = floats(k, N)
    got = zemm.quantize_weights(w, bits, group, symmetric=symmetric)
    of_columns = zemm.quantize_weights(np.asfortranarray(w), bits, group, symmetric=symmetric)
    assert all(np.array_equal(one, two) for one, two in zip(got, of_columns, strict=True))
    for number, begin in enumerate(range(0, k, group)):
        own = zemm.quantize_weights(w[begin : begin + group], bits, symmetric=symmetric)
        np.testing.assert_array_equal(got.values[begin : begin + group], own.values)
        for all_of, part in zip(got[1:], own[1:], strict=True):
            assert all_of is part is None or np.array_equal(all_of[number], part)


@pytest.mark.each_value
@pytest.mark.parametrize("activation", ["f32", "bf16", "int8", "int7"])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("k", "group"), [*SHORTER, (172, 128), (330, 64)])
def test_layers(k: int, group: int, bits: int, activation: Any) -> None:
    """Also where the number of groups is that of others, which divide K. Packed weights have the same."""
    x, w = floats(6, k), floats(k, N)
    layer = zemm.Linear.from_float(w, bits=bits, group=group, activation=activation)
    y, packed = layer(x), layer.weights
    tolerance = k**0.5 * {"bf16": 0.06, "int8": 0.03, "int7": 0.06}.get(activation, 1e-4)
    codes = split(np.asarray(packed.unpack()), bits)
    scales, zero_points = (of_k(o.parameter.values, group, k, 0) for o in (packed.scales, packed.zero_points))
    np.testing.assert_allclose(y, x @ ((codes - zero_points) * scales), atol=tolerance)
    again = zemm.Linear.from_state_dict(layer.state_dict())
    np.testing.assert_array_equal(again(x), y)
    assert repr(again) == repr(layer)
    if activation == "f32" and (k, group) in SHORTER:
        q = zemm.quantize_weights(w, bits, group)
        np.testing.assert_array_equal(zemm.matmul(x, zemm.pack(*q, group=group)), y)
        np.testing.assert_array_equal(zemm.Linear.from_quantized(*q, group=group)(x), y)


def test_groups_of_other_sizes(engine: zemm.Engine) -> None:
    """Of each operand its own; those whose number divides K need no more words."""
    a, w = Activations(floats(3, 340), 85, "s8"), Weights(340, (), 8, 64)
    del a.arguments["src_group"], a.arguments["reductions"]
    near(zemm.matmul(**a.arguments, **w.arguments, engine=engine), a.real @ w.real)


def test_experts() -> None:
    x, w = floats(5, 3, 140), floats(5, 140, N)
    for activation in ("f32", "int8"):
        layer = zemm.Linear.from_float(w, bits=4, group=64, activation=activation)  # type: ignore[arg-type]
        y = layer(x)
        for expert in range(5):
            np.testing.assert_array_equal(layer(x[expert], expert=expert), y[expert])
        rows = x.reshape(15, 140)
        np.testing.assert_allclose(layer(rows, group_sizes=[3] * 5).reshape(y.shape), y, atol=1e-4)


def test_parts() -> None:
    pytest.importorskip("torch")
    from zemm.torch.parallel import shard

    layer, x = zemm.Linear.from_float(floats(340, N), bits=8, group=64), floats(4, 340)
    with pytest.raises(ValueError, match="the group of scales, 64, does not divide the 170 rows of a part"):
        shard(layer, "K", 0, 2)
    np.testing.assert_array_equal(shard(layer, "K", 0, 1)(x), layer(x))
    parts = [shard(layer, "N", rank, 2)(x) for rank in range(2)]
    np.testing.assert_allclose(np.concatenate(parts, 1), layer(x), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("dtype", ["f8_e4m3", "f4_e2m1"])
@pytest.mark.parametrize(("scaling", "group"), [("mx", 32), ("nvfp4", 16)])
def test_floats(engine: zemm.Engine, dtype: Any, scaling: Any, group: int) -> None:
    """The last group as if zeros followed it."""
    x = floats(3, 92)
    got = zemm.quantize_floats(x, dtype, scaling, engine=engine)
    padded = np.pad(x, ((0, 0), (0, -92 % group)))
    whole = zemm.quantize_floats(padded, dtype, scaling, engine=engine)
    np.testing.assert_array_equal(got.values.view(np.uint8), whole.values[:, :92].view(np.uint8))
    np.testing.assert_array_equal(got.scales.view(np.uint8), whole.scales.view(np.uint8))


def test_inferred_groups() -> None:
    cases = {(100, 4, None): 25, (100, 4, 32): 32, (100, 5, 32): 20, (100, 1, 128): 100, (340, 6, None): None}
    for arguments, size in (cases | {(340, 0, None): None}).items():
        assert inferred_group(*arguments) == size
