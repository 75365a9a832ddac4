# SPDX-License-Identifier: Apache-2.0
"""Post-ops by name, in zemm.matmul() and PostOps: the meaning of a name, and its defaults."""

from typing import Any

import numpy as np
import pytest
import zemm
from support_execute import dst_of
from zemm._library.lists import IN_PLACE
from zemm.benchdnn.data.eltwise import BINARY, ELTWISE

# Values on both sides of every bend. Weights that are the identity bring them to the post-ops
# unchanged.
X = np.array([-8, -4, -2.5, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 2.5, 3, 4, 6.5, 8, 20], np.float32).reshape(
    4, 4
)
ONE = np.eye(4, dtype=np.float32)


def after(engine: zemm.Engine, *post_ops: Any) -> np.ndarray:
    return zemm.matmul(X, ONE, post_ops=post_ops, engine=engine)


# Alpha and beta of those for which they are not 0 and 0, if they are left out.
DEFAULTS = {
    **dict.fromkeys(("elu", "linear", "soft_relu", "swish"), (1.0, 0.0)),
    **dict.fromkeys(("hardsigmoid", "hardswish"), (1 / 6, 0.5)),
}
OTHER_NAMES = {"gelu": "gelu_erf", "silu": "swish", "sigmoid": "logistic", "softplus": "soft_relu"}
NAMES = {*(set(ELTWISE) - {"clip", "clip_v2", "pow"}), *OTHER_NAMES}
USE_DST = [f"{name}_use_dst_for_bwd" for name in ("relu", "tanh", "elu", "logistic", "exp")]


def check(got: np.ndarray, name: str, *parameters: float) -> None:
    """got is X after the driver's formula."""
    short = name.removeprefix("eltwise_").removesuffix("_use_dst_for_bwd")
    full = OTHER_NAMES.get(short, short)
    alpha, beta = (*parameters, *DEFAULTS.get(full, (0.0, 0.0))[len(parameters) :])
    with np.errstate(all="ignore"):
        want = ELTWISE[full](X.astype(np.float64), np.float32(alpha), np.float32(beta))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", sorted(NAMES) + USE_DST)
def test_defaults(engine: zemm.Engine, name: str) -> None:
    """In each form of a post-op, and in the class."""
    forms = [f"eltwise_{name}", (f"eltwise_{name}",), *([] if name in USE_DST else [name, (name,)])]
    for form in forms:
        check(after(engine, form), name)
    ops, attr = zemm.PostOps(), zemm.Attr()
    ops.append_eltwise(f"eltwise_{name}")
    attr.set_post_ops(ops)
    md = zemm.MemoryDesc((4, 4), "f32")
    pd = zemm.MatmulPrimitiveDesc(engine, md, md, md, attr=attr)
    check(dst_of(zemm.Stream(engine), pd, {zemm.ARG_SRC: X, zemm.ARG_WEIGHTS: ONE}), name)


@pytest.mark.parametrize(
    "entry",
    [
        ("relu", 0.5), ("elu", 2), ("linear", 3), ("linear", 3, -1), ("linear", 0.0, 2.0), ("soft_relu", 2.0),
        ("swish", 2.0), ("hardsigmoid", 0.25), ("hardswish", 0.25, 0.25), ("clip", -1, 6),
        ("eltwise_clip_v2", np.float32(-1), np.float64(6)), ("pow", 1.0, 2.0), ("tanh", 0, 0),
    ],
)  # fmt: skip
def test_values(engine: zemm.Engine, entry: Any) -> None:
    check(after(engine, entry), *entry)


COLUMN = np.array([1.0, -2.0, 4.0, 0.5], np.float32)


@pytest.mark.parametrize("name", sorted(set(BINARY) - set(IN_PLACE)))
def test_binary(engine: zemm.Engine, name: str) -> None:
    for form in (name, f"binary_{name}"):
        assert np.array_equal(after(engine, (form, COLUMN)), BINARY[name](X, COLUMN))


def test_select(engine: zemm.Engine) -> None:
    condition = (X > 1).astype(np.uint8)
    assert np.array_equal(after(engine, ("select", COLUMN, condition)), np.where(condition, X, COLUMN))


def test_several(engine: zemm.Engine) -> None:
    """They apply in order, and a binary one may be of a batch's shape."""
    rng = np.random.default_rng(2)
    a, b, full, column = (
        rng.integers(1, 5, shape).astype(np.float32) - 2 for shape in ((2, 3, 4), (4, 5), (2, 3, 5), (5,))
    )
    post_ops = ["eltwise_relu", ("eltwise_linear", 2.0, 1.0), ("binary_mul", column), ("binary_add", full)]
    got = zemm.matmul(a, b, post_ops=post_ops, engine=engine)
    assert np.array_equal(got, (np.maximum(a @ b, 0) * 2 + 1) * column + full)


@pytest.mark.parametrize("dtype", [">f4", "f8", "f2"])
@pytest.mark.parametrize("slopes", [0.25, COLUMN, COLUMN[:, None], X])
def test_prelu(engine: zemm.Engine, slopes: Any, dtype: str) -> None:
    got = after(engine, ("prelu", np.asarray(slopes, dtype)))
    assert np.array_equal(got, np.where(X >= 0, X, X * slopes))


@pytest.mark.parametrize("weights", [(4, 5), (2, 1, 4, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("slopes", [(), (5,), (6, 1), (3, 1, 1), (2, 3, 6, 5), (2, 1, 6, 1)])
def test_prelu_of_a_batch(engine: zemm.Engine, weights: tuple[int, ...], slopes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(-4, 5, (2, 3, 6, 4)).astype(np.float32)
    b = rng.integers(-4, 5, weights).astype(np.float32)
    slope = rng.integers(1, 9, slopes).astype(np.float32)
    got = zemm.matmul(a, b, post_ops=[("prelu", slope)], engine=engine)
    assert np.array_equal(got, np.where(a @ b >= 0, a @ b, a @ b * slope))


def test_refused_ones_are_not_appended() -> None:
    ops, md = zemm.PostOps(), zemm.MemoryDesc((4, 4), "f32")
    for append in (lambda: ops.append_eltwise("clip"), lambda: ops.append_binary("relu", md),
                   lambda: ops.append_sum(1e39)):  # fmt: skip
        with pytest.raises(ValueError, match=r"\w"):
            append()
    assert len(ops) == 0
    ops.append_binary("add", md)
    ops.append_sum(2.0)
    assert len(ops) == 2
