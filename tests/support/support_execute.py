# SPDX-License-Identifier: Apache-2.0
"""Executions of a primitive: arrays become memories, and what is not given is made."""

from collections.abc import Mapping

import numpy as np
import zemm
from zemm.primitive import PrimitiveDesc


def memory_of(engine: zemm.Engine, array: np.ndarray, md: zemm.MemoryDesc | None = None) -> zemm.Memory:
    """A memory with the values of an array, row-major if no descriptor with dimensions is given."""
    own = zemm.MemoryDesc(array.shape, zemm.dtype_name(array.dtype))
    made = zemm.Memory(md if md and md.ndims else own, engine)
    made.write(array)
    return made


def execute(
    stream: zemm.Stream, pd: PrimitiveDesc, args: Mapping[int, zemm.Memory | np.ndarray]
) -> dict[int, zemm.Memory]:
    """The memories of an execution, by argument: those given, dst and a scratchpad."""
    engine = stream.engine
    memories = {
        arg: memory_of(engine, given, pd.query_md("exec_arg_md", arg))
        if isinstance(given, np.ndarray)
        else given
        for arg, given in args.items()
    }
    if zemm.ARG_DST not in memories:
        memories[zemm.ARG_DST] = zemm.Memory(pd.query_md("dst_md"), engine)
    if (scratchpad := pd.query_md("scratchpad_md")).ndims:
        memories[zemm.ARG_SCRATCHPAD] = zemm.Memory(scratchpad, engine)
    zemm.Primitive(pd).execute(stream, memories)
    stream.wait()
    return memories


def dst_of(
    stream: zemm.Stream, pd: PrimitiveDesc, args: Mapping[int, zemm.Memory | np.ndarray]
) -> np.ndarray:
    return execute(stream, pd, args)[zemm.ARG_DST].as_numpy()
