# SPDX-License-Identifier: Apache-2.0
"""The formulas of eltwise and binary post-ops on f32 values. Transcendental functions are computed
in f64."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm.benchdnn.dtypes import Floats

Wide = NDArray[np.float64]
Formula = Callable[[Floats, np.float32, np.float32], Floats]

_LOG_MAX = np.float32(88.72283)
_ONE = np.float32(1)


def eltwise(name: str, x: Floats, alpha: float, beta: float) -> Floats:
    """The eltwise operation `name` of x. Forms with `_dst` have the same values as those
    without."""
    with np.errstate(all="ignore"):
        return _ELTWISE[name.removesuffix("_dst")](x, np.float32(alpha), np.float32(beta)).astype(np.float32)


def binary(name: str, x: Floats, s: Floats) -> Floats:
    """The binary operation `name` of x and s. Comparisons give 1 or 0."""
    with np.errstate(all="ignore"):
        return np.asarray(_BINARY[name](x, s), np.float32)


def _wide(function: Callable[[Wide], Wide]) -> Formula:
    return lambda x, a, b: _narrow(function(x.astype(np.float64)))


def _narrow(values: Wide) -> Floats:
    return values.astype(np.float32)


def _elu(x: Floats, a: np.float32, b: np.float32) -> Floats:
    return np.where(x > 0, x, a * np.expm1(x.astype(np.float64)).astype(np.float32))


def _soft_relu(x: Floats, a: np.float32, b: np.float32) -> Floats:
    v = (a * x).astype(np.float64)
    return _narrow(np.where(v < _LOG_MAX, np.log1p(np.exp(np.minimum(v, _LOG_MAX))), v) / a)


def _logistic(x: Floats, a: np.float32 = _ONE, b: np.float32 = _ONE) -> Floats:
    wide = x.astype(np.float64)
    return _narrow(np.where(-wide < _LOG_MAX, 1 / (1 + np.exp(-wide)), 0))


def _gelu_tanh(x: Floats, a: np.float32, b: np.float32) -> Floats:
    v = x.astype(np.float64)
    return _narrow(0.5 * v * (1 + np.tanh(0.79788458 * v * (1 + 0.044715 * v * v))))


def _gelu_erf(x: Floats, a: np.float32, b: np.float32) -> Floats:
    v = x.astype(np.float64)
    return _narrow(0.5 * v * (1 + _erf(v * 0.70710677)))


def _erf(v: Wide) -> Wide:
    """erf in f64, to about 1e-15: a series for |v| < 3, else the continued fraction of erfc."""
    size = np.abs(v)
    small, large = np.minimum(size, 3.0), np.maximum(size, 3.0)
    term = total = small
    for n in range(1, 60):
        term = term * small * small * 2 / (2 * n + 1)
        total = total + term
    series = 2 / np.sqrt(np.pi) * np.exp(-small * small) * total
    fraction = large
    for n in range(60, 0, -1):
        fraction = large + n / 2 / fraction
    tail = 1 - np.exp(-large * large) / (fraction * np.sqrt(np.pi))
    erf: Wide = np.sign(v) * np.where(size < 3.0, series, tail)
    return erf


def _mish(x: Floats, a: np.float32, b: np.float32) -> Floats:
    return x * np.tanh(_soft_relu(x, _ONE, _ONE))


def _clip(x: Floats, a: np.float32, b: np.float32) -> Floats:
    """min(max(x, a), b). A NaN becomes a."""
    return np.minimum(np.where(x > a, x, a), b)


def _pow(x: Floats, a: np.float32, b: np.float32) -> Floats:
    # numpy computes a scalar exponent of 0.5 by sqrt, which gives NaN for -inf where pow gives inf.
    return a * np.power(x.astype(np.float64), np.full(x.shape, np.float64(b))).astype(np.float32)


def _hardsigmoid(x: Floats, a: np.float32, b: np.float32) -> Floats:
    clamped: Floats = np.clip(a * x + b, np.float32(0), _ONE)
    return clamped


_ELTWISE: dict[str, Formula] = {
    "relu": lambda x, a, b: np.where(x > 0, x, a * x),
    "tanh": _wide(np.tanh),
    "elu": _elu,
    "square": lambda x, a, b: x * x,
    "abs": lambda x, a, b: np.abs(x),
    "sqrt": lambda x, a, b: np.sqrt(x),
    "linear": lambda x, a, b: a * x + b,
    "soft_relu": _soft_relu,
    "hardsigmoid": _hardsigmoid,
    "logistic": _logistic,
    "exp": _wide(np.exp),
    "gelu_tanh": _gelu_tanh,
    "swish": lambda x, a, b: x * _logistic(a * x),
    "log": _wide(np.log),
    "clip": _clip,
    "clip_v2": _clip,
    "pow": _pow,
    "gelu_erf": _gelu_erf,
    "round": lambda x, a, b: np.rint(x),
    "mish": _mish,
    "hardswish": lambda x, a, b: x * _hardsigmoid(x, a, b),
}
_BINARY: dict[str, Callable[[Floats, Floats], NDArray[Any]]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    # If either operand is NaN, the result is the second one.
    "max": lambda x, s: np.where(x > s, x, s),
    "min": lambda x, s: np.where(x < s, x, s),
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "eq": np.equal,
    "ne": np.not_equal,
}
