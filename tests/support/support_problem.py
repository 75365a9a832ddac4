# SPDX-License-Identifier: Apache-2.0
"""Matmul problems of the tests: what a problem is, layouts, and values that fit its types."""

from dataclasses import dataclass, field
from functools import cache, cached_property

import ml_dtypes
import numpy as np
from zemm._library.lists import IN_PLACE

FLOATS = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
# Floats that do not have all eighths between -4 and 4. numpy keeps an f4_e2m1 in a byte.
SMALL_FLOATS = {
    "f8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "f8_e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "f4_e2m1": np.dtype(ml_dtypes.float4_e2m1fn),
}
SCALE_TYPES = FLOATS | {"f8_e4m3": SMALL_FLOATS["f8_e4m3"], "e8m0": np.dtype(ml_dtypes.float8_e8m0fnu)}
INTEGERS = {"s32": np.dtype(np.int32), "s8": np.dtype(np.int8), "u8": np.dtype(np.uint8)}
NUMPY = FLOATS | SMALL_FLOATS | INTEGERS
RANGES = {
    "s32": (-(2**31), 2**31 - 1),
    "s8": (-128, 127),
    "u8": (0, 255),
    "s4": (-8, 7),
    "u4": (0, 15),
    "u2": (0, 3),
}
INT8 = ("s8", "u8")
PER_BYTE = {"s4": 2, "u4": 2, "f4_e2m1": 2, "u2": 4}  # elements in a byte


@dataclass(frozen=True)
class Quant:
    """Scales or zero points, as the arguments of the set_... functions."""

    mask: int = 0
    groups: tuple[int, ...] = ()
    dt: str = "f32"
    host: bool = False


def zero_point(mask: int = 0, groups: tuple[int, ...] = (), dt: str = "s32", host: bool = False) -> Quant:
    return Quant(mask, groups, dt, host)


@dataclass(frozen=True)
class PostOp:
    """A post-op. kind is sum, eltwise, binary or prelu. mask: the dimensions of dst that the second
    operand has.
    """

    kind: str
    alg: str = ""
    alpha: float = 0.0
    beta: float = 0.0
    zero_point: int = 0
    dt: str = "f32"
    mask: int = 0
    condition_mask: int = 0

    @property
    def is_in_place(self) -> bool:
        """Whether the second operand is dst. dt is dst's type then, and mask has all dimensions."""
        return self.alg.removeprefix("binary_") in IN_PLACE


