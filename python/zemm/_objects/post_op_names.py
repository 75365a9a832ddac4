# SPDX-License-Identifier: Apache-2.0
"""Names of post-ops, their other names, and the defaults of their parameters."""

import difflib
from typing import Any

from zemm._library.check import shown
from zemm._library.library import names_of
from zemm._library.lists import KINDS
from zemm.dtypes import float32_of
from zemm.errors import InvalidArgumentsError

# Defaults of alpha and beta for the algorithms that use them. A text names a parameter without a
# default.
_PARAMETERS: dict[str, tuple[float | str, ...]] = {
    "relu": (0.0,),
    "elu": (1.0,),
    "linear": (1.0, 0.0),
    "soft_relu": (1.0,),
    "hardsigmoid": (1 / 6, 1 / 2),
    "hardswish": (1 / 6, 1 / 2),
    "swish": (1.0,),
    "clip": ("the lower bound", "the upper bound"),
    "clip_v2": ("the lower bound", "the upper bound"),
    "pow": ("the factor", "the exponent"),
}
_EXAMPLES = {"clip": "0.0, 6.0", "clip_v2": "0.0, 6.0", "pow": "1.0, 2.0"}
_OTHER_NAMES = {"gelu": "gelu_erf", "silu": "swish", "sigmoid": "logistic", "softplus": "soft_relu"}


def _known_names() -> dict[str, str]:
    """Full names of post-ops by every name that a user may write."""
    full = [n for n in names_of("alg_kind") if n.startswith(("eltwise_", "binary_"))]
    known = {name.split("_", 1)[1]: name for name in full}
    known |= {other: f"eltwise_{name}" for other, name in _OTHER_NAMES.items()}
    known |= {f"eltwise_{other}": known[other] for other in _OTHER_NAMES}
    return known | {name: name for name in (*full, *KINDS)}


_FULL_NAMES = _known_names()


def full_name(name: Any, kind: str = "") -> str:
    """The full name of a post-op, such as "eltwise_relu" for "relu". kind: "eltwise" or "binary" to
    accept only these. ValueError, with similar names, if there is no such post-op."""
    known = {n: full for n, full in _FULL_NAMES.items() if full.startswith(kind)}
    if isinstance(name, str) and name in known:
        return known[name]
    word = name.lower()[:40] if isinstance(name, str) else ""
    long = [n for n in known if n.startswith(("eltwise_", "binary_"))]
    short = [n for n in known if n not in long and not n.endswith("_for_bwd")]
    near = difflib.get_close_matches(word, long if word.startswith(("eltwise_", "binary_")) else short)
    choices = f"the nearest: {', '.join(near)}" if near else f"there are: {', '.join(short)}"
    what = f"alg {shown(name)} is no {kind} post-op" if kind else f"{shown(name)} is no post-op"
    raise InvalidArgumentsError(f"{what}; {choices}")


def parameters(name: str, alpha: Any, beta: Any, may_be_unused: bool) -> tuple[float, float]:
    """alpha and beta of an eltwise post-op, with defaults in place of None.

    may_be_unused: accept a value other than 0 for a parameter that the algorithm does not have, as
    oneDNN does; else ValueError. ValueError, too, if a parameter has no default.
    """
    algorithm = full_name(name, "eltwise").removeprefix("eltwise_").removesuffix("_use_dst_for_bwd")
    defaults = _PARAMETERS.get(algorithm, ())
    found = [0.0, 0.0]
    for index, (letter, value) in enumerate((("alpha", alpha), ("beta", beta))):
        default = defaults[index] if index < len(defaults) else 0.0
        if value is not None:
            found[index] = float32_of(value, f"{letter} of {name}")
        elif isinstance(default, str):
            example = f'("{name}", {_EXAMPLES[algorithm]})'
            raise InvalidArgumentsError(f"{name} needs {letter}, {default}, as in {example}")
        else:
            found[index] = default
        if found[index] and index >= len(defaults) and not may_be_unused:
            raise InvalidArgumentsError(f"{name} has no {letter}, {value} is given")
    return found[0], found[1]
