# SPDX-License-Identifier: Apache-2.0
"""Masks of quantisation and post-op tensors: such a tensor has dimension d of its argument if bit d
is set."""

from collections.abc import Sequence

from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar.atoms import integer, unknown

POLICIES = (
    "common", "host_scalar", "per_oc", "per_ocic", "per_dim_0", "per_dim_1", "per_dim_01", "per_dim_2",
    "per_dim_3", "per_tensor", "mx", "dynamic_fp",
)  # fmt: skip
_POST_OP_MASKS = {
    "common": 0, "per_oc": 2, "per_ocic": 3, "per_dim_0": 1, "per_dim_1": 2, "per_dim_01": 3, "per_dim_2": 4,
    "per_dim_3": 8,
}  # fmt: skip


def parse_mask(text: str, what: str) -> str:
    """MASK_INPUT: digits, or the name of a policy, which is returned in lower case."""
    if text.isdigit():
        return str(integer(text, what, 0, 2**31 - 1))
    lowered = text.lower()
    if lowered not in POLICIES:
        raise UsageError(f"{what}: {unknown('mask or policy', text, POLICIES)}")
    return lowered


def has_one_value(mask_input: str) -> bool:
    """Whether the tensor is a single number, whose value a case line can give."""
    return mask_input in ("0", "common", "host_scalar")


def quantization_mask(mask_input: str, ndims: int) -> int:
    """The mask of scales, zero points and reductions of a matmul argument with `ndims` dims."""
    if mask_input.isdigit():
        return int(mask_input)
    last_two = {"per_oc": 1 << (ndims - 1), "per_ocic": 3 << (ndims - 2)}
    if mask_input in last_two:
        return last_two[mask_input]
    if mask_input in ("per_tensor", "mx", "dynamic_fp"):
        return (1 << ndims) - 1
    return _POST_OP_MASKS.get(mask_input, 0)


def post_op_mask(mask_input: str, ndims: int) -> int:
    """The mask of a post-op's tensor (binary src1, select condition, prelu weights)."""
    if mask_input.isdigit():
        return int(mask_input)
    return _POST_OP_MASKS.get(mask_input, (1 << ndims) - 1 if mask_input == "per_tensor" else 0)


def masked_dims(mask: int, dims: Sequence[int]) -> tuple[int, ...]:
    """`dims`, with 1 where the bit of the mask is not set."""
    return tuple(dim if mask >> axis & 1 else 1 for axis, dim in enumerate(dims))


def grouped_dims(mask: int, groups: Sequence[int], dims: Sequence[int]) -> tuple[int, ...]:
    """The dims of a quantisation tensor: masked dims, with the last two divided by the group
    sizes and rounded up, as a last group may be shorter."""
    shape = list(masked_dims(mask, dims))
    for axis, group in zip((-2, -1), groups, strict=False):
        if mask >> (len(dims) + axis) & 1 and group > 0:
            shape[axis] = -(-shape[axis] // group)
    return tuple(shape)
