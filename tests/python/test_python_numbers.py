# SPDX-License-Identifier: Apache-2.0
"""Numbers from Python that are converted to another type. Numbers that do not fit are refused; none
changes silently.
"""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm

ONE = np.eye(4, dtype=np.float32)
S8 = np.eye(4, dtype=np.int8)


def host_scalar(data_type: str, value: Any) -> Any:
    memory = zemm.Memory.host_scalar(zemm.MemoryDesc.host_scalar(data_type), value)
    return memory.read().view(zemm.numpy_dtype(data_type))[0]


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        ("s8", -128),
        ("s8", 127.0),
        ("u8", 255),
        ("u8", np.int64(255)),
        ("s32", -(2**31)),
        ("s32", np.float64(2**31 - 1)),
        ("s64", 2**63 - 1),
        ("s64", -(2**63)),
        ("s4", -8),
        ("u4", 15),
        ("s8", True),
        ("f16", 65504),
        ("f16", -0.0),
        ("f16", math.inf),
        ("bf16", ml_dtypes.bfloat16(1.5)),
        ("f32", np.asarray(0.25, ">f8")),
        ("f32", np.longdouble(0.5)),
        ("f32", Fraction(3, 8)),
        ("f32", Decimal("0.125")),
        ("f32", 3.4028235e38),
        ("f32", 2**100),
        ("f32", 2.0**-149),
        ("f64", 1e300),
        ("f8_e5m2", math.inf),
        ("f8_e4m3", 448),
        ("f4_e2m1", 6),
        ("e8m0", 2.0**-127),
    ],
)
def test_host_scalars_that_fit(data_type: str, value: Any) -> None:
    got = host_scalar(data_type, value)
    assert float(got) == pytest.approx(float(value), rel=1e-7)
    assert math.copysign(1, float(got)) == math.copysign(1, float(value))


@pytest.mark.parametrize(("data_type", "value", "nearest"), [("f32", 16777217, 16777216), ("bf16", 257, 256)])
def test_floats_are_rounded(data_type: str, value: Any, nearest: float) -> None:
    assert host_scalar(data_type, value) == nearest


def test_not_a_number_stays_one() -> None:
    for data_type in ("f32", "f16", "bf16", "f64", "f8_e4m3", "e8m0"):
        assert np.isnan(float(host_scalar(data_type, math.nan)))


