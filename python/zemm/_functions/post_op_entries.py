# SPDX-License-Identifier: Apache-2.0
"""The post-ops of zemm.matmul() as its callers write them."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from zemm._arrays.operands import Tensor, tensor
from zemm._library import check
from zemm._library.lists import IN_PLACE
from zemm._objects.post_op_names import full_name, parameters
from zemm.attributes import PostOps
from zemm.engine import Engine
from zemm.errors import InvalidArgumentsError
from zemm.memory_desc import MemoryDesc
from zemm.words import BinaryName, EltwiseName

LikeDst = Callable[[ArrayLike, str], Tensor]  # a tensor of values that broadcast to dst


def append_entry(
    post_ops: PostOps, entry: Any, out_md: MemoryDesc | None, like_dst: LikeDst, engine: Engine
) -> dict[str, Tensor]:
    """Append an entry. Returns its tensors by the name of their ARG; dst is none of them. out_md: the
    descriptor of dst if the caller gives out. ValueError: it is no post-op."""
    parts: Sequence[Any] = (entry,) if isinstance(entry, str) else entry
    if not isinstance(parts, Sequence) or not parts or not isinstance(parts[0], str):
        first = f" that begins with {check.shown(parts[0])}" if isinstance(entry, tuple) and parts else ""
        raise InvalidArgumentsError(
            f"{check.shown(entry)}{first} is no name, nor a tuple that starts with one"
        )
    name, values = parts[0], parts[1:]
    kind = full_name(name)
    if kind == "sum":
        if out_md is None:
            raise InvalidArgumentsError("sum adds the old dst, but no out is given")
        _check_count(name, values, 0, 3, "scale, zero point and data type")
        post_ops.append_sum(*values)
        return {}
    if kind == "prelu":
        _check_count(name, values, 1, 1, "an array of slopes")
        slopes = _slopes(like_dst(values[0], "the slopes"), engine)
        post_ops.append_prelu(sum(1 << d for d, size in enumerate(slopes.dims) if size > 1))
        return {"WEIGHTS": slopes}
    if kind.removeprefix("binary_") in IN_PLACE:
        if out_md is None:
            raise InvalidArgumentsError(f"{name} multiplies by the old dst, but no out is given")
        _check_count(name, values, 0, 0, "no array, as its operand is the old dst")
        post_ops.append_binary(cast(BinaryName, kind), out_md)
        return {}
    if kind.startswith("binary_"):
        if kind == "binary_select":
            _check_count(name, values, 2, 2, "an array and a condition")
        else:
            _check_count(name, values, 1, 1, "an array")
        operands = [like_dst(value, f"the array of {name}") for value in values]
        post_ops.append_binary(cast(BinaryName, kind), *(operand.md() for operand in operands))
        return dict(zip(("SRC_1", "SRC_2"), operands, strict=False))
    _check_count(name, values, 0, 2, "alpha and beta")
    alpha, beta = (*values, None, None)[:2]
    post_ops.append_eltwise(cast(EltwiseName, kind), *parameters(name, alpha, beta, may_be_unused=False))
    return {}


def _slopes(values: Tensor, engine: Engine) -> Tensor:
    """Slopes of a prelu in the layout that the library reads: f32, dimension 1 innermost."""
    array = values.array.astype(np.float32)
    array = np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)
    return tensor(array, "f32", array.ndim, engine)


def _check_count(name: str, values: Sequence[Any], least: int, most: int, what: str) -> None:
    if not least <= len(values) <= most:
        raise InvalidArgumentsError(f"{name} takes {what}; {len(values)} values are given")
