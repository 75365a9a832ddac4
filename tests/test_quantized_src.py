# SPDX-License-Identifier: Apache-2.0
"""A matmul that quantises src itself (Attr.set_src_dyn_quant_params): the same bits as quantising src first and
multiplying the outputs.
"""

from typing import Any

import numpy as np
import pytest
import zemm
from numpy.typing import NDArray
from zemm import MemoryDesc

Memories = dict[int, zemm.Memory]
K_GROUP = 32


def memory_of(engine: zemm.Engine, array: NDArray[Any], data_type: str | None = None) -> zemm.Memory:
    memory = zemm.Memory(MemoryDesc(array.shape, data_type or zemm.dtype_name(array.dtype)), engine)
    memory.write(array)
    return memory


def weights_attr(zero_points: bool, groups: tuple[int, int] = (K_GROUP, 1)) -> zemm.Attr:
    attr = zemm.Attr()
    attr.set_scales(zemm.ARG_WEIGHTS, 3, groups)
    if zero_points:
        attr.set_zero_points(zemm.ARG_WEIGHTS, 3, groups, "u8")
    return attr
