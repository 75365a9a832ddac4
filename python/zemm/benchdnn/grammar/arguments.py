# SPDX-License-Identifier: Apache-2.0
"""The execution arguments of a case, with their dims, data types and roles."""

from dataclasses import dataclass, replace

from zemm._library.library import ARG
from zemm._library.lists import ATTRIBUTES, IN_PLACE
from zemm.benchdnn.grammar import masks
from zemm.benchdnn.grammar.attributes import Quantization
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.encodings import Groups, Sparsity
from zemm.benchdnn.grammar.post_ops import Operand
from zemm.benchdnn.grammar.tags import normalized

SRC, DST, WEI, BIAS = ARG["SRC"], ARG["DST"], ARG["WEIGHTS"], ARG["BIAS"]
SCRATCHPAD, HINT_MAX_GROUP_SIZE = ARG["SCRATCHPAD"], ARG["HINT_MAX_GROUP_SIZE"]
# The flags of arguments that are parameters of another one: scales, zero points, ...
KINDS = {name: ARG[f"ATTR_{name.upper()}"] for name, row in ATTRIBUTES.items() if row.kind == "tensor"}
SCALES, ZERO_POINTS = KINDS["scales"], KINDS["zero_points"]
OFFSETS, REDUCTIONS = KINDS["offsets"], KINDS["precomputed_reductions"]
DROPOUT_MASK, DROPOUT_PROBABILITY = ARG["ATTR_DROPOUT_MASK"], ARG["ATTR_DROPOUT_PROBABILITY"]
DROPOUT_SEED, DROPOUT_OFFSET = ARG["ATTR_DROPOUT_SEED"], ARG["ATTR_DROPOUT_OFFSET"]
ROUNDING_SEED = ARG["ATTR_ROUNDING_SEED"]


@dataclass(frozen=True)
class Argument:
    """One execution argument. `dims` has an entry for each dimension of the tensor that the
    argument belongs to, 1 where it broadcasts. `memory_dims` are those of its memory descriptor.
    Without tag and strides it is dense row-major. An encoding says that it is sparse or grouped."""

    arg: int
    role: str
    dims: tuple[int, ...]
    data_type: str
    tag: str = ""
    strides: tuple[int, ...] = ()
    on_host: bool = False
    value: float = 0.0
    is_output: bool = False
    encoding: Sparsity | Groups | None = None
    is_dst: bool = False  # its memory is that of dst

    @property
    def memory_dims(self) -> tuple[int, ...]:
        """`dims`; without those of size 1 for quantisation tensors, which changes no byte."""
        if self.role in KINDS:
            return tuple(dim for dim in self.dims if dim != 1) or (1,)
        return self.dims

    @property
    def count(self) -> int:
        count = 1
        for dim in self.dims:
            count *= dim
        return count


def post_op_arg(index: int, tensor: int) -> int:
    """ZEMM_ARG_ATTR_MULTIPLE_POST_OP(index) | tensor."""
    return ARG["ATTR_MULTIPLE_POST_OP_BASE"] * (index + 1) | tensor


def matrices(case: Case) -> list[Argument]:
    """src, weights, dst and, if the case has one, bias."""
    problem = case.problem
    rows = [(SRC, "src", problem.src), (WEI, "wei", problem.wei), (DST, "dst", case.dst_dims)]
    layouts = zip(case.dt, case.tags, case.strides, case.layout.of_tensors(), strict=True)
    found = [
        Argument(
            arg,
            role,
            dims,
            dt,
            "" if strides else normalized(tag, len(dims)),
            strides,
            is_output=arg == DST,
            encoding=encoding,
        )
        for (arg, role, dims), (dt, tag, strides, encoding) in zip(rows, layouts, strict=True)
    ]
    if case.has_bias:
        is_plain = case.runtime_dst_mask or case.grouped
        tag = normalized("abx", len(case.bias_dims)) if is_plain else "any"
        found.append(Argument(BIAS, "bias", case.bias_dims, case.bia_dt, tag))
    return found


