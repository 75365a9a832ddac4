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
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.encodings import Groups, Sparsity
from zemm.benchdnn.grammar.masks import post_op_mask
from zemm.benchdnn.grammar.post_ops import Binary, Depthwise, Eltwise, Prelu, Sum


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
    attr, wanted = zemm.Attr(), case.attributes
    for entry in wanted.scales:
        attr.set_scales(
            entry.arg, args.mask_of(case, entry), entry.groups, entry.data_type, entry.on_host,
            entry.quantization_mode,
        )  # fmt: skip
    for entry in wanted.zero_points:
        mask = args.mask_of(case, entry)
        attr.set_zero_points(entry.arg, mask, entry.groups, entry.data_type, entry.on_host)
    for entry in wanted.offsets:
        mask = args.mask_of(case, entry)
        attr.set_offsets(entry.arg, mask, entry.groups, entry.data_type)
    for entry in wanted.reductions:
        mask = args.mask_of(case, entry)
        attr.set_precomputed_reductions(entry.arg, mask, entry.groups, entry.data_type)
    if wanted.post_ops:
        attr.set_post_ops(post_ops(zemm, case))
    if wanted.scratchpad != "library":
        attr.set_scratchpad_mode(wanted.scratchpad)
    attr.set_fpmath_mode(wanted.fpmath.mode, wanted.fpmath.apply_to_int)
    if wanted.acc_mode != "strict":
        attr.set_accumulation_mode(wanted.acc_mode)
    if wanted.deterministic:
        attr.set_deterministic(True)
    for rounding in wanted.rounding:
        attr.set_rounding(rounding.arg, rounding.mode)
    if wanted.reduced_range:
        attr.set_reduced_range(args.SRC)
    if wanted.src_dyn_quant:
        attr.set_src_dyn_quant_params(wanted.src_dyn_quant)
    if wanted.saturation:
        attr.set_saturation()
    if wanted.dropout.p > 0:
        drop = wanted.dropout
        mask_md = None if drop.tag == "undef" else memory_desc(zemm, args.dropout_mask(case))
        attr.set_dropout(mask_md, "s64", drop.offset != 0, drop.on_host)
    return attr


def post_ops(zemm: Any, case: Case) -> Any:
    """The post-ops of a case as an object of the library."""
    chain = zemm.PostOps()
    tensors = {a.arg: a for a in args.post_op_tensors(case)}
    for index, op in enumerate(case.attributes.post_ops):
        if isinstance(op, Sum):
            chain.append_sum(op.scale, op.zero_point, op.data_type)
        elif isinstance(op, Eltwise):
            base = op.name.removesuffix("_dst")
            chain.append_eltwise(f"eltwise_{base}{'_use_dst_for_bwd' * (base != op.name)}", op.alpha, op.beta)
        elif isinstance(op, Binary):
            sources = [
                tensors[args.post_op_arg(index, tensor)] for tensor in (2, 3)[: 1 + (op.name == "select")]
            ]
            chain.append_binary(f"binary_{op.name}", *(memory_desc(zemm, source) for source in sources))
        elif isinstance(op, Prelu):
            chain.append_prelu(post_op_mask(op.mask, case.dst_ndims))
        elif isinstance(op, Depthwise):
            chain.append_dw()
    return chain


def _sparse_desc(zemm: Any, argument: Argument, sparsity: Sparsity) -> Any:
    """The descriptor of a sparse tensor. Its indices are s32."""
    dims, data_type, stored = argument.dims, argument.data_type, sparsity.stored(argument.count)
    if sparsity.kind == "csr":
        return zemm.MemoryDesc.csr(dims, data_type, stored, "s32", "s32")
    if sparsity.kind == "coo":
        return zemm.MemoryDesc.coo(dims, data_type, stored, "s32")
    return zemm.MemoryDesc.packed(dims, data_type, stored)
