# SPDX-License-Identifier: Apache-2.0
"""Masks: which dims of a tensor a quantisation or post-op tensor follows (bit d set: dim d)."""

from collections.abc import Sequence

from zemm.benchdnn.atoms import UsageError, integer

POLICIES = (
    "common", "host_scalar", "per_oc", "per_ocic", "per_dim_0", "per_dim_1", "per_dim_01", "per_dim_2",
    "per_dim_3", "per_tensor", "mx", "dynamic_fp",
)  # fmt: skip
_POST_OP_MASKS = {
    "common": 0, "per_oc": 2, "per_ocic": 3, "per_dim_0": 1, "per_dim_1": 2, "per_dim_01": 3, "per_dim_2": 4,
    "per_dim_3": 8,
}  # fmt: skip


def parse_mask(text: str, what: str) -> str:
    """MASK_INPUT: digits, or the name of a policy in any case (returned in lower case)."""
    if text.isdigit():
        return str(integer(text, what, 0, 2**31 - 1))
    lowered = text.lower()
    if lowered not in POLICIES:
        raise UsageError(f"{what}: '{text}' is neither a mask nor one of {', '.join(POLICIES)}")
    return lowered


def has_one_value(mask_input: str) -> bool:
    """Whether the entry is a single number, which the case line may give."""
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
    """`dims` where the bit is set, 1 elsewhere."""
    return tuple(dim if mask >> axis & 1 else 1 for axis, dim in enumerate(dims))


def grouped_dims(mask: int, groups: Sequence[int], dims: Sequence[int]) -> tuple[int, ...]:
    """Dims of a quantisation tensor over all axes: masked dims, the last two divided by their groups."""
    shape = list(masked_dims(mask, dims))
    for axis, group in zip((-2, -1), groups, strict=False):
        if mask >> (len(dims) + axis) & 1 and group > 0:
            shape[axis] //= group
    return tuple(shape)
