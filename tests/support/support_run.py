# SPDX-License-Identifier: Apache-2.0
"""Runs a test problem through the classes of the C API and compares dst's whole buffer with the
reference.
"""

from dataclasses import dataclass

import numpy as np
import reference
import zemm
from support_engine import the_engine, the_stream
from support_problem import (
    FLOATS,
    NUMPY,
    PER_BYTE,
    RANGES,
    SCALE_TYPES,
    SMALL_FLOATS,
    Data,
    Problem,
    Quant,
    make_data,
    masked,
    quant_dims,
)

GUARD = 64  # bytes before and after dst
FLAGS = {
    "scale": zemm.ARG["ATTR_SCALES"],
    "zp": zemm.ARG["ATTR_ZERO_POINTS"],
    "offset": zemm.ARG["ATTR_OFFSETS"],
}
ARGS = {"src": zemm.ARG["SRC"], "wei": zemm.ARG["WEIGHTS"], "dst": zemm.ARG["DST"]}


def offsets(dims: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    total = np.zeros(dims, np.int64)
    for axis, (dim, stride) in enumerate(zip(dims, strides, strict=True)):
        shape = [1] * len(dims)
        shape[axis] = dim
        total += np.arange(dim).reshape(shape) * stride
    return total


def places(md: zemm.MemoryDesc) -> np.ndarray:
    """The index in the buffer, in elements, of each element. Blocked layouts and parts work, too."""
    at = np.full(md.dims, md.offset0, np.int64)
    coordinates = list(np.indices(md.dims, sparse=True))
    step = 1
    for axis, size in reversed(list(zip(md.inner_idxs, md.inner_blks, strict=True))):
        at += coordinates[axis] % size * step
        coordinates[axis] = coordinates[axis] // size
        step *= size
    for coordinate, stride in zip(coordinates, md.strides, strict=True):
        at += coordinate * stride
    return at


def put(buffer: np.ndarray, values: np.ndarray, dt: str, at: np.ndarray) -> None:
    """Write logical values to their places in a buffer of bytes."""
    if dt in PER_BYTE:
        each, mask, codes = PER_BYTE[dt], mask_of(dt), codes_of_parts(values, dt)
        for i in range(each):
            here = at % each == i
            buffer[at[here] // each] &= np.uint8(~(mask << i * 8 // each) & 255)
            buffer[at[here] // each] |= codes[here] << np.uint8(i * 8 // each)
        return
    dtype = (NUMPY | SCALE_TYPES)[dt]
    raw = values.astype(np.float32).astype(dtype) if dt not in RANGES else values.astype(dtype)
    bytes_ = np.frombuffer(raw.tobytes(), np.uint8).reshape(*values.shape, dtype.itemsize)
    for byte in range(dtype.itemsize):
        buffer[at * dtype.itemsize + byte] = bytes_[..., byte]


def mask_of(dt: str) -> int:
    """The bits of an element that is a part of a byte."""
    return 2 ** (8 // PER_BYTE[dt]) - 1


def codes_of_parts(values: np.ndarray, dt: str) -> np.ndarray:
    """The bits that stand for each value, as bytes."""
    codes = values.astype(SMALL_FLOATS[dt]).view(np.uint8) if dt in SMALL_FLOATS else values.astype(np.int64)
    return (codes & mask_of(dt)).astype(np.uint8)


def get(buffer: np.ndarray, dims: tuple[int, ...], dt: str, strides: tuple[int, ...]) -> np.ndarray:
    if dt in PER_BYTE:
        at, each = offsets(dims, strides), PER_BYTE[dt]
        codes = buffer[at // each] >> (at % each * 8 // each).astype(np.uint8) & np.uint8(mask_of(dt))
        return codes.view(NUMPY[dt])
    size = NUMPY[dt].itemsize
    at = offsets(dims, strides)[..., None] * size + np.arange(size)
    return np.ascontiguousarray(buffer[at]).view(NUMPY[dt])[..., 0]


def bits_of(dims: tuple[int, ...], dt: str, strides: tuple[int, ...], size: int) -> np.ndarray:
    """The bits that belong to a tensor in its buffer of `size` bytes."""
    bits = np.zeros(size, np.uint8)
    at = offsets(dims, strides)
    if dt in PER_BYTE:
        each = PER_BYTE[dt]
        np.bitwise_or.at(bits, at // each, np.uint8(mask_of(dt)) << (at % each * 8 // each).astype(np.uint8))
        return bits
    itemsize = NUMPY[dt].itemsize
    bits[at[..., None] * itemsize + np.arange(itemsize)] = 0xFF
    return bits


def memory(values: np.ndarray, dt: str, tag: str | None = None) -> zemm.Memory:
    """A small dense tensor. Rows that end inside a byte are written as one dimension."""
    dims = (values.size,) if values.shape[-1] % PER_BYTE.get(dt, 1) else values.shape
    md = zemm.MemoryDesc(dims, dt, tag)
    buffer = np.zeros(max(md.size, 1), np.uint8)
    put(buffer, values.reshape(dims), dt, places(md))
    return zemm.Memory(md, the_engine(), buffer)


def make_attr(p: Problem) -> zemm.Attr:
    attr = zemm.Attr()
    for name, arg in ARGS.items():
        scale: Quant | None = getattr(p, f"{name}_scale")
        if scale:
            attr.set_scales(arg, scale.mask, scale.groups, scale.dt, scale.host)
        zp: Quant | None = getattr(p, f"{name}_zp")
        if zp:
            attr.set_zero_points(arg, zp.mask, zp.groups, zp.dt, zp.host)
    if p.wei_offset:
        attr.set_offsets(ARGS["wei"], p.wei_offset.mask, p.wei_offset.groups, p.wei_offset.dt)
    if p.reduction_group:
        attr.set_precomputed_reductions(ARGS["src"], 2**p.ndims - 1, (1, p.reduction_group))
    if p.fpmath:
        attr.set_fpmath_mode(*p.fpmath)
    if p.reduced_range:
        attr.set_reduced_range(ARGS["src"])
    if p.src_group:
        attr.set_src_dyn_quant_params(p.src_group)
    attr.set_scratchpad_mode(p.scratchpad)
    if p.post_ops:
        attr.set_post_ops(make_post_ops(p))
    return attr


def make_post_ops(p: Problem) -> zemm.PostOps:
    ops = zemm.PostOps()
    for op in p.post_ops:
        if op.kind == "sum":
            ops.append_sum(op.alpha, op.zero_point)
        elif op.kind == "eltwise":
            ops.append_eltwise(op.alg, op.alpha, op.beta)
        elif op.kind == "prelu":
            ops.append_prelu(op.mask)
        else:
            first = zemm.MemoryDesc(masked(p.dst_dims, op.mask), op.dt, "any" if op.is_in_place else None)
            second = None
            if op.alg == "binary_select":
                second = zemm.MemoryDesc(masked(p.dst_dims, op.condition_mask), "u8")
            ops.append_binary(op.alg, first, second)
    return ops


def make_pd(p: Problem, engine: zemm.Engine | None = None) -> zemm.MatmulPrimitiveDesc:
    def descriptor(name: str) -> zemm.MemoryDesc:
        dims, dt = p.dims(name), getattr(p, f"{name}_dt")
        tag = p.wei_tag if name == "wei" else None
        if within := p.within(name):
            whole, begin = within
            strides = None if tag else p.strides(name)
            return zemm.MemoryDesc(whole, dt, tag, strides=strides).submemory(dims, begin)
        if tag:
            return zemm.MemoryDesc(dims, dt, tag)
        return (
            zemm.MemoryDesc(dims, dt, "any")
            if p.any_tags
            else zemm.MemoryDesc(dims, dt, strides=p.strides(name))
        )

    bias = zemm.MemoryDesc(masked(p.dst_dims, p.bias_mask), p.bias_dt) if p.bias_dt else None
    src, wei, dst = (descriptor(name) for name in ("src", "wei", "dst"))
    return zemm.MatmulPrimitiveDesc(engine or the_engine(), src, wei, dst, bias, make_attr(p))


@dataclass
class Call:
    """Everything that an execution needs. dst_bytes is dst between its guard bytes."""

    pd: zemm.MatmulPrimitiveDesc
    args: dict[int, zemm.Memory]
    dst_bytes: np.ndarray
    before: np.ndarray
    dst_strides: tuple[int, ...]
    exact: bool = False  # whether the last run's dst had to equal the reference bit by bit

    @property
    def dst(self) -> np.ndarray:
        return self.dst_bytes[GUARD : self.dst_bytes.size - GUARD]

    def execute(self) -> None:
        stream = the_stream()
        zemm.Primitive(self.pd).execute(stream, self.args)
        stream.wait()


def prelu_tag(ndims: int) -> str:
    """The tag axb of prelu's weights: dimension 1 is innermost."""
    return "".join(chr(ord("a") + d) for d in (0, *range(2, ndims), 1))


def reordered(values: np.ndarray, p: Problem, md: zemm.MemoryDesc) -> np.ndarray:
    """The bytes of the weights in a blocked layout, which the library makes from the plain layout
    by a reorder.
    """
    plain = zemm.MemoryDesc(p.wei_dims, p.wei_dt, strides=p.strides("wei"))
    buffer = np.zeros(plain.size, np.uint8)
    put(buffer, values, p.wei_dt, places(plain))
    return zemm.reorder(zemm.Memory(plain, the_engine(), buffer), md).read()


def make_call(p: Problem, data: Data) -> Call:
    pd, engine = make_pd(p), the_engine()
    args: dict[int, zemm.Memory] = {}
    rng = np.random.default_rng(p.seed + 1)
    for name, values in (("src", data.src), ("wei", data.wei)):
        md = pd.query_md({"src": "src_md", "wei": "weights_md"}[name])
        buffer = rng.integers(0, 256, max(md.size, 1)).astype(np.uint8)  # gaps hold random bytes
        if p.within(name):
            if getattr(p, f"{name}_dt") in FLOATS | SMALL_FLOATS:
                buffer[:] = 0xFF  # NaN everywhere around the part, also where padding would be
            put(buffer, values, getattr(p, f"{name}_dt"), places(md))
        elif name == "wei" and p.wei_tag:
            buffer = reordered(values, p, md)
        else:
            if md.inner_nblks:
                buffer[:] = 0  # the padding of a blocked layout must be zeros
            put(buffer, values, getattr(p, f"{name}_dt"), places(md))
        args[ARGS[name]] = zemm.Memory(md, engine, buffer)
    md = pd.query_md("dst_md")
    whole = rng.integers(0, 256, md.size + 2 * GUARD).astype(np.uint8)
    inside = whole[GUARD : GUARD + md.size]
    put(inside, data.dst, p.dst_dt, places(md))
    args[ARGS["dst"]] = zemm.Memory(md, engine, inside if md.size else np.zeros(1, np.uint8))
    if data.bias is not None:
        assert p.bias_dt
        args[zemm.ARG["BIAS"]] = memory(data.bias, p.bias_dt)
    for name, values in data.quants.items():
        tensor, kind = name.split("_")
        quant: Quant = getattr(p, name)
        assert values.shape == quant_dims(p.dims(tensor), quant)
        arg = ARGS[tensor] | FLAGS[kind]
        if quant.host:
            args[arg] = zemm.Memory.host_scalar(zemm.MemoryDesc.host_scalar(quant.dt), values.reshape(()))
        else:
            args[arg] = memory(values, quant.dt)
    if data.reductions is not None:
        args[ARGS["src"] | zemm.ARG["ATTR_PRECOMPUTED_REDUCTIONS"]] = memory(data.reductions, "s32")
    for i, (op, (first, second)) in enumerate(zip(p.post_ops, data.post_ops, strict=True)):
        base = zemm.ARG_ATTR_MULTIPLE_POST_OP(i)
        if op.kind == "prelu":
            assert first is not None
            args[base | zemm.ARG["WEIGHTS"]] = memory(first, "f32", prelu_tag(p.ndims))
        elif op.is_in_place:
            args[base | zemm.ARG["SRC_1"]] = args[ARGS["dst"]]
        elif first is not None:
            args[base | zemm.ARG["SRC_1"]] = memory(first, op.dt)
        if second is not None:
            args[base | zemm.ARG["SRC_2"]] = memory(second, "u8")
    if p.scratchpad == "user" and (scratchpad := pd.query_md("scratchpad_md")).ndims:
        args[zemm.ARG["SCRATCHPAD"]] = zemm.Memory(scratchpad, engine)
    return Call(pd, args, whole, whole.copy(), md.strides if p.dst_dims else ())


def check_dst(p: Problem, data: Data, call: Call) -> bool:
    """Check that dst has the expected values and that the rest of its buffer is unchanged.

    Returns whether the expected values were exact.
    """
    got = get(call.dst, p.dst_dims, p.dst_dt, call.dst_strides)
    foreign = np.full(call.before.size, 0xFF, np.uint8)
    foreign[GUARD : foreign.size - GUARD] = ~bits_of(p.dst_dims, p.dst_dt, call.dst_strides, call.dst.size)
    changed = (call.dst_bytes ^ call.before) & foreign
    assert not changed.any(), "bytes that are not dst's were written"
    low, high = reference.matmul(p, data)
    compare(got, low, high)
    return bool((low == high).all())


def compare(got: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    wide = [ordered(a) for a in (got, low, high)]
    good = (wide[0] >= wide[1]) & (wide[0] <= wide[2])
    nan = [np.isnan(a.astype(np.float32)) for a in (got, low, high)]
    good |= nan[0] & nan[1] & nan[2]
    if not good.all():
        i = tuple(int(v) for v in np.argwhere(~good)[0])
        raise AssertionError(
            f"{(~good).sum()} of {good.size} wrong, first {i}: {got[i]!r}, not in [{low[i]!r}, {high[i]!r}]"
        )


def ordered(a: np.ndarray) -> np.ndarray:
    """The values as f64. f8_e4m3 has NaN, with a sign, for what is too large; this becomes infinity."""
    wide = a.astype(np.float64)
    if a.dtype == NUMPY["f8_e4m3"]:
        overflows = a.view(np.uint8) & 0x7F == 0x7F
        wide = np.where(overflows, np.where(a.view(np.uint8) >> 7, -np.inf, np.inf), wide)
    return wide


def run(p: Problem, data: Data | None = None) -> Call:
    """Execute the problem and check dst."""
    data = data or make_data(p)
    call = make_call(p, data)
    call.execute()
    call.exact = check_dst(p, data, call)
    return call


def result(p: Problem, data: Data) -> np.ndarray:
    """dst of an execution, which is not compared."""
    call = make_call(p, data)
    call.execute()
    return get(call.dst, p.dst_dims, p.dst_dt, call.dst_strides)