@pytest.mark.parametrize(
    ("data_type", "value", "words"),
    [
        ("s8", 300, ["300", "-128..127", "s8"]),
        ("s8", -129, ["-129"]),
        ("s8", 1.5, ["1.5", "integer"]),
        ("u8", -1, ["-1", "0..255"]),
        ("u8", np.int16(256), ["256"]),
        ("s32", math.nan, ["nan"]),
        ("s32", math.inf, ["inf"]),
        ("s32", 2**31, [str(2**31)]),
        ("s64", 2**63, [str(2**63)]),
        ("s4", 8, ["-8..7"]),
        ("u4", 16, ["0..15"]),
        ("f16", 65520, ["65520", "f16", "inf"]),
        ("f16", 1e-9, ["1e-09", "0"]),
        ("f32", 1e39, ["1e+39", "inf"]),
        ("f32", 1e-50, ["1e-50"]),
        pytest.param("f32", 2**2000, ["too large"], id="f32-2**2000"),
        ("bf16", 3.4e38 * 1.01, ["bf16"]),
        ("f8_e4m3", 1000, ["1000", "nan"]),
        ("f8_e4m3", math.inf, ["inf"]),
        ("f4_e2m1", 8, ["8"]),
        ("f4_e2m1", math.nan, ["nan"]),
        ("e8m0", -1, ["-1"]),
        ("e8m0", 0, ["0"]),
        ("f32", "3", ["'3'"]),
        ("f32", b"3", ["b'3'"]),
        ("f32", None, ["None"]),
        ("f32", 1 + 0j, ["(1+0j)"]),
        ("f32", np.array(["3"]), ["(1,)"]),
        ("f32", [1.0], ["a list"]),
        ("f32", np.ones(1), ["(1,)"]),
        ("f32", np.asarray("3"), ["'3'"]),
    ],
)
def test_host_scalars_that_do_not_fit(data_type: str, value: Any, words: list[str]) -> None:
    with pytest.raises(zemm.InvalidArgumentsError) as caught:
        host_scalar(data_type, value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("name", ["src_scales", "weights_scales", "dst_scales"])
@pytest.mark.parametrize("value", [1e39, -1e300, 1e-50])
def test_scales(engine: zemm.Engine, name: str, value: float) -> None:
    """A scale that becomes infinite or 0 in f32 is refused."""
    with pytest.raises(ValueError, match=rf"{name}.*float32"):
        zemm.matmul(S8, S8, **{name: value}, engine=engine)
    column = np.array([1, value, 1, 1])
    if name != "src_scales":
        with pytest.raises(ValueError, match=rf"{name}.*float32"):
            zemm.matmul(S8, S8, **{name: column}, engine=engine)


@pytest.mark.filterwarnings("error")
def test_operands(engine: zemm.Engine) -> None:
    """float64 operands become f32. Small ones may become 0, large ones are refused, infinite ones
    are kept.
    """
    large, small, infinite = (np.array([0, value, 0, 0]) for value in (1e39, 1e-50, -np.inf))
    for name, call in {
        "bias": lambda values: zemm.matmul(ONE, ONE, values, engine=engine),
        "add": lambda values: zemm.matmul(ONE, ONE, post_ops=[("add", values)], engine=engine),
    }.items():
        with pytest.raises(ValueError, match=rf"{name}.*1e\+39.*float32"):
            call(large)
        assert np.array_equal(call(small), ONE)
        assert np.array_equal(call(infinite), ONE + infinite)
    with pytest.raises(ValueError, match=r"slopes.*float32"):
        zemm.matmul(ONE, ONE, post_ops=[("prelu", large)], engine=engine)


@pytest.mark.parametrize("name", ["src", "weights", "bias", "src_scales", "weights_zero_points", "out"])
def test_types_of_numpy_that_zemm_lacks(engine: zemm.Engine, name: str) -> None:
    arguments: dict[str, Any] = {"src": ONE, "weights": ONE}
    arguments[name] = np.zeros((4, 4), bool)
    with pytest.raises(ValueError, match=rf"{name}.*bool"):
        zemm.matmul(**arguments, engine=engine)


def test_four_bit_operands(engine: zemm.Engine) -> None:
    """An operand with one 4-bit element per byte is refused, because the library would read two."""
    values = np.ones(4, ml_dtypes.int4)
    with pytest.raises(ValueError, match=r"bias.*s4"):
        zemm.matmul(ONE, ONE, values, engine=engine)
    with pytest.raises(ValueError, match=r"post_ops\[0\].*s4"):
        zemm.matmul(ONE, ONE, post_ops=[("mul", values)], engine=engine)
    with pytest.raises(ValueError, match="int4"):
        zemm.unpack_int4(values, 4, signed=True)


@pytest.mark.parametrize("weights_dtype", ["u8", "s8", "u4", "f16"])
@pytest.mark.parametrize("own", [np.int8, np.uint8, ml_dtypes.float8_e5m2, np.float16])
def test_weights_of_another_type(engine: zemm.Engine, own: Any, weights_dtype: str) -> None:
    """weights_dtype says how packed bytes are read. It does not convert."""
    weights = np.ones((4, 4), own)
    name = zemm.dtype_name(own)
    if name == weights_dtype or (weights_dtype == "u4" and name in ("u8", "s8")):
        return
    with pytest.raises(ValueError, match=rf"{name}.*{weights_dtype}"):
        zemm.matmul(S8, weights, weights_dtype=weights_dtype, engine=engine)


class TestByteOrder:
    """Every argument may have the other byte order."""

    def test_operands(self, engine: zemm.Engine) -> None:
        rng = np.random.default_rng(4)
        a, b = (rng.integers(-4, 5, (4, 4)).astype(">f4") for _ in range(2))
        bias, column = (rng.integers(-4, 5, 4).astype(kind) for kind in (">f8", ">i4"))
        got = zemm.matmul(a, b, bias, post_ops=[("mul", column), ("add", a)], engine=engine)
        assert np.array_equal(got, (a @ b + bias) * column + a)

    def test_parameters(self, engine: zemm.Engine) -> None:
        rng = np.random.default_rng(4)
        a, b = rng.integers(-9, 9, (4, 64)).astype(np.int8), rng.integers(0, 99, (64, 8)).astype(np.uint8)
        parameters = {
            "src_scales": np.exp2(rng.integers(-2, 3, (4, 2))).astype(">f2"),
            "weights_scales": np.exp2(rng.integers(-2, 3, (2, 8))).astype(">f8"),
            "weights_zero_points": rng.integers(0, 99, (2, 8)).astype(">i8"),
            "reductions": a.reshape(4, 2, 32).sum(-1).astype(">i4"),
            "dst_scales": np.exp2(rng.integers(-2, 3, 8)).astype(">f4"),
            "dst_zero_points": rng.integers(-9, 9, 8).astype(">i2"),
        }
        native = {name: values.astype(values.dtype.newbyteorder("=")) for name, values in parameters.items()}
        want = zemm.matmul(a, b, **native, engine=engine)
        assert np.array_equal(zemm.matmul(a, b, **parameters, engine=engine), want)

    def test_quantisers(self, engine: zemm.Engine) -> None:
        x = np.random.default_rng(4).standard_normal((4, 64)).astype(np.float32)
        swapped = x.astype(">f4")
        for kind in ("s8", "u8"):
            want = zemm.quantize_activations(x, 32, dtype=kind)
            for on in (None, engine):
                got = zemm.quantize_activations(swapped, 32, dtype=kind, engine=on)
                assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))
        for a, b in zip(zemm.quantize_weights(swapped, 8), zemm.quantize_weights(x, 8), strict=True):
            assert np.array_equal(a, b)
        values = np.arange(-8, 8).reshape(4, 4)
        assert np.array_equal(zemm.pack_int4(values.astype(">i2")), zemm.pack_int4(values))