@dataclass(frozen=True)
class Problem:
    src_dims: tuple[int, ...]
    wei_dims: tuple[int, ...]
    src_dt: str = "f32"
    wei_dt: str = "f32"
    dst_dt: str = "f32"
    src_order: str | None = None  # axes from outer to inner, as a tag; None: row-major
    wei_order: str | None = None
    dst_order: str | None = None
    src_pad: int = 0  # elements between rows (and planes) beyond the dense stride
    wei_pad: int = 0
    dst_pad: int = 0
    any_tags: bool = False
    wei_tag: str | None = None  # a blocked layout into which the weights are reordered
    # For parts of larger tensors: the dims of the larger tensor (which has the strides or tag), and
    # where the part begins.
    src_within: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    wei_within: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    bias_dt: str | None = None
    bias_mask: int = 0
    src_scale: Quant | None = None
    wei_scale: Quant | None = None
    dst_scale: Quant | None = None
    src_zp: Quant | None = None
    wei_zp: Quant | None = None
    dst_zp: Quant | None = None
    wei_offset: Quant | None = None
    reduction_group: int | None = None
    post_ops: tuple[PostOp, ...] = ()
    fpmath: tuple[str, bool] | None = None
    scratchpad: str = "library"
    reduced_range: bool = False
    src_group: int = 0  # elements of K of a floating-point src that the matmul quantises together
    huge_zero_points: bool = False
    rough: bool = False  # floats with all their digits, scales that are no powers of two
    # The row scales the sums of so many elements of K at once, which may be a part of a group.
    scaled_at_once: int | None = None
    narrow: str | None = None  # what f32 of src and weights is converted to: tf32, bf16 or two bf16
    # Whether the row rounds weights less float zero points to bf16.
    rounds_to_bf16: bool = False
    limit: int = 2**31  # greatest magnitude of integers of src or weights, and of their zero points
    seed: int = 0

    @cached_property
    def dst_dims(self) -> tuple[int, ...]:
        batch = tuple(w if s == 1 else s for s, w in zip(self.src_dims[:-2], self.wei_dims[:-2], strict=True))
        return (*batch, self.src_dims[-2], self.wei_dims[-1])

    @property
    def ndims(self) -> int:
        return len(self.src_dims)

    @property
    def k(self) -> int:
        return self.src_dims[-1]

    @property
    def integer(self) -> bool:
        return self.src_dt in INT8

    def dims(self, name: str) -> tuple[int, ...]:
        return {"src": self.src_dims, "wei": self.wei_dims, "dst": self.dst_dims}[name]

    def within(self, name: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        return {"src": self.src_within, "wei": self.wei_within}.get(name)

    def strides(self, name: str) -> tuple[int, ...]:
        """The strides of src, wei or dst."""
        order, pad, dt = (getattr(self, f"{name}_{what}") for what in ("order", "pad", "dt"))
        within = self.within(name)
        return strides_of(within[0] if within else self.dims(name), order, pad, PER_BYTE.get(dt, 1))


def strides_of(dims: tuple[int, ...], order: str | None, pad: int, per_byte: int) -> tuple[int, ...]:
    axes = [ord(letter) - ord("a") for letter in order] if order else list(range(len(dims)))
    strides = [0] * len(dims)
    step = 1
    for axis in reversed(axes):
        strides[axis] = step
        step = step * max(dims[axis], 1) + pad
        step += -step % per_byte
    return tuple(strides)


def masked(dims: tuple[int, ...], mask: int) -> tuple[int, ...]:
    return tuple(d if mask >> i & 1 else 1 for i, d in enumerate(dims))


def quant_dims(dims: tuple[int, ...], quant: Quant) -> tuple[int, ...]:
    shape = list(masked(dims, quant.mask))
    for i, group in enumerate(quant.groups):
        axis = len(dims) - 2 + i
        if quant.mask >> axis & 1:
            shape[axis] = -(-shape[axis] // group)
    return tuple(shape)


@dataclass
class Data:
    """Logical values: integers as int64, floats as f64 (all representable in their types)."""

    src: np.ndarray
    wei: np.ndarray
    dst: np.ndarray
    bias: np.ndarray | None = None
    quants: dict[str, np.ndarray] = field(default_factory=dict)  # by the name of the Problem's member
    reductions: np.ndarray | None = None
    post_ops: list[tuple[np.ndarray | None, np.ndarray | None]] = field(default_factory=list)


def values(
    rng: np.random.Generator, dt: str, shape: tuple[int, ...], limit: int = 2**31, rough: bool = False
) -> np.ndarray:
    """Random values of a type.

    Integers cover the whole range of the type. Floats are eighths between -4 and 4 that the type
    has, or have all their digits.
    """
    if dt in RANGES:
        low, high = RANGES[dt]
        return rng.integers(max(low, -limit), min(high, limit), shape, endpoint=True)
    if rough:
        return rng.standard_normal(shape).astype((FLOATS | SMALL_FLOATS)[dt]).astype(np.float64)
    if dt in SMALL_FLOATS:
        return rng.choice(eighths(dt), shape)
    return rng.integers(-32, 33, shape) / 8.0


@cache
def eighths(dt: str) -> np.ndarray:
    """The eighths between -4 and 4 that a narrow type has."""
    every = np.arange(-32, 33) / 8.0
    return every[every.astype(SMALL_FLOATS[dt]).astype(np.float64) == every]


def scale_values(rng: np.random.Generator, dt: str, shape: tuple[int, ...], rough: bool) -> np.ndarray:
    powers = np.exp2(rng.integers(-3, 3, shape))
    if not rough or dt == "e8m0":
        return powers
    return (powers * rng.uniform(1, 2, shape)).astype(SCALE_TYPES[dt]).astype(np.float64)


def make_data(p: Problem) -> Data:
    rng = np.random.default_rng(p.seed)
    data = Data(
        values(rng, p.src_dt, p.src_dims, p.limit, p.rough),
        values(rng, p.wei_dt, p.wei_dims, p.limit, p.rough),
        values(rng, p.dst_dt, p.dst_dims, limit=100),
    )
    if p.reduced_range and p.integer:
        data.src >>= 1
    if p.bias_dt:
        data.bias = values(rng, p.bias_dt, masked(p.dst_dims, p.bias_mask), 1000, p.rough)
    for name in ("src", "wei", "dst"):
        scale: Quant | None = getattr(p, f"{name}_scale")
        if scale:
            data.quants[f"{name}_scale"] = scale_values(
                rng, scale.dt, quant_dims(p.dims(name), scale), p.rough
            )
        zp: Quant | None = getattr(p, f"{name}_zp")
        if zp:
            limit = 2**31 if p.huge_zero_points and name != "dst" else min(100, p.limit)
            data.quants[f"{name}_zp"] = values(rng, zp.dt, quant_dims(p.dims(name), zp), limit, p.rough)
    if p.wei_offset:
        shape = quant_dims(p.wei_dims, p.wei_offset)
        data.quants["wei_offset"] = values(rng, p.wei_offset.dt, shape, rough=p.rough)
    if p.reduction_group:
        data.reductions = np.add.reduceat(data.src, range(0, p.k, p.reduction_group), axis=-1)
    for op in p.post_ops:
        first = second = None
        if op.kind == "prelu":
            first = values(rng, "f32", masked(p.dst_dims, op.mask))
        elif op.is_in_place:
            first = data.dst
        elif op.kind == "binary":
            first = values(rng, op.dt, masked(p.dst_dims, op.mask), limit=100)
            if op.alg == "binary_div":
                first = np.where(first == 0, 2, first)
            if op.alg == "binary_select":
                second = rng.integers(0, 2, masked(p.dst_dims, op.condition_mask))
        data.post_ops.append((first, second))
    return data
