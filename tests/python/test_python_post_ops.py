# SPDX-License-Identifier: Apache-2.0
"""Post-ops by name, in zemm.matmul() and PostOps: the meaning of a name, its defaults, and
errors.
"""

from typing import Any

import numpy as np
import pytest
import zemm
from zemm._library.lists import IN_PLACE
from zemm.benchdnn.data.eltwise import BINARY, ELTWISE

# Values on both sides of every bend. Weights that are the identity bring them to the post-ops
# unchanged.
X = np.array([-8, -4, -2.5, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 2.5, 3, 4, 6.5, 8, 20], np.float32).reshape(
    4, 4
)
ONE = np.eye(4, dtype=np.float32)
WIDE = X.astype(np.float64)


def after(engine: zemm.Engine, *post_ops: Any) -> np.ndarray:
    return zemm.matmul(X, ONE, post_ops=post_ops, engine=engine)


# Alpha and beta of those for which they are not 0 and 0, if they are left out.
DEFAULTS = {
    **dict.fromkeys(("elu", "linear", "soft_relu", "swish"), (1.0, 0.0)),
    **dict.fromkeys(("hardsigmoid", "hardswish"), (1 / 6, 0.5)),
}
OTHER_NAMES = {"gelu": "gelu_erf", "silu": "swish", "sigmoid": "logistic", "softplus": "soft_relu"}
NAMES = [*(set(ELTWISE) - {"clip", "clip_v2", "pow"}), *OTHER_NAMES]


def by_name(name: str, *parameters: float) -> np.ndarray:
    """X after the driver's formula."""
    short = name.removeprefix("eltwise_").removesuffix("_use_dst_for_bwd")
    full = OTHER_NAMES.get(short, short)
    alpha, beta = parameters or DEFAULTS.get(full, (0.0, 0.0))
    with np.errstate(all="ignore"):
        return ELTWISE[full](WIDE, np.float32(alpha), np.float32(beta))


@pytest.mark.parametrize("name", sorted(NAMES))
@pytest.mark.parametrize("prefix", ["", "eltwise_"])
def test_defaults(engine: zemm.Engine, prefix: str, name: str) -> None:
    for entry in (f"{prefix}{name}", (f"{prefix}{name}",)):
        np.testing.assert_allclose(after(engine, entry), by_name(name), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["relu", "tanh", "elu", "logistic", "exp"])
def test_forms_that_use_dst(engine: zemm.Engine, name: str) -> None:
    got = after(engine, f"eltwise_{name}_use_dst_for_bwd")
    np.testing.assert_allclose(got, by_name(name), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("entry", "alpha", "beta"),
    [
        (("relu", 0.5), 0.5, 0),
        (("elu", 2), 2, 0),
        (("linear", 3), 3, 0),
        (("linear", 3, -1), 3, -1),
        (("soft_relu", 2.0), 2, 0),
        (("swish", 2.0), 2, 0),
        (("hardsigmoid", 0.25), 0.25, 0.5),
        (("hardswish", 0.25, 0.25), 0.25, 0.25),
        (("clip", -1, 6), -1, 6),
        (("eltwise_clip_v2", np.float32(-1), np.float64(6)), -1, 6),
        (("pow", 1.0, 2.0), 1, 2),
        (("tanh", 0, 0), 0, 0),
    ],
)
def test_values(engine: zemm.Engine, entry: Any, alpha: float, beta: float) -> None:
    np.testing.assert_allclose(after(engine, entry), by_name(entry[0], alpha, beta), rtol=1e-5, atol=1e-6)


COLUMN = np.array([1.0, -2.0, 4.0, 0.5], np.float32)


@pytest.mark.parametrize("name", sorted(set(BINARY) - set(IN_PLACE)))
@pytest.mark.parametrize("prefix", ["", "binary_"])
def test_binary(engine: zemm.Engine, prefix: str, name: str) -> None:
    assert np.array_equal(after(engine, (f"{prefix}{name}", COLUMN)), BINARY[name](X, COLUMN))


def test_select(engine: zemm.Engine) -> None:
    condition = (X > 1).astype(np.uint8)
    assert np.array_equal(after(engine, ("select", COLUMN, condition)), np.where(condition, X, COLUMN))


@pytest.mark.parametrize("dtype", [">f4", "f8", "f2"])
@pytest.mark.parametrize("slopes", [0.25, COLUMN, COLUMN[:, None], X])
def test_prelu(engine: zemm.Engine, slopes: Any, dtype: str) -> None:
    got = after(engine, ("prelu", np.asarray(slopes, dtype)))
    assert np.array_equal(got, np.where(X >= 0, X, X * slopes))


