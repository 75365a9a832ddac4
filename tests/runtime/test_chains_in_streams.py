# SPDX-License-Identifier: Apache-2.0
"""A result that a stream still computes is an argument of the next call with it: the host reads it only after
it is complete."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm

RNG = np.random.default_rng(0)
K, ROWS = 2048, 256  # some 20 ms
FIRST = zemm.Linear.from_float(RNG.standard_normal((K, 64), np.float32), bits=8)
X = RNG.standard_normal((ROWS, K), np.float32)
W = RNG.standard_normal((64, 32), np.float32)
Arrays = np.ndarray[Any, Any]

VIEWS: dict[str, Callable[[Arrays], Arrays]] = {
    "as it is": lambda y: y,
    "reversed": lambda y: y[::-1],
    "every other": lambda y: y[::2],
    "transposed": lambda y: y.T[:, :64],
    "one row": lambda y: y[3],
    "part of columns": lambda y: np.broadcast_to(y[:, :1], y.shape),
}


def check(second: Callable[[Arrays, Any], Arrays]) -> None:
    """second: takes the result of FIRST and a stream, or None."""
    want = second(FIRST(X), None)
    stream = zemm.Stream(FIRST.engine)
    for _ in range(2):
        y = second(FIRST(X, stream=stream), stream)
        stream.wait()
        assert np.array_equal(y, want, equal_nan=True)


@pytest.mark.each_value
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("activation", ["f32", "bf16", "f16", "int8"])
def test_layers(activation: Any, view: str) -> None:
    layer = zemm.Linear.from_float(W, bits=8, activation=activation)
    check(lambda y, stream: layer(VIEWS[view](y), stream=stream))


def test_lists() -> None:
    layer = zemm.Linear.from_float(W, bits=8)
    check(lambda y, stream: layer([y[0], y[7]], stream=stream))


def test_out_of_layers() -> None:
    """The first result is x and out, or overlaps out."""
    layer = zemm.Linear.from_float(W, bits=8, activation="bf16")
    check(lambda y, stream: layer(y, y[:, 5:37], stream=stream))


def test_experts() -> None:
    layer = zemm.Linear.from_float(np.stack([W, 2 * W]), bits=8, activation="bf16")
    sizes = [ROWS - 5, 5]
    check(lambda y, stream: layer(y, expert=1, stream=stream))
    check(lambda y, stream: layer(y[::-1], group_sizes=sizes, stream=stream))
    check(lambda y, stream: layer(np.broadcast_to(y, (2, *y.shape)), stream=stream))


PRODUCTS: dict[str, Callable[[Arrays, Any], Arrays]] = {
    "weights": lambda y, s: zemm.matmul(X[:, :ROWS], y, stream=s),
    "weights, reversed": lambda y, s: zemm.matmul(X[:, :ROWS], y[::-1], stream=s),
    "bias": lambda y, s: zemm.matmul(X[:ROWS, :64], np.eye(64, dtype=np.float32), y, stream=s),
    "bias row": lambda y, s: zemm.matmul(X[:ROWS, :64], np.eye(64, dtype=np.float32), y[3], stream=s),
    "bias, batch": lambda y, s: zemm.matmul(
        X[:6, :64].reshape(2, 3, 64), np.eye(64, dtype=np.float32), y[:3], stream=s
    ),
    "post-op": lambda y, s: zemm.matmul(
        X[:ROWS, :64], np.eye(64, dtype=np.float32), post_ops=[("add", y[::-1])], stream=s
    ),
    "post-op row": lambda y, s: zemm.matmul(
        X[:ROWS, :64], np.eye(64, dtype=np.float32), post_ops=[["mul", y[:1]]], stream=s
    ),
    "prelu": lambda y, s: zemm.matmul(
        X[:ROWS, :64], np.eye(64, dtype=np.float32), post_ops=(("prelu", y[:1]),), stream=s
    ),
    "scales": lambda y, s: zemm.matmul(
        X[:ROWS, :64], np.ones((64, 64), np.int8), weights_scales=y[0], stream=s
    ),
    "scales, strided": lambda y, s: zemm.matmul(
        X[:ROWS, :64], np.ones((64, 64), np.int8), weights_scales=y[:2, ::-1], stream=s
    ),
    "sum into a strided out": lambda y, s: zemm.matmul(
        X[:ROWS, :64], np.eye(64, dtype=np.float32), post_ops=["sum"], out=y[::-1], stream=s
    ),
    "list": lambda y, s: zemm.matmul([y[1], y[5]], W, stream=s),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    check(PRODUCTS[name])


@pytest.mark.parametrize("view", VIEWS)
def test_src(view: str) -> None:
    if view != "one row":
        check(lambda y, stream: zemm.matmul(VIEWS[view](y), W, stream=stream))


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float64])
def test_products_of_other_types(dtype: Any) -> None:
    """The first result is a bias in bf16, or in f64, which is converted."""
    eye, stream = np.eye(64, dtype=np.float32), zemm.Stream(FIRST.engine)

    def chain(to: zemm.Stream | None) -> Arrays:
        y = zemm.matmul(X.astype(dtype), np.ones((K, 64), dtype), stream=to)
        return zemm.matmul(X[:ROWS, :64], eye, y[0], stream=to)

    want, have = chain(None), chain(stream)
    stream.wait()
    assert np.array_equal(have, want)


def test_calls_that_stay_asynchronous(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host does not wait for results that it does not read."""
    stream, waits = zemm.Stream(FIRST.engine), []
    monkeypatch.setattr(zemm.Stream, "_settle", waits.append)
    layer = zemm.Linear.from_float(W, bits=8, activation="int8")
    y = layer(FIRST(X, stream=stream), stream=stream)
    quantised = zemm.quantize_weights(W, 8, 32)
    for _ in range(2):
        zemm.matmul(
            y,
            quantised.values[:32],
            y[0],
            weights_scales=y[1],
            post_ops=["relu", ("linear", 2, 1)],
            stream=stream,
        )
        zemm.matmul(y, zemm.pack(*zemm.quantize_weights(W[:32], 8)), stream=stream)
    stream.wait()
    assert not waits
