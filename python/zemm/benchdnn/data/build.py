# SPDX-License-Identifier: Apache-2.0
"""Builds the library objects of a case: memory descriptors, attributes, post-ops, primitive
descriptor.

The parameter `zemm` is the Python binding: the module zemm, or that of a peer with the same names.
All functions raise its errors: ValueError for invalid arguments, NotImplementedError for what the
library does not support.
"""

from typing import Any

from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.arguments import Argument
from zemm.benchdnn.grammar.attributes import DEFAULTS, KNOBS, Quantization
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.encodings import Groups, Sparsity


def memory_desc(zemm: Any, argument: Argument, runtime_mask: int = 0) -> Any:
    """The descriptor of an argument. Dimension d is a runtime dimension if bit d of `runtime_mask`
    is set."""
    if argument.on_host:
        return zemm.MemoryDesc.host_scalar(argument.data_type)
    if isinstance(argument.encoding, Groups):
        groups = argument.encoding
        return zemm.MemoryDesc.grouped(
            argument.dims, argument.data_type, groups.variable_dim, groups.count, "s32"
        )
    if argument.encoding:
        return _sparse_desc(zemm, argument, argument.encoding)
    dims = [
        zemm.RUNTIME_DIM if runtime_mask >> axis & 1 else dim for axis, dim in enumerate(argument.memory_dims)
    ]
    if argument.strides:
        return zemm.MemoryDesc(dims, argument.data_type, strides=list(argument.strides))
    return zemm.MemoryDesc(dims, argument.data_type, tag=argument.tag or None)


def primitive_desc(zemm: Any, engine: Any, case: Case, with_attributes: bool = True) -> Any:
    """The primitive descriptor of the case, at its first implementation."""
    found = {a.arg: a for a in args.matrices(case)}
    masks = {
        args.SRC: case.runtime_masks[0],
        args.WEI: case.runtime_masks[1],
        args.DST: case.runtime_dst_mask,
    }
    masks[args.BIAS] = case.runtime_dst_mask & case.bia_mask
    descs = {arg: memory_desc(zemm, a, masks[arg]) for arg, a in found.items()}
    attr = attributes(zemm, case) if with_attributes else None
    tensors = (descs[args.SRC], descs[args.WEI], descs[args.DST], descs.get(args.BIAS))
    if case.is_inner_product:
        kind = "forward_inference" if case.direction == "FWD_I" else "forward_training"
        return zemm.InnerProductPrimitiveDesc(engine, *tensors, attr, kind)
    return zemm.MatmulPrimitiveDesc(engine, *tensors, attr)


def attributes(zemm: Any, case: Case) -> Any:
    """The attributes of a case as an object of the library."""
    attr = zemm.Attr()
    for field, knob in KNOBS.items():
        for arguments in _calls(zemm, case, field):
            getattr(attr, f"set_{knob.row.name}")(*arguments)
    return attr


def _calls(zemm: Any, case: Case, field: str) -> list[tuple[Any, ...]]:
    """The arguments of each call of an attribute's setter."""
    value = getattr(case.attributes, field)
    if field in args.KINDS:
        return [
            (entry.arg, args.mask_of(case, entry), entry.groups, entry.data_type, *_more(field, entry))
            for entry in value
        ]
    if field == "fpmath":
        return [(value.mode, value.apply_to_int)]  # the library may have another default
    if value == DEFAULTS[field]:
        return []
    if field == "rounding_mode":
        return [(rounding.arg, rounding.mode) for rounding in value]
    if field == "dropout":
        mask_md = None if value.tag == "undef" else memory_desc(zemm, args.dropout_mask(case))
        return [(mask_md, "s64", value.offset != 0, value.on_host)]
    if field == "post_ops":
        return [(post_ops(zemm, case),)]
    return [(args.SRC if field == "reduced_range" else value,)]


def _more(kind: str, entry: Quantization) -> tuple[Any, ...]:
    """The arguments that only scales or zero points have."""
    if kind == "scales":
        return entry.on_host, entry.quantization_mode
    return (entry.on_host,) if kind == "zero_points" else ()


def post_ops(zemm: Any, case: Case) -> Any:
    """The post-ops of a case as an object of the library."""
    chain = zemm.PostOps()
    tensors = {a.arg: a for a in args.post_op_tensors(case)}
    for index, op in enumerate(case.attributes.post_ops):
        mds = [memory_desc(zemm, tensors[args.post_op_arg(index, arg)]) for arg in op.operands()]
        op.append(chain, case.dst_ndims, mds)
    return chain


def _sparse_desc(zemm: Any, argument: Argument, sparsity: Sparsity) -> Any:
    """The descriptor of a sparse tensor. Its indices are s32."""
    dims, data_type, stored = argument.dims, argument.data_type, sparsity.stored(argument.count)
    if sparsity.kind == "csr":
        return zemm.MemoryDesc.csr(dims, data_type, stored, "s32", "s32")
    if sparsity.kind == "coo":
        return zemm.MemoryDesc.coo(dims, data_type, stored, "s32")
    return zemm.MemoryDesc.packed(dims, data_type, stored)
