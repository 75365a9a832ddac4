# SPDX-License-Identifier: Apache-2.0
"""The formulas of post-ops. They compute in the type of x, f32 or f64, but transcendental functions
in f64. The test suite shares them; tests/benchdnn/test_reference.py checks them by Python's math."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm.benchdnn.grammar.dtypes import Floats

Values = NDArray[Any]  # f32 or f64
Wide = NDArray[np.float64]
Formula = Callable[[Values, np.float32, np.float32], Values]

_erf = np.vectorize(math.erf, otypes=[np.float64])
_LOG_MAX = np.float32(88.72283)
# Constants that are f32 in the kernels, and in oneDNN.
_SQRT_2_OVER_PI, _FITTING, _SQRT_HALF = (
    np.float64(np.float32(c)) for c in (0.79788458, 0.044715, 0.70710677)
)


def eltwise(name: str, x: Floats, alpha: float, beta: float) -> Floats:
    """The eltwise operation `name` of x. Forms with `_dst` have the same values as those
    without."""
    with np.errstate(all="ignore"):
        return ELTWISE[name.removesuffix("_dst")](x, np.float32(alpha), np.float32(beta)).astype(np.float32)


def binary(name: str, x: Floats, s: Floats) -> Floats:
    """The binary operation `name` of x and s. Comparisons give 1 or 0."""
    with np.errstate(all="ignore"):
        return np.asarray(BINARY[name](x, s), np.float32)


def _in_f64(function: Callable[[Wide], Wide]) -> Callable[[Values], Values]:
    return lambda x: function(x.astype(np.float64)).astype(x.dtype)


def _unary(function: Callable[[Values], Values]) -> Formula:
    """Of functions without parameters."""
    return lambda x, a, b: function(x)


@_in_f64
def _log_1_plus_exp(v: Wide) -> Wide:
    return np.where(v < _LOG_MAX, np.log1p(np.exp(np.minimum(v, _LOG_MAX))), v)


def soft_relu(x: Values, a: np.float32, b: np.float32) -> Values:
    v = (a * x).astype(np.float64)
    return (_log_1_plus_exp(v) / a).astype(x.dtype)


@_in_f64
def logistic(x: Wide) -> Wide:
    return np.where(-x < _LOG_MAX, 1 / (1 + np.exp(-x)), 0)


@_in_f64
def _gelu_tanh(x: Wide) -> Wide:
    return 0.5 * x * (1 + np.tanh(_SQRT_2_OVER_PI * x * (1 + _FITTING * x * x)))


@_in_f64
def _gelu_erf(x: Wide) -> Wide:
    return 0.5 * x * (1 + _erf(x * _SQRT_HALF))


_expm1 = _in_f64(np.expm1)


def _clip(x: Values, a: np.float32, b: np.float32) -> Values:
    """min(max(x, a), b). A NaN becomes a."""
    return np.minimum(np.where(x > a, x, a), b)


def _pow(x: Values, a: np.float32, b: np.float32) -> Values:
    # numpy computes a scalar exponent of 0.5 by sqrt, which gives NaN for -inf where pow gives inf.
    return a * np.power(x.astype(np.float64), np.full(x.shape, np.float64(b))).astype(x.dtype)


def hardsigmoid(x: Values, a: np.float32, b: np.float32) -> Values:
    """a x + b between 0 and 1. A NaN stays one."""
    line = a * x + b
    return np.where(line <= 0, x.dtype.type(0), np.where(line >= 1, x.dtype.type(1), line))


ELTWISE: dict[str, Formula] = {
    "relu": lambda x, a, b: np.where(x > 0, x, a * x),
    "tanh": _unary(_in_f64(np.tanh)),
    "elu": lambda x, a, b: np.where(x > 0, x, a * _expm1(x)),
    "square": _unary(np.square),
    "abs": _unary(np.abs),
    "sqrt": _unary(np.sqrt),
    "linear": lambda x, a, b: a * x + b,
    "soft_relu": soft_relu,
    "hardsigmoid": hardsigmoid,
    "logistic": _unary(logistic),
    "exp": _unary(_in_f64(np.exp)),
    "gelu_tanh": _unary(_gelu_tanh),
    "swish": lambda x, a, b: x * logistic(a * x),
    "log": _unary(_in_f64(np.log)),
    "clip": _clip,
    "clip_v2": _clip,
    "pow": _pow,
    "gelu_erf": _unary(_gelu_erf),
    "round": _unary(np.rint),
    "mish": lambda x, a, b: x * np.tanh(soft_relu(x, np.float32(1), b)),
    "hardswish": lambda x, a, b: x * hardsigmoid(x, a, b),
}
TENSOR_KINDS: dict[str, Callable[[Any, Values, Values], Values]] = {  # of the post-op, x and its tensor
    "prelu": lambda op, x, s: np.where(x >= 0, x, x * s),
}
BINARY: dict[str, Callable[[Values, Values], Values]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "mul_inplace": np.multiply,  # by the old dst
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
