# SPDX-License-Identifier: Apache-2.0
"""`--attr-src-dyn-quant`: the values of a floating-point src that zemm quantises, and what they are after
it."""

import numpy as np

from zemm._arrays.scales import in_groups, symmetric
from zemm.benchdnn.data import fill
from zemm.benchdnn.data.ranges import STEPS_OF_QUANTISED, Filling, largest_quantized
from zemm.benchdnn.grammar.attributes import Attributes
from zemm.benchdnn.grammar.dtypes import Floats, rounded


def drawn(dims: tuple[int, ...], dt: str, filling: Filling, attributes: Attributes) -> Floats:
    """The values of src for a checked run. The largest element of a group is that integer times a power of
    two, so that scales are exact; others may lie between integers."""
    *leading, k = dims
    count = int(np.prod(dims))
    if not count:
        return np.zeros(dims, np.float32)
    size = min(attributes.src_dyn_quant, k)
    steps = fill.integers(count, "SRC", filling.src, filling.density) / np.float32(STEPS_OF_QUANTISED)
    grouped = in_groups(steps.reshape(-1, k), size)
    rows, groups, _ = grouped.shape
    row, group = np.indices((rows, groups))
    place = (row + group) % np.minimum(size, k - group * size)
    grouped[row, group, place] = np.where((row + group) % 2, -1, 1) * largest_quantized(attributes)
    scales = fill.scales(rows * groups, 0.25) * fill.integers(rows * groups, "SRC", (1, 1), filling.peaks)
    values = (grouped * scales.reshape(rows, groups, 1)).reshape(rows, -1)[:, :k]
    return rounded(values.reshape(*leading, k), dt)


def quantized(src: Floats, attributes: Attributes) -> Floats:
    """The values of the integers to which zemm quantises src: [.., K]."""
    size = min(attributes.src_dyn_quant, max(src.shape[-1], 1))
    codes, scales = symmetric(in_groups(src.astype(np.float64), size), largest_quantized(attributes), "f32")
    values = codes.astype(np.float32) * scales[..., None]
    return values.reshape(*src.shape[:-1], -1)[..., : src.shape[-1]]
