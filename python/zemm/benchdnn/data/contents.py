# SPDX-License-Identifier: Apache-2.0
"""The values of the arguments of a case, which depend on their roles."""

import numpy as np

from zemm._library.lists import IN_PLACE
from zemm.benchdnn.data import fill, quantized_src, sparse
from zemm.benchdnn.data.ranges import Filling
from zemm.benchdnn.data.reference import reductions
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.arguments import Argument
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import BY_NAME, Floats, rounded
from zemm.benchdnn.grammar.encodings import Groups, Sparsity
from zemm.benchdnn.grammar.masks import has_one_value
from zemm.benchdnn.grammar.post_ops import Binary, Sum

_POST_OP_RANGES = {"condition": (0, 16), "prelu": (-2, 2)}
_POST_OP_FACTORS = {"mul": 1 / 8, "sub": -1.0}
_SOURCE = (-16, 16)
# Several scales are powers of two in this range. Integers times factors, and offsets times theirs, are scales
# and offsets as ranges.py expects them.
_POWERS = {"scales": (-4, -2), "scale_factors": (-4, -3), "offset_factors": (-2, -1)}
_INTEGER_POWERS = (0, 1)
_REDUCED = {"s8": (-64, 63), "u8": (0, 127)}


def values(case: Case, argument: Argument, filling: Filling, src: Floats | None = None) -> Floats:
    """The f32 values of an argument, with its dims, for a checked run. src: the values of src,
    which reductions are computed from."""
    count, dt, role = argument.count, argument.data_type, argument.role
    if isinstance(argument.encoding, Sparsity):
        return _sparse(argument, filling)
    if role == "src" and case.attributes.src_dyn_quant:
        return quantized_src.drawn(argument.dims, dt, filling, case.attributes)
    if role == "src":
        drawn = fill.integers(
            count, "SRC", filling.src, filling.density, _common_zero_point(case, args.SRC), dt
        )
        if case.attributes.reduced_range:
            drawn = drawn.clip(*_REDUCED.get(dt, (None, None)))
    elif role == "wei":
        drawn = fill.integers(count, "WEI", filling.wei, 1.0, _common_zero_point(case, args.WEI), dt)
        if not (isinstance(argument.encoding, Groups) or case.is_inner_product):
            *batch, k, n = argument.dims
            return drawn.reshape(*batch, n, k).swapaxes(-1, -2)
    elif role == "bias":
        drawn = fill.integers(count, "BIA", filling.bia, dt=dt)
    elif role == "dst":
        drawn = fill.integers(count, "DST", filling.dst, dt=filling.dst_dt)
    elif role in _POWERS:
        powers = _INTEGER_POWERS if BY_NAME[dt].integral else _POWERS[role]
        drawn = rounded(fill.scales(count, argument.value, *powers), dt)
    elif role in ("zero_points", "offsets"):
        drawn = fill.zero_points(count, argument.value, dt)
    elif role == "precomputed_reductions":
        assert src is not None
        entry = case.attributes.find("precomputed_reductions", args.SRC)
        assert entry is not None
        drawn = reductions(src, entry.groups[1] if entry.groups else 1)
    else:
        low, high = _POST_OP_RANGES.get(role, _SOURCE)
        drawn = fill.post_op(count, low, high, dt, _POST_OP_FACTORS.get(role, 1.0))
    return drawn.reshape(argument.dims)


def real_values(argument: Argument, seed: int) -> Floats:
    """The f32 values of a data tensor for timed and bitwise runs: uniform in a range of its data
    type."""
    return fill.real(argument.count, argument.data_type, seed).reshape(argument.dims)


def places(argument: Argument) -> sparse.Places:
    """Which elements of a sparse tensor are stored."""
    assert isinstance(argument.encoding, Sparsity)
    rows, columns = argument.dims
    return sparse.places(rows, columns, argument.encoding.stored(argument.count))


def _sparse(argument: Argument, filling: Filling) -> Floats:
    """The values of a sparse tensor, with zeros where it stores nothing."""
    found, where = np.zeros(argument.dims, np.float32), places(argument)
    kind, values = ("SRC", filling.src) if argument.role == "src" else ("WEI", filling.wei)
    found[where] = fill.stored(int(where.sum()), kind, values, argument.data_type)
    return found


def old_dst_type(case: Case) -> str:
    """The data type of dst before the run, for a sum post-op or one in place. '' if no post-op reads
    dst."""
    post_ops = case.attributes.post_ops
    total = next((op for op in post_ops if isinstance(op, Sum)), None)
    if total is None:
        return case.dt[2] if any(isinstance(op, Binary) and op.name in IN_PLACE for op in post_ops) else ""
    return total.data_type if total.data_type != "undef" else case.dt[2]


def _common_zero_point(case: Case, arg: int) -> float:
    entry = case.attributes.find("zero_points", arg)
    return entry.value if entry and has_one_value(entry.mask) else 0.0