def quantizations(case: Case) -> list[Argument]:
    """Scales, zero points, offsets, their factors and reductions of all arguments."""
    found = []
    for kind, flag in KINDS.items():
        entries: tuple[Quantization, ...] = getattr(case.attributes, kind)
        for entry in entries:
            shape = quantization_dims(case, entry)
            dynamic = entry.quantization_mode != "static_sazp"
            found.append(
                Argument(
                    flag | entry.arg, kind, shape, entry.data_type, on_host=entry.on_host, value=entry.value,
                    is_output=dynamic,
                )
            )  # fmt: skip
    return found


def quantization_dims(case: Case, entry: Quantization) -> tuple[int, ...]:
    """Dims of an entry's tensor, with an entry for each dimension of the argument that it
    quantises."""
    problem = case.problem
    tensor = {SRC: problem.src, WEI: problem.wei}.get(entry.arg, problem.dst)
    return masks.grouped_dims(mask_of(case, entry), entry.groups, tensor)


def mask_of(case: Case, entry: Quantization) -> int:
    """The mask of scales, zero points, offsets or reductions. The output channels of an inner product are
    dimension 0 of its weights."""
    ndims = case.problem.ndims
    if not case.is_inner_product:
        return masks.quantization_mask(entry.mask, ndims)
    return 1 if (entry.arg, entry.mask) == (WEI, "per_oc") else masks.post_op_mask(entry.mask, ndims)


def post_op_tensors(case: Case) -> list[Argument]:
    """The tensors of post-ops. src1 of those in place is dst."""
    return [
        replace(_operand(case, post_op_arg(index, arg), role, operand, dt), is_dst=role in IN_PLACE)
        for index, op in enumerate(case.attributes.post_ops)
        for arg, (role, operand, dt) in op.operands().items()
    ]


def hints(case: Case) -> list[Argument]:
    """The largest size of a group, or 0, with groups."""
    if not case.grouped:
        return []
    return [Argument(HINT_MAX_GROUP_SIZE, "number", (1,), "s32", on_host=True, value=case.grouped.largest)]


def random_arguments(case: Case) -> list[Argument]:
    """The arguments of dropout and stochastic rounding: probability, seeds, offset and mask."""
    drop, found = case.attributes.dropout, []
    if drop.p > 0:
        found += [
            Argument(DROPOUT_PROBABILITY, "number", (1,), "f32", on_host=drop.on_host, value=drop.p),
            Argument(DROPOUT_SEED, "number", (1,), "s64", on_host=drop.on_host, value=drop.seed),
        ]
        if drop.offset:
            found.append(
                Argument(DROPOUT_OFFSET, "number", (1,), "s64", on_host=drop.on_host, value=drop.offset)
            )
        if drop.tag != "undef":
            found.append(dropout_mask(case))
    stochastic = [rounding for rounding in case.attributes.rounding_mode if rounding.mode == "stochastic"]
    found += [
        Argument(ROUNDING_SEED, "number", (1,), "s32", value=rounding.seed) for rounding in stochastic[:1]
    ]
    return found


def dropout_mask(case: Case) -> Argument:
    """The u8 output that says which elements dropout kept."""
    tag = normalized(case.attributes.dropout.tag, case.dst_ndims)
    return Argument(DROPOUT_MASK, "dropout mask", case.problem.dst, "u8", tag, is_output=True)


def _operand(case: Case, arg: int, role: str, operand: Operand, data_type: str) -> Argument:
    ndims = case.dst_ndims
    mask = masks.post_op_mask(operand.mask or ("per_tensor" if role in IN_PLACE else "0"), ndims)
    dims = masks.masked_dims(mask, case.problem.dst)
    if case.grouped and mask == 0 and role != "condition":
        # Groups have a value each instead of one for all.
        dims = tuple(case.grouped.count if axis == case.grouped.dim else 1 for axis in range(ndims))
    if operand.tag == "grouped" and case.grouped:
        groups = Groups(case.grouped.dim, case.grouped.ends)
        return Argument(arg, role, dims, data_type, encoding=groups)
    tag = "" if operand.strides else normalized(operand.tag, ndims)
    return Argument(arg, role, dims, data_type, tag, operand.strides)