@pytest.mark.parametrize("weights", [(4, 5), (2, 4, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("slopes", [(), (5,), (6, 1), (3, 1, 1), (2, 3, 6, 5), (2, 1, 6, 1)])
def test_prelu_of_a_batch(engine: zemm.Engine, weights: tuple[int, ...], slopes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(-4, 5, (2, 3, 6, 4)).astype(np.float32)
    b = rng.integers(-4, 5, weights).astype(np.float32)
    b = b[:, None] if b.ndim == 3 else b
    slope = rng.integers(1, 9, slopes).astype(np.float32)
    got = zemm.matmul(a, b, post_ops=[("prelu", slope)], engine=engine)
    assert np.array_equal(got, np.where(a @ b >= 0, a @ b, a @ b * slope))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("eltwise_rely", ["eltwise_relu"]),
        ("gelu_err", ["gelu_erf"]),
        ("hard_swish", ["hardswish"]),
        ("leaky_relu", ["relu", "prelu"]),
        ("binary_addd", ["binary_add"]),
        ("multiply", ["mul"]),
        ("", ["relu", "add", "prelu", "sum"]),
        ("softmax_log", ["soft_relu"]),
        ("undef", []),
        ("clip", ["alpha", "lower bound", '("clip", 0.0, 6.0)']),
        (("eltwise_clip", 1.0), ["beta", "upper bound", '("eltwise_clip", 0.0, 6.0)']),
        (("clip_v2", None, 1.0), ["alpha", "lower bound"]),
        (("pow", 2), ["beta", "exponent", '("pow", 1.0, 2.0)']),
        (("clip", 2.0, 1.0), ["2", "1"]),
        (("tanh", 2.0), ["tanh", "alpha", "2.0"]),
        (("relu", 0.0, 2.0), ["relu", "beta", "2.0"]),
        (("linear", 1.0, 2.0, 3.0), ["linear", "3"]),
        (("linear", "1"), ["alpha", "'1'"]),
        (("linear", np.ones(2)), ["alpha"]),
        (("linear", 1e300), ["alpha", "1e+300"]),
        (("add",), ["array"]),
        ("mul", ["array"]),
        ("prelu", ["slopes"]),
        (("prelu", 1.0, 2.0), ["2"]),
        (("prelu", np.ones(3, np.float32)), ["(3,)", "(4, 4)"]),
        (("select", COLUMN), ["condition", "1"]),
        (("sum", 1.0, 0, "undef", 4), ["sum", "4"]),
        (3.0, ["3.0"]),
        ((3.0, "relu"), ["3.0"]),
    ],
)
def test_errors(engine: zemm.Engine, entry: Any, words: list[str]) -> None:
    with pytest.raises(ValueError, match=r"post_ops\[1\]") as caught:
        zemm.matmul(X, ONE, post_ops=["relu", entry], out=np.zeros((4, 4), np.float32), engine=engine)
    for word in words:
        assert word in str(caught.value)


class TestPostOps:
    """The class has the defaults and names of zemm.matmul()."""

    def run(self, engine: zemm.Engine, post_ops: zemm.PostOps) -> np.ndarray:
        attr = zemm.Attr()
        attr.set_post_ops(post_ops)
        md = zemm.MemoryDesc((4, 4), "f32")
        src, weights, dst = (zemm.Memory(md, engine) for _ in range(3))
        src.write(X)
        weights.write(ONE)
        stream = zemm.Stream(engine)
        primitive = zemm.Primitive(zemm.MatmulPrimitiveDesc(engine, md, md, md, attr=attr))
        primitive.execute(stream, {zemm.ARG_SRC: src, zemm.ARG_WEIGHTS: weights, zemm.ARG_DST: dst})
        stream.wait()
        return dst.as_numpy()

    @pytest.mark.parametrize("name", ["eltwise_swish", "silu", "linear", "hardsigmoid", "eltwise_soft_relu"])
    def test_defaults(self, engine: zemm.Engine, name: str) -> None:
        post_ops = zemm.PostOps()
        post_ops.append_eltwise(name)
        np.testing.assert_allclose(self.run(engine, post_ops), by_name(name), rtol=1e-5, atol=1e-6)

    def test_what_is_given_counts(self, engine: zemm.Engine) -> None:
        post_ops = zemm.PostOps()
        post_ops.append_eltwise("eltwise_linear", 0.0, 2.0)
        post_ops.append_eltwise("linear", beta=1.0)
        assert (self.run(engine, post_ops) == 3).all()

    def test_errors(self) -> None:
        post_ops = zemm.PostOps()
        md = zemm.MemoryDesc((4, 4), "f32")
        with pytest.raises(ValueError, match="lower bound"):
            post_ops.append_eltwise("eltwise_clip")
        with pytest.raises(ValueError, match=r"alpha.*1e\+39"):
            post_ops.append_eltwise("eltwise_linear", 1e39)
        with pytest.raises(ValueError, match="gelu_erf"):
            post_ops.append_eltwise("gelu_err")
        with pytest.raises(ValueError, match="binary_add"):
            post_ops.append_eltwise("binary_add")
        with pytest.raises(ValueError, match="relu"):
            post_ops.append_binary("relu", md)
        with pytest.raises(ValueError, match="scale"):
            post_ops.append_sum(1e39)
        assert len(post_ops) == 0
        post_ops.append_binary("add", md)
        post_ops.append_sum(2.0)
        assert len(post_ops) == 2
